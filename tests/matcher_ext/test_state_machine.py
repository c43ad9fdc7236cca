"""Every operation of the face in any order, judged by the plain evaluator after each."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from matcher_ext import (
    ATree,
    DefinitionCycleError,
    DuplicateIdError,
    ExpressionError,
    LiveIndex,
    RefusedExpressionsError,
    Snapshot,
    UnknownDefinitionError,
    UnknownIdError,
)
from tests.matcher_ext.expressions import CATALOG, judge, texts, visits
from tests.matcher_ext.test_batch import split, to_batch

NAMES = ("first", "second")
CODED = "coded"  # what code answers: whether `second` is true
IDS = st.sampled_from((-(2**63), -1, 0, 1, 2, 3, 5, 8, 2**63 - 1))
NO_ID = 7
REFUSED = st.sampled_from(
    (("age =", ExpressionError), ("mobile and @nothing", UnknownDefinitionError))
)


PARTS = (
    "age = 1",
    "mobile",
    "country = 'US'",
    "score > 0.4",
    "publisher under ('a.com')",
    "@first",
)


class IndexMachine(RuleBasedStateMachine):
    """One dynamic index, the last snapshot of it, and a live index over some snapshot."""

    OPTIONS: ClassVar[dict[str, bool]] = {}

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.index = ATree(CATALOG, patch_from=0, **self.OPTIONS)
        self.entries: dict[int, str] = {}
        self.definitions: dict[str, str] = {}
        self.live: LiveIndex | None = None
        self.live_entries: dict[int, str] = {}
        self.live_definitions: dict[str, str] = {}
        self.kept: tuple[Snapshot, dict[int, str], dict[str, str]] | None = None
        self.seen: list[dict[str, Any]] = [{}]

    @initialize(seen=st.lists(visits(), min_size=1, max_size=3), first=texts(), second=texts())
    def begin(self, seen: list[dict[str, Any]], first: str, second: str) -> None:
        self.seen += seen
        for name, text in (("first", first), ("second", second)):
            self.index.define(name, text)
            self.definitions[name] = text
        self.index.answer_slots([CODED], answer, asks=["second"])

    @rule(entry=IDS, text=texts((*NAMES, CODED)))
    def insert(self, entry: int, text: str) -> None:
        if entry in self.entries:
            with pytest.raises(DuplicateIdError):
                self.index.insert(entry, text)
        else:
            self.index.insert(entry, text)
            self.entries[entry] = text

    @rule(
        entry=IDS,
        operator=st.sampled_from((" and ", " or ")),
        parts=st.sets(st.sampled_from(PARTS), min_size=2),
    )
    def insert_parts(self, entry: int, operator: str, parts: set[str]) -> None:
        """Expressions that are parts of one another."""
        self.insert(entry, operator.join(sorted(parts)))

    @rule(
        entry=IDS,
        parts=st.sets(st.sampled_from(PARTS[:-1]), min_size=2),
        name=st.sampled_from(NAMES),
    )
    def insert_booking(self, entry: int, parts: set[str], name: str) -> None:
        """Expressions that share what stands in parentheses."""
        self.insert(
            entry, f"segments one of ('cars') and @{name} and ({' and '.join(sorted(parts))})"
        )

    @rule(entry=IDS)
    def delete(self, entry: int) -> None:
        if entry in self.entries:
            self.index.delete(entry)
            del self.entries[entry]
        else:
            with pytest.raises(UnknownIdError):
                self.index.delete(entry)

    @rule(name=st.sampled_from(NAMES), text=texts(NAMES))
    def define(self, name: str, text: str) -> None:
        if is_cyclic(name, text, self.definitions):
            with pytest.raises(DefinitionCycleError):
                self.index.define(name, text)
        else:
            self.index.define(name, text)
            self.definitions[name] = text

    @rule(name=st.sampled_from((*NAMES, "third")), refused=REFUSED)
    def refuse(self, name: str, refused: tuple[str, type[Exception]]) -> None:
        text, error = refused
        indexes: list[ATree | LiveIndex] = [self.index]
        if self.live is not None:
            indexes.append(self.live)
        for index in indexes:
            with pytest.raises(error):
                index.define(name, text)
            with pytest.raises(error):
                index.insert(NO_ID, text)

    @rule(visit=visits())
    def see(self, visit: dict[str, Any]) -> None:
        self.seen = [*self.seen[-3:], visit]

    @rule(sample=st.lists(visits(), max_size=5))
    def learn(self, sample: list[dict[str, Any]]) -> None:
        self.index.learn_truth_rates(sample)

    @rule()
    def ask_why_not(self) -> None:
        for visit in self.seen:
            reasons = self.index.why_not(visit, self.entries)
            matched = sorted(entry for entry, why in reasons.items() if not why)
            assert matched == judge_coded(self.entries, self.definitions, visit)

    @rule()
    def freeze(self) -> None:
        snapshot = self.index.freeze()
        assert len(snapshot) == len(self.entries)
        self.kept = snapshot, dict(self.entries), dict(self.definitions)

    @precondition(lambda self: self.kept is not None)
    @rule()
    def look_back(self) -> None:
        """Checks that what was frozen stays as it was."""
        assert self.kept is not None
        snapshot, entries, definitions = self.kept
        for visit in self.seen:
            assert snapshot.match(visit) == judge_coded(entries, definitions, visit)

    @rule(rows=st.lists(visits(malformed=False), max_size=3))
    def count(self, rows: list[dict[str, Any]]) -> None:
        snapshot, batch = self.index.freeze(), to_batch(rows)
        expected = [judge_coded(self.entries, self.definitions, row) for row in rows]
        assert split(*snapshot.match_batch(batch)) == expected
        assert dict(zip(snapshot.ids.tolist(), snapshot.count_batch(batch), strict=True)) == {
            entry: sum(entry in matched for matched in expected) for entry in self.entries
        }

    @rule()
    def save_and_go_live(self) -> None:
        path = Path(self.folder.name) / "index.atree"
        self.index.freeze().save(path)
        snapshot = Snapshot.open(path)
        if self.live is None:
            self.live = LiveIndex(snapshot)
            self.live.answer_slots([CODED], answer, asks=["second"])
        else:
            self.live.swap(snapshot)
        self.live_entries = dict(self.entries)
        self.live_definitions = dict(self.definitions)

    @precondition(lambda self: self.live is not None)
    @rule(entry=IDS, text=texts((*NAMES, CODED)))
    def change_live(self, entry: int, text: str) -> None:
        assert self.live is not None
        if entry in self.live_entries:
            self.live.delete(entry)
            del self.live_entries[entry]
        else:
            with pytest.raises(UnknownIdError):
                self.live.delete(entry)
            self.live.insert(entry, text)
            self.live_entries[entry] = text

    @precondition(lambda self: self.live is not None)
    @rule(name=st.sampled_from(NAMES), text=texts(NAMES))
    def redefine_live(self, name: str, text: str) -> None:
        assert self.live is not None
        if is_cyclic(name, text, self.live_definitions):
            with pytest.raises(DefinitionCycleError):
                self.live.define(name, text)
        else:
            self.live.define(name, text)
            self.live_definitions[name] = text

    @precondition(lambda self: self.live is not None)
    @rule(
        entries=st.dictionaries(IDS, texts((*NAMES, CODED)), max_size=3),
        dead=st.sets(IDS, max_size=3),
        name=st.sampled_from(NAMES),
        text=texts(),
        spoilt=st.booleans(),
    )
    def apply_live(
        self, entries: dict[int, str], dead: set[int], name: str, text: str, *, spoilt: bool
    ) -> None:
        """Applies many changes as one, or none of them."""
        assert self.live is not None
        if spoilt:
            with pytest.raises(RefusedExpressionsError):
                self.live.apply(
                    definitions=[(name, text)], dead=dead, entries={**entries, NO_ID: "age ="}
                )
            return
        self.live.apply(definitions=[(name, text)], dead=dead, entries=entries)
        self.live_definitions[name] = text
        for entry in dead:
            self.live_entries.pop(entry, None)
        self.live_entries |= entries

    @invariant()
    def matches_like_the_evaluator(self) -> None:
        assert len(self.index) == len(self.entries)
        for visit in self.seen:
            expected = judge_coded(self.entries, self.definitions, visit)
            assert self.index.match(visit) == expected

    @invariant()
    def live_matches_like_the_evaluator(self) -> None:
        if self.live is not None:
            assert len(self.live) == len(self.live_entries)
            for visit in self.seen:
                expected = judge_coded(self.live_entries, self.live_definitions, visit)
                assert self.live.match(visit) == expected

    def teardown(self) -> None:
        for entry in self.entries:
            self.index.delete(entry)
        for name in NAMES:
            if name in self.definitions:
                self.index.define(name, "true")
        assert self.index.stats()["nodes"] <= 2  # `true`, and the `false` behind what code answers
        self.folder.cleanup()


def answer(ask: Callable[[str], bool]) -> dict[str, bool | None]:
    return {CODED: ask("second")}


def judge_coded(
    entries: dict[int, str], definitions: dict[str, str], visit: dict[str, Any]
) -> list[int]:
    truth = judge({0: "@second"}, definitions, visit) == [0] if definitions else False
    return judge(entries, definitions | {CODED: "true" if truth else "false"}, visit)


def is_cyclic(name: str, text: str, definitions: dict[str, str]) -> bool:
    reached = {other for other in NAMES if f"@{other}" in text}
    for _ in NAMES:
        reached |= {
            other for other in NAMES for near in reached if f"@{other}" in definitions[near]
        }
    return name in reached


class ReorganisingMachine(IndexMachine):
    """The same with the paper's algorithms 2 and 3."""

    OPTIONS: ClassVar[dict[str, bool]] = {"reorganise": True, "self_adjust": True}


SETTINGS = settings(deadline=None, max_examples=40, stateful_step_count=25)
TestIndexMachine = IndexMachine.TestCase
TestIndexMachine.settings = SETTINGS
TestReorganisingMachine = ReorganisingMachine.TestCase
TestReorganisingMachine.settings = SETTINGS
