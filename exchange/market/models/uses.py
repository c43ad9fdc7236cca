"""Keeps what an expression uses beside it, so that nobody parses a million texts to find it.

`uses` holds words: `attribute:geo.country`, `audience:17`, `list:5`, and `list:5:geo.city:in` for
how a list is used. `uses_digest` names the text that they were taken from: a row whose text was
changed by other hands is found by the digest that no longer fits, and read again.
"""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import MD5


class WithExpression(models.Model):
    uses = ArrayField(models.TextField(), default=list, db_default=[], editable=False)
    uses_digest = models.CharField(max_length=32, default="", db_default="", editable=False)

    class Meta:
        abstract = True


def index_uses(name: str) -> list[models.Index]:
    """Lists the indexes; the second one holds rows whose uses are not known: nearly always none."""
    return [
        GinIndex(fields=["uses"], name=f"{name}_uses"),
        models.Index(fields=["id"], name=f"{name}_unread", condition=has_unread_uses()),
    ]


def has_unread_uses() -> Q:
    return ~Q(uses_digest=MD5(F("expression")))


class UsedValue(models.Model):
    """A value that some expression has named for an attribute, now or once. Never taken back: it
    only tells which values are worth looking for when a domain is about to be closed."""

    attribute = models.ForeignKey(
        "market.Attribute", on_delete=models.PROTECT, related_name="used_values", db_index=False
    )
    value = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["attribute", "value"], name="used_value_once")
        ]

    def __str__(self) -> str:
        return self.value
