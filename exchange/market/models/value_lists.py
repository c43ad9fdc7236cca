"""Keeps value lists: up to a million values kept once and used by many, as `$name`.

The values are in versions, apart from the list: its row and its revisions stay small, and a version
is written once and never again.
"""

from __future__ import annotations

import pgtrigger
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from exchange.market.models.audiences import MARK_NAME, NAME_RULES, RESERVED
from exchange.market.models.revised import Revised, keep_revisions, while_kept
from exchange.market.querysets import ValueListQuerySet

MAX_VALUES = 1_000_000


@keep_revisions()
class ValueList(Revised):
    """A named list. `current_number` names the version in use; `value_count` is that version's."""

    class Type(models.TextChoices):
        STRING = "string", "Texts"
        INTEGER = "integer", "Whole numbers"

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="value_lists"
    )
    name = models.CharField(max_length=80, validators=NAME_RULES)
    type = models.CharField(max_length=8, choices=Type.choices, default=Type.STRING)
    description = models.CharField(max_length=300, blank=True)
    current_number = models.PositiveIntegerField(default=1, db_default=1, editable=False)
    value_count = models.PositiveIntegerField(default=0, db_default=0, editable=False)

    objects = ValueListQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        indexes = [models.Index(fields=["name", "id"], name="value_list_by_name")]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"],
                name="value_list_name_per_organisation",
                condition=while_kept(),
                violation_error_message="There is already a list of that name.",
            ),
            models.CheckConstraint(
                condition=Q(name__regex=MARK_NAME) & ~Q(name__regex=RESERVED),
                name="value_list_name_is_free",
            ),
            models.CheckConstraint(
                condition=Q(type__in=["string", "integer"]), name="value_list_type_is_known"
            ),
            models.CheckConstraint(
                condition=Q(value_count__lte=MAX_VALUES), name="value_list_up_to_a_million"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ValueListVersion(models.Model):
    """One version: values sorted and without repetition, integers in digits. `added_count` and
    `removed_count` compare it with the version before, and the first of both are named, so that
    nobody has to read a million values to say what changed. Written once: triggers refuse all
    else."""

    value_list = models.ForeignKey(
        ValueList, on_delete=models.PROTECT, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()
    values = ArrayField(models.TextField())
    added_count = models.PositiveIntegerField()
    removed_count = models.PositiveIntegerField()
    first_added = ArrayField(models.TextField(), default=list, db_default=[])
    first_removed = ArrayField(models.TextField(), default=list, db_default=[])
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="+",
        null=True,
        db_index=False,
    )

    class Meta:
        ordering = ["value_list", "-number"]
        constraints = [
            models.UniqueConstraint(
                fields=["value_list", "number"], name="value_list_version_once"
            ),
            models.CheckConstraint(
                condition=Q(values__len__gte=1) & Q(values__len__lte=MAX_VALUES),
                name="value_list_version_not_empty",
            ),
        ]
        triggers = [
            pgtrigger.Protect(
                name="written_once",
                operation=pgtrigger.Update | pgtrigger.Delete,
            )
        ]

    def __str__(self) -> str:
        return f"{self.value_list} ({self.number})"
