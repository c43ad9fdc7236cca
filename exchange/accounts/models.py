"""Keeps organisations, and the people in them with their roles."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

LONGEST_LINK_LIFE = timedelta(days=7)


class Organisation(models.Model):
    """A company on the exchange, or the exchange's operator itself."""

    name = models.CharField(max_length=120, unique=True)
    is_operator = models.BooleanField(
        default=False, help_text="Runs the exchange and sees everything."
    )
    unasked_stops = models.PositiveIntegerField(
        "Bookings that a save may stop unasked",
        default=0,
        db_default=0,
        help_text="A save that would stop more bookings than this asks for a tick first.",
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

    @property
    def post(self) -> str:
        """Says the role in words, and for whom, unless it is the exchange itself."""
        role = self.get_role_display()
        if self.organisation is None or self.organisation.is_operator:
            return role
        return f"{role} of {self.organisation.name}"


class PasswordLink(models.Model):
    """A link with which a person chooses a password, once, before it ends. Only the hash of its
    secret is kept. A newer one, or a chosen password, ends those before: `ended_at`."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="password_links")
    hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    created_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(hash__regex=r"^[0-9a-f]{64}$"), name="password_link_holds_a_hash"
            ),
            models.CheckConstraint(
                condition=Q(expires_at__lte=F("created_at") + LONGEST_LINK_LIFE),
                name="password_link_ends_within_a_week",
            ),
        ]


class AddressFailures(models.Model):
    """Failed log-ins of an address in one minute, whatever the names (`accounts.addresses`)."""

    address = models.CharField(max_length=64)
    minute = models.DateTimeField(db_index=True)
    failures = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["address", "minute"], name="address_failures_once")
        ]

    def __str__(self) -> str:
        return f"{self.address} {self.minute:%H:%M}: {self.failures}"


class SavedView(models.Model):
    """A list as a person likes to see it: its filters and order, as they stand in its address."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="saved_views")
    page = models.CharField(max_length=40, help_text="The name of the list's address.")
    name = models.CharField(max_length=40)
    query = models.CharField(max_length=1000)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["person", "page", "name"], name="saved_view_once")
        ]

    def __str__(self) -> str:
        return self.name
