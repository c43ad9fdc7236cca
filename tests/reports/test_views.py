from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, DjangoCaptureOnCommitCallbacks

from exchange.accounts.models import User
from exchange.market.models import Booking, Campaign, Party
from exchange.reports.models import DailyVisits, EligibleVisits, JobRun, ReportRun
from tests.reports.summaries import FIRST, SECOND, make_run

PAGE = reverse("report-eligible-visits")
CSV = reverse("report-csv")
RUNS = reverse("report-run-progress")
START = reverse("report-run")


@pytest.fixture(autouse=True)
def empty_log(visit_log: Path) -> Path:
    return visit_log


def log_in(client: Client, person: User) -> Client:
    client.force_login(person)
    return client


def page_text(client: Client, address: str = PAGE, **query: date | int | str) -> str:
    response = client.get(address, {name: str(value) for name, value in query.items()})
    assert response.status_code == 200
    return response.content.decode()


def test_every_role_may_read_the_report(
    client: Client,
    summer_report: ReportRun,
    alice: User,
    bob: User,
    carol: User,
    dave: User,
    erin: User,
) -> None:
    for person in (alice, bob, carol, dave, erin):
        assert "Summer" in page_text(log_in(client, person)), person


def test_without_a_login_there_is_nothing_to_see(client: Client) -> None:
    for address in (PAGE, CSV, RUNS):
        assert client.get(address).status_code == 302
    assert client.post(START).status_code == 302


def test_only_those_who_may_run_reports_see_the_button(
    client: Client, carol: User, dave: User, visit_log: Path
) -> None:
    (visit_log / f"dt={FIRST}").mkdir(parents=True)
    assert "Run now" in page_text(log_in(client, carol))
    assert "Run now" not in page_text(log_in(client, dave))


def test_an_analyst_starts_a_run(
    client: Client,
    carol: User,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:
    with django_capture_on_commit_callbacks() as queued:
        response = log_in(client, carol).post(START, {"first_day": FIRST, "last_day": SECOND})
    assert response.status_code == 302
    run = ReportRun.objects.get()
    assert (run.first_day, run.last_day, run.requested_by) == (FIRST, SECOND, carol)
    assert len(queued) == 1
    assert "waits for its turn" in page_text(client)


def test_a_viewer_cannot_start_a_run(client: Client, dave: User) -> None:
    response = log_in(client, dave).post(START, {"first_day": FIRST, "last_day": SECOND})
    assert response.status_code == 403
    assert not ReportRun.objects.exists()


@pytest.mark.parametrize(
    ("days", "words"),
    [
        ({"first_day": "2999-01-01", "last_day": "2999-01-02"}, "yet to come"),
        ({"first_day": "yesterday"}, "Choose the first and the last day"),
    ],
)
def test_days_that_cannot_be_counted_are_explained(
    client: Client, carol: User, days: dict[str, str], words: str
) -> None:
    response = log_in(client, carol).post(START, days, follow=True)
    assert words in response.content.decode()
    assert not ReportRun.objects.exists()


def test_a_publisher_is_chosen_by_name_or_by_its_row(
    client: Client, carol: User, summer_report: ReportRun, herald: Party, gazette: Party
) -> None:
    Party.objects.filter(pk=gazette.pk).update(name="Gazette & Sons")
    text = page_text(log_in(client, carol), publisher=herald.pk, sort="campaign")
    assert f'<option value="{herald.pk}" selected>Daily Herald</option>' in text
    assert f'<option value="{gazette.pk}">Gazette &amp; Sons</option>' in text
    assert '<option value="">All publishers</option>' in text
    assert '<select name="publisher" id="id_publisher">' in text


def test_the_chart_names_each_day(client: Client, carol: User, summer_report: ReportRun) -> None:
    text = page_text(log_in(client, carol), first_day=FIRST, last_day=SECOND)
    assert "<title>Sun 2026-11-01: 30 eligible, 150 visits</title>" in text
    assert "The same as a table" in text


def test_one_campaign_is_shown_with_its_share(
    client: Client, carol: User, summer_report: ReportRun, campaign: Campaign
) -> None:
    text = page_text(log_in(client, carol), campaign=campaign.pk, first_day=FIRST, last_day=SECOND)
    assert "30 eligible of 150 visits (20.0 %)" in text
    assert "21.4 %" in text


def test_the_page_shows_the_newest_reported_days_first(
    client: Client, carol: User, summer_report: ReportRun
) -> None:
    assert f'value="{SECOND}"' in page_text(log_in(client, carol))


def test_before_the_first_report_the_page_says_what_to_do(
    client: Client, carol: User, dave: User, visit_log: Path
) -> None:
    assert "The visit log is still empty" in page_text(log_in(client, dave))
    (visit_log / f"dt={FIRST}").mkdir(parents=True)
    assert "Run the report for them below" in page_text(log_in(client, carol))
    assert "The exchange's analysts can run" in page_text(log_in(client, dave))


def test_days_in_the_wrong_order_are_an_error_on_the_page(client: Client, carol: User) -> None:
    text = page_text(log_in(client, carol), first_day=SECOND, last_day=FIRST)
    assert "The last day is before the first." in text


def test_a_campaign_without_one_eligible_visit_is_sent_to_try_a_visit(
    client: Client, carol: User, campaign: Campaign, herald: Party
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(starts_at=datetime(2026, 1, 1, tzinfo=UTC))
    Booking.objects.create(campaign=campaign, publisher=herald)
    run = make_run(status="done")
    DailyVisits.objects.create(day=FIRST, publisher=herald, visits=9, run=run)
    text = page_text(log_in(client, carol), campaign=campaign.pk, first_day=FIRST, last_day=SECOND)
    assert "Not one visit was eligible. Take one" in text
    assert f"/visits/?campaign={campaign.pk}" in text


@pytest.mark.django_db(transaction=True)
def test_a_campaign_of_today_is_not_told_that_no_visit_was_eligible(
    client: Client, carol: User, summer_report: ReportRun, soda: Party, herald: Party
) -> None:
    new = Campaign.objects.create(advertiser=soda, name="New", expression="true", status="live")
    Booking.objects.create(campaign=new, publisher=herald)
    log_in(client, carol)
    for text in (
        page_text(client, campaign=new.pk, first_day=FIRST, last_day=SECOND),
        page_text(client, first_day=FIRST, last_day=SECOND),
    ):
        assert "Did not exist yet when these days were counted" in text
        assert "Not one visit was eligible" not in text


def test_the_table_is_ordered_as_asked(
    client: Client, carol: User, summer_report: ReportRun, soda: Party, herald: Party
) -> None:
    autumn = Campaign.objects.create(advertiser=soda, name="Autumn", expression="true")
    EligibleVisits.objects.create(
        day=FIRST, campaign=autumn, publisher=herald, eligible_visits=7, run=summer_report
    )
    log_in(client, carol)
    by_name = page_text(client, sort="campaign")
    by_eligible = page_text(client, sort="-eligible")
    assert by_name.index("Autumn") < by_name.index("Summer")
    assert by_eligible.index("Summer") < by_eligible.index("Autumn")


def test_a_text_that_means_too_many_is_told_so_and_downloaded_whole(
    client: Client, carol: User, summer_report: ReportRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("exchange.reports.queries.MOST_NAMED", 0)
    monkeypatch.setattr("exchange.web.views.reports.MOST_NAMED", 0)
    monkeypatch.setattr("exchange.reports.exports.MOST_LOOKED_UP", 0)
    text = page_text(log_in(client, carol), q="summ", sort="campaign")
    assert "“summ” finds more than 0 campaigns" in text
    assert text.count(f'href="{CSV}?q=summ"') == 2
    assert "Eligible visits per day" not in text
    assert b"".join(client.get(CSV, {"q": "summ"})).decode().count("Summer") == 2
    assert "Eligible visits per day" in page_text(client)


def test_the_number_of_queries_does_not_grow_with_the_campaigns(
    client: Client,
    carol: User,
    summer_report: ReportRun,
    soda: Party,
    herald: Party,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    log_in(client, carol)
    page_text(client)
    for number in range(20):
        campaign = Campaign.objects.create(advertiser=soda, name=f"C{number}", expression="true")
        Booking.objects.create(campaign=campaign, publisher=herald)
        EligibleVisits.objects.create(
            day=FIRST, campaign=campaign, publisher=herald, eligible_visits=3, run=summer_report
        )
        make_run(status="failed", requested_by=carol)
    page_text(client)  # whoever looks first has them counted
    with django_assert_num_queries(18):
        page_text(client)


def test_a_download_is_streamed_under_a_name_with_its_days(
    client: Client, carol: User, summer_report: ReportRun
) -> None:
    response = log_in(client, carol).get(CSV, {"first_day": str(FIRST), "last_day": str(SECOND)})
    assert response.streaming
    assert "eligible-visits_2026-11-01_2026-11-02.csv" in response["Content-Disposition"]
    text = b"".join(response).decode()
    assert text.count("Summer") == 2


def test_a_download_that_makes_no_sense_is_refused(client: Client, carol: User) -> None:
    response = log_in(client, carol).get(CSV, {"publisher": "nobody"})
    assert response.status_code == 400


def test_the_runs_are_polled_often_only_while_one_is_open(client: Client, dave: User) -> None:
    log_in(client, dave)
    assert 'hx-trigger="every 30s"' in page_text(client, RUNS)
    make_run(status="running", days_done=1, phase="Counted 2026-11-01", heartbeat_at=timezone.now())
    text = page_text(client, RUNS)
    assert 'hx-trigger="every 2s"' in text
    assert '<progress max="2" value="1"' in text


def test_the_page_reads_anew_when_a_run_has_ended(client: Client, dave: User) -> None:
    run = make_run(status="done", finished_at=timezone.now())
    log_in(client, dave)
    assert client.get(RUNS, {"seen": "0"})["HX-Trigger"] == "reports-changed"
    assert "HX-Trigger" not in client.get(RUNS, {"seen": str(run.pk)})


def test_a_failed_run_shows_what_to_do_first(client: Client, dave: User) -> None:
    make_run(
        status="failed",
        error="The disk is full. Free some space.\n\njava.io.IOException",
        started_at=timezone.now() - timedelta(seconds=5),
        finished_at=timezone.now(),
    )
    text = page_text(log_in(client, dave))
    assert "<summary>The disk is full. Free some space.</summary>" in text


def test_a_run_lists_its_jobs(client: Client, dave: User) -> None:
    run = make_run(status="done", finished_at=timezone.now())
    JobRun.objects.create(run=run, day=FIRST, job="eligibility", status="done", seconds=2.5)
    JobRun.objects.create(
        run=run, day=FIRST, job="data_quality", status="failed", error="No room left.\n\nTrace"
    )
    text = page_text(log_in(client, dave))
    assert "<summary>2 jobs</summary>" in text
    assert "2.5 s" in text
    assert "data quality" in text
    assert "No room left." in text


def test_names_cannot_bring_markup_into_the_page(
    client: Client, dave: User, summer_report: ReportRun, campaign: Campaign
) -> None:
    Campaign.objects.filter(pk=campaign.pk).update(name="<script>alert(1)</script>")
    assert "<script>alert" not in page_text(log_in(client, dave))
