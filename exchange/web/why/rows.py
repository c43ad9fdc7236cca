"""Lists the funnel and the blockers as a page does, alike for the sample of now and for a night."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from exchange.accounts.models import User
from exchange.accounts.ownership import may_change, may_see
from exchange.findings.models import OwnerQuestion
from exchange.market.models import Edge
from exchange.market.visibility import sight
from exchange.reading.losses import Blocker, Condition, Losses
from exchange.reading.verdicts import HIDDEN_CAMPAIGN, in_words, name_step
from exchange.reading.why_not import WhyNot
from exchange.reports.funnels import CAMPAIGN, NightBlocker, NightFunnel

BLOCKERS_SHOWN = 5
SCARCE = 0.1  # an edge that lets by less than this is marked
LEAST_CAME = 50


@dataclass(frozen=True, slots=True)
class FunnelRow:
    """A step; widths are in percent of the publisher's visits. `begins_campaign`: the first of the
    campaign's own."""

    title: str
    edge: Edge | None
    came: float
    passed: float
    false: float
    unknown: float
    whole: float
    begins_campaign: bool = False

    @property
    def percent(self) -> float | None:
        return 100 * self.passed / self.came if self.came else None

    @property
    def is_worst(self) -> bool:
        if not self.came:
            return False
        return not self.passed or (self.came >= LEAST_CAME and self.passed < SCARCE * self.came)

    def width(self, count: float) -> float:
        return round(100 * count / self.whole, 2) if self.whole else 0.0

    @property
    def bars(self) -> list[tuple[str, float, float]]:
        """Class, start and width of each part."""
        passed, false = self.width(self.passed), self.width(self.false)
        return [
            ("passed", 0.0, passed),
            ("false", passed, false),
            ("unknown", round(passed + false, 2), self.width(self.unknown)),
        ]


@dataclass(frozen=True, slots=True)
class BlockerRow:
    """What alone keeps visits out. `key` is what may be tried; empty where it cannot be. It is one
    of what limits once another is lifted, if that is `along`: then both are tried."""

    title: str
    owner: str
    lost: float
    missing: float
    most: float
    key: str = ""
    along: str = ""
    edge: Edge | None = None
    may_edit: bool = False
    sees_edge: bool = False
    includes: bool = False
    has_visits: bool = False
    question: OwnerQuestion | None = None

    @property
    def bars(self) -> list[tuple[str, float, float]]:
        known = 100 * (self.lost - self.missing) / self.most if self.most else 0
        missing = 100 * self.missing / self.most if self.most else 0
        return [("lost", 0.0, round(known, 2)), ("unknown", round(known, 2), round(missing, 2))]


def list_steps(losses: Losses) -> Iterator[FunnelRow]:
    rules = len(losses.rules)
    for number, step in enumerate(losses.steps):
        yield FunnelRow(
            title=title_step(step.condition),
            edge=step.condition.edge,
            came=step.came,
            passed=step.passed,
            false=step.false,
            unknown=step.unknown,
            whole=losses.visits,
            begins_campaign=number == rules and losses.reads_campaign,
        )


def title_step(condition: Condition) -> str:
    if condition.edge is not None:
        return str(condition.edge)
    if condition.is_campaigns:
        return in_words(condition.text)
    return condition.text or sentence(HIDDEN_CAMPAIGN)


def sentence(words: str) -> str:
    return words[0].upper() + words[1:]


def list_night_steps(night: NightFunnel) -> Iterator[FunnelRow]:
    ids = [step.edge_id for step in night.steps if step.edge_id is not None]
    edges = Edge.objects.with_parties().in_bulk(ids)
    for step in night.steps:
        yield FunnelRow(
            title=name_step(step),
            edge=edges.get(step.edge_id or 0),
            came=step.came,
            passed=step.passed,
            false=step.false,
            unknown=step.unknown,
            whole=night.visits,
        )


def list_blockers(
    blockers: list[Blocker],
    losses: Losses,
    person: User,
    questions: Mapping[int, OwnerQuestion],
    most: float,
    along: str = "",
) -> Iterator[BlockerRow]:
    for blocker in blockers[:BLOCKERS_SHOWN]:
        condition, edge = blocker.condition, blocker.condition.edge
        yield BlockerRow(
            title=title_blocker(condition),
            owner=str(edge) if edge else "This campaign",
            lost=blocker.lost,
            missing=blocker.missing,
            most=most,
            key=condition.key,
            along=along,
            edge=edge,
            may_edit=edge is not None and may_change(person, edge),
            sees_edge=edge is not None and may_see(person, edge),
            includes=bool(blocker.missing) and losses.can_include(condition),
            has_visits=bool(losses.list_attributes(condition)) and not along,
            question=questions.get(edge.pk) if edge else None,
        )


def title_blocker(condition: Condition) -> str:
    if condition.text:
        return f"Only {in_words(condition.text)}"
    return f"What {condition.edge} lets through" if condition.edge else sentence(HIDDEN_CAMPAIGN)


def list_night_blockers(night: NightFunnel, why: WhyNot) -> Iterator[BlockerRow]:
    """Conditions of the campaign are written as the index has them."""
    blockers = night.blockers
    if not sight(why.person, why.booking.campaign).reads_conditions:
        blockers = night.hide_campaign()
    edges = Edge.objects.with_parties().in_bulk({one.edge_id for one in blockers if one.edge_id})
    most = max((blocker.visits for blocker in blockers), default=0)
    for blocker in blockers[:BLOCKERS_SHOWN]:
        edge = edges.get(blocker.edge_id or 0)
        yield BlockerRow(
            title=title_night_blocker(blocker, edge),
            owner=str(edge) if edge else "The paths" if blocker.is_path else "This campaign",
            lost=blocker.visits,
            missing=0,
            most=most,
            edge=edge,
            sees_edge=edge is not None and may_see(why.person, edge),
        )


def title_night_blocker(blocker: NightBlocker, edge: Edge | None) -> str:
    if blocker.is_path:
        return "That some path is open"
    if blocker.condition == CAMPAIGN:
        return sentence(HIDDEN_CAMPAIGN)
    return f"The rule of {edge}" if edge else in_words(blocker.condition)
