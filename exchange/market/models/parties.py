"""Parties: the publishers, intermediaries and advertisers of the graph."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

from exchange.market.models.revised import Revised, keep_revisions
from exchange.market.querysets import PartyQuerySet

# Seller ids are quoted into expressions, logs and file names, so they need no escaping.
SELLER_ID = r"^[A-Za-z0-9][A-Za-z0-9._:-]*\Z"
DOMAIN = r"^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]*[a-z0-9])\Z"


@keep_revisions()
class Party(Revised):
    """A node of the graph. Its kind never changes: edges, campaigns and bookings rely on it."""

    class Kind(models.TextChoices):
        PUBLISHER = "publisher", "Publisher"
        INTERMEDIARY = "intermediary", "Intermediary"
        ADVERTISER = "advertiser", "Advertiser"

    kind = models.CharField(max_length=12, choices=Kind.choices)
    name = models.CharField(max_length=120, unique=True)
    seller_id = models.CharField(
        max_length=64,
        unique=True,
        validators=[
            RegexValidator(
                SELLER_ID, "Use letters, digits, dots, dashes, underscores or colons, no spaces."
            )
        ],
        help_text="As in sellers.json; visits name their publisher by it.",
    )
    domain = models.CharField(
        max_length=253,
        blank=True,
        validators=[RegexValidator(DOMAIN, "Write the bare domain, such as example.com.")],
    )
    organisation = models.ForeignKey(
        "accounts.Organisation", on_delete=models.PROTECT, related_name="parties"
    )

    objects = PartyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "parties"
        ordering = ["name"]
        indexes = [models.Index(fields=["kind", "name"])]
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["publisher", "intermediary", "advertiser"]),
                name="party_kind_is_known",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="party_has_a_name"),
            models.CheckConstraint(
                condition=Q(seller_id__regex=SELLER_ID), name="party_seller_id_is_plain"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        before = Party.objects.filter(pk=self.pk).values_list("kind", flat=True).first()
        if before is not None and before != self.kind:
            label = Party.Kind(before).label.lower()
            raise ValidationError(
                {"kind": f"{self.name} was created as {label} and stays one. Create a new party."}
            )
