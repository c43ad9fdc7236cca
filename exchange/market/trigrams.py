"""Finding a part of a name among a million, with what every Postgres has.

`market_trigrams(text)` gives a text's three-letter pieces and the beginnings of its words as an
array; a GIN index over it answers "contains" and "a word begins with". The extension pg_trgm would
do the same, but it is not in every server (not in the embedded one).
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db.models import Func, Q, TextField

PIECE = 3


class Trigrams(Func):
    function = "market_trigrams"
    arity = 1
    output_field = ArrayField(TextField())


def pieces_of(text: str) -> list[str]:
    """The pieces that every text has which contains this one; of a text of one or two letters,
    which every text has where a word begins with it."""
    folded = text.lower()
    if len(folded) < PIECE:
        return [f" {folded}"]
    return sorted({folded[i : i + PIECE] for i in range(len(folded) - PIECE + 1)})


def has_pieces(text: str) -> Q:
    """For the index. Needs `grams`, the annotation of the field's trigrams; without the index it
    would be slow, so the function's cost is set high."""
    return Q(grams__contains=pieces_of(text))


def contains(field: str, text: str) -> Q:
    """The comparison itself: short texts are looked for where words begin, longer ones anywhere."""
    if len(text) < PIECE:
        return Q(**{f"{field}__istartswith": text}) | Q(**{f"{field}__icontains": f" {text}"})
    return Q(**{f"{field}__icontains": text})
