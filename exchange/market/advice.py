"""What is remarkable about an expression that is valid: told while one types, never in the way.

What it says in plain words; conditions that are never or always true, repeated or retired; values
that no sampled visit has, and countries by another name; what a negative condition leaves out for
want of a value. Each with its place in the text where it has one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial

from exchange.market.countries import find_country
from exchange.market.traffic import SampledTraffic, sample_traffic
from exchange.market.uses import TOKEN
from targeting import Catalog, Expression
from targeting.analysis import analyse, brief
from targeting.printer import print_value
from targeting.prose import describe
from targeting.traffic import WHOLE_VALUES, Exclusion, find_excluded, rare_attributes
from targeting.tree import Predicate, walk

BUDGET = 10_000  # nodes that the analysis may look at: people wait for it
LONGEST_ANALYSED = 20_000  # characters
MOST_TOLD = 20
RARE = 0.05
LEAST_SHARE = 0.0005  # of visits that a condition leaves out


@dataclass(frozen=True, slots=True)
class Place:
    """Lines and columns from 1, in characters, as the parser counts."""

    line: int
    column: int
    length: int


@dataclass(frozen=True, slots=True)
class Hint:
    """`suggestion` says how to write it instead, if that is known."""

    kind: str
    message: str
    suggestion: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    sentence: str
    hints: tuple[Hint, ...]


def advise(expression: Expression, text: str) -> Advice:
    """`text` is what was typed, which the expression was read from."""
    sampled = sample_traffic(expression.catalog)
    found = [
        *find_suspicious(expression),
        *find_strange_values(expression, text, sampled),
        *tell_rare(expression, sampled),
        *tell_excluded(expression, sampled),
    ]
    return Advice(describe(expression), tuple(found[:MOST_TOLD]))


def find_suspicious(expression: Expression) -> Iterator[Hint]:
    if len(expression.text) > LONGEST_ANALYSED:
        return
    for finding in analyse(expression, budget=BUDGET).findings:
        yield Hint(str(finding.kind), finding.message)


def find_strange_values(
    expression: Expression, text: str, sampled: SampledTraffic
) -> Iterator[Hint]:
    """Countries that are written otherwise, and values that were never seen."""
    for node in walk(expression.root):
        if not isinstance(node, Predicate) or node.counted or node.operator not in VALUED:
            continue
        seen = sampled.traffic.values.get(node.attribute)
        is_wanted = not node.negated and node.operator in WHOLE_VALUES
        find = partial(find_literal, text, expression.catalog, node.attribute)
        for value in node.operands:
            country = find_meant_country(node.attribute, value)
            if country and (seen is None or value not in seen):
                message = f"visits say `{print_value(country)}`, not `{print_value(value)}`"
                yield Hint("alias", message, f"write `{print_value(country)}`", find(value))
            elif is_wanted and seen is not None and value not in seen:
                message = f"no visit has `{print_value(value)}` in `{node.attribute}` ({sampled})"
                near = find_near(value, seen)
                yield Hint("unseen", message, near and f"did you mean `{near}`?", find(value))


VALUED = WHOLE_VALUES | {"!=", "none of"}


def find_meant_country(attribute: str, value: object) -> str | None:
    is_country = attribute.rpartition(".")[2] == "country" and isinstance(value, str)
    return find_country(str(value)) if is_country else None


def find_near(value: object, seen: object) -> str:
    """What was probably meant: the same in other letters, or nearly the same."""
    if not isinstance(value, str) or not isinstance(seen, frozenset):
        return ""
    texts = sorted(text for text in seen if isinstance(text, str))
    alike = [text for text in texts if text.casefold() == value.casefold()]
    near = alike or get_close_matches(value, texts, n=1, cutoff=0.75)
    return print_value(near[0]) if near else ""


def tell_rare(expression: Expression, sampled: SampledTraffic) -> Iterator[Hint]:
    for said in rare_attributes(expression, sampled.traffic, RARE):
        yield Hint("rare", f"{said} ({sampled})")


def tell_excluded(expression: Expression, sampled: SampledTraffic) -> Iterator[Hint]:
    for excluded in find_excluded(expression, sampled.traffic):
        if excluded.share is not None and excluded.share < LEAST_SHARE:
            continue
        message = f"visits that do not say `{excluded.needs}` are excluded"
        if excluded.share is not None:
            share = tell_share(excluded.share)
            message = f"{share} of visits do not say `{excluded.needs}` and are excluded"
        yield Hint("missing", message, f"`{include_missing(excluded)}` includes them")


def include_missing(excluded: Exclusion) -> str:
    """What to write in the condition's place, wherever that is."""
    absent = "and {} is present" if excluded.is_denied else "or {} is missing"
    return f"({brief(excluded.condition)} {absent.format(excluded.needs)})"


def tell_share(share: float) -> str:
    """Never all, and never nothing, where it is not."""
    percent = 100 * share
    if percent < 1:
        return f"{percent:.2g} %"
    return f"{percent:.0f} %" if percent < 99 or share == 1 else f"{percent:.1f} %"


def find_literal(text: str, catalog: Catalog, attribute: str, value: object) -> Place | None:
    """Where a text value of an attribute stands: the first one behind that attribute's name."""
    current = ""
    for token in TOKEN.finditer(text):
        if token["name"] in catalog:
            current = token["name"]
        elif token["text"] and current == attribute and token["text"][1:-1] == value:
            return place_of(text, token.start(), len(token[0]))
    return None


def place_of(text: str, start: int, length: int) -> Place:
    before = text[:start]
    return Place(before.count("\n") + 1, start - (before.rfind("\n") + 1) + 1, length)
