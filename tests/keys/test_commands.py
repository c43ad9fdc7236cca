from __future__ import annotations

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from exchange.accounts.models import Organisation
from exchange.keys.models import ApiKey
from exchange.keys.services import hash_api_key
from exchange.market.models import Party


def run(*arguments: str) -> tuple[str, str]:
    stdout, stderr = StringIO(), StringIO()
    call_command(*arguments, stdout=stdout, stderr=stderr)
    return stdout.getvalue(), stderr.getvalue()


def test_create_api_key_prints_the_key_alone_on_stdout(herald: Party) -> None:
    stdout, stderr = run("create_api_key", "--name=web 1", f"--publisher={herald.seller_id}")
    key = ApiKey.objects.get(hash=hash_api_key(stdout.strip()))
    assert key.name == "web 1"
    assert key.organisation == herald.organisation
    assert key.scopes == ["eligibility:read"]
    assert abs(key.expires_at - timezone.now() - timedelta(days=180)) < timedelta(minutes=1)
    assert "not shown again" in stderr
    assert stdout.strip() not in stderr


def test_create_api_key_can_expire(herald: Party) -> None:
    run("create_api_key", "--name=w", f"--publisher={herald.seller_id}", "--expires-in-days=30")
    expires_at = ApiKey.objects.get().expires_at
    assert abs(expires_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--publisher=nobody"], "No party has the seller id nobody."),
        (["--publisher=solberg-soda"], "Not a publisher: Solberg Soda."),
        (["--publisher=daily-herald", "--organisation=Acme"], "There is no organisation Acme."),
        (["--publisher=daily-herald", "--expires-in-days=0"], "must be from 1 to 366"),
        (["--publisher=daily-herald", "--expires-in-days=367"], "must be from 1 to 366"),
        (["--publisher=daily-herald", "--scope=all"], "invalid choice: 'all'"),
    ],
)
@pytest.mark.usefixtures("herald", "soda")
def test_create_api_key_says_what_is_wrong(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run("create_api_key", "--name=web 1", *arguments)
    assert not ApiKey.objects.exists()


@pytest.mark.usefixtures("herald")
def test_create_api_key_asks_for_the_owner_when_publishers_differ() -> None:
    other = Organisation.objects.create(name="Gazette Group")
    Party.objects.create(kind="publisher", name="Gazette", seller_id="gazette", organisation=other)
    both = ["--publisher=daily-herald", "--publisher=gazette"]
    with pytest.raises(CommandError, match="Gazette Group, Treeline Exchange: say --organisation"):
        run("create_api_key", "--name=web 1", *both)
    run("create_api_key", "--name=web 1", *both, "--organisation=Gazette Group")
    assert ApiKey.objects.get().organisation == other


def test_keys_are_listed_with_their_state_and_revoked_by_id(herald: Party) -> None:
    scopes = ["--scope=eligibility:read", "--scope=reports:read"]
    run("create_api_key", "--name=web 1", f"--publisher={herald.seller_id}", *scopes)
    key = ApiKey.objects.get()
    assert run("list_api_keys")[0].split("\t") == [
        str(key.pk),
        f"{key.start}…",
        "web 1",
        "Treeline Exchange",
        "eligibility:read,reports:read",
        "daily-herald",
        f"expires {key.expires_at:%Y-%m-%d}",
        "never used\n",
    ]
    assert run("revoke_api_key", str(key.pk))[0] == f"Key {key.pk}, web 1: revoked.\n"
    assert run("revoke_api_key", str(key.pk))[0] == f"Key {key.pk}, web 1: already revoked.\n"
    assert "\trevoked " in run("list_api_keys")[0]


@pytest.mark.django_db
def test_revoking_an_unknown_key_says_so() -> None:
    with pytest.raises(CommandError, match="There is no API key 7"):
        run("revoke_api_key", "7")
