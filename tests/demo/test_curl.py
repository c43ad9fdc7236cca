"""The printed curl line can be pasted, carries the demo's key, and asks for an eligible visit."""

from __future__ import annotations

import json
import shlex
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from exchange.market.catalog import load_catalog
from exchange.market.expressions import read_expression
from exchange.market.models import Booking


@pytest.fixture(autouse=True)
def var(tmp_path: Path, settings: Any, db: None) -> Path:
    settings.VAR_DIR = tmp_path
    settings.VISIT_LOG_DIR = tmp_path / "visits"
    settings.DEMO_LOGINS = True
    # Every load hashes the published password; the strong hash would be half of these tests' time.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return tmp_path


def print_curl() -> str:
    out = StringIO()
    call_command("load_demo", "--print-curl", "--port", "8123", stdout=out)
    return out.getvalue()


def test_the_line_asks_for_a_visit_that_some_booked_campaign_wants(var: Path) -> None:
    call_command(
        "load_demo", "--campaigns", "600", "--visits", "400", "--days", "1", stdout=StringIO()
    )
    printed = print_curl()
    assert printed.count("\n") == 1
    words = shlex.split(printed)
    assert words[:3] == ["curl", "-s", "http://127.0.0.1:8123/api/v1/eligibility"]
    key = (var / "demo-api-key").read_text().strip()
    assert f"Authorization: Api-Key {key}" in words
    body = json.loads(words[words.index("-d") + 1])
    assert not {"visit_id", "time", "local_time", "publisher.id"} & body["visit"].keys()
    now = timezone.now().isoformat()
    visit = {**body["visit"], "publisher.id": body["publisher"], "time": now, "local_time": now}
    booked = Booking.objects.filter(
        publisher__seller_id=body["publisher"], campaign__status="live"
    ).values_list("campaign__expression", flat=True)
    catalog = load_catalog()
    read = [read_expression(text=it, catalog=catalog, organisation_id=None) for it in booked]
    assert sum(expression.evaluate(visit) is True for expression in read) >= 1


def test_without_a_demo_it_says_what_to_do_first() -> None:
    with pytest.raises(CommandError, match="load_demo first"):
        print_curl()
