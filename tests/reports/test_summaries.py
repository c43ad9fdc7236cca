from pathlib import Path

from exchange.market.models import Campaign, Party
from exchange.reports.models import DailyVisits, EligibleVisits
from exchange.reports.summaries import replace_days
from tests.reports.summaries import FIRST, SECOND, make_run, write_day


def eligible_rows() -> list[tuple[str, int, str, int]]:
    rows = EligibleVisits.objects.order_by("day", "publisher__seller_id")
    return [
        (str(row.day), row.campaign_id, row.publisher.seller_id, row.eligible_visits)
        for row in rows.select_related("publisher")
    ]


def test_loading_a_day_again_replaces_it_and_never_adds(
    campaign: Campaign, herald: Party, report_folder: Path
) -> None:
    write_day(
        report_folder,
        FIRST,
        eligible=[(campaign.pk, "daily-herald", 30)],
        visits={"daily-herald": 100},
    )
    replace_days(run=make_run(status="done"), days=[FIRST], out=str(report_folder))
    write_day(
        report_folder,
        FIRST,
        eligible=[(campaign.pk, "daily-herald", 31)],
        visits={"daily-herald": 101},
    )
    replace_days(run=make_run(status="done"), days=[FIRST], out=str(report_folder))
    assert eligible_rows() == [(str(FIRST), campaign.pk, "daily-herald", 31)]
    assert list(DailyVisits.objects.values_list("visits", flat=True)) == [101]


def test_other_days_stay_as_they_were(
    campaign: Campaign, herald: Party, report_folder: Path
) -> None:
    for day in (FIRST, SECOND):
        write_day(
            report_folder,
            day,
            eligible=[(campaign.pk, "daily-herald", 5)],
            visits={"daily-herald": 9},
        )
    replace_days(run=make_run(status="done"), days=[FIRST, SECOND], out=str(report_folder))
    write_day(report_folder, SECOND, eligible=[], visits={"daily-herald": 8})
    replace_days(run=make_run(status="done"), days=[SECOND], out=str(report_folder))
    assert eligible_rows() == [(str(FIRST), campaign.pk, "daily-herald", 5)]


def test_visits_of_unknown_or_no_publisher_are_counted_apart(
    campaign: Campaign, herald: Party, report_folder: Path
) -> None:
    write_day(
        report_folder,
        FIRST,
        eligible=[
            (campaign.pk, "daily-herald", 5),
            (campaign.pk, "stranger", 3),
            (999, "daily-herald", 1),
            (campaign.pk + 1, "daily-herald", 0),
        ],
        visits={"daily-herald": 9, "stranger": 4, None: 0},
        wrong_values=2,
    )
    loaded = replace_days(run=make_run(status="done"), days=[FIRST], out=str(report_folder))
    assert (loaded.unknown_visits, loaded.wrong_values) == (4, 2)
    assert eligible_rows() == [(str(FIRST), campaign.pk, "daily-herald", 5)]
