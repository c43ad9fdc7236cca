import csv
import io

import pyarrow as pa
import pyarrow.csv
import pytest

from exchange.accounts.models import User
from exchange.market.models import Campaign
from exchange.reports.exports import COLUMNS, MEANINGS, plain, stream_csv
from exchange.reports.models import ReportRun
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
    assert table.column_names == list(COLUMNS)
    assert table["campaign"].to_pylist() == ["Été", "Été"]


def test_every_column_is_explained() -> None:
    assert list(MEANINGS) == list(COLUMNS)


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


def test_numbers_and_ordinary_words_stay_as_they_are() -> None:
    assert [plain(cell) for cell in (-3, 7, "a=b", "")] == [-3, 7, "a=b", ""]
