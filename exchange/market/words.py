"""Finds names by their words among a million, with what every Postgres has.

What people type means names in which each of its words begins a word, in any order: "sho tra" finds
"Trail shoes". One GIN index holds the words; prefixes are its own business. The extension pg_trgm
would also find the inside of words, but it is not in every server (not in the embedded one), and
an index of all pieces of all names was ten times larger and slower.
"""

from __future__ import annotations

import re
from functools import reduce
from operator import and_

from django.contrib.postgres.search import SearchQuery, SearchVectorField
from django.db.models import Func, Q

WORD = re.compile(r"[^\W_]+")


class Words(Func):
    """The words of a text, in small letters; everything but letters and digits parts them."""

    template = (
        "to_tsvector('simple'::regconfig,"
        " regexp_replace(lower(%(expressions)s), '[^[:alnum:]]+', ' ', 'g'))"
    )
    arity = 1
    output_field = SearchVectorField()


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def in_index(text: str) -> Q:
    """Asks the index. Needs `words`, the annotation of the field's `Words`."""
    query = " & ".join(f"{word}:*" for word in words_of(text))
    found = SearchQuery(query, config="simple", search_type="raw")
    return Q(words=found) if query else Q(pk__in=[])


def in_text(field: str, text: str) -> Q:
    """Asks a row at hand the same: faster than taking every name apart into its words."""
    words = [Q(**{f"{field}__iregex": rf"(^|[^[:alnum:]]){word}"}) for word in words_of(text)]
    return reduce(and_, words) if words else Q(pk__in=[])
