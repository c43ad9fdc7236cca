"""Counts what was tried: some conditions dropped, others letting by what misses a value, on the
sample; and the targeting that would do the same, to go on with in the editor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse

from exchange.reading.losses import Condition, Losses
from exchange.reading.verdicts import HIDDEN_CAMPAIGN, in_words
from targeting.printer import print_tree
from targeting.tree import And, Constant, Node, Or, Predicate

MOST_TRIED = 20
LONGEST_ADDRESS = 4_000


@dataclass(frozen=True, slots=True)
class Tried:
    """`after` is None where so few people are left that it is not told. `edit_url` is empty where
    the person cannot do it in the campaign's targeting alone."""

    words: list[str]
    before: float
    after: float | None
    edit_url: str

    @property
    def gain(self) -> float | None:
        return None if self.after is None else self.after - self.before


def read_tried(request: HttpRequest, losses: Losses) -> Tried | None:
    """Reads what the address says to try; gives None if nothing is. Keys that the booking does not
    have are passed over."""
    known = {one.key: one for one in [*losses.parts, *losses.rules]}
    dropped = [key for key in request.GET.getlist("without")[:MOST_TRIED] if key in known]
    including = [key for key in request.GET.getlist("include")[:MOST_TRIED] if key in known]
    if not dropped and not including:
        return None
    words = [f"without “{title(known[key])}”" for key in dropped]
    words += [f"with visits that miss a value of “{title(known[key])}”" for key in including]
    return Tried(
        words,
        losses.eligible,
        losses.count_without(dropped, including),
        write_address(losses, dropped, including),
    )


def title(condition: Condition) -> str:
    if condition.text:
        return in_words(condition.text)
    return f"the rule of {condition.edge}" if condition.edge else HIDDEN_CAMPAIGN


def write_address(losses: Losses, dropped: list[str], including: list[str]) -> str:
    own = {one.key: one for one in losses.wanted if one.node is not None}
    if not own or not {*dropped, *including} <= own.keys():
        return ""
    text = write_targeting(list(own.values()), dropped, including)
    page = reverse("campaign-edit", args=[losses.way.booking.campaign_id])
    address = f"{page}?{urlencode({'expression': text})}"
    return address if len(address) <= LONGEST_ADDRESS else ""


def write_targeting(own: list[Condition], dropped: list[str], including: list[str]) -> str:
    """Writes the targeting as tried. What is dropped stays as a disabled line, so that it can be
    switched on again."""
    kept: list[Node] = []
    off = []
    for condition in own:
        node = condition.node
        if node is None or condition.key in dropped:
            off.append(f"#- {condition.text}")
        else:
            kept.append(include_missing(node) if condition.key in including else node)
    root: Node = And(tuple(kept)) if len(kept) > 1 else (kept or [Constant(True)])[0]
    return "\n".join([*off, print_tree(root)])


def include_missing(node: Node) -> Node:
    if not isinstance(node, Predicate):
        return node
    bare = replace(node, notes=())
    return Or((bare, Predicate(node.attribute, "is missing")))
