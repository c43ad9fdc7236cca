"""Organisations, the people in them with their roles, and the API keys of ad servers."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models


class Organisation(models.Model):
    """A company on the exchange, or the exchange's operator itself."""

    name = models.CharField(max_length=120, unique=True)
    is_operator = models.BooleanField(
        default=False, help_text="Runs the exchange and sees everything."
    )

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    VIEWER = "viewer", "Viewer"
    CAMPAIGN_MANAGER = "campaign_manager", "Campaign manager"
    GRAPH_OPERATOR = "graph_operator", "Graph operator"
    ANALYST = "analyst", "Analyst"
    ADMIN = "admin", "Administrator"


class User(AbstractUser):
    """A person; the role says what they may change, the organisation what they may see."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="people", null=True, blank=True
    )
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.VIEWER)
    is_demo = models.BooleanField(default=False, help_text="Has a published password.")


class ApiKey(models.Model):
    """An ad server's key. Only the hash is kept; the key itself is shown once."""

    name = models.CharField(max_length=120)
    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="api_keys"
    )
    hash = models.CharField(max_length=64, unique=True)
    publishers = models.ManyToManyField(
        "market.Party", related_name="api_keys", limit_choices_to={"kind": "publisher"}
    )
    is_demo = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name
