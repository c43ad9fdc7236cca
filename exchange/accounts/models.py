"""Organisations, the people in them with their roles, and the API keys of ad servers."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from django.db.models import Q


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


class PersonManager(UserManager["User"]):
    """Makes the first administrator: `manage.py createsuperuser`."""

    def create_superuser(
        self,
        username: str,
        email: str | None = None,
        password: str | None = None,
        **extra_fields: Any,
    ) -> User:
        extra_fields.setdefault("role", Role.ADMIN)
        return super().create_superuser(username, email, password, **extra_fields)


class User(AbstractUser):
    """A person; the role says what they may change, the organisation what they may see."""

    organisation = models.ForeignKey(
        Organisation, on_delete=models.PROTECT, related_name="people", null=True, blank=True
    )
    role = models.CharField(max_length=20, choices=Role.choices, default=Role.VIEWER)
    is_demo = models.BooleanField(default=False, help_text="Has a published password.")

    objects: ClassVar[PersonManager] = PersonManager()

    class Meta(AbstractUser.Meta):
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    role__in=["viewer", "campaign_manager", "graph_operator", "analyst", "admin"]
                ),
                name="user_role_is_known",
            )
        ]


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, at: datetime) -> Self:
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=at), revoked_at=None)

    def demo(self) -> Self:
        return self.filter(is_demo=True)


class ApiKey(models.Model):
    """An ad server's key: only its hash is kept, the text is shown once. Revoked, never deleted."""

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

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(hash__regex=r"^[0-9a-f]{64}$"), name="api_key_holds_a_hash"
            )
        ]

    def __str__(self) -> str:
        return self.name
