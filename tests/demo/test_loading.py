"""Loading the demo: once, completely, and safely when it is killed in the middle."""

from __future__ import annotations

import stat
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.apps import apps
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.http import HttpRequest

from exchange.accounts.models import Organisation, User
from exchange.demo.loading import Market, load_market, one_ahead
from exchange.demo.service import load_demo
from exchange.demo.visit_log import VisitLog
from exchange.keys.models import ApiKey
from exchange.keys.services import hash_api_key
from exchange.market.history import events_of
from exchange.market.models import Booking, Campaign, Edge, Party, Revised

TODAY = date(2026, 11, 16)
SMALL = Market(seed=1, campaigns=40, reference=TODAY)


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings: Any, db: None) -> Path:
    settings.VAR_DIR = tmp_path
    settings.VISIT_LOG_DIR = tmp_path / "visits"
    settings.DEMO_LOGINS = True
    # Every load hashes the published password; the strong hash would be half of these tests' time.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return tmp_path


def quiet(what: str, done: int, total: int) -> None:
    """Takes reports that nobody reads."""


def log_in(var: Path, *, days: int = 3, visits: int = 50) -> VisitLog:
    return VisitLog(var / "visits", 1, visits, days, TODAY)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("load_demo", *arguments, stdout=out)
    return out.getvalue()


class KilledError(Exception):
    pass


def test_the_command_loads_everything_and_says_how_much(var: Path) -> None:
    said = run("--campaigns", "40", "--visits", "50", "--days", "3")
    assert "40 of 40 campaigns" in said
    assert "3 of 3 days of visits" in said
    assert Party.objects.count() == 202
    assert Campaign.objects.count() == 40
    assert Booking.objects.count() > 40
    assert Edge.objects.filter(expression="true").exists()
    assert len(list((var / "visits").glob("dt=*/part-*.parquet"))) == 3


def test_a_second_call_changes_nothing_and_says_so(var: Path) -> None:
    load_demo(market=SMALL, log=log_in(var), report=quiet)
    key = (var / "demo-api-key").read_text()
    before = {path: path.stat().st_mtime_ns for path in (var / "visits").rglob("*.parquet")}
    outcome = load_demo(market=SMALL, log=log_in(var), report=quiet)
    assert outcome.did_nothing
    assert (var / "demo-api-key").read_text() == key
    assert {path: path.stat().st_mtime_ns for path in (var / "visits").rglob("*.parquet")} == before
    assert Campaign.objects.count() == 40


def test_the_next_day_adds_the_missing_day_only(var: Path) -> None:
    load_demo(market=SMALL, log=log_in(var), report=quiet)
    tomorrow = VisitLog(var / "visits", 1, 50, 3, date(2026, 11, 17))
    assert load_demo(market=SMALL, log=tomorrow, report=quiet).days_written == 1


def test_everyone_can_log_in_with_the_published_password_in_their_role() -> None:
    run("--campaigns", "5", "--visits", "5", "--days", "1")
    roles = {
        "viewer": "viewer",
        "manager": "campaign_manager",
        "operator": "graph_operator",
        "analyst": "analyst",
        "admin": "admin",
    }
    for name, role in roles.items():
        user = authenticate(HttpRequest(), username=name, password="treeline-demo")
        assert isinstance(user, User)
        assert (user.role, user.is_demo) == (role, True)
        assert user.organisation is not None
        assert user.organisation.is_operator


def test_a_person_of_the_same_name_keeps_their_own_account() -> None:
    own = User.objects.create_user("admin", password="something else")
    run("--campaigns", "5", "--visits", "5", "--days", "1")
    own.refresh_from_db()
    assert not own.is_demo
    assert own.check_password("something else")


def test_the_key_is_private_and_opens_all_publishers(var: Path) -> None:
    run("--campaigns", "5", "--visits", "5", "--days", "1")
    file = var / "demo-api-key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    key = ApiKey.objects.get(hash=hash_api_key(file.read_text().strip()))
    assert key.is_demo
    assert key.publishers.count() == 12


def test_a_lost_key_file_gives_a_new_key_and_ends_the_old_one(var: Path) -> None:
    load_demo(market=SMALL, log=log_in(var), report=quiet)
    (var / "demo-api-key").unlink()
    outcome = load_demo(market=SMALL, log=log_in(var), report=quiet)
    assert (outcome.made_key, outcome.loaded_market) == (True, False)
    assert ApiKey.objects.filter(revoked_at=None).count() == 1
    assert ApiKey.objects.exclude(revoked_at=None).count() == 1


def test_a_load_that_dies_among_the_campaigns_leaves_an_empty_market(var: Path) -> None:
    def die(what: str, done: int, total: int) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        load_demo(market=SMALL, log=log_in(var), report=die)
    assert not Party.objects.exists()
    assert not Organisation.objects.exists()
    assert load_demo(market=SMALL, log=log_in(var), report=quiet).loaded_market
    assert Campaign.objects.count() == 40


def test_a_load_that_dies_among_the_visits_goes_on_with_the_missing_days(var: Path) -> None:
    def die(what: str, done: int, total: int) -> None:
        if what == "days of visits" and done == 2:
            raise KilledError

    with pytest.raises(KilledError):
        load_demo(market=SMALL, log=log_in(var), report=die)
    half_written = var / "visits" / "dt=2026-11-15" / ".part-00000.parquet"
    half_written.parent.mkdir()
    half_written.write_bytes(b"PAR1")
    outcome = load_demo(market=SMALL, log=log_in(var), report=quiet)
    assert (outcome.loaded_market, outcome.days_written) == (False, 1)
    for path in (var / "visits").glob("dt=*/part-*.parquet"):
        assert pq.read_table(path).num_rows > 40
    assert not half_written.exists()


def test_the_demo_refuses_a_market_that_is_not_its_own() -> None:
    Party.objects.create(
        kind="publisher",
        name="Daily Herald",
        seller_id="daily-herald",
        organisation=Organisation.objects.create(name="Herald House"),
    )
    with pytest.raises(CommandError, match="not the demo's"):
        run("--campaigns", "5")


def test_the_demo_refuses_to_load_where_demo_logins_are_off(settings: Any) -> None:
    settings.DEMO_LOGINS = False
    with pytest.raises(CommandError, match="TREELINE_DEMO_LOGINS"):
        run("--campaigns", "5")


@pytest.mark.parametrize("option", ["--campaigns", "--visits", "--days"])
def test_nothing_less_than_one_is_accepted(option: str) -> None:
    with pytest.raises(CommandError, match="at least 1"):
        run(option, "0")


def test_the_database_keeps_what_was_generated_and_gives_new_rows_new_ids() -> None:
    load_market(market=SMALL, report=quiet)
    kept = Campaign.objects.order_by("id").first()
    assert kept is not None
    assert "\u2013" in kept.name
    assert kept.expression == kept.expression.strip()
    created = Campaign.objects.create(
        advertiser=kept.advertiser, name="Made by hand", expression="true", status="draft"
    )
    assert created.pk > Campaign.objects.exclude(pk=created.pk).order_by("-id")[0].pk


def test_everything_that_was_loaded_says_that_it_was_imported() -> None:
    """Looks at the catalogue as well, which every migration fills."""
    load_market(market=SMALL, report=quiet)
    for model in apps.get_app_config("market").get_models():
        if issubclass(model, Revised):
            contexts = events_of(model()).model._default_manager.values_list("pgh_context")
            assert set(map(str, contexts)) == {"({'user': None, 'source': 'import'},)"}, model


def test_a_large_load_leaves_every_index_and_rule_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Shows that a load takes them away and builds them at its end; what it fills keeps all of its
    history."""
    monkeypatch.setattr("exchange.demo.loading.LARGE_LOAD", 40)
    before = read_schema()
    load_market(market=SMALL, report=quiet)
    assert read_schema() == before
    assert Campaign.objects.count() == 40
    assert events_of(Campaign()).model._default_manager.count() == 40
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE market_booking SET campaign_id = 0; SET CONSTRAINTS ALL IMMEDIATE")


def read_schema() -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexdef FROM pg_indexes WHERE tablename LIKE 'market%' UNION ALL"
            " SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1"
        )
        return list(cursor.fetchall())


def test_a_batch_that_cannot_be_made_stops_the_load() -> None:
    def make(number: int) -> int:
        if number == 2:
            raise KilledError
        return number

    made = one_ahead(make, range(5))
    assert [next(made), next(made)] == [0, 1]
    with pytest.raises(KilledError):
        next(made)


def test_loading_streams_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exchange.demo.loading.BATCH", 16)
    seen: list[int] = []
    load_market(market=SMALL, report=lambda _what, done, _total: seen.append(done))
    assert seen == [16, 32, 40]
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(DISTINCT id), count(*) FROM market_campaign")
        assert cursor.fetchone() == (40, 40)
