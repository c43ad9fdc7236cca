from __future__ import annotations

import pytest
from django.core.checks import Tags, run_checks
from django.core.management import CommandError, call_command
from pytest_django import Settings

from exchange.accounts.models import Organisation, User
from exchange.demo.checks import check_demo_access
from exchange.keys.models import ApiKey
from exchange.keys.services import create_api_key
from exchange.market.models import Party


@pytest.fixture
def demo_access(operator: Organisation, herald: Party) -> ApiKey:
    User.objects.create_user("viewer", organisation=operator, is_demo=True)
    key, _ = create_api_key(name="demo", organisation=operator, publishers=[herald], is_demo=True)
    return key


@pytest.fixture
def production(settings: Settings) -> None:
    settings.IS_PRODUCTION = True


def find_ids() -> list[str | None]:
    return [message.id for message in check_demo_access(databases=["default"])]


@pytest.mark.usefixtures("demo_access")
def test_development_may_have_demo_accounts() -> None:
    assert find_ids() == []


@pytest.mark.usefixtures("demo_access", "production")
def test_production_refuses_demo_accounts_and_keys_by_name() -> None:
    found = run_checks(tags=[Tags.database], databases=["default"])
    ours = {message.id: message for message in found if str(message.id).startswith("accounts.")}
    assert set(ours) == {"accounts.E001", "accounts.E002"}
    assert "published password: viewer." in ours["accounts.E001"].msg
    assert "disable_demo_access" in str(ours["accounts.E001"].hint)


@pytest.mark.usefixtures("demo_access", "production")
def test_the_hinted_command_makes_production_pass() -> None:
    call_command("disable_demo_access", verbosity=0)
    assert find_ids() == []


@pytest.mark.usefixtures("demo_access", "production")
def test_migrating_a_production_database_stops_at_demo_access() -> None:
    with pytest.raises(CommandError, match=r"accounts\.E001"):
        call_command("migrate", check_unapplied=True, skip_checks=False, verbosity=0)


@pytest.mark.usefixtures("erin", "production")
def test_production_accepts_real_people() -> None:
    assert find_ids() == []


@pytest.mark.usefixtures("production")
def test_the_database_is_not_asked_unless_the_command_uses_it() -> None:
    """Relies on pytest-django, which would refuse the query: this test has no access to a
    database."""
    assert check_demo_access(databases=None) == []
