"""The benchmark of pages asks every address there is, and gets an answer."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from bench import pages
from bench.addresses import LEFT_OUT, find_names, is_left_out
from exchange.demo import access
from exchange.demo.loading import Market, load_market
from exchange.market.models import Campaign
from exchange.reports.models import ReportRun
from exchange.snapshots.models import SnapshotBuild
from tests.reports.night.written import NIGHT, nights, reach, write_night

__all__ = ["nights"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def loaded(nights: Path) -> None:
    """Loads the demo with few campaigns, its people, two builds to compare, a run and two tables of
    its night."""
    load_market(market=Market(1, 40, date(2026, 11, 1)), report=lambda *_: None)
    access.create_logins()
    access.create_key()
    for status in ("replaced", "live"):
        SnapshotBuild.objects.create(status=status, snapshot_id=status)
    ReportRun.objects.create(first_day=NIGHT, last_day=NIGHT, status="done")
    pk = Campaign.objects.order_by("pk").values_list("pk", flat=True)[0]
    write_night(nights, "reach", {"reach": [reach(pk, 300)]})
    write_night(nights, "overlap", {"alone": [], "partners": []})


@pytest.mark.usefixtures("loaded")
def test_every_reader_is_answered_at_every_address(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it is left out with a reason."""
    monkeypatch.setattr(pages, "VIEWS", 1)
    measured = list(pages.measure())
    asked = {row.question.name for row in measured}
    assert {name for name in find_names() if not is_left_out(name)} == asked
    assert not {name for name in LEFT_OUT if name not in find_names()}
    assert all(LEFT_OUT.values())

    wrong = [row for row in measured if row.reader == "operator" and row.status not in (200, 503)]
    assert {row.question.name for row in wrong} == {"^api/", "password-change"}  # of a demo login
    pages.tell(measured)
    table = capsys.readouterr().out
    assert all(f"| {name} |" in table for name in asked)
    assert f"{len(measured):,} questions" in table
