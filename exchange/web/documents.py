"""Turns a page of `docs/` into HTML, for the product to show: headings, paragraphs, lists, tables,
bold text and code. Links lead to other files, which people of the product do not have: they become
their text, and the list of files at the end is left out. Whatever is written is escaped first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from django.conf import settings
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

BOLD, CODE = re.compile(r"\*\*(.+?)\*\*"), re.compile(r"`([^`]+)`")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
FILES = "Files: "
RULE = re.compile(r"^\|[\s|:-]+\|$")


@cache
def read_document(name: str) -> SafeString:
    """Reads a document once: the files come with the program."""
    text = (settings.BASE_DIR / "docs" / name).read_text()
    return mark_safe("\n".join(write_blocks(text)))  # noqa: S308, every text is escaped


def write_blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n{2,}", text.strip()):
        lines = block.splitlines()
        if lines[0].startswith("#"):
            yield from write_heading(lines[0])
            lines = lines[1:]
        if not lines or lines[0].startswith(FILES):
            continue
        if lines[0].startswith("|"):
            yield write_table(lines)
        else:
            yield from write_prose(lines)


def write_heading(line: str) -> Iterator[str]:
    """Writes a heading; the first one of a document is left out, because the page has its own."""
    marks, _, words = line.partition(" ")
    if len(marks) > 1:
        yield f"<h2>{write_text(words)}</h2>"


def write_prose(lines: list[str]) -> Iterator[str]:
    """Writes a paragraph, a list, or a list behind its paragraph; an item goes on in indented
    lines."""
    first = next((n for n, line in enumerate(lines) if line.startswith("- ")), len(lines))
    if first:
        yield f"<p>{write_text(' '.join(lines[:first]))}</p>"
    items = re.split(r"^- ", "\n".join(lines[first:]), flags=re.MULTILINE)[1:]
    if items:
        written = "".join(f"<li>{write_text(' '.join(item.split()))}</li>" for item in items)
        yield f"<ul>{written}</ul>"


def write_table(lines: list[str]) -> str:
    head, *rows = [split_row(line) for line in lines if not RULE.match(line)]
    top = "".join(f'<th scope="col">{write_text(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{write_cells(row, head)}</tr>" for row in rows)
    return f'<table class="table"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def write_cells(row: list[str], head: list[str]) -> str:
    cells = zip(row, head, strict=True)
    return "".join(
        f'<td data-label="{write_text(name)}">{write_text(cell)}</td>' for cell, name in cells
    )


def split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def write_text(text: str) -> str:
    found = LINK.sub(r"\1", escape(text))
    return CODE.sub(r"<code>\1</code>", BOLD.sub(r"<strong>\1</strong>", found))
