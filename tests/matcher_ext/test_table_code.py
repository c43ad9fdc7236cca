"""Definitions that code answers: a table asks it row by row, with the same results as of texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from matcher_ext import ATree, Snapshot, VisitTable
from tests.matcher_ext.expressions import CATALOG
from tests.matcher_ext.test_batch import to_batch
from tests.matcher_ext.test_table_passes import EDGES, LINKS, NAMES, PATH
from tests.matcher_ext.test_visit_table import draw_many

ASKED_ONE_BY_ONE = "rows asked one by one"
# An audience and an edge; the questions that their code asks say the same as these texts do.
CODED = {"late": "age >= 18", "edge.11": "age >= 3"}
ASKS = {"adult": "age >= 18", "minor": "age < 18", "three": "age >= 3", "two": "age < 3"}
ENTRIES = {
    1: "publisher = 'US' and @late and score > 0",
    2: f"{PATH} and not @late",
    3: "publisher = 'US' and @reach.9.3 and @late",
    4: "@late or mobile",
    5: "publisher = 'US' and @edge.11 and @edge.15 and segments one of ('cars')",
}
QUESTIONS: dict[str, Callable[[VisitTable, Snapshot], Any]] = {
    "count": lambda table, index: table.count(index).tolist(),
    "groups": lambda table, index: table.count(index, groups=True).tolist(),
    "bitmap": lambda table, index: [
        table.rows(each).tolist() for each in table.bitmap("not @late or mobile", index)
    ],
    "impact": lambda table, index: table.impact(
        "@late and score > 0", bookings=["publisher = 'US' and @edge.11"], index=index
    ),
    "funnel": lambda table, index: dict(table.funnel(index)),
    # In no order: what code answers is asked last.
    "sole blockers": lambda table, index: {
        entry: set(blockers) for entry, blockers in table.sole_blockers(index).items()
    },
    "users": lambda table, index: table.users(index).tolist(),
    "overlap": lambda table, index: table.overlap(index, support=1),
    "cheapest": lambda table, index: table.cheapest(index),
    "bottlenecks": lambda table, index: table.bottlenecks(index),
}


def freeze_with(meanings: dict[str, str]) -> Snapshot:
    index = ATree(CATALOG)
    for name, text in (ASKS | {f"edge.{edge}": text for edge, text in EDGES.items()}).items():
        index.define(name, meanings.get(name, text))
    index.define("late", meanings["late"])
    index.set_routes(NAMES, LINKS, NAMES | {1: "US"}, [1], attribute="publisher")
    index.define_reach(9, 3)
    index.insert_many(ENTRIES.keys(), ENTRIES.values())
    return index.freeze()


def answer(ask: Callable[[str], bool]) -> dict[str, bool | None]:
    """Unknown is neither: `ask` says what is true alone."""
    return {
        "late": True if ask("adult") else False if ask("minor") else None,
        "edge.11": True if ask("three") else False if ask("two") else None,
    }


def prepare_some() -> VisitTable:
    seen = draw_many(120)
    for number, visit in enumerate(seen):
        visit["age"] = number % 30
        if number % 5 == 0:
            del visit["age"]
        visit["mobile"] = number % 3 == 0
    return VisitTable.from_arrow(
        to_batch(seen), CATALOG, by="publisher", groups=("mobile",), users="country"
    )


@pytest.mark.parametrize("name", QUESTIONS)
def test_code_gives_the_result_of_the_same_texts(name: str) -> None:
    ask = QUESTIONS[name]
    by_text, by_code = prepare_some(), prepare_some()
    expected = ask(by_text, freeze_with(CODED))
    coded = freeze_with({"late": "false"}).answer_slots(list(CODED), answer, asks=list(ASKS))
    assert ask(by_code, coded) == expected
    assert by_text.stats()[ASKED_ONE_BY_ONE] == 0
    assert 0 < by_code.stats()[ASKED_ONE_BY_ONE] <= len(by_code)


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_code_raises_reaches_whoever_asked(name: str) -> None:
    def fail(_ask: Callable[[str], bool]) -> dict[str, bool | None]:
        raise LookupError("no answer today")

    coded = freeze_with({"late": "false"}).answer_slots(list(CODED), fail)
    table = prepare_some()
    with pytest.raises(LookupError, match="no answer today"):
        QUESTIONS[name](table, coded)
    # The next question has forgotten it.
    assert table.count(freeze_with(CODED)).sum() > 0
