import csv

import pytest

from exchange.accounts.models import User
from exchange.market.models import Campaign
from exchange.reports.exports import plain, stream_csv
from exchange.reports.models import ReportRun
from exchange.reports.queries import Selection
from tests.reports.summaries import FIRST, SECOND, SNAPSHOT_ID


def read(selection: Selection) -> tuple[list[str], list[dict[str, str]]]:
    lines = list(stream_csv(selection))
    comments = [line for line in lines if line.startswith("#")]
    return comments, list(csv.DictReader(lines[len(comments) :]))


def test_a_download_names_its_days_and_its_snapshot(summer_report: ReportRun, carol: User) -> None:
    comments, _ = read(Selection(FIRST, SECOND, carol))
    assert comments[0].startswith("# Eligible visits from 2026-11-01 to 2026-11-02")
    assert SNAPSHOT_ID in comments[1]


def test_a_download_has_every_row_with_its_whole(
    summer_report: ReportRun, carol: User, campaign: Campaign
) -> None:
    _, rows = read(Selection(FIRST, SECOND, carol, campaign=campaign))
    assert rows[0] == {
        "day": "2026-11-01",
        "campaign_id": str(campaign.pk),
        "campaign": "Summer",
        "advertiser": "Solberg Soda",
        "publisher": "daily-herald",
        "publisher_name": "Daily Herald",
        "eligible_visits": "30",
        "visits": "100",
        "snapshot_id": SNAPSHOT_ID,
    }
    assert [row["eligible_visits"] for row in rows] == ["30", "45"]


def test_a_name_cannot_run_as_a_formula(
    summer_report: ReportRun, carol: User, campaign: Campaign
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(name="=cmd|' /C calc'!A0")
    _, rows = read(Selection(FIRST, FIRST, carol))
    assert rows[0]["campaign"] == "'=cmd|' /C calc'!A0"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_every_way_to_start_a_formula_is_made_plain(start: str) -> None:
    assert plain(f"{start}1+1") == f"'{start}1+1"


def test_numbers_and_ordinary_words_stay_as_they_are() -> None:
    assert [plain(cell) for cell in (-3, 7, "a=b", "")] == [-3, 7, "a=b", ""]
