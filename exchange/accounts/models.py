"""Organisations, the people in them with their roles, and the API keys of ad servers."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, Self

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

# A revocation that cannot reach a server is bounded by the key's end.
LONGEST_KEY_LIFE = timedelta(days=366)
LONGEST_LINK_LIFE = timedelta(days=7)


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

    @property
    def post(self) -> str:
        """The role in words, and for whom, unless it is the exchange itself."""
        role = self.get_role_display()
        if self.organisation is None or self.organisation.is_operator:
            return role
        return f"{role} of {self.organisation.name}"


class PasswordLink(models.Model):
    """Lets a person choose a password, once, before it ends. Only the hash of its secret is kept.
    A newer one, or a chosen password, ends those before: `ended_at`."""

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
        "market.Party", related_name="api_keys", limit_choices_to={"kind": "publisher"}
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
