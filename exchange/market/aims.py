"""Finds campaigns by words of their targeting, as it is written or as its sentence says it.

    phone berlin       device.type = 'phone' and geo.city in ('Berlin', 'Bonn')
    from Germany       geo.country = 'DEU'

Every word must begin a word of the expression. Words that only sentences have are looked up: the
name of a country means its code, a word of an attribute's description means that attribute. What
merely joins phrases says nothing about a campaign, and is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from operator import and_

from django.apps import apps
from django.contrib.postgres.search import SearchQuery
from django.db.models import Q
from django.db.models.functions import Left

from exchange.market.countries import find_country
from exchange.market.words import Words, words_of

# A longer text is found by its beginning only: Postgres keeps no more words of one.
LONGEST = 100_000
JOINTS = frozenset(
    words_of(
        "Visits from, on, in, of, is, are, not, where, with, without, and, or, at, the, a, an, any,"
        " that, do, does, by, to"
    )
)


@dataclass(frozen=True, slots=True)
class Aim:
    """Holds one word, and what else it may stand for."""

    word: str
    code: str
    attributes: tuple[str, ...]

    @property
    def uses(self) -> Q:
        named = [f"attribute:{name}" for name in self.attributes]
        return Q(uses__overlap=named) if named else Q(pk__in=[])

    def in_index(self) -> Q:
        """Builds conditions for the index. Needs `aims`, the annotation of `aim_words`."""
        wanted = f"{self.word}:* | {self.code}" if self.code else f"{self.word}:*"
        return Q(aims=SearchQuery(wanted, config="simple", search_type="raw")) | self.uses

    def in_text(self) -> Q:
        begins = Q(expression__iregex=rf"(^|[^[:alnum:]]){self.word}")
        if self.code:
            begins |= Q(expression__iregex=rf"(^|[^[:alnum:]]){self.code}($|[^[:alnum:]])")
        return begins | self.uses


def aim_words() -> Words:
    return Words(Left("expression", LONGEST))


def read_aims(text: str) -> list[Aim]:
    """Reads the words; asks for the attributes' descriptions, once."""
    wanted = [word for word in dict.fromkeys(words_of(text)) if word not in JOINTS]
    if not wanted:
        return []
    attributes = apps.get_model("market", "Attribute")._default_manager.order_by("name")
    described = [
        (name, words_of(description))
        for name, description in attributes.values_list("name", "description")
    ]
    return [Aim(word, code_of(word), tuple(find_described(word, described))) for word in wanted]


def code_of(word: str) -> str:
    """Finds a country's code. Short words are words more often than countries."""
    return (find_country(word) or "").lower() if len(word) > 3 else ""


def find_described(word: str, described: Iterable[tuple[str, list[str]]]) -> list[str]:
    return [name for name, words in described if any(each.startswith(word) for each in words)]


def all_of(aims: Iterable[Aim], condition: Callable[[Aim], Q]) -> Q:
    return reduce(and_, map(condition, aims))
