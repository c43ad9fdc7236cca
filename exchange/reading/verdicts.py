"""The verdict of why-not in one sentence, for one reader: conditions that they may not read are
left out, names of edges are not."""

from __future__ import annotations

from dataclasses import dataclass

from exchange.findings.checking import Found
from exchange.market.catalog import load_catalog
from exchange.market.models import Edge
from exchange.market.visibility import sight
from exchange.reading.losses import Condition, Losses, Step
from exchange.reading.why_not import WhyNot
from exchange.reports.funnels import NightFunnel, NightStep
from targeting import ExpressionError, parse
from targeting.prose import describe

LONGEST = 160
HIDDEN_CAMPAIGN = "what the campaign asks for"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`tone` is `bad` where nothing serves, `warn`, or `plain`; `source` says what it rests on."""

    sentence: str
    tone: str
    source: str


def judge(why: WhyNot) -> Verdict:
    """The first that holds, of what excludes all visits before what loses some."""
    place = why.booking.publisher.name
    if why.stopped:
        return Verdict(f"Nothing serves at {place}: {why.stopped}.", "warn", "now")
    if why.no_path:
        return Verdict(f"Nothing can serve at {place}. {why.no_path}", "bad", "now")
    if why.contradiction:
        told = tell_contradiction(why.contradiction, why)
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
    """One condition, or two together, or the step where most stay."""
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
    """As a sentence names it: an edge by its parties, a condition in words."""
    words = condition.text and in_words(condition.text)
    if condition.edge is not None:
        is_part = condition.node is not None and words
        return f"{condition.edge} (only {words})" if is_part else str(condition.edge)
    return f"“only {words}”" if condition.is_campaigns else condition.text or HIDDEN_CAMPAIGN


def in_words(text: str) -> str:
    """A condition in plain English, in the middle of a sentence."""
    try:
        said = describe(parse(text, load_catalog()))
    except ExpressionError:
        said = text
    said = said[0].lower() + said[1:] if said else said
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…"


def tell_contradiction(found: Found, why: WhyNot) -> str:
    """What the edge lets by, and what the campaign wants, as far as the person may read both."""
    edges = {edge.pk: edge for edge in why.edges}
    told = [tell_side(pk, text, edges, why) for pk, text in found.conditions]
    readable = [one for one in told if one]
    if len(readable) == len(found.conditions) and readable:
        return ", and ".join(readable)
    named = " and ".join(str(edges[pk]) for pk in found.edge_ids if pk in edges)
    return f"{named} excludes every visit that this campaign wants"


def tell_side(pk: int | None, text: str, edges: dict[int, Edge], why: WhyNot) -> str:
    owner = why.booking.campaign if pk is None else edges.get(pk)
    if owner is None or not sight(why.person, owner).reads_conditions:
        return ""
    if pk is None:
        return f"this campaign wants {in_words(text)}"
    return f"{owner} lets only {in_words(text)} through"


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
    """An edge by its parties of now; one that is gone by its number."""
    if step.edge_id is not None:
        edge = Edge.objects.with_parties().filter(pk=step.edge_id).first()
        return str(edge) if edge else f"edge {step.edge_id}"
    return "the campaign" if step.name == "campaign" else "the paths"


def say(visits: float) -> str:
    """Visits a day of the sample: never rounded to none."""
    return f"{visits:,.0f}" if visits >= 1 else "fewer than 1"
