"""The language's home says nothing that is not so."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest

import targeting
from matcher_ext.language import KEYWORDS, OPERATORS, Normal
from targeting import Catalog, ExpressionError, parse
from targeting.__main__ import read_options

README = (Path(targeting.__file__).parent / "README.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


CATALOG = Catalog.from_json(json.loads(blocks("json catalogue")[0]))
VISIT = json.loads(blocks("json visit")[0])
EXAMPLES = [
    tuple(part.strip() for part in line.rsplit("# ->", 1))
    for block in blocks("targeting")
    for line in block.splitlines()
]
TRUTHS = {"true": True, "false": False, "undefined": None}


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_each_example_is_what_it_says(text: str, expected: str) -> None:
    if expected == "error":
        with pytest.raises(ExpressionError):
            parse(text, CATALOG)
    else:
        assert parse(text, CATALOG).evaluate(VISIT) is TRUTHS[expected]
        assert Normal(CATALOG.compiled, text).evaluate(VISIT) is TRUTHS[expected]


def test_every_operator_has_an_example() -> None:
    shown = {
        node.operator
        for text, expected in EXAMPLES
        if expected != "error"
        for node in targeting.tree.walk(parse(text, CATALOG).root)
        if isinstance(node, targeting.tree.Predicate)
    }
    assert shown == set(OPERATORS)


def test_every_word_of_the_language_is_mentioned() -> None:
    assert {word for word in KEYWORDS if not re.search(rf"\b{word}\b", README)} == set()


def test_the_noted_example_is_canonical() -> None:
    text = blocks("text")[0].rstrip("\n")
    assert parse(text, CATALOG).text == text


def test_the_python_examples_run() -> None:
    (source,) = blocks("python")
    test = doctest.DocTestParser().get_doctest(source, {}, "README", "README.md", 0)
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.summarize(verbose=False).failed == 0


def test_the_commands_exist() -> None:
    for line in blocks("console")[0].splitlines():
        assert read_options(shlex.split(line)[3:]).command in line
