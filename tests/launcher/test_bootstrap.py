"""Set-up says in one line what is missing, and does nothing twice."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exchange.launcher import bootstrap

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fresh_checkout(tmp_path: Path) -> Path:
    """Copies what set-up reads into a folder where the project never ran."""
    for name in ["Makefile", "setup.py", "requirements.lock", "exchange/launcher/bootstrap.py"]:
        copy = tmp_path / "fresh" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CHECKOUT / name, copy)
    only_sources = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(CHECKOUT / "matcher_ext", tmp_path / "fresh/matcher_ext", ignore=only_sources)
    return tmp_path / "fresh"


def tools(folder: Path, *names: str) -> str:
    """Makes a PATH with nothing but these."""
    folder.mkdir()
    for name in names:
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    return str(folder)


def make_setup(checkout: Path, path: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", "setup", f"PYTHON={sys.executable}"],
        cwd=checkout,
        env={**os.environ, "PATH": path, "CXX": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_second_set_up_does_nothing() -> None:
    if not (CHECKOUT / ".venv" / "build.stamp").exists():
        pytest.skip("this checkout was not made by make setup, so there is no first time")
    stamps = sorted((CHECKOUT / ".venv").glob("*.stamp"))
    before = [stamp.stat().st_mtime_ns for stamp in stamps]
    done = subprocess.run(["make", "setup"], cwd=CHECKOUT, capture_output=True, check=True)
    assert b"setup:" not in done.stderr
    assert [stamp.stat().st_mtime_ns for stamp in stamps] == before


def test_a_missing_compiler_is_one_line_before_any_download(
    fresh_checkout: Path, tmp_path: Path
) -> None:
    done = make_setup(fresh_checkout, tools(tmp_path / "bin", "sh", "make"))
    first, *rest = done.stderr.strip().splitlines()
    assert first == "setup: no C++ compiler found; on Debian: apt-get install g++ python3-dev"
    assert all("make" in line for line in rest)
    assert done.returncode != 0
    assert not (fresh_checkout / ".venv").exists()


def test_missing_headers_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "VENV", tmp_path / ".venv")
    monkeypatch.setattr("sysconfig.get_paths", lambda: {"include": str(tmp_path)})
    with pytest.raises(bootstrap.SetupError, match="apt-get install g\\+\\+ python3-dev"):
        bootstrap.check_build_tools()


def test_a_python_that_is_too_old_is_one_line(fresh_checkout: Path, tmp_path: Path) -> None:
    path = tools(tmp_path / "bin", "sh", "make", "false")
    done = subprocess.run(
        ["make", "--no-print-directory", "setup", "PYTHON=false"],
        cwd=fresh_checkout,
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "setup: Python 3.11 or newer not found" in done.stderr
    assert done.returncode != 0


@pytest.mark.parametrize("room", [".", "plan"])
def test_any_change_of_the_engine_is_seen(
    fresh_checkout: Path, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    monkeypatch.setattr(bootstrap, "CHECKOUT", fresh_checkout)
    monkeypatch.setattr(bootstrap, "LOCK", fresh_checkout / "requirements.lock")
    monkeypatch.setattr(bootstrap, "ENGINE", fresh_checkout / "matcher_ext")
    before = bootstrap.engine_digest()
    assert bootstrap.engine_digest() == before
    (fresh_checkout / "matcher_ext" / room / "new.pxd").write_text("cdef int answer = 42\n")
    assert bootstrap.engine_digest() != before
