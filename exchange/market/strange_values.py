"""Finds values that people write and visits do not carry: countries by another name, and what was
never seen, with what was probably meant."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from exchange.market.countries import find_country
from exchange.market.traffic import SampledTraffic
from exchange.market.uses import TOKEN
from targeting.catalog import Attribute
from targeting.printer import print_value
from targeting.traffic import WHOLE_VALUES
from targeting.tree import Operand, Predicate

VALUED = WHOLE_VALUES | {"!=", "none of"}
MOST_NAMED = 50  # of one condition; to look for something near takes milliseconds each
CLOSE = 0.75


@dataclass(frozen=True, slots=True)
class StrangeValue:
    """A value that visits do not carry. `kind` is `alias` or `unseen`; `replacement` what was
    meant, None if nobody knows; `span` where it stands in the text, if it is a text."""

    kind: str
    value: Operand
    replacement: str | None
    message: str
    suggestion: str
    span: tuple[int, int] | None


def find_strange(
    node: Predicate,
    attribute: Attribute,
    text: str,
    span: tuple[int, int],
    sampled: SampledTraffic,
) -> list[StrangeValue]:
    """Finds the first strange values of one condition. To avoid a value that never comes is no
    mistake; to write one in another way is."""
    if node.counted or node.operator not in VALUED:
        return []
    seen = sampled.traffic.values.get(node.attribute)
    is_wanted = not node.negated and node.operator in WHOLE_VALUES
    places = find_literals(text, span)
    found: list[StrangeValue] = []
    for index, value in enumerate(node.operands):
        if len(found) == MOST_NAMED:
            break
        if seen is not None and value in seen:
            continue
        place = places[index] if index < len(places) else None
        country = find_meant_country(node.attribute, value)
        if country:
            found.append(tell_alias(value, country, place))
        elif is_wanted and seen is not None:
            found.append(tell_unseen(value, attribute, place, sampled))
    return found


def tell_alias(value: Operand, country: str, place: tuple[int, int] | None) -> StrangeValue:
    message = f"visits say `{print_value(country)}`, not `{print_value(value)}`"
    return StrangeValue("alias", value, country, message, f"write `{print_value(country)}`", place)


def tell_unseen(
    value: Operand, attribute: Attribute, place: tuple[int, int] | None, sampled: SampledTraffic
) -> StrangeValue:
    message = f"no visit has `{print_value(value)}` in `{attribute.name}` ({sampled})"
    known = sampled.nameable(attribute)
    near = find_near(value, tuple(known)) if isinstance(value, str) else None
    said = f"did you mean `{print_value(near)}`?" if near else ""
    return StrangeValue("unseen", value, near, message, said, place)


def find_meant_country(attribute: str, value: object) -> str | None:
    is_country = attribute.rpartition(".")[2] == "country" and isinstance(value, str)
    return find_country(str(value)) if is_country else None


@lru_cache(maxsize=4_096)  # asked again with every key that is pressed
def find_near(value: str, known: tuple[str | int, ...]) -> str | None:
    """Finds the known value that is the same in other letters, or nearly the same."""
    texts = [text for text in known if isinstance(text, str)]
    alike = [text for text in texts if text.casefold() == value.casefold()]
    near = alike or get_close_matches(value, texts, n=1, cutoff=CLOSE)
    return near[0] if near else None


def find_literals(text: str, span: tuple[int, int]) -> list[tuple[int, int]]:
    """Finds where the texts of a condition stand, in the order of its operands."""
    return [token.span() for token in TOKEN.finditer(text, *span) if token["text"]]
