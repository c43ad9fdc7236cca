"""Edges: who sells visits to whom. An edge belongs to its seller's organisation."""

from __future__ import annotations

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from exchange.market.models.parties import Party
from exchange.market.models.revised import Revised, keep_revisions, while_kept
from exchange.market.models.uses import WithExpression, index_uses
from exchange.market.querysets import EdgeQuerySet


@keep_revisions()
class Edge(Revised, WithExpression):
    """Seller sells visits to buyer, but only those that satisfy the expression."""

    seller = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="sales",
        limit_choices_to={"kind__in": [Party.Kind.PUBLISHER, Party.Kind.INTERMEDIARY]},
        error_messages={"invalid": "Only a publisher or an intermediary can sell. Choose one."},
    )
    buyer = models.ForeignKey(
        Party,
        on_delete=models.PROTECT,
        related_name="purchases",
        limit_choices_to={"kind__in": [Party.Kind.INTERMEDIARY, Party.Kind.ADVERTISER]},
        error_messages={"invalid": "Only an intermediary or an advertiser can buy. Choose one."},
    )
    expression = models.TextField(default="true")
    fee_percent = models.DecimalField(
        max_digits=5,
        decimal_places=2,
        default=Decimal("0"),
        validators=[
            MinValueValidator(Decimal(0), "A fee cannot be negative."),
            MaxValueValidator(Decimal("99.99"), "A fee must stay below 100 percent."),
        ],
        help_text="The seller's share of what passes, from 0 to below 100 percent.",
    )
    is_active = models.BooleanField(default=True)
    is_disclosed = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Everyone on the path may read the rule, not only seller and buyer.",
    )

    objects = EdgeQuerySet.as_manager()

    class Meta:
        ordering = ["id"]
        indexes = index_uses("edge")
        constraints = [
            models.UniqueConstraint(
                fields=["seller", "buyer"],
                name="edge_once_per_pair",
                condition=while_kept(),
                violation_error_message="This seller already sells to this buyer. Edit that edge.",
            ),
            models.CheckConstraint(
                condition=~Q(seller=F("buyer")),
                name="edge_not_to_itself",
                violation_error_message="A party cannot sell to itself. Choose another buyer.",
            ),
            models.CheckConstraint(
                condition=Q(fee_percent__gte=0) & Q(fee_percent__lt=100),
                name="edge_fee_below_100",
                violation_error_message="A fee goes from 0 to below 100 percent.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.seller} → {self.buyer}"
