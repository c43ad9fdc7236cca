"""Finds where the visits of one booking stay, on the newest night's sample, with the market of now.

    visits at the publisher -> edge -> edge -> .. -> condition of the campaign -> .. -> eligible

A sole blocker is the one condition that a visit does not meet (false or unknown), all others being
true: dropping it would gain these visits. Rules that the person may not read count as one condition
each, by the name of their edge. On any path the way there counts as one, and an edge blocks a visit
alone if a path would be open with it. A campaign that the person may not read is one condition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from exchange.accounts.models import User
from exchange.market.models import Edge
from exchange.market.visibility import sight
from exchange.reading.drafted_market import Way
from exchange.reading.impact import LEAST_PEOPLE, is_about_persons
from exchange.reading.sampled_market import Places, SampledMarket, walk
from exchange.reports.sample_counting import Rows, Truths
from targeting import Expression
from targeting.printer import print_tree
from targeting.tree import And, Node, Predicate, without_notes
from targeting.tree import walk as walk_nodes

MOST_OF_ANY = 40  # edges of any path that are tried one by one
MOST_ATTRIBUTES = 8
ANY_PATH = "path"
CAMPAIGN = "c"


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Something that a visit must meet, and of which of the publisher's rows it is true and false.
    `key` names it within the booking; `text` is empty where the person may not read it. It is of an
    `edge`, or that any path is open, or of the campaign: one of its conditions (`node`), or all."""

    key: str
    text: str
    truths: Truths
    edge: Edge | None = None
    node: Node | None = None

    @property
    def is_campaigns(self) -> bool:
        return self.node is not None and self.edge is None


@dataclass(frozen=True, slots=True)
class Step:
    """Visits a day that came, and what became of them."""

    condition: Condition
    came: float
    passed: float
    false: float
    unknown: float

    @property
    def lost(self) -> float:
        return self.false + self.unknown

    @property
    def percent(self) -> float | None:
        return 100 * self.passed / self.came if self.came else None


@dataclass(frozen=True, slots=True)
class Blocker:
    """Visits a day that only this keeps out, `missing` of them because a value is not there;
    `places` are their rows."""

    condition: Condition
    lost: float
    missing: float
    places: Places


@dataclass(frozen=True, slots=True)
class Pair:
    """Two conditions that together keep visits out."""

    first: Condition
    second: Condition
    lost: float


def walk_names(node: Node) -> list[str]:
    return [one.attribute for one in walk_nodes(node) if isinstance(one, Predicate)]


class Losses:
    """One booking's, for one reader. Not thread-safe."""

    def __init__(self, market: SampledMarket, way: Way, person: User) -> None:
        self.market = market
        self.way = way
        self.sample = market.sample
        self._person = person
        self._places = market.at(way.booking.publisher)
        self._weights = self.sample.weights[self._places] / self.sample.day_count

    # --- what must be met

    @cached_property
    def rules(self) -> list[Condition]:
        """Lists the steps before the campaign: an edge each, or that any path is open."""
        if self.way.is_any:
            opened = self.market.opened(self.way)
            return [Condition(ANY_PATH, "some path is open", Truths(opened, ~opened))]
        return [
            Condition(f"e{pk}", self._text_of(pk), self._judge_edge(pk), self.market.edge(pk))
            for pk in self.way.edge_ids
        ]

    @cached_property
    def wanted(self) -> list[Condition]:
        """Lists the campaign's conditions, all of which must be met."""
        read = self.campaign
        if read is None:
            never = Truths(self._nothing, ~self._nothing)
            return [Condition(CAMPAIGN, "the targeting no longer compiles", never)]
        if not self.reads_campaign:
            return [Condition(CAMPAIGN, "", self._here(self.market.judge(read)))]
        return list(self._split(read, CAMPAIGN))

    @cached_property
    def parts(self) -> list[Condition]:
        """Lists the finest conditions that the person may read: readable rules are split, others
        stay whole."""
        found: list[Condition] = []
        for rule in self.rules:
            read = self.market.read_rule(rule.edge.pk) if rule.edge else None
            is_readable = rule.text and read is not None
            found += self._split(read, rule.key, rule.edge) if is_readable and read else [rule]
        return [*found, *self.wanted]

    @cached_property
    def reads_campaign(self) -> bool:
        return sight(self._person, self.way.booking.campaign).reads_conditions

    @cached_property
    def campaign(self) -> Expression | None:
        return self.market.read_campaign(self.market.campaign_of(self.way.booking))

    def _split(self, read: Expression, key: str, edge: Edge | None = None) -> Iterator[Condition]:
        root = read.root
        nodes = root.children if isinstance(root, And) else (root,)
        for number, node in enumerate(nodes):
            text = print_tree(without_notes(node))
            truths = self._here(self.market.counter.judge(node, read))
            yield Condition(f"{key}.{number}", text, truths, edge, node)

    def _text_of(self, edge_id: int) -> str:
        edge = self.market.edge(edge_id)
        return edge.expression if sight(self._person, edge).reads_conditions else ""

    def _judge_edge(self, edge_id: int) -> Truths:
        return self._here(self.market.judge(self.market.read_rule(edge_id)))

    def _here(self, truths: Truths) -> Truths:
        return Truths(truths.true[self._places], truths.false[self._places])

    @cached_property
    def _nothing(self) -> Rows:
        return np.zeros(len(self._places), dtype=bool)

    # --- what becomes of visits

    @property
    def visits(self) -> float:
        return float(self._weights.sum())

    @cached_property
    def steps(self) -> list[Step]:
        """Lists the steps of the funnel: each condition is asked of what all before it let by."""
        found, here = [], ~self._nothing
        for condition in [*self.rules, *self.wanted]:
            true, false = condition.truths
            figures = (here, here & true, here & false, here & ~true & ~false)
            found.append(Step(condition, *(self._weigh(rows) for rows in figures)))
            here = here & true
        return found

    @property
    def eligible(self) -> float:
        return self.steps[-1].passed if self.steps else 0.0

    @property
    def worst(self) -> Step | None:
        """Gives the step where most visits stay."""
        lossy = [step for step in self.steps if step.lost]
        return max(lossy, key=lambda step: step.lost, default=None)

    def count_without(self, keys: Collection[str], including: Collection[str] = ()) -> float | None:
        """Counts the visits a day if some conditions were dropped, and others let by what misses a
        value. Gives None for so few people that it is not told."""
        left = [one for one in self.parts if one.key not in keys and not self._is_in(one, keys)]
        met = [one.truths.true | self._unknown_of(one, including) for one in left]
        rows = reduce(np.logical_and, met, ~self._nothing)
        return None if self._are_few(self._places[rows]) else self._weigh(rows)

    def _is_in(self, condition: Condition, keys: Collection[str]) -> bool:
        return condition.edge is not None and f"e{condition.edge.pk}" in keys

    def _unknown_of(self, condition: Condition, including: Collection[str]) -> Rows:
        true, false = condition.truths
        return ~true & ~false if condition.key in including else self._nothing

    def can_include(self, condition: Condition) -> bool:
        """Tells whether `.. or <attribute> is missing` would let by all that misses a value
        here."""
        node, read = condition.node, self.campaign
        if not condition.is_campaigns or not isinstance(node, Predicate) or read is None:
            return False
        is_missing = self.market.counter.judge(Predicate(node.attribute, "is missing"), read)
        unknown = self._unknown_of(condition, [condition.key])
        return bool(is_missing.true[self._places][unknown].all())

    # --- what alone keeps visits out

    @cached_property
    def blockers(self) -> list[Blocker]:
        return self.find_blockers(())

    def find_blockers(self, lifted: Collection[str]) -> list[Blocker]:
        """Finds the conditions that alone keep visits out, as if some others were lifted; those
        that gain most come first."""
        left = [one for one in self.parts if one.key not in lifted]
        missed = np.sum([~one.truths.true for one in left], axis=0, dtype=np.int64)
        found = [self._block(one, ~one.truths.true & (missed == 1)) for one in left]
        if self.way.is_any and ANY_PATH not in lifted:
            found = [one for one in found if one.condition.key != ANY_PATH]
            found += self._find_bottlenecks()
        gaining = [one for one in found if one.lost and not self._are_few(one.places)]
        return sorted(gaining, key=lambda one: (-one.lost, one.condition.key))

    def _block(self, condition: Condition, rows: Rows) -> Blocker:
        true, false = condition.truths
        missing = rows & ~true & ~false
        places = self._places[rows]
        return Blocker(condition, self._weigh(rows), self._weigh(missing), places)

    def _find_bottlenecks(self) -> Iterator[Blocker]:
        """Finds edges of any path that alone keep visits out: with one of them forced open, a path
        would be open for visits that are wanted."""
        market, way = self.market, self.way
        wanted = reduce(np.logical_and, [one.truths.true for one in self.wanted], ~self._nothing)
        closed = wanted & ~market.opened(way)
        passing = {pk: market.passes(pk)[self._places] for pk in way.edge_ids}
        edges = {pk: market.edge(pk) for pk in way.edge_ids}
        ends = {pk: (edge.seller_id, edge.buyer_id) for pk, edge in edges.items()}
        between = way.booking.publisher_id, way.booking.campaign.advertiser_id
        for pk in way.edge_ids[:MOST_OF_ANY]:
            if not (closed & ~passing[pk]).any():
                continue
            tried = {**passing, pk: ~self._nothing}
            opened = walk(tried, ends, between, way.booking.hop_limit, self._places)
            condition = Condition(f"e{pk}", self._text_of(pk), self._judge_edge(pk), edges[pk])
            yield self._block(condition, closed & opened)

    @cached_property
    def next_blockers(self) -> list[Blocker]:
        """Lists what limits once the first blocker is lifted."""
        if not self.blockers or self.way.is_any:
            return []
        return self.find_blockers({self.blockers[0].condition.key})

    @cached_property
    def pair(self) -> Pair | None:
        """Gives the two conditions that together keep most out, for when no condition does so
        alone."""
        parts = self.parts
        failing = np.array([~one.truths.true for one in parts])
        two = failing & (failing.sum(axis=0) == 2)
        if not two.any():
            return None
        weighed = (two * self._weights) @ two.T.astype(np.float64)
        np.fill_diagonal(weighed, 0)
        first, second = np.unravel_index(int(weighed.argmax()), weighed.shape)
        if self._are_few(self._places[two[first] & two[second]]):
            return None
        return Pair(parts[first], parts[second], float(weighed[first, second]))

    def _weigh(self, rows: Rows) -> float:
        return float(self._weights[rows].sum())

    # --- what may be told

    def list_attributes(self, condition: Condition) -> list[str]:
        """Lists what the condition asks for first, then what the campaign asks for; never what
        rules ask for that the person may not read."""
        own = walk_names(condition.node) if condition.node is not None else []
        names = [name for one in self.wanted if one.node for name in walk_names(one.node)]
        return list(dict.fromkeys([*own, *names]))[:MOST_ATTRIBUTES]

    @cached_property
    def is_hidden(self) -> bool:
        """Tells whether so few people come somewhere that figures would be about persons."""
        here = ~self._nothing
        for condition in [*self.rules, *self.wanted]:
            here = here & condition.truths.true
            if here.any() and self._are_few(self._places[here]):
                return True
        return False

    def _are_few(self, places: Places) -> bool:
        return self._is_personal and self.market.people(places) < LEAST_PEOPLE

    @cached_property
    def _is_personal(self) -> bool:
        return self.campaign is not None and is_about_persons(self.campaign)
