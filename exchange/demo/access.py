"""Makes the demo's logins and its API key, and ends them. Their secrets are published: production
mode refuses them."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from exchange.accounts.models import Organisation, Role, User
from exchange.demo.loading import OPERATOR
from exchange.keys.models import ApiKey
from exchange.keys.services import create_api_key, hash_api_key, publish_keys_on_commit
from exchange.market.models import Party

PASSWORD = "treeline-demo"  # noqa: S105  (published on purpose)
LOGINS: dict[str, Role] = {
    "viewer": Role.VIEWER,
    "manager": Role.CAMPAIGN_MANAGER,
    "operator": Role.GRAPH_OPERATOR,
    "analyst": Role.ANALYST,
    "admin": Role.ADMIN,
}
# People who trade on the exchange and see their own side of it only.
GUESTS: dict[str, tuple[Role, Party.Kind]] = {
    "publisher": (Role.ADMIN, Party.Kind.PUBLISHER),
    "advertiser": (Role.CAMPAIGN_MANAGER, Party.Kind.ADVERTISER),
}


def key_file() -> Path:
    return Path(settings.VAR_DIR) / "demo-api-key"


@transaction.atomic
def create_logins() -> None:
    """Makes the logins; leaves people alone who already have one of the names."""
    operator = Organisation.objects.get(name=OPERATOR)
    wanted = {name: (role, operator) for name, role in LOGINS.items()}
    wanted |= {name: (role, first_house(kind)) for name, (role, kind) in GUESTS.items()}
    taken = set(User.objects.filter(username__in=wanted).values_list("username", flat=True))
    password = make_password(PASSWORD)
    User.objects.bulk_create(
        User(
            username=name,
            email=f"{name}@treeline.example",
            password=password,
            organisation=organisation,
            role=role,
            is_demo=True,
        )
        for name, (role, organisation) in wanted.items()
        if name not in taken
    )


def first_house(kind: Party.Kind) -> Organisation:
    """Finds the organisation of the demo's first party of a kind, the same one on every load."""
    parties = Party.objects.filter(kind=kind).select_related("organisation")
    return parties.order_by("pk")[0].organisation


def read_key() -> str | None:
    """Reads the key's text, if its file is there and the database knows it."""
    try:
        text = key_file().read_text().strip()
    except FileNotFoundError:
        return None
    is_known = ApiKey.objects.usable(timezone.now()).filter(hash=hash_api_key(text)).exists()
    return text if is_known else None


@transaction.atomic
def create_key() -> str:
    """Makes one key for all publishers; its file is there before the transaction ends."""
    ApiKey.objects.demo().filter(revoked_at=None).update(revoked_at=timezone.now())
    _, text = create_api_key(
        name="Demo ad server",
        organisation=Organisation.objects.get(name=OPERATOR),
        publishers=list(Party.objects.filter(kind=Party.Kind.PUBLISHER)),
        is_demo=True,
    )
    _write_private(key_file(), text + "\n")
    return text


def _write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    aside.replace(path)


@transaction.atomic
def disable_demo_access() -> tuple[int, int]:
    """Closes accounts and revokes keys whose secret is published; says how many of each."""
    people = User.objects.filter(is_demo=True, is_active=True).update(is_active=False)
    keys = ApiKey.objects.demo().filter(revoked_at=None).update(revoked_at=timezone.now())
    if keys:
        publish_keys_on_commit()
    return people, keys
