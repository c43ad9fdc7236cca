"""Puts the verdict of why-not in one sentence, for one reader: conditions that they may not read
are left out, names of edges are not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from exchange.accounts.models import User
from exchange.findings.checking import Found
from exchange.market.catalog import load_catalog
from exchange.market.models import Campaign, Edge
from exchange.market.visibility import sight
from exchange.reading.losses import Condition, Losses, Step
from exchange.reading.why_not import WhyNot
from exchange.reports.funnels import NightFunnel, NightStep
from targeting import ExpressionError, parse
from targeting.printer import print_line
from targeting.prose import describe
from targeting.traffic import negative_conditions
from targeting.tree import Not, Predicate

LONGEST = 160
HIDDEN_CAMPAIGN = "what the campaign asks for"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`tone` is `bad` where nothing serves, `warn`, or `plain`; `source` says what it rests on."""

    sentence: str
    tone: str
    source: str


def judge(why: WhyNot) -> Verdict:
    """Judges a booking by the first cause that holds; what excludes all visits comes before what
    loses some."""
    place = why.booking.publisher.name
    if why.stopped:
        return Verdict(f"Nothing serves at {place}: {why.stopped}.", "warn", "now")
    if why.no_path:
        return Verdict(f"Nothing can serve at {place}. {why.no_path}", "bad", "now")
    if why.contradiction:
        edges = {edge.pk: edge for edge in why.edges}
        told = tell_contradiction(why.contradiction, edges, why.booking.campaign, why.person)
        return Verdict(f"Nothing can serve at {place}: {told}.", "bad", "now")
    if why.day is not None:
        return judge_night(why)
    losses = why.losses
    if losses is None:
        return Verdict(f"What comes at {place} was not counted yet.", "unknown", "now")
    if losses.is_hidden:
        said = "it is about so few people that its figures are not told"
        return Verdict(f"At {place}, {said}.", "unknown", "sample")
    return judge_sample(losses, place)


def judge_sample(losses: Losses, place: str) -> Verdict:
    if not losses.visits:
        said = f"No visit of the sample came at {place}, so nothing is lost on the way."
        return Verdict(said, "warn", "sample")
    if losses.eligible:
        share = f"About {say(losses.eligible)} of {say(losses.visits)} visits a day"
        return Verdict(f"{share} at {place} are eligible{tell_limit(losses)}.", "plain", "sample")
    said = f"Not one visit of the sample is eligible at {place}"
    return Verdict(f"{said}{tell_obstacle(losses)}.", "bad", "sample")


def tell_limit(losses: Losses) -> str:
    if not losses.blockers:
        return ""
    first = losses.blockers[0]
    return f"; {name(first.condition)} alone keeps out {say(first.lost)} more"


def tell_obstacle(losses: Losses) -> str:
    """Tells the one condition, or the two together, or the step where most visits stay."""
    if losses.blockers:
        return tell_alone(losses)
    if losses.pair:
        first, second = name(losses.pair.first), name(losses.pair.second)
        return f": {first} and {second} together keep out {say(losses.pair.lost)} a day"
    worst: Step | None = losses.worst
    if worst is None:
        return ""
    return f": most stay at {name(worst.condition)}, {say(worst.lost)} of {say(worst.came)} a day"


def tell_alone(losses: Losses) -> str:
    first = losses.blockers[0]
    return f": {name(first.condition)} alone keeps out {say(first.lost)} a day"


def name(condition: Condition) -> str:
    """Writes a condition as a sentence names it: an edge by its parties, other conditions in
    words."""
    words = condition.text and in_words(condition.text)
    if condition.edge is not None:
        is_part = condition.node is not None and words
        return f"{condition.edge} (only {words})" if is_part else str(condition.edge)
    return f"“only {words}”" if condition.is_campaigns else condition.text or HIDDEN_CAMPAIGN


def in_words(text: str) -> str:
    """Writes a condition in plain English, for the middle of a sentence."""
    try:
        said = describe(parse(text, load_catalog()))
    except ExpressionError:
        said = text
    said = said[0].lower() + said[1:] if said else said
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def tell_contradiction(
    found: Found, edges: Mapping[int, Edge], campaign: Campaign, person: User
) -> str:
    """Says what the edge lets by, or excludes, and what the campaign wants of that, as far as the
    person may read both. Edges come with their parties."""
    sides = sorted(found.conditions, key=lambda side: side[0] is None)
    told = [
        tell_side(campaign if pk is None else edges.get(pk), text, person) for pk, text in sides
    ]
    readable = [one for one in told if one]
    if len(readable) == len(found.conditions) and readable:
        return ", and ".join(dict.fromkeys(readable))
    named = " and ".join(str(edges[pk]) for pk in found.edge_ids if pk in edges)
    verb = "exclude" if len(found.edge_ids) > 1 else "excludes"
    return f"{named or 'the way there'} {verb} every visit that this campaign wants"


def tell_side(owner: Campaign | Edge | None, text: str, person: User) -> str:
    """Says of an edge first what it excludes: “excludes visits on ctv”. Empty: not to be read."""
    if owner is None or not sight(person, owner).reads_conditions:
        return ""
    excluded = excluded_words(text)
    if isinstance(owner, Campaign):
        return f"this campaign {f'excludes {excluded}' if excluded else f'wants {in_words(text)}'}"
    return (
        f"{owner} {f'excludes {excluded}' if excluded else f'lets only {in_words(text)} through'}"
    )


def excluded_words(text: str) -> str:
    """Says what a negative condition keeps out; empty of one that is not."""
    try:
        root = parse(text, load_catalog()).root
    except ExpressionError:
        return ""
    if isinstance(root, Not):
        return in_words(print_line(root.child, is_root=True))
    is_negative = isinstance(root, Predicate) and any(negative_conditions(root))
    return in_words(print_line(Not(root))) if is_negative else ""


def judge_night(why: WhyNot) -> Verdict:
    place, night = why.booking.publisher.name, why.night
    source = f"night of {why.day}"
    if night is None:
        return Verdict(f"No funnel was counted on {why.day}.", "unknown", source)
    if not night.steps:
        return Verdict(f"No visit came at {place} on {why.day}.", "warn", source)
    if night.eligible:
        said = f"{night.eligible:,} of {night.visits:,} visits at {place} were eligible"
        return Verdict(f"{said} on {why.day}{tell_worst(night)}.", "plain", source)
    said = f"Not one of {night.visits:,} visits at {place} was eligible on {why.day}"
    return Verdict(f"{said}{tell_worst(night)}.", "bad", source)


def tell_worst(night: NightFunnel) -> str:
    lossy = [step for step in night.steps if step.came > step.passed]
    if not lossy:
        return ""
    worst = max(lossy, key=lambda step: step.came - step.passed)
    return f"; most stayed at {name_step(worst)}, {worst.came - worst.passed:,}"


def name_step(step: NightStep) -> str:
    """Gives an edge's parties of now, or the number of an edge that is gone."""
    if step.edge_id is not None:
        edge = Edge.objects.with_parties().filter(pk=step.edge_id).first()
        return str(edge) if edge else f"edge {step.edge_id}"
    return "the campaign" if step.name == "campaign" else "the paths"


def say(visits: float) -> str:
    """Writes visits a day of the sample, never rounded to none."""
    return f"{visits:,.0f}" if visits >= 1 else "fewer than 1"
