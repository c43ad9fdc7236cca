"""Owns the index that goes on changing: a snapshot, and beside it what changed since.

    match = (snapshot - dead ids, replaced definitions laid over it) + a small dynamic index

A changed entry is dead in the snapshot and inserted into the small index. A changed definition is
answered through its slot, however many entries refer to it. Readers take one reference to an
immutable state; writers make the next state under a lock and swap that reference. A change that is
refused leaves nothing behind: the small index is then made anew from its texts.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from typing import TYPE_CHECKING, Any, Protocol

import numpy
from numpy.typing import NDArray

from matcher_ext.index.answers import SlotAnswers, answer_visit, bind_answers, match_beside
from matcher_ext.index.atree import ATree
from matcher_ext.index.overlay import Overlay
from matcher_ext.index.rerouting import replace_routes
from matcher_ext.index.snapshot import Snapshot
from matcher_ext.match.paths import Paths
from matcher_ext.tables.parts import TableParts
from matcher_ext.values.refusals import DuplicateIdError, UnknownIdError

if TYPE_CHECKING:
    from matcher_ext.index.answers import AnswerFunction

REFERENCE = re.compile(r"@([A-Za-z_][\w.]*)")


class Routes(Protocol):
    """The exchange graph as `ATree.set_routes` takes it."""

    @property
    def names(self) -> Mapping[int, str]: ...
    @property
    def links(self) -> Iterable[tuple[int, int, int, int]]: ...
    @property
    def labels(self) -> Mapping[int, str]: ...
    @property
    def publishers(self) -> Iterable[int]: ...


@dataclass(frozen=True, slots=True)
class RouteTable:
    """Routes that came as JSON."""

    names: Mapping[int, str]
    links: Iterable[tuple[int, int, int, int]]
    labels: Mapping[int, str]
    publishers: Iterable[int]

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> RouteTable:
        return cls(
            names={int(party): name for party, name in document["names"].items()},
            links=[tuple(link) for link in document["links"]],
            labels={int(party): label for party, label in document["labels"].items()},
            publishers=document["publishers"],
        )


class HasText(Protocol):
    """An expression of the language."""

    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class State:
    """What a reader sees, from the first to the last question that it asks. `overlay` is None
    while nothing of the snapshot changed; `borrows`: the index beside needs the snapshot's walk."""

    snapshot: Snapshot
    beside: Snapshot
    overlay: Overlay | None
    size: int
    borrows: bool = False

    def __len__(self) -> int:
        return self.size

    def match_ids(self, visit: Mapping[str, Any]) -> NDArray[numpy.int64]:
        """Returns the ids whose expressions are true of the visit, in no promised order."""
        if self.borrows:
            return self.match_with_paths(visit)[0]
        return match_beside(self.snapshot.match_ids, self.overlay, self.beside, visit)[0]

    def match_with_warnings(
        self, visit: Mapping[str, Any]
    ) -> tuple[NDArray[numpy.int64], tuple[str, ...]]:
        """Matches and names malformed attributes, as `Snapshot.match_with_warnings` does."""
        if self.borrows:
            return self.match_with_paths(visit)[:2]
        match = self.snapshot.match_with_warnings
        ids, malformed = match_beside(match, self.overlay, self.beside, visit)
        return numpy.sort(ids), malformed

    def match_with_paths(
        self, visit: Mapping[str, Any]
    ) -> tuple[NDArray[numpy.int64], tuple[str, ...], Paths]:
        """Matches and gives the visit's paths, as `Snapshot.match_with_paths` does. One walk serves
        both parts."""
        return self.snapshot.match_with_paths(visit, self.overlay, self.beside)


@dataclass(slots=True)
class Changes:
    """What changed since the snapshot. `entries` and `meanings` are the texts that the small index
    holds."""

    entries: dict[int, str] = field(default_factory=dict)
    meanings: dict[str, str] = field(default_factory=dict)
    dead: set[int] = field(default_factory=set)
    replaced: set[str] = field(default_factory=set)  # names that the snapshot means otherwise

    def copy(self) -> Changes:
        return Changes(
            self.entries.copy(), self.meanings.copy(), self.dead.copy(), self.replaced.copy()
        )


class LiveIndex:
    """A snapshot that goes on changing. Any number of threads may read and write at once: states
    are swapped as one reference. A call that raises has changed nothing."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._lock = threading.Lock()
        self._begin(snapshot)

    def _begin(self, snapshot: Snapshot) -> None:
        names = frozenset(snapshot.definition_names())
        dynamic = make_dynamic(snapshot, names)
        self._base = snapshot  # keeps its own graph; the state's may have another one over it
        self._names = names
        self._dynamic = dynamic
        self._changes = Changes()
        self._state = State(snapshot, dynamic.freeze(), None, len(snapshot))

    def __len__(self) -> int:
        return self._state.size

    def __contains__(self, entry_id: int) -> bool:
        with self._lock:
            return self._holds(entry_id)

    @property
    def state(self) -> State:
        """Gives the state of now, which never changes for whoever holds it."""
        return self._state

    @property
    def snapshot(self) -> Snapshot:
        """Gives the snapshot below, without what changed since."""
        return self._base

    @property
    def ids(self) -> NDArray[numpy.int64]:
        """Lists all ids, ascending."""
        with self._lock:
            state, dead = self._state, numpy.fromiter(self._changes.dead, numpy.int64)
        alive = state.snapshot.ids[~numpy.isin(state.snapshot.ids, dead)]
        return numpy.sort(numpy.concatenate([alive, state.beside.ids]))

    def table_parts(self) -> TableParts:
        """Collects what a VisitTable reads of this index as it is now."""
        with self._lock:
            state = self._state
            return TableParts(
                state.snapshot,
                state.beside,
                partial(answer_visit, state.beside),
                dead=frozenset(self._changes.dead),
                replaced=frozenset(self._changes.replaced),
                borrowed=tuple(self._dynamic.borrowed),
                answered=frozenset(
                    name for answers in state.snapshot.answers for name in answers.names
                ),
            )

    def insert(self, entry_id: int, expression: str | HasText) -> None:
        """Adds one entry. The id must be new, or deleted before."""
        text = expression if isinstance(expression, str) else expression.text
        with self._changing() as changes:
            if self._holds(entry_id):
                raise DuplicateIdError(f"id {entry_id} is already in the index")
            self._need_definitions(text)
            self._dynamic.insert(entry_id, text)
            changes.entries[entry_id] = text
            self._publish()

    def delete(self, entry_id: int) -> None:
        """Removes one entry. The id must be present."""
        with self._changing() as changes:
            if entry_id in self._dynamic:
                self._dynamic.delete(entry_id)
                del changes.entries[entry_id]
            elif self._holds(entry_id):
                changes.dead.add(entry_id)
            else:
                raise UnknownIdError(f"id {entry_id} is not in the index")
            self._publish()

    def define(self, name: str, expression: str | HasText) -> None:
        """Gives `@name` its meaning, or a new one, for the snapshot's entries as well."""
        text = expression if isinstance(expression, str) else expression.text
        with self._changing() as changes:
            self._define(changes, name, text)
            self._publish()

    def apply(
        self,
        *,
        definitions: Iterable[tuple[str, str]] = (),
        dead: Iterable[int] = (),
        entries: Mapping[int, str] | None = None,
        routes: Routes | None = None,
        lent: Iterable[tuple[str, str]] = (),
    ) -> State:
        """Makes many changes as one: readers see all of them or none. Definitions are made in their
        order, `dead` may name ids that are not there, `entries` replace what has their ids and
        `routes` the whole graph. `lent` are unchanged definitions that entries refer to: without
        them, the first that is needed is read out of the snapshot's graph, which takes a second for
        millions of entries."""
        entries = entries or {}
        with self._changing() as changes:
            for name, text in definitions:
                self._define(changes, name, text)
            for name, text in lent:
                if not self._dynamic.has_definition(name):
                    self._give_meaning(changes, name, text)
            self._bury(changes, [*{*dead, *entries}])
            self._need_definitions("\n".join(entries.values()))
            self._dynamic.insert_many(entries.keys(), entries.values())
            changes.entries.update(entries)
            self._publish(None if routes is None else self._reroute(routes))
            return self._state

    def apply_record(self, record: Mapping[str, Any]) -> State:
        """Applies one change as servers send it, read from JSON: there, ids are texts."""
        routes = record["routes"]
        return self.apply(
            definitions=record["definitions"].items(),
            dead=record["dead"],
            entries={int(entry_id): text for entry_id, text in record["entries"].items()},
            routes=None if routes is None else RouteTable.of(routes),
            lent=record["lent"].items(),
        )

    def swap(self, snapshot: Snapshot) -> None:
        """Goes on from another snapshot, which holds all the changes so far. Code that answers
        definitions goes on answering, unless the snapshot brings its own."""
        with self._lock:
            if not snapshot.answers:
                for answers in self._state.snapshot.answers:
                    snapshot = bind_answers(snapshot, answers)
            self._begin(snapshot)

    def answer_slots(
        self, names: Iterable[str], function: AnswerFunction, asks: Iterable[str] = ()
    ) -> None:
        """Lets code say if definitions are true, for the snapshot's entries as well: see
        ATree.answer_slots. The function may ask for `asks`, and for what texts refer to."""
        answers = SlotAnswers(names, function, asks)
        with self._lock:
            snapshot = bind_answers(self._state.snapshot, answers)
            base = bind_answers(self._base, answers)
            take_answers(self._dynamic, base, self._names, answers)
            self._base = base
            for name in answers.names:
                self._changes.meanings.pop(name, None)
                self._changes.replaced.discard(name)
            self._publish(snapshot)

    def match(self, visit: Mapping[str, Any]) -> list[int]:
        """Returns the ids whose expressions are true of the visit, ascending."""
        matched: list[int] = numpy.sort(self.match_ids(visit)).tolist()
        return matched

    def match_ids(self, visit: Mapping[str, Any]) -> NDArray[numpy.int64]:
        """Returns the same ids as a numpy array, in no promised order."""
        return self._state.match_ids(visit)

    def match_with_warnings(
        self, visit: Mapping[str, Any]
    ) -> tuple[NDArray[numpy.int64], tuple[str, ...]]:
        """Matches and names malformed attributes, as `Snapshot.match_with_warnings` does."""
        return self._state.match_with_warnings(visit)

    def stats(self) -> dict[str, int]:
        """Returns the sizes of what lies beside the snapshot."""
        with self._lock:
            return {
                "entries": self._state.size,
                "snapshot": len(self._state.snapshot),
                "beside": len(self._state.beside),
                "dead": len(self._changes.dead),
                "replaced definitions": len(self._changes.replaced),
            }

    @contextmanager
    def _changing(self) -> Iterator[Changes]:
        with self._lock:
            before = self._changes.copy()
            try:
                yield self._changes
            except BaseException:
                if self._changes != before:  # copies of the snapshot's definitions do no harm
                    self._restore(before)
                raise

    def _restore(self, changes: Changes) -> None:
        """Makes the small index anew. Gives all names a meaning first, because each of them may be
        used in any other."""
        self._changes = changes
        self._dynamic = make_dynamic(self._base, self._names)
        for name in changes.meanings:
            self._dynamic.define(name, "false")
        for name, text in changes.meanings.items():
            self._need_definitions(text)
            self._dynamic.define(name, text)
        self._need_definitions("\n".join(changes.entries.values()))
        self._dynamic.insert_many(changes.entries.keys(), changes.entries.values())

    def _holds(self, entry_id: int) -> bool:
        return entry_id in self._dynamic or (
            entry_id in self._state.snapshot and entry_id not in self._changes.dead
        )

    def _define(self, changes: Changes, name: str, text: str) -> None:
        if any(name in answers.names for answers in self._state.snapshot.answers):
            raise ValueError(f"@{name} is answered by code and has no other meaning")
        self._give_meaning(changes, name, text)
        if name in self._names:
            changes.replaced.add(name)

    def _give_meaning(self, changes: Changes, name: str, text: str) -> None:
        self._need_definitions(text)
        self._dynamic.define(name, text)
        changes.meanings[name] = text

    def _bury(self, changes: Changes, entry_ids: list[int]) -> None:
        """Removes entries wherever they are, if they are anywhere."""
        for entry_id in entry_ids:
            if entry_id in self._dynamic:
                self._dynamic.delete(entry_id)
                del changes.entries[entry_id]
        below = self._state.snapshot.entries_of(entry_ids)
        changes.dead.update(compress(entry_ids, (below >= 0).tolist()))

    def _need_definitions(self, text: str) -> None:
        """Gives the small index its own copy of what a text refers to."""
        if "@" not in text:  # a list of a million values, mostly
            return
        for name in set(REFERENCE.findall(text)) & self._names:
            self._dynamic.copy_definition(self._base, name)

    def _reroute(self, routes: Routes) -> Snapshot:
        return replace_routes(
            self._base, routes.names, routes.links, routes.labels, routes.publishers
        )

    def _publish(self, snapshot: Snapshot | None = None) -> None:
        if snapshot is None:
            snapshot = self._state.snapshot
        beside = self._dynamic.freeze()
        dead, replaced = self._changes.dead, self._changes.replaced
        borrowed = self._dynamic.borrowed
        overlay = None
        if dead or replaced or borrowed:
            overlay = Overlay(snapshot, dead, beside, replaced, borrowed)
        size = len(snapshot) - len(dead) + len(beside)
        self._state = State(snapshot, beside, overlay, size, bool(borrowed))


def make_dynamic(snapshot: Snapshot, names: frozenset[str]) -> ATree:
    """Makes an index for what changes, with the code that answers the snapshot's definitions."""
    dynamic = ATree(snapshot.catalog)
    for answers in snapshot.answers:
        take_answers(dynamic, snapshot, names, answers)
    return dynamic


def take_answers(
    dynamic: ATree, snapshot: Snapshot, names: frozenset[str], answers: SlotAnswers
) -> None:
    """Gives the small index all that may be asked for, since everything is asked through it."""
    for name in sorted({*answers.names, *answers.asks} & names):
        dynamic.copy_definition(snapshot, name)
    dynamic.answer_slots(answers.names, answers.function, answers.asks)
