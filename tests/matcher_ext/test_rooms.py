"""Rooms of the engine import only rooms above them; compiled imports are read as text."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from setuptools import find_packages

CHECKOUT = Path(__file__).resolve().parents[2]
ENGINE = CHECKOUT / "matcher_ext"
# The table of the README: a room imports only those above it.
ROOMS = tuple(re.findall(r"^\| `(\w+)/` \|", (ENGINE / "README.md").read_text(), re.MULTILINE))
# They meet in `plan`.
STRANGERS = {("freeze", "match"), ("match", "freeze")}
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import\b|c?import[ \t]+([\w.]+))", re.MULTILINE
)
CIMPORTED = re.compile(r"^from [\w.]+ cimport (?:\(([^)]*)\)|([^\n(]+))\n", re.MULTILINE)
# Texts and comments, which may mention a name without using it.
UNREAD = re.compile(r'"""(?:.|\n)*?"""|"[^"\n]*"|#[^\n]*')
SOURCES = {".py", ".pyi", ".pyx", ".pxd", ".md"}


def list_sources() -> Iterator[tuple[str, str]]:
    """Lists module and text of each file of each room."""
    for path in sorted(ENGINE.rglob("*")):
        if path.suffix in {".py", ".pyx", ".pxd", ".pyi"} and path.parent != ENGINE:
            yield ".".join(path.relative_to(ENGINE).with_suffix("").parts), path.read_text()


def find_forbidden(module: str, text: str) -> Iterator[tuple[str, str]]:
    """Imports of the text that its room may not have, as (module, what it imports)."""
    room = module.split(".")[0]
    for found in IMPORT.finditer(text):
        name = found[1] or found[2]
        package, _, imported = name.partition(".")
        if package not in {"", "matcher_ext"}:
            continue
        other = imported.split(".")[0]
        # A relative import names no room, and the package itself is above them all.
        is_unnamed = not package or not other
        if is_unnamed or is_below(room, other):
            yield module, imported or name


def is_below(room: str, other: str) -> bool:
    return ROOMS.index(other) > ROOMS.index(room) or (room, other) in STRANGERS


def test_every_file_is_in_a_room_of_the_table() -> None:
    folders = {path.parent.name for path in ENGINE.glob("*/__init__.py")}
    assert folders == set(ROOMS)
    assert len(ROOMS) == len(folders)
    sources = {path.name for path in ENGINE.iterdir() if path.is_file()}
    assert {name for name in sources if not name.endswith(".so")} == {
        "__init__.py",
        "README.md",
        "py.typed",
    }


def test_rooms_import_only_rooms_above_them() -> None:
    forbidden = [each for module, text in list_sources() for each in find_forbidden(module, text)]
    assert forbidden == []


@pytest.mark.parametrize(
    ("module", "line", "is_allowed"),
    [
        ("plan.graph", "from matcher_ext.machine.links cimport NOTHING", True),
        ("plan.graph", "from matcher_ext.plan.plan cimport Plan", True),
        ("plan.graph", "from libcpp.vector cimport vector", True),
        ("plan.graph", "from matcher_ext.match.slots cimport Match", False),
        ("plan.graph", "    from matcher_ext.index import reasons", False),
        ("plan.graph", "cimport matcher_ext.freeze.draft", False),
        ("plan.graph", "from matcher_ext import Snapshot", False),
        ("plan.graph", "from . cimport plan", False),
        ("match.rounds", "from matcher_ext.freeze.leaves cimport index_leaves", False),
        ("freeze.leaves", "from matcher_ext.match.leaf_bits cimport (", False),
        ("count.circuit", "from matcher_ext.freeze.leaves cimport index_leaves", True),
    ],
)
def test_a_forbidden_import_is_seen(module: str, line: str, is_allowed: bool) -> None:
    text = f'"""A module."""\nimport numpy\n{line}\n'
    assert (not list(find_forbidden(module, text))) == is_allowed


def test_every_cimport_names_what_it_takes() -> None:
    stars = [module for module, text in list_sources() if re.search(r"\bcimport[ \t]+\*", text)]
    assert stars == []


def find_unused(text: str) -> set[str]:
    """Finds names that a text cimports and does not use; cython-lint looks at `.pyx` files
    alone."""
    names = {
        name.split()[-1]
        for found in CIMPORTED.finditer(text)
        for name in (found[1] or found[2]).replace("\n", " ").split(",")
        if name.strip()
    }
    used = re.findall(r"\w+", UNREAD.sub(" ", CIMPORTED.sub("", text)))
    return names - set(used)


def test_a_declaration_file_cimports_only_what_it_uses() -> None:
    unused = {
        str(path.relative_to(ENGINE)): found
        for path in sorted(ENGINE.rglob("*.pxd"))
        if (found := find_unused(path.read_text()))
    }
    assert unused == {}


def test_an_unused_cimport_is_seen() -> None:
    lines = ['"""Of Plan."""', "from a cimport (", "    Plan, Pair,", ")", "from b cimport C"]
    text = "\n".join([*lines, "", "cdef Pair x  # C", ""])
    assert find_unused(text) == {"Plan", "C"}


def test_no_folder_is_too_large_to_read() -> None:
    sizes = {
        str(folder.relative_to(CHECKOUT)): len(
            [path for path in folder.iterdir() if path.suffix in SOURCES]
        )
        for folder in [ENGINE, *(ENGINE / room for room in ROOMS)]
    }
    assert sizes.pop("matcher_ext") <= 12
    assert {name: size for name, size in sizes.items() if size > 45} == {}


def test_every_room_but_the_published_matchers_is_in_the_distribution() -> None:
    settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["setuptools"]
    finding = settings["packages"]["find"]
    assert finding["namespaces"] is False
    found = find_packages(str(CHECKOUT), include=finding["include"], exclude=finding["exclude"])
    assert {name.partition(".")[0] for name in found} == {"targeting", "matcher_ext"}
    rooms = {name for name in found if name.startswith("matcher_ext.")}
    assert rooms == {f"matcher_ext.{room}" for room in ROOMS if room != "engines"}


def list_extensions(*arguments: str) -> set[str]:
    program = "import sys, setup; print(*(str(path) for path in setup.list_sources()))"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_a_wheel_goes_without_the_published_matchers() -> None:
    in_place, wheel = list_extensions("build_ext", "--inplace"), list_extensions("bdist_wheel")
    assert in_place - wheel == {
        str(path.relative_to(CHECKOUT)) for path in (ENGINE / "engines").glob("*.pyx")
    }


def test_the_language_needs_no_room_of_servers() -> None:
    program = "import sys, targeting; print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[1] for name in done.stdout.split() if name.startswith("matcher_ext.")}
    assert "language" in loaded
    assert not loaded & {"requests", "serving", "following", "engines"}
