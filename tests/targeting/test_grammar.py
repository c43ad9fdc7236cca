"""The grammar and the table of operators on the language's page are the parser's own."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import targeting
from matcher_ext.language import KEYWORDS, OPERATORS
from targeting import Catalog, ExpressionError, parse
from targeting.catalog import AttributeType

README = (Path(targeting.__file__).parent / "README.md").read_text()
SEED = 20261116
MAX_STEPS = 7  # beyond, a derivation takes the shortest way out

# One attribute of each type, named after it, and what local schedules need.
NAMES = {kind: kind.value.replace(" ", "_") + "_value" for kind in AttributeType}
CATALOG = Catalog.of(
    **{name: kind.value for kind, name in NAMES.items()}, **{"geo.utc_offset": "integer"}
)

TERMINALS = {
    "NAME": tuple(NAMES.values()),
    "REFERENCE": ("@edge.17", "@a-b"),
    "LIST": ("$cities",),
    "STRING": ("'x'", '"Mon-Fri"', r"'it\'s'"),
    "INTEGER": ("7", "0"),
    "FLOAT": ("2.5", "1e1"),
}

# What is wrong with what was written, not with how: these depend on types, which no grammar knows.
# Names are known here, so that an unknown attribute is something that is no name.
NOT_OF_THE_GRAMMAR = {
    "bare_attribute", "wrong_operator", "wrong_value", "bad_timestamp", "bad_schedule",
    "bad_address", "bad_network", "bad_host", "too_few_points", "reversed_range",
}  # fmt: skip
# Distances above zero are no matter of grammar either.
ZERO = re.compile(r"\bwithin 0\b")


def grammar_of(text: str) -> dict[str, object]:
    """Rules by name: a tree of ("any", ..), ("all", ..), ("many", x), ("maybe", x) and symbols."""
    rules: dict[str, object] = {}
    for name, body in re.findall(r"^(\w+)\s+=\s+(.*?) ;$", text, re.MULTILINE | re.DOTALL):
        symbols = re.findall(r'"[^"]+"|\w+|[\[\]{}()|]', body)
        rules[name] = read_choice(symbols)
        assert not symbols, (name, symbols)
    return rules


def read_choice(symbols: list[str]) -> object:
    """Takes symbols up to the bracket that ends them."""
    closing = {"[": "maybe", "{": "many", "(": "any"}
    choices: list[list[object]] = [[]]
    while symbols and symbols[0] not in "]})":
        symbol = symbols.pop(0)
        if symbol == "|":
            choices.append([])
        elif symbol in closing:
            inner = read_choice(symbols)
            symbols.pop(0)
            choices[-1].append((closing[symbol], inner))
        else:
            choices[-1].append(symbol)
    return ("any", *(("all", *choice) for choice in choices))


(GRAMMAR_TEXT,) = re.findall(r"^```ebnf\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
GRAMMAR = grammar_of(GRAMMAR_TEXT)


def derive(part: object, chance: random.Random, depth: int) -> list[str]:
    """Derives some text of a part, as words."""
    if isinstance(part, str):
        if part.startswith('"'):
            return [part.strip('"')]
        if part in TERMINALS:
            return [chance.choice(TERMINALS[part])]
        return derive(GRAMMAR[part], chance, depth + 1)
    assert isinstance(part, tuple)
    kind, *children = part
    if kind == "all":
        return [word for child in children for word in derive(child, chance, depth)]
    if kind == "any":
        # Only groups make a text endless.
        choices = [c for c in children if depth <= MAX_STEPS or "expression" not in c]
        return derive(chance.choice(choices), chance, depth)
    most = 1 if kind == "maybe" else 2 if depth <= MAX_STEPS else 0
    times = chance.randint(0, most)
    return [word for _ in range(times) for word in derive(children[0], chance, depth)]


def accepts(words: tuple[str, ...]) -> bool:
    """Tells whether the grammar has such a text: every end that a part can have is tried."""

    @cache
    def ends(part: object, start: int) -> frozenset[int]:
        if isinstance(part, str):
            if part in GRAMMAR:
                return ends(GRAMMAR[part], start)
            fits = {part.strip('"')} if part.startswith('"') else TERMINALS[part]
            return frozenset({start + 1} if start < len(words) and words[start] in fits else ())
        assert isinstance(part, tuple)
        kind, *children = part
        if kind == "any":
            return frozenset().union(*(ends(child, start) for child in children))
        if kind == "all":
            reached = frozenset({start})
            for child in children:
                reached = frozenset(end for at in reached for end in ends(child, at))
            return reached
        reached = frozenset({start})
        step = reached
        while step:
            step = frozenset(end for at in step for end in ends(children[0], at)) - reached
            reached |= step
            if kind == "maybe":
                break
        return reached

    return len(words) in ends("expression", 0)


def problems_of(text: str) -> set[str]:
    try:
        parse(text, CATALOG)
    except ExpressionError as error:
        return {problem.code for problem in error.errors}
    return set()


def broken(words: list[str], chance: random.Random) -> list[str]:
    """Breaks a text: a word is left out, said twice, or in another's place."""
    words = list(words)
    place = chance.randrange(len(words))
    change = chance.randrange(4)
    if change == 0:
        del words[place]
    elif change == 1:
        words.insert(place, words[place])
    elif change == 2:
        other = chance.randrange(len(words))
        words[place], words[other] = words[other], words[place]
    else:
        words[place] = chance.choice(
            [*KEYWORDS, "(", ")", ",", "=", "!=", *(w for ws in TERMINALS.values() for w in ws)]
        )
    return words


def sentences(count: int, *, whole: bool) -> Iterator[list[str]]:
    chance = random.Random(SEED)
    while count:
        words = derive("expression", chance, 0)
        words = words if whole else broken(words, chance)
        if 0 < len(words) <= 30 and not ZERO.search(" ".join(words)):
            count -= 1
            yield words


def test_reads_what_the_grammar_derives() -> None:
    seen = set()
    for words in sentences(1_000, whole=True):
        text = " ".join(words)
        assert problems_of(text) <= NOT_OF_THE_GRAMMAR, text
        seen.update(words)
    assert seen >= set(KEYWORDS), "words that no text had"


def test_refuses_what_the_grammar_does_not_have() -> None:
    verdicts = set()
    for words in sentences(1_000, whole=False):
        text = " ".join(words)
        verdict = accepts(tuple(words))
        assert verdict == (problems_of(text) <= NOT_OF_THE_GRAMMAR), text
        verdicts.add(verdict)
    assert verdicts == {True, False}


def rows_of_the_table() -> dict[str, dict[str, bool]]:
    section = README.split("## Which operator for which type")[1].split("\n## ")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    types = lines[0][1:]
    return {
        cells[0].strip("`"): {
            kind: cell == "yes" for kind, cell in zip(types, cells[1:], strict=True)
        }
        for cells in lines[2:]
    }


TABLE = rows_of_the_table()
VALUES = {
    "boolean": "true",
    "integer": "7",
    "float": "2.5",
    "timestamp": "'2026-11-16T08:30:00Z'",
    "timestamp local": "'2026-11-16T08:30:00Z'",
    "string": "'x'",
    "string set": "'x'",
    "integer set": "7",
    "ip": "'192.0.2.1'",
    "geo": "'x'",
}


def condition_of(operator: str, kind: AttributeType) -> str:
    name, value = NAMES[kind], VALUES[kind]
    if operator == "count(..)":
        return f"count({name}) >= 2"
    if operator == "is true":
        return name
    operands = {
        "during": "'Mon-Fri 08:00-18:00'",
        "between": f"{value} and {value}",
        "within": "5 km of (48.85, 2.35)",
        "inside polygon": "((48, 2), (49, 2), (49, 3))",
        "in network": "('192.0.2.0/24')",
    }
    if operator in ("in", "under", "one of", "all of", "none of", "only of"):
        return f"{name} {operator} ({value})"
    if operator.startswith("is "):
        return f"{name} {operator}"
    return f"{name} {operator} {operands.get(operator, value)}"


def test_the_table_has_every_operator_and_type() -> None:
    assert set(TABLE) == {*OPERATORS, "count(..)"}
    assert all(set(row) == set(AttributeType) for row in TABLE.values())


@pytest.mark.parametrize("operator", TABLE)
def test_operators_apply_to_the_types_of_the_table(operator: str) -> None:
    problems = {kind.value: problems_of(condition_of(operator, kind)) for kind in AttributeType}
    assert {kind: not codes for kind, codes in problems.items()} == TABLE[operator]
    # What does not apply is refused for that reason, not because of what this test wrote.
    assert set().union(*problems.values()) <= {"wrong_operator", "bare_attribute"}
