import csv
import io
from itertools import product

import pyarrow as pa
import pyarrow.csv
import pytest

from exchange.accounts.models import User
from exchange.market.models import Campaign, Party
from exchange.reports.exports import MEANINGS, plain, stream_csv
from exchange.reports.models import EligibleVisits, ReportRun
from exchange.reports.queries import Selection
from tests.reports.summaries import FIRST, SECOND, SNAPSHOT_ID


def read(selection: Selection) -> list[dict[str, str]]:
    text = "".join(stream_csv(selection))
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


def test_a_download_is_a_header_and_rows_that_spreadsheets_know_as_utf8(
    summer_report: ReportRun, carol: User, campaign: Campaign
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(name="Été")
    content = "".join(stream_csv(Selection(FIRST, SECOND, carol))).encode()
    assert content.startswith(b"\xef\xbb\xbfday,campaign_id,campaign,")
    assert content.count(b"\xef\xbb\xbf") == 1
    table = pa.csv.read_csv(io.BytesIO(content))  # a program that knows no comments
    assert table.column_names == list(MEANINGS)
    assert table["campaign"].to_pylist() == ["Été", "Été"]


def test_a_download_has_every_row_with_its_whole(
    summer_report: ReportRun, carol: User, campaign: Campaign
) -> None:
    rows = read(Selection(FIRST, SECOND, carol, campaign=campaign))
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
    rows = read(Selection(FIRST, FIRST, carol))
    assert rows[0]["campaign"] == "'=cmd|' /C calc'!A0"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_every_way_to_start_a_formula_is_made_plain(start: str) -> None:
    assert plain(f"{start}1+1") == f"'{start}1+1"


def test_ordinary_words_stay_as_they_are() -> None:
    assert [plain(cell) for cell in ("a=b", "")] == ["a=b", ""]


@pytest.mark.parametrize("most_named", [0, 20_000])
@pytest.mark.parametrize("rows_per_piece", [1, 2, 3, 4_000])
def test_a_download_has_all_rows_of_a_search_however_many_it_means(
    most_named: int,
    rows_per_piece: int,
    summer_report: ReportRun,
    carol: User,
    soda: Party,
    herald: Party,
    gazette: Party,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Gives each once, in order, whether they are found through campaigns or among all rows, and
    wherever a piece ends."""
    names = ("Summer sale", "Winter", "Late summer")
    for name, publisher in product(names, (gazette, herald)):
        campaign, _ = Campaign.objects.get_or_create(
            advertiser=soda, name=name, defaults={"expression": "true"}
        )
        EligibleVisits.objects.create(
            day=SECOND, campaign=campaign, publisher=publisher, eligible_visits=5, run=summer_report
        )
    monkeypatch.setattr("exchange.reports.exports.MOST_LOOKED_UP", most_named)
    monkeypatch.setattr("exchange.reports.exports.ROWS_PER_PIECE", rows_per_piece)
    every = read(Selection(FIRST, SECOND, carol))
    assert len(every) == 8
    meant = read(Selection(FIRST, SECOND, carol, text="summ"))
    assert meant == [row for row in every if row["campaign"] != "Winter"]
    at_herald = read(Selection(FIRST, SECOND, carol, herald, text="summ"))
    assert at_herald == [row for row in meant if row["publisher"] == "daily-herald"]


def test_a_download_is_read_as_it_is_taken(
    summer_report: ReportRun, carol: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows that rows that come later are in it: nothing was put together before."""
    monkeypatch.setattr("exchange.reports.exports.ROWS_PER_PIECE", 1)
    pieces = stream_csv(Selection(FIRST, SECOND, carol))
    assert [next(pieces).count("\n") for _ in range(2)] == [1, 1]
    EligibleVisits.objects.filter(day=SECOND).update(eligible_visits=46)
    assert ",46," in next(pieces)
