"""Documents lead where they say: links, anchors, files and modules that they name; none is long."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = sorted(
    {
        *ROOT.glob("*.md"),
        *ROOT.glob("[!.]*/README.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "bench" / "results").glob("*.md"),
    }
)
# Characters. What is longer is two pages.
MOST = {"ARCHITECTURE.md": 12_000}
MOST_OF_DOCS = 10_000

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)
NAMED = re.compile(r"`([^`\n]+)`")
# Endings of files that are kept in the repository; `.json`, say, is mostly written by it.
SOURCE = r"(?:py|pyx|pxd|pyi|md|yml|toml|html|template|lua|lock)"
FILE = re.compile(rf"[\w.*/-]+\.{SOURCE}")
MODULE = re.compile(
    r"(?:python -m )?((?:targeting|matcher_ext|exchange|pipelines|bench)(?:\.\w+)+)"
)
FOLDER = re.compile(r"[\w.-]+(?:/[\w.-]+)*/?")

# Folders that are not kept.
MADE = {"__pycache__", "build", "dist", "static_collected", "var"}
# What Prometheus is told by this name is wherever the operator puts it.
WRITTEN_ELSEWHERE = {"alerts.yml"}


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def prose_of(document: Path) -> str:
    """Gives a document's text without what stands in fences."""
    return FENCE.sub("", document.read_text())


def anchor_of(heading: str) -> str:
    """Makes an anchor as GitHub does: letters, digits, `-` and `_` stay, spaces become `-`."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@cache
def anchors_of(document: Path) -> frozenset[str]:
    return frozenset(anchor_of(heading) for heading in HEADING.findall(prose_of(document)))


@cache
def kept_files() -> frozenset[str]:
    """Lists the files of the repository, without what is built, downloaded or run in it."""
    found = []
    for folder, below, names in os.walk(ROOT):
        below[:] = [name for name in below if name not in MADE and not name.startswith(".")]
        found += [str((Path(folder) / name).relative_to(ROOT)) for name in names]
    return frozenset(found)


@cache
def kept_folders() -> frozenset[str]:
    return frozenset(str(parent) for path in kept_files() for parent in Path(path).parents)


@cache
def kept_names() -> frozenset[str]:
    return frozenset(Path(path).name for path in kept_files())


def links_of(document: Path) -> Iterator[str]:
    for target in LINK.findall(prose_of(document)):
        if not re.match(r"[a-z]+:", target):
            yield target


def is_link_whole(document: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    found = (document.parent / path).resolve() if path else document
    if not found.is_relative_to(ROOT) or not found.exists():
        return False
    return not anchor or (found.suffix == ".md" and anchor in anchors_of(found))


def files_named(document: Path) -> Iterator[str]:
    """Files by path or by name, and folders by path."""
    for text in NAMED.findall(prose_of(document)):
        tops = {path.split("/")[0] for path in kept_folders()}
        is_folder = FOLDER.fullmatch(text) and "/" in text and text.split("/")[0] in tops
        if FILE.fullmatch(text) or is_folder:
            yield text


def is_file_there(document: Path, text: str) -> bool:
    """Finds a file by its path from the root or from the document; by its name alone, anywhere."""
    text = text.rstrip("/")
    if text in WRITTEN_ELSEWHERE or text in kept_files() or text in kept_folders():
        return True
    if "/" not in text:
        return text in kept_names() or any(Path(name).match(text) for name in kept_names())
    beside = (document.parent / text).resolve()
    return beside.exists() and beside.is_relative_to(ROOT)


def modules_named(document: Path) -> Iterator[str]:
    for text in NAMED.findall(prose_of(document)):
        if found := MODULE.match(text):
            yield found[1]


def is_module_there(name: str) -> bool:
    """Finds a module or package, or a name that one of them has."""
    *above, last = name.split(".")
    if is_module("/".join([*above, last])):
        return True
    while above and not is_module("/".join(above)):
        last = above.pop()
    return bool(above) and any(
        re.search(rf"\b{last}\b", (ROOT / path).read_text()) for path in sources_of("/".join(above))
    )


def is_module(path: str) -> bool:
    return path in kept_folders() or bool(sources_of(path))


def sources_of(path: str) -> list[str]:
    wanted = (f"{path}{end}" for end in (".py", ".pyx", ".pxd", "/__init__.py"))
    return [source for source in wanted if source in kept_files()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(document: Path) -> None:
    assert [link for link in links_of(document) if not is_link_whole(document, link)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_files_that_are_named_exist(document: Path) -> None:
    assert [name for name in files_named(document) if not is_file_there(document, name)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_modules_that_are_named_exist(document: Path) -> None:
    assert [name for name in modules_named(document) if not is_module_there(name)] == []


def test_pages_are_short() -> None:
    limits = {ROOT / name: most for name, most in MOST.items()}
    limits |= dict.fromkeys((ROOT / "docs").rglob("*.md"), MOST_OF_DOCS)
    lengths = {name_of(path): len(path.read_text()) for path in limits}
    assert {n: c for n, c in lengths.items() if c >= limits[ROOT / n]} == {}


def test_every_page_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        document = waiting.pop()
        if document not in seen:
            seen.add(document)
            paths = (link.partition("#")[0] for link in links_of(document))
            found = ((document.parent / path).resolve() for path in paths if path)
            waiting += [path for path in found if path.suffix == ".md" and path.exists()]
    assert [name_of(document) for document in DOCUMENTS if document not in seen] == []


def test_names_of_folders_in_the_tour_exist() -> None:
    tour = (ROOT / "ARCHITECTURE.md").read_text().split("## A tour of the folders")[1]
    folders = re.findall(r"`([a-z_/]+)/`", tour.split("\n## ")[0])
    assert len(folders) >= 15
    assert [folder for folder in folders if folder not in kept_folders()] == []


def test_finds_what_is_wrong(tmp_path: Path) -> None:
    """Shows that these tests can fail."""
    document = ROOT / "README.md"
    for wrong in ("docs/nowhere.md", "README.md#nothing", "../elsewhere.md", "LICENSE#x"):
        assert not is_link_whole(document, wrong)
    for wrong in ("exchange/nowhere.py", "nowhere.pxd", "docs/nowhere"):
        assert not is_file_there(document, wrong)
    for wrong in ("exchange.nowhere", "matcher_ext.nowhere.Nobody", "bench.matcher.nobody_has_it"):
        assert not is_module_there(wrong)
    assert is_module_there("matcher_ext.Snapshot")
    page = tmp_path / "page.md"
    page.write_text(
        "# A title: `x/y`\n[a](b.md) `exchange/gone.py` `exchange/gone/`\n```\n[c](d.md)\n```\n"
    )
    assert list(links_of(page)) == ["b.md"]
    assert list(files_named(page)) == ["exchange/gone.py", "exchange/gone/"]
    assert anchors_of(page) == {"a-title-xy"}
