"""Says what is remarkable about a valid expression: told while one types, never in the way.

What it says in plain words; conditions that are never or always true, repeated or retired; values
that no sampled visit has, and countries by another name; what a negative condition leaves out for
want of a value. Each with the paths of its conditions, and with its place in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from exchange.market.strange_values import StrangeValue, find_strange
from exchange.market.traffic import SampledTraffic, sample_traffic
from targeting import Expression
from targeting.analysis import analyse, brief
from targeting.prose import describe
from targeting.spans import Spans, spans_of
from targeting.traffic import Exclusion, find_excluded, rare_attributes
from targeting.tree import Predicate, walk_paths

BUDGET = 10_000  # nodes that the analysis may look at: people wait for it
LONGEST_ANALYSED = 20_000  # characters
MOST_TOLD = 20
RARE = 0.05
LEAST_SHARE = 0.0005  # of visits that a condition leaves out


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text: lines and columns from 1, in characters, as the parser counts."""

    line: int
    column: int
    length: int


@dataclass(frozen=True, slots=True)
class Hint:
    """A remark about an expression. `suggestion` says how to write it instead, if that is known.
    `paths` name the conditions that it is about; `values` those of their values that it is about,
    if any."""

    kind: str
    message: str
    suggestion: str = ""
    place: Place | None = None
    paths: tuple[str, ...] = ()
    values: tuple[StrangeValue, ...] = ()


@dataclass(frozen=True, slots=True)
class Advice:
    sentence: str
    hints: tuple[Hint, ...]


def advise(expression: Expression, text: str, spans: Spans | None = None) -> Advice:
    """Collects hints about an expression and says it in plain words; `text` is what was typed."""
    sampled = sample_traffic(expression.catalog)
    spans = spans_of(expression, text) if spans is None else spans
    found = [
        *find_suspicious(expression),
        *tell_strange_values(expression, text, spans, sampled),
        *tell_rare(expression, sampled),
        *tell_excluded(expression, sampled),
    ]
    placed = (place_hint(hint, text, spans) for hint in found[:MOST_TOLD])
    return Advice(describe(expression), tuple(placed))


def place_hint(hint: Hint, text: str, spans: Spans) -> Hint:
    """Gives a hint its place: that of its value if it is about one, else of its first condition."""
    if len(hint.values) == 1 and hint.values[0].span:
        return replace(hint, place=place_of(text, *hint.values[0].span))
    if hint.paths and hint.paths[0] in spans:
        return replace(hint, place=place_of(text, *spans[hint.paths[0]]))
    return hint


def find_suspicious(expression: Expression) -> Iterator[Hint]:
    if len(expression.text) > LONGEST_ANALYSED:
        return
    for finding in analyse(expression, budget=BUDGET).findings:
        yield Hint(str(finding.kind), finding.message, paths=finding.paths)


def tell_strange_values(
    expression: Expression, text: str, spans: Spans, sampled: SampledTraffic
) -> Iterator[Hint]:
    """Yields one hint per condition and kind, however many of its values are strange."""
    for path, node in walk_paths(expression.root):
        if not isinstance(node, Predicate):
            continue
        attribute = expression.catalog[node.attribute]
        strange = find_strange(node, attribute, text, spans[path], sampled)
        for kind in ("alias", "unseen"):
            values = tuple(value for value in strange if value.kind == kind)
            if len(values) == 1:
                (only,) = values
                yield Hint(kind, only.message, only.suggestion, paths=(path,), values=values)
            elif values:
                message = COUNTED[kind].format(len(values), len(node.operands), node.attribute)
                said = f"{message} ({sampled})" if kind == "unseen" else message
                yield Hint(kind, said, paths=(path,), values=values)


COUNTED = {
    "alias": "{} of {} values of `{}` are written otherwise in visits",
    "unseen": "{} of {} values of `{}` were never seen",
}


def tell_rare(expression: Expression, sampled: SampledTraffic) -> Iterator[Hint]:
    told = rare_attributes(expression, sampled.traffic, RARE)
    for name, said in told:
        paths = tuple(
            path
            for path, node in walk_paths(expression.root)
            if isinstance(node, Predicate) and node.attribute == name
        )
        yield Hint("rare", f"{said} ({sampled})", paths=paths)


def tell_excluded(expression: Expression, sampled: SampledTraffic) -> Iterator[Hint]:
    for excluded in find_excluded(expression, sampled.traffic):
        if excluded.share is not None and excluded.share < LEAST_SHARE:
            continue
        message = f"visits that do not say `{excluded.needs}` are excluded"
        if excluded.share is not None:
            share = tell_share(excluded.share)
            message = f"{share} of visits do not say `{excluded.needs}` and are excluded"
        suggestion = f"`{include_missing(excluded)}` includes them"
        yield Hint("missing", message, suggestion, paths=excluded.paths)


def include_missing(excluded: Exclusion) -> str:
    """Writes what may replace the condition, wherever it stands, to include missing values."""
    absent = "and {} is present" if excluded.is_denied else "or {} is missing"
    return f"({brief(excluded.condition)} {absent.format(excluded.needs)})"


def tell_share(share: float) -> str:
    """Writes a share in percent; it reads 0 % or 100 % only where it is exactly that."""
    percent = 100 * share
    if percent < 1:
        return f"{percent:.2g} %"
    return f"{percent:.0f} %" if percent < 99 or share == 1 else f"{percent:.1f} %"


def place_of(text: str, start: int, end: int) -> Place:
    before = text[:start]
    return Place(before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1, end - start)
