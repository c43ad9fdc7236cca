"""Keeps the attribute catalogue: what a visit may carry and expressions may ask."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from exchange.market.models.revised import Revised, keep_revisions
from exchange.market.querysets import AttributeQuerySet

ATTRIBUTE_NAME = r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*\Z"


@keep_revisions()
class Attribute(Revised):
    """One entry of the attribute catalogue: what a visit may carry and expressions may ask."""

    class Type(models.TextChoices):
        BOOLEAN = "boolean"
        INTEGER = "integer"
        FLOAT = "float"
        TIMESTAMP = "timestamp"
        TIMESTAMP_LOCAL = "timestamp local"
        STRING = "string"
        STRING_SET = "string set"
        INTEGER_SET = "integer set"
        IP = "ip"
        GEO = "geo"

    name = models.CharField(max_length=80, unique=True, validators=[RegexValidator(ATTRIBUTE_NAME)])
    type = models.CharField(max_length=20, choices=Type.choices)
    values = models.JSONField(
        default=list, blank=True, help_text="The closed domain; empty = open."
    )
    is_required = models.BooleanField(
        default=False, help_text="A visit without it is eligible for nothing."
    )
    is_personal = models.BooleanField(
        default=False, help_text="About a person: masked in samples, left out of exports."
    )
    description = models.CharField(max_length=300, blank=True)
    openrtb_path = models.CharField(max_length=120, blank=True)

    objects = AttributeQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(name__regex=ATTRIBUTE_NAME), name="attribute_name_is_dotted"
            ),
            models.CheckConstraint(
                condition=Q(
                    type__in=[
                        "boolean",
                        "integer",
                        "float",
                        "timestamp",
                        "timestamp local",
                        "string",
                        "string set",
                        "integer set",
                        "ip",
                        "geo",
                    ]
                ),
                name="attribute_type_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.name
