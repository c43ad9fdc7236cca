"""Keeps test visits: what a campaign must, and must not, be eligible for."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from exchange.market.models.campaigns import Campaign
from exchange.market.models.revised import Revised, keep_revisions, while_kept
from exchange.market.querysets import TestVisitQuerySet


@keep_revisions()
class TestVisit(Revised):
    """A visit with its expected outcome, run whenever its campaign is saved; belongs to the
    campaign's organisation."""

    __test__: ClassVar[bool] = False  # no test case, whatever pytest thinks of the name

    campaign = models.ForeignKey(Campaign, on_delete=models.PROTECT, related_name="test_visits")
    name = models.CharField(max_length=120)
    visit = models.JSONField(help_text="A visit as an ad server sends it.")
    expects_eligible = models.BooleanField(default=True)

    objects = TestVisitQuerySet.as_manager()

    class Meta:
        ordering = ["campaign", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["campaign", "name"],
                name="test_visit_name_per_campaign",
                condition=while_kept(),
                violation_error_message="This campaign already has a test visit of that name.",
            ),
            models.CheckConstraint(condition=~Q(name=""), name="test_visit_has_a_name"),
        ]

    def __str__(self) -> str:
        return self.name
