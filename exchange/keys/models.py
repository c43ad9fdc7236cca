"""Keeps the API keys of ad servers and other programs, with what each may be used for."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from exchange.accounts.models import Organisation, User
from exchange.market.models import Party

# A revocation that cannot reach a server is bounded by the key's end.
LONGEST_KEY_LIFE = timedelta(days=366)


class Scope(models.TextChoices):
    """What a key may be used for; each use asks for one."""

    ELIGIBILITY_READ = "eligibility:read", "Ask which campaigns are eligible"
    EXPLAIN_READ = "explain:read", "Ask why a campaign is eligible or not"
    MANAGE_WRITE = "manage:write", "Change parties, edges, campaigns and bookings"
    REPORTS_READ = "reports:read", "Read reports"
    SNAPSHOT_READ = "snapshot:read", "Download snapshots, which hold everybody's targeting"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, at: datetime) -> Self:
        return self.filter(expires_at__gt=at, revoked_at=None)

    def demo(self) -> Self:
        return self.filter(is_demo=True)


class ApiKey(models.Model):
    """A program's key: only its hash is kept, the text is shown once. Revoked, never deleted."""

    name = models.CharField(max_length=120)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="api_keys"
    )
    hash = models.CharField(max_length=64, unique=True)
    start = models.CharField(max_length=8, help_text="The text's first letters, to tell keys by.")
    scopes = ArrayField(models.CharField(max_length=20, choices=Scope.choices))
    publishers = models.ManyToManyField(
        Party, related_name="api_keys", limit_choices_to={"kind": "publisher"}
    )
    is_demo = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(
        null=True, blank=True, help_text="To within a minute; servers write it down now and then."
    )

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        # Keys were rows of `accounts` before they had an app of their own.
        db_table = "accounts_apikey"
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(hash__regex=r"^[0-9a-f]{64}$"), name="api_key_holds_a_hash"
            ),
            models.CheckConstraint(
                condition=Q(
                    scopes__len__gt=0,
                    scopes__contained_by=[
                        "eligibility:read",
                        "explain:read",
                        "manage:write",
                        "reports:read",
                        "snapshot:read",
                    ],
                ),
                name="api_key_scopes_are_known",
            ),
            models.CheckConstraint(
                condition=Q(expires_at__lte=F("created_at") + LONGEST_KEY_LIFE),
                name="api_key_ends_within_a_year",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def state(self, at: datetime) -> Literal["active", "expired", "revoked"]:
        if self.revoked_at is not None:
            return "revoked"
        return "active" if self.expires_at > at else "expired"
