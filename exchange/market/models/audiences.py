"""Audiences: expressions kept once and used by many, as `@name`."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from exchange.market.models.revised import Revised, keep_revisions, while_kept
from exchange.market.models.uses import WithExpression, index_uses
from exchange.market.querysets import AudienceQuerySet

# Names as the language writes them after @ and $. The index keeps the reserved ones for itself.
MARK_NAME = r"^[A-Za-z0-9_]+([.-][A-Za-z0-9_]+)*\Z"
RESERVED = r"^(edge|audience|list|reach)\."
NAME_RULES = [
    RegexValidator(MARK_NAME, "Use letters, digits and underscores, joined by dots or dashes."),
    RegexValidator(
        RESERVED,
        "Names do not begin with edge., audience., list. or reach.: those are the index's own.",
        inverse_match=True,
    ),
]


@keep_revisions()
class Audience(Revised, WithExpression):
    """A named expression, for its organisation's people; one of the operator's, for everybody."""

    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="audiences"
    )
    name = models.CharField(max_length=80, validators=NAME_RULES)
    description = models.CharField(max_length=300, blank=True)
    expression = models.TextField()

    objects = AudienceQuerySet.as_manager()

    class Meta:
        ordering = ["name", "id"]
        indexes = [
            models.Index(fields=["name", "id"], name="audience_by_name"),
            *index_uses("audience"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["organisation", "name"],
                name="audience_name_per_organisation",
                condition=while_kept(),
                violation_error_message="There is already an audience of that name.",
            ),
            models.CheckConstraint(
                condition=Q(name__regex=MARK_NAME) & ~Q(name__regex=RESERVED),
                name="audience_name_is_free",
            ),
        ]

    def __str__(self) -> str:
        return self.name
