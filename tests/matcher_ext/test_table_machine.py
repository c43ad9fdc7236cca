"""Histories of a table and a live index: every answer is the plain evaluator's, row by row.

Visits come and are prepared anew, tables are saved and opened, bookings on fixed and on any path
come and go, edges get other rules, the graph (with a cycle) loses and regains edges. Judged by sets
of rows that plain Python finds.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from matcher_ext import ATree, LiveIndex, VisitTable
from matcher_ext.index.live import RouteTable
from targeting import Attribute, AttributeType, Catalog, Expression, parse
from tests.matcher_ext.expressions import CATALOG, TYPES, texts, visits
from tests.matcher_ext.test_batch import to_batch

PARTIES = {"US": 1, "DE": 5}  # the publishers
# A cycle: 2 -> 3 -> 2. 8 and 9 buy.
LINKS = [
    (11, 1, 2, 9000),
    (12, 1, 3, 8000),
    (13, 2, 3, 9500),
    (14, 3, 2, 9500),
    (15, 2, 9, 9000),
    (16, 3, 8, 10_000),
    (17, 5, 3, 7000),
    (18, 3, 9, 9000),
]
NAMES = {party: f"party {party}" for party in (1, 2, 3, 5, 8, 9)}
LABELS = NAMES | {party: label for label, party in PARTIES.items()}
REACHES = ((9, 1), (9, 2), (9, 4), (8, 3))
PATHS = ((11, 15), (12, 14, 15), (12, 16), (17, 18), ())
IDS = st.integers(0, 7)


@dataclass(frozen=True, slots=True)
class Booked:
    """A booking: of a publisher or of any, on a path or within a reach."""

    publisher: str | None
    path: tuple[int, ...]
    reach: tuple[int, int] | None
    campaign: str

    @property
    def text(self) -> str:
        parts = [] if self.publisher is None else [f"publisher = '{self.publisher}'"]
        parts += [f"@edge.{edge}" for edge in self.path]
        if self.reach is not None:
            parts.append("@reach.{}.{}".format(*self.reach))
        return " and ".join([*parts, f"({self.campaign})"])


# A campaign that is never true, or asks for another publisher, takes its booking's publisher away.
CAMPAIGNS = texts().filter(
    lambda text: not any(word in text for word in ("publisher", "true", "false"))
)
PUBLISHERS = st.sampled_from((*PARTIES, None))
BOOKINGS = st.one_of(
    st.builds(Booked, PUBLISHERS, st.sampled_from(PATHS), st.none(), CAMPAIGNS),
    st.builds(Booked, PUBLISHERS, st.just(()), st.sampled_from(REACHES), CAMPAIGNS),
)
SEEN = st.lists(
    st.builds(
        lambda visit, publisher: visit | ({"publisher": publisher} if publisher else {}),
        visits(malformed=False),
        st.sampled_from((*PARTIES, "unseen", None)),
    ),
    max_size=8,
)


@lru_cache(maxsize=10_000)
def read(text: str) -> Expression:
    """Reads a text without anything required: an expression is true or false of any visit."""
    return parse(text, CATALOG)


class TableMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(
        rules=st.lists(texts(), min_size=len(LINKS), max_size=len(LINKS)),
        bookings=st.dictionaries(IDS, BOOKINGS, max_size=4),
        required=st.sampled_from((None, None, "age", "segments")),
        seen=SEEN,
    )
    def begin(
        self,
        rules: list[str],
        bookings: dict[int, Booked],
        required: str | None,
        seen: list[dict[str, Any]],
    ) -> None:
        self.catalog = Catalog(
            tuple(
                Attribute(name=name, type=AttributeType(kind), required=name == required)
                for name, kind in TYPES.items()
            )
        )
        self.required = required
        self.links = list(LINKS)
        self.edge_rules = dict(zip((link[0] for link in LINKS), rules, strict=True))
        self.bookings = dict(bookings)
        index = ATree(self.catalog)
        for edge, text in self.edge_rules.items():
            index.define(f"edge.{edge}", text)
        index.set_routes(NAMES, LINKS, LABELS, list(PARTIES.values()), attribute="publisher")
        for reach in REACHES:
            index.define_reach(*reach)
        index.insert_many(bookings.keys(), [each.text for each in bookings.values()])
        self.live = LiveIndex(index.freeze())
        self.prepare(seen, 1, [1] * len(seen))

    @rule(
        seen=SEEN,
        times=st.integers(1, 9),
        weights=st.lists(st.integers(1, 2), min_size=8, max_size=8),
    )
    def prepare(self, seen: list[dict[str, Any]], times: int, weights: list[int]) -> None:
        self.seen = seen * times
        self.weights = weights[: len(seen)] * times
        self.table = VisitTable.from_arrow(
            to_batch(self.seen),
            self.catalog,
            by="publisher",
            groups=("mobile", "age"),
            weights=self.weights,
            users="country",
        )

    @rule()
    def save_and_open(self) -> None:
        path = Path(self.folder.name) / "day.visits"
        self.table.save(path)
        self.table = VisitTable.open(path)

    @rule(entry=IDS, booked=BOOKINGS)
    def book(self, entry: int, booked: Booked) -> None:
        self.live.apply(entries={entry: booked.text})
        self.bookings[entry] = booked

    @rule(entry=IDS)
    def cancel(self, entry: int) -> None:
        self.live.apply(dead=[entry])
        self.bookings.pop(entry, None)

    @rule(edge=st.sampled_from(LINKS), text=texts())
    def change_edge(self, edge: tuple[int, int, int, int], text: str) -> None:
        self.live.define(f"edge.{edge[0]}", text)
        self.edge_rules[edge[0]] = text

    @rule(kept=st.sets(st.sampled_from(LINKS), min_size=3))
    def change_graph(self, kept: set[tuple[int, int, int, int]]) -> None:
        self.links = sorted(kept)
        self.live.apply(routes=RouteTable(NAMES, self.links, LABELS, list(PARTIES.values())))

    # The judge.

    def truth(self, text: str, row: int) -> bool | None:
        return read(text).evaluate(self.seen[row])

    def rows_here(self, booked: Booked) -> set[int]:
        """Finds the rows at the publisher that carry what is required."""
        return {
            row
            for row, visit in enumerate(self.seen)
            if (self.required is None or self.truth(f"{self.required} is present", row))
            and (booked.publisher is None or visit.get("publisher") == booked.publisher)
        }

    def is_reached(self, row: int, party: int, hops: int) -> bool:
        source = PARTIES.get(self.seen[row].get("publisher", ""))
        met = {source}
        for _ in range(hops):
            met |= {
                buyer
                for edge, seller, buyer, _ in self.links
                if seller in met and self.truth(self.edge_rules[edge], row) is True
            }
        return source is not None and party in met and party != source

    def step_truth(self, name: str, row: int) -> bool | None:
        kind, *numbers = name.split(".")
        if kind == "reach":
            return self.is_reached(row, int(numbers[0]), int(numbers[1]))
        return self.truth(self.edge_rules[int(numbers[0])], row)

    def eligible(self, booked: Booked) -> set[int]:
        steps = [f"edge.{edge}" for edge in booked.path]
        if booked.reach is not None:
            steps.append("reach.{}.{}".format(*booked.reach))
        return {
            row
            for row in self.rows_here(booked)
            if all(self.step_truth(step, row) is True for step in steps)
            and self.truth(booked.campaign, row) is True
        }

    def weigh(self, rows: set[int]) -> int:
        return sum(self.weights[row] for row in rows)

    @invariant()
    def answers_are_the_evaluators(self) -> None:
        rows = {entry: self.eligible(self.bookings[entry]) for entry in sorted(self.bookings)}
        assert self.live.ids.tolist() == list(rows)
        self.check_counts(rows)
        self.check_overlap(rows)
        funnels, blockers = self.table.funnel(self.live), self.table.sole_blockers(self.live)
        for entry, booked in self.bookings.items():
            self.check_funnel(booked, funnels[entry], rows[entry])
            self.check_blockers(booked, blockers[entry], rows[entry])
        for entry, ways in self.table.cheapest(self.live).items():
            assert sum(way.visits for way in ways) == self.weigh(rows[entry])

    def check_counts(self, rows: dict[int, set[int]]) -> None:
        counts = self.table.count(self.live)
        assert counts.tolist() == [self.weigh(each) for each in rows.values()]
        grouped = self.table.count(self.live, groups=True)
        assert grouped.sum(axis=1).tolist() == counts.tolist()
        for number, (mobile, age) in enumerate(self.table.groups):
            here = {
                row
                for row, visit in enumerate(self.seen)
                if visit.get("mobile") == mobile and visit.get("age") == age
            }
            assert grouped[:, number].tolist() == [self.weigh(r & here) for r in rows.values()]
        users = [
            len({self.seen[row]["country"] for row in each if "country" in self.seen[row]})
            for each in rows.values()
        ]
        assert self.table.users(self.live).tolist() == users

    def check_overlap(self, rows: dict[int, set[int]]) -> None:
        expected = {
            one: sorted(
                (
                    (other, self.weigh(rows[one] & rows[other]))
                    for other in rows
                    if other != one and rows[one] & rows[other]
                ),
                key=lambda pair: (-pair[1], pair[0]),
            )
            for one in rows
        }
        found = self.table.overlap(self.live, support=1)
        assert found == {one: pairs for one, pairs in expected.items() if pairs}

    def check_funnel(self, booked: Booked, funnel: Any, eligible: set[int]) -> None:
        came = self.rows_here(booked)
        assert funnel.visits == self.weigh(came)
        for step in funnel.steps[:-1]:
            truths = {row: self.step_truth(step.name, row) for row in came}
            assert step.false == self.weigh({row for row in came if truths[row] is False})
            came = {row for row in came if truths[row] is True}
            assert step.passed == self.weigh(came)
        last = funnel.steps[-1]
        assert funnel.eligible == last.passed == self.weigh(eligible)
        false = {row for row in came if self.truth(booked.campaign, row) is False}
        assert last.false == self.weigh(false)
        assert last.passed + last.false + last.unknown == self.weigh(came)

    def check_blockers(self, booked: Booked, blockers: Any, eligible: set[int]) -> None:
        failed: dict[int, list[int]] = {}
        for row in self.rows_here(booked):
            failed[row] = [
                number
                for number, blocker in enumerate(blockers)
                if self.condition_truth(blocker.condition, row) is not True
            ]
        assert {row for row, which in failed.items() if not which} >= eligible
        for number, blocker in enumerate(blockers):
            alone = {row for row, which in failed.items() if which == [number]}
            assert blocker.visits == self.weigh(alone)

    def condition_truth(self, condition: str, row: int) -> bool | None:
        if condition.startswith("@"):
            return self.step_truth(condition[1:], row)
        return self.truth(condition, row)

    @rule(text=texts())
    def ask_a_text(self, text: str) -> None:
        truths = [self.truth(text, row) for row in range(len(self.seen))]
        for bitmap, wanted in zip(self.table.bitmap(text), (True, False, None), strict=True):
            expected = [row for row, truth in enumerate(truths) if truth is wanted]
            assert self.table.rows(bitmap).tolist() == expected
        impact = self.table.impact(
            text, bookings=["publisher = 'US' and @edge.11"], index=self.live
        )
        here = self.rows_here(Booked(None, (), None, "true"))
        met = {row for row in here if truths[row] is True}
        is_open = {
            row
            for row in self.rows_here(Booked("US", (), None, "true"))
            if self.truth(self.edge_rules[11], row) is True
        }
        assert (impact.visits, impact.open) == (self.weigh(met), self.weigh(is_open))
        assert impact.eligible == self.weigh(met & is_open)


TestTableHistories = TableMachine.TestCase
TestTableHistories.settings = settings(deadline=None, max_examples=12, stateful_step_count=10)
