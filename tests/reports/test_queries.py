from datetime import date

import pytest
from django.db.models import Sum
from django.utils import timezone

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Campaign, Party
from exchange.reports.models import (
    DailyVisits,
    EligibleSums,
    EligibleVisits,
    KeptCampaigns,
    ReportRun,
)
from exchange.reports.queries import (
    SORT_FIELDS,
    TOP_CAMPAIGNS,
    Selection,
    Sort,
    Tally,
    TooManyNamedError,
    keep_newest_days,
    last_reported_days,
    read_report,
)
from tests.reports.summaries import FIRST, SECOND, SNAPSHOT_ID, make_run
from tests.trading import Exchange, exchange

__all__ = ["exchange"]


def test_one_campaign_is_a_share_of_the_visits_where_it_is_booked(
    summer_report: ReportRun, carol: User, campaign: Campaign
) -> None:
    report = read_report(Selection(FIRST, SECOND, carol, campaign=campaign), Sort())
    assert report.total == Tally(eligible=75, visits=350)
    assert [(day.eligible, day.visits) for day in report.days] == [(30, 150), (45, 200)]
    assert [(row.publisher.name, row.percent) for row in report.publishers] == [
        ("Daily Herald", 30.0),
        ("Evening Gazette", 0.0),
    ]


def test_a_publisher_narrows_both_sides_of_the_share(
    summer_report: ReportRun, carol: User, campaign: Campaign, gazette: Party
) -> None:
    report = read_report(
        Selection(FIRST, SECOND, carol, publisher=gazette, campaign=campaign), Sort()
    )
    assert report.total == Tally(eligible=0, visits=100)


def test_days_that_were_never_counted_are_told_apart_from_zero(
    summer_report: ReportRun, carol: User
) -> None:
    report = read_report(Selection(FIRST, SECOND.replace(day=3), carol), Sort())
    assert [day.visits for day in report.days] == [150, 200, None]
    assert report.missing_days == 1


def test_search_finds_campaigns_by_name_and_by_advertiser(
    summer_report: ReportRun, carol: User, campaign: Campaign
) -> None:
    for text, count in (("summ", 1), ("soda", 1), ("winter", 0)):
        report = read_report(Selection(FIRST, SECOND, carol, text=text), Sort())
        assert report.campaign_count == count, text


@pytest.fixture
def three_summers(summer_report: ReportRun, soda: Party, gazette: Party) -> ReportRun:
    """Adds two more campaigns, one of them retired, that were eligible for five visits each."""
    for name, retired_at in (("Late summer", None), ("Summer's end", timezone.now())):
        campaign = Campaign.objects.create(
            advertiser=soda, name=name, expression="true", retired_at=retired_at
        )
        EligibleVisits.objects.create(
            day=FIRST, campaign=campaign, publisher=gazette, eligible_visits=5, run=summer_report
        )
    return summer_report


def test_a_search_sums_up_all_campaigns_that_it_means(
    three_summers: ReportRun, carol: User, gazette: Party
) -> None:
    def read(text: str, publisher: Party | None = None) -> tuple[int, list[tuple[str, int]], int]:
        report = read_report(Selection(FIRST, SECOND, carol, publisher, text=text), Sort())
        named = [(row.campaign, row.eligible) for row in report.campaigns]
        return report.total.eligible, named, report.campaign_count

    late, end = ("Late summer", 5), ("Summer's end", 5)
    assert read("summ") == (85, [("Summer", 75), late, end], 3)
    assert read("sod") == (85, [("Summer", 75), late, end], 3)
    assert read("summer late") == (5, [late], 1)
    assert read("winter") == (0, [], 0)
    assert read("summ", gazette) == read("sod", gazette) == (10, [late, end], 2)
    assert read("late", gazette) == (5, [late], 1)


def test_a_search_that_means_too_many_is_not_summed_up(
    three_summers: ReportRun,
    carol: User,
    gazette: Party,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Unless it is among the campaigns at one publisher, which are few."""
    monkeypatch.setattr("exchange.reports.queries.MOST_NAMED", 2)
    for text in ("summ", "sod", "s"):
        with pytest.raises(TooManyNamedError):
            read_report(Selection(FIRST, SECOND, carol, text=text), Sort())
    at_gazette = Selection(FIRST, SECOND, carol, gazette, text="s")
    assert read_report(at_gazette, Sort()).campaign_count == 2
    assert read_report(Selection(FIRST, SECOND, carol, text="late"), Sort()).campaign_count == 1


def test_campaigns_beyond_the_table_are_counted(
    summer_report: ReportRun, carol: User, soda: Party, herald: Party
) -> None:
    for number in range(TOP_CAMPAIGNS + 4):
        campaign = Campaign.objects.create(
            advertiser=soda, name=f"Winter {number}", expression="true"
        )
        EligibleVisits.objects.create(
            day=FIRST, campaign=campaign, publisher=herald, eligible_visits=1, run=summer_report
        )
    report = read_report(Selection(FIRST, SECOND, carol, text="winter"), Sort())
    assert (len(report.campaigns), report.campaign_count) == (TOP_CAMPAIGNS, TOP_CAMPAIGNS + 4)


def test_people_find_their_own_campaigns_only(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shows it however many the text means in the whole exchange."""
    monkeypatch.setattr("exchange.reports.queries.MOST_NAMED", 0)
    run = make_run(status="done", snapshot_id=SNAPSHOT_ID)
    for campaign in (exchange.campaign, exchange.rival_campaign):
        EligibleVisits.objects.create(
            day=FIRST,
            campaign=campaign,
            publisher=exchange.herald.party,
            eligible_visits=7,
            run=run,
        )
    viewer = exchange.soda.people[Role.ANALYST]
    own, rival = exchange.soda.party.name, exchange.rival.party.name
    for text, count in (("summ", 1), ("umm", 0), ("winter", 0), (own, 1), (rival, 0), ("%", 0)):
        report = read_report(Selection(FIRST, FIRST, viewer, text=text), Sort())
        assert (report.campaign_count, report.total.eligible) == (count, 7 * count), text


def test_a_report_names_its_snapshots(summer_report: ReportRun, carol: User) -> None:
    assert read_report(Selection(FIRST, SECOND, carol), Sort()).snapshot_ids == [SNAPSHOT_ID]


def test_an_unknown_order_is_the_usual_one(operator: Organisation) -> None:
    assert Sort.of("-drop table") == Sort("eligible", is_descending=True)
    assert Sort.of("campaign").order() == ["campaign__name", "campaign_id"]


def test_the_newest_reported_days_come_first(summer_report: ReportRun) -> None:
    days = last_reported_days()
    assert days is not None
    assert days[1] == SECOND


def test_people_read_about_their_own_campaigns_and_publishers(exchange: Exchange) -> None:
    run = make_run(status="done", snapshot_id=SNAPSHOT_ID)
    herald = exchange.herald.party
    DailyVisits.objects.create(day=FIRST, publisher=herald, visits=100, run=run)
    for campaign, eligible in ((exchange.campaign, 30), (exchange.rival_campaign, 5)):
        EligibleVisits.objects.create(
            day=FIRST, campaign=campaign, publisher=herald, eligible_visits=eligible, run=run
        )

    def read(viewer: User) -> tuple[int, int | None, set[str]]:
        report = read_report(Selection(FIRST, FIRST, viewer), Sort())
        return (
            report.total.eligible,
            report.total.visits,
            {row.campaign for row in report.campaigns},
        )

    assert read(exchange.operators[Role.ANALYST]) == (35, 100, {"Summer", "Winter"})
    assert read(exchange.herald.people[Role.ANALYST]) == (35, 100, {"Summer", "Winter"})
    assert read(exchange.soda.people[Role.ANALYST]) == (30, 100, {"Summer"})
    # Rival's campaign was once eligible at the Herald, but is not booked there: no whole to show.
    assert read(exchange.rival.people[Role.ANALYST]) == (5, 0, {"Winter"})
    assert read(exchange.northgate.people[Role.ANALYST]) == (0, 0, set())


def sum_raw_rows() -> dict[tuple[date, int], int]:
    rows = EligibleVisits.objects.order_by().values_list("day", "publisher")
    return {(day, pk): total for day, pk, total in rows.annotate(total=Sum("eligible_visits"))}


def test_the_whole_exchange_is_counted_once_until_a_day_changes(
    summer_report: ReportRun, carol: User, campaign: Campaign, gazette: Party, soda: Party
) -> None:
    whole = Selection(FIRST, SECOND, carol)
    winter = Campaign.objects.create(advertiser=soda, name="Winter", expression="true")

    def read() -> tuple[int, list[tuple[str, int]], int]:
        report = read_report(whole, Sort())
        named = [(row.campaign, row.eligible) for row in report.campaigns]
        sums = EligibleSums.objects.exclude(eligible_visits=0)
        assert sum_raw_rows() == {(row.day, row.publisher_id): row.eligible_visits for row in sums}
        return report.total.eligible, named, report.campaign_count

    assert read() == (75, [("Summer", 75)], 1)
    assert read() == (75, [("Summer", 75)], 1)
    assert KeptCampaigns.objects.count() == 1
    rows = [
        EligibleVisits(day=day, campaign=winter, publisher=gazette, eligible_visits=50, run=run)
        for day, run in ((FIRST, summer_report), (SECOND, summer_report))
    ]
    EligibleVisits.objects.bulk_create(rows)
    assert read() == (175, [("Winter", 100), ("Summer", 75)], 2)
    EligibleVisits.objects.filter(campaign=winter).update(eligible_visits=1)
    assert read() == (77, [("Summer", 75), ("Winter", 2)], 2)
    EligibleVisits.objects.filter(campaign=winter).update(campaign=campaign, publisher=gazette)
    assert read() == (77, [("Summer", 77)], 1)
    EligibleVisits.objects.filter(day=FIRST).delete()
    assert read() == (46, [("Summer", 46)], 1)
    Campaign.objects.filter(pk=campaign.pk).update(name="High summer")
    assert read() == (46, [("High summer", 46)], 1)


def test_the_newest_days_are_counted_in_every_order(summer_report: ReportRun, carol: User) -> None:
    keep_newest_days()
    kept = KeptCampaigns.objects.count()
    assert kept == 2 * len(SORT_FIELDS)
    days = last_reported_days()
    assert days is not None
    for text in (*SORT_FIELDS, *(f"-{key}" for key in SORT_FIELDS)):
        report = read_report(Selection(*days, carol), Sort.of(text))
        assert [row.campaign for row in report.campaigns] == ["Summer"]
    assert KeptCampaigns.objects.count() == kept


def test_only_so_many_tables_are_kept(
    summer_report: ReportRun, carol: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.reports.queries.KEPT", 2)
    for sort in ("campaign", "-campaign", "advertiser", "-advertiser"):
        read_report(Selection(FIRST, SECOND, carol), Sort.of(sort))
    assert KeptCampaigns.objects.count() == 2
    assert read_report(Selection(FIRST, SECOND, carol), Sort.of("campaign")).campaign_count == 1
