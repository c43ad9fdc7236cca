"""Long runs over the index: many mutated files, long histories, a build with a sanitizer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.matcher_ext.test_snapshot import INDEXES, mutate
from tests.matcher_ext.test_state_machine import IndexMachine, ReorganisingMachine
from tests.matcher_ext.test_table_files import mutate_tables
from tests.matcher_ext.test_table_machine import TableMachine

CHECKOUT = Path(__file__).resolve().parents[2]
SANITIZED = (
    *("answers", "atree", "batch", "candidates", "cases", "filling", "items", "live", "marks"),
    *("matching", "paper", "partitions", "json_visits", "rates", "reorganise", "rerouting"),
    *("results", "rounds", "route_section", "routes", "scan", "snapshot", "state_machine"),
    *("store", "table_batches", "table_code", "table_files", "table_machine", "table_passes"),
    *("thaw", "visit_table", "wording"),
)
PARTS = (
    *("bench", "exchange", "matcher_ext", "targeting", "setup.py"),
    *("tests/__init__.py", "tests/cases", "tests/matcher_ext", "tests/routing"),
)
# The sanitizer keeps what is freed for a while, to see whether somebody still reads it.
OF_FREED_MEMORY = (
    "tests/matcher_ext/test_store.py"
    "::test_defining_a_long_list_again_and_again_takes_the_memory_of_one"
)
# Who asks for too much gets nothing, as without it.
ASAN_OPTIONS = "detect_leaks=0:allocator_may_return_null=1"
SANITIZE = "-fsanitize=address -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS"

pytestmark = [pytest.mark.soak, pytest.mark.fuzzing]


@pytest.mark.parametrize("kind", INDEXES)
@pytest.mark.parametrize("seed", range(7))
def test_a_hundred_thousand_mutated_files_never_crash(tmp_path: Path, kind: str, seed: int) -> None:
    mutate(INDEXES[kind](), tmp_path, rounds=5000, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_twenty_thousand_mutated_tables_never_crash(tmp_path: Path, seed: int) -> None:
    assert mutate_tables(tmp_path, rounds=5000, seed=seed) > 500


@pytest.mark.parametrize("machine", [IndexMachine, ReorganisingMachine, TableMachine])
def test_long_histories_match_like_the_evaluator(machine: type[RuleBasedStateMachine]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(deadline=None, max_examples=1000, stateful_step_count=50),
    )


def find_library(name: str) -> str:
    command = ["g++", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_index_is_clean_under_the_address_sanitizer(tmp_path: Path) -> None:
    """Builds the engine in a folder of its own, with bounds checks in the standard containers."""
    for part in PARTS:
        target = tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        if (CHECKOUT / part).is_dir():
            shutil.copytree(CHECKOUT / part, target, ignore=shutil.ignore_patterns("*.so"))
        else:
            shutil.copy(CHECKOUT / part, target)
    flags = {"CFLAGS": SANITIZE, "CXXFLAGS": SANITIZE, "LDFLAGS": "-fsanitize=address"}
    environment = os.environ | flags
    build = [sys.executable, "setup.py", "build_ext", "--inplace", "-j", str(os.cpu_count() or 1)]
    subprocess.run(build, cwd=tmp_path, env=environment, check=True, capture_output=True)
    for module in (tmp_path / "matcher_ext").rglob("*.so"):
        assert b"__asan_report" in module.read_bytes(), f"{module.name} is not instrumented"
    libraries = " ".join(find_library(name) for name in ("libasan.so", "libstdc++.so.6"))
    environment |= {"LD_PRELOAD": libraries, "ASAN_OPTIONS": ASAN_OPTIONS}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:django", "-p", "no:cacheprovider"]
        + ["--deselect", OF_FREED_MEMORY]
        + [f"tests/matcher_ext/test_{module}.py" for module in SANITIZED],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
