"""Why a campaign is eligible or not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from exchange.accounts.models import Role, User
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import REDACTED
from exchange.reading.explaining import LINES_SHOWN, Explanation, Step, explain_campaign
from tests.trading import Exchange, exchange

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db

VISIT = {"geo": {"country": "USA"}, "site": {"cat": ["sports"]}}


def explain(booking: Booking, visit: dict[str, object] = VISIT) -> Explanation:
    """Explains as the exchange's operators see it."""
    viewer = User(organisation=booking.publisher.organisation)
    return explain_campaign(
        campaign=booking.campaign, publisher=booking.publisher, visit=visit, viewer=viewer
    )


def test_everything_is_true_of_an_eligible_campaign(booking: Booking) -> None:
    explanation = explain(booking)
    assert explanation.is_eligible
    assert explanation.reason == ""
    assert [step.title for step in explanation.steps] == [
        "Booked with Daily Herald",
        "Campaign is live",
        "In flight",
        "The rule of Daily Herald → Northgate",
        "The rule of Northgate → Solberg Soda",
        "The campaign's targeting",
    ]


def test_names_the_edge_that_refuses(booking: Booking) -> None:
    explanation = explain(booking, {"geo": {"country": "USA"}, "site": {"cat": ["finance"]}})
    assert explanation.reason == "The rule of Daily Herald → Northgate is not true."


def test_tells_what_the_visit_lacks_from_what_it_contradicts(booking: Booking) -> None:
    explanation = explain(booking, {"geo": {"country": "USA"}})
    step = explanation.steps[3]
    assert step.truth is None
    assert step.lines[0].saw == "the visit does not say"
    assert explanation.reason.endswith("asks for something the visit lacks.")


def test_shows_every_condition_with_what_the_visit_has(booking: Booking) -> None:
    booking.campaign.expression = (
        "geo.country in ('DEU', 'USA') and not (device.type = 'ctv' or user.age > 17)"
    )
    visit = VISIT | {"device.type": "phone", "user.age": "old"}
    lines = explain(booking, visit).steps[-1].lines
    assert [(line.depth, line.truth, line.is_group) for line in lines] == [
        (0, None, True),
        (1, True, False),
        (1, None, True),
        (2, None, True),
        (3, False, False),
        (3, None, False),
    ]
    assert lines[1].saw == "the visit has USA"
    assert lines[4].saw == "the visit has phone"
    assert "wrong type" in lines[5].saw


def test_times_are_told_as_people_say_them(booking: Booking) -> None:
    booking.campaign.expression = "time during 'Mon-Sun' and local_time during 'Mon-Sun'"
    moment = datetime(2026, 11, 17, 23, 30, tzinfo=UTC)

    def saw(visit: dict[str, object]) -> list[str]:
        explained = explain_campaign(
            campaign=booking.campaign,
            publisher=booking.publisher,
            visit=visit,
            viewer=User(is_active=True, organisation=booking.publisher.organisation),
            at=moment,
        )
        return [line.saw for line in explained.steps[-1].lines if line.saw]

    assert saw({"geo.utc_offset": 60}) == [
        "it is Tue 2026-11-17 23:30 UTC",
        "it is Wed 2026-11-18 00:30 on the visitor's clock",
    ]
    assert saw({}) == ["it is Tue 2026-11-17 23:30 UTC"] * 2


def test_names_the_one_condition_that_stands_in_the_way(booking: Booking) -> None:
    booking.campaign.expression = "geo.country = 'USA' and device.type = 'ctv'"
    [*_, step] = explain(booking, VISIT | {"device.type": "phone"}).steps
    assert "device.type = 'ctv' were met" in step.fixes
    assert not any("geo.country" in fix for fix in step.fixes)


def test_says_that_it_is_not_booked(campaign: Campaign, herald: Party) -> None:
    explanation = explain_campaign(
        campaign=campaign,
        publisher=herald,
        visit=VISIT,
        viewer=User(organisation=herald.organisation),
    )
    assert explanation.reason == "The campaign is not booked with Daily Herald."
    assert explanation.path is None


def test_says_that_there_is_no_path(booking: Booking, edges: tuple[Edge, Edge]) -> None:
    Edge.objects.filter(pk=edges[1].pk).update(is_active=False)
    assert "No chain of active edges" in explain(booking).reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "paused"}, "The campaign is paused, not live."),
        ({"starts_at": timezone.now() + timedelta(days=2)}, "The campaign starts on"),
        ({"ends_at": timezone.now() - timedelta(days=1)}, "The campaign ended on"),
    ],
)
def test_says_why_a_campaign_rests(
    change: dict[str, object], reason: str, booking: Booking
) -> None:
    for name, value in change.items():
        setattr(booking.campaign, name, value)
    assert explain(booking).reason.startswith(reason)


def test_a_switched_off_booking_is_named(booking: Booking) -> None:
    Booking.objects.filter(pk=booking.pk).update(is_active=False)
    assert explain(booking).reason == "The booking with Daily Herald is switched off."


def test_an_expression_that_no_longer_compiles_is_named(booking: Booking) -> None:
    booking.campaign.expression = "shoe_size = 44"
    assert "no longer compiles" in explain(booking).reason


def test_a_huge_expression_is_cut(booking: Booking) -> None:
    booking.campaign.expression = " or ".join(f"user.age = {age}" for age in range(1_000))
    step = explain(booking).steps[-1]
    assert len(step.lines) == LINES_SHOWN
    assert step.has_more


# What each reads of the steps on the way: the three edges from the Herald to Soda, then the
# campaign's targeting. O is the verdict alone, C the conditions, P the page of the edge as well.
SEEN = [
    ("operators", False, "PPPP"),
    ("herald", False, "POOO"),
    ("soda", False, "OOPP"),
    ("herald", True, "PCCO"),
    ("soda", True, "CCPP"),
]


@pytest.mark.parametrize(("who", "is_disclosed", "seen"), SEEN)
def test_conditions_of_others_leave_their_verdict_behind_and_nothing_else(
    exchange: Exchange, who: str, is_disclosed: bool, seen: str
) -> None:
    Edge.objects.update(is_disclosed=is_disclosed)
    viewer = exchange.operators[Role.VIEWER] if who == "operators" else viewer_of(exchange, who)
    visit: dict[str, object] = {
        "device": {"type": "phone"},
        "geo": {"country": "USA"},
        "site": {"page": "/casino"},
    }
    steps = explain_as(exchange, viewer, visit).steps[-4:]
    assert [step.truth for step in steps] == [False, True, False, True]
    assert "".join(how_much(step) for step in steps) == seen


def test_what_no_longer_compiles_is_not_quoted_to_others(exchange: Exchange) -> None:
    Edge.objects.filter(pk=exchange.middle_edge.pk).update(expression="secret.rule = 'x'")
    Campaign.objects.filter(pk=exchange.campaign.pk).update(expression="secret.aim = 'x'")
    exchange.campaign.refresh_from_db()
    explanation = explain_as(exchange, viewer_of(exchange, "herald"), {})
    assert "secret" not in repr([explanation.steps, explanation.reason])
    assert explanation.steps[-1].truth is False


def viewer_of(exchange: Exchange, who: str) -> User:
    found: User = getattr(exchange, who).people[Role.VIEWER]
    return found


def explain_as(exchange: Exchange, viewer: User, visit: dict[str, object]) -> Explanation:
    return explain_campaign(
        campaign=exchange.campaign,
        publisher=exchange.herald.party,
        visit=visit,
        viewer=viewer,
    )


def how_much(step: Step) -> str:
    if not step.lines:
        assert step.note == REDACTED
        assert (step.detail, step.fixes, step.has_page) == ("", (), False)
        return "O"
    assert not step.note
    return "P" if step.has_page else "C"


FINANCE: dict[str, object] = {"geo": {"country": "USA"}, "site": {"cat": ["finance"]}}


@pytest.fixture
def any_booking(booking: Booking, soda: Party) -> Booking:
    """Leads over Northgate, or directly for half of what passes, but for adults only."""
    Edge.objects.create(
        seller=booking.publisher, buyer=soda, expression="user.age >= 18", fee_percent="50"
    )
    Booking.objects.filter(pk=booking.pk).update(policy="any")
    return booking


def test_any_path_shows_the_cheapest_one_that_is_open(any_booking: Booking) -> None:
    over_northgate = explain(any_booking)
    directly = explain(any_booking, FINANCE | {"user": {"age": 30}})
    assert over_northgate.is_eligible
    assert over_northgate.path
    assert [hop.buyer.name for hop in over_northgate.path.hops] == ["Northgate", "Solberg Soda"]
    assert directly.is_eligible
    assert directly.path
    assert [hop.buyer.name for hop in directly.path.hops] == ["Solberg Soda"]
    assert [step.title for step in directly.steps][3:] == [
        "A path of at most 5 hops is open to the visit",
        "The rule of Daily Herald → Solberg Soda",
        "The campaign's targeting",
    ]


def test_any_path_names_every_edge_that_alone_would_open_one(any_booking: Booking) -> None:
    explanation = explain(any_booking, FINANCE)
    assert explanation.reason == (
        "No path is open. Of the nearest path, 1 of 2 edges refuse the visit."
    )
    assert [(step.title, step.fixes) for step in explanation.changes] == [
        ("The rule of Daily Herald → Northgate", ("site.cat none of ('finance') were met",)),
        ("The rule of Daily Herald → Solberg Soda", ("user.age >= 18 were met",)),
    ]


def test_any_path_keeps_to_its_limit_of_hops(any_booking: Booking) -> None:
    Booking.objects.filter(pk=any_booking.pk).update(hop_limit=1)
    explanation = explain(any_booking)
    assert not explanation.is_eligible
    assert explanation.path
    assert [hop.buyer.name for hop in explanation.path.hops] == ["Solberg Soda"]
    Edge.objects.filter(buyer__kind="advertiser").update(is_active=False)
    assert "in at most 1 hop," in explain(any_booking).reason


def test_a_pinned_booking_is_explained_along_its_own_path(any_booking: Booking) -> None:
    direct = Edge.objects.get(expression="user.age >= 18")
    Booking.objects.filter(pk=any_booking.pk).update(policy="pinned", pinned_edges=[direct.pk])
    explanation = explain(any_booking)
    assert explanation.reason == (
        "The rule of Daily Herald → Solberg Soda asks for something the visit lacks."
    )
    assert [step.edge_id for step in explanation.changes] == [direct.pk]


def test_no_single_change_helps_where_two_things_fail(booking: Booking) -> None:
    booking.campaign.expression = "geo.country = 'DEU'"
    assert explain(booking, FINANCE).changes == ()
    assert [step.title for step in explain(booking).changes] == ["The campaign's targeting"]


def test_an_opener_of_others_is_named_without_its_conditions(exchange: Exchange) -> None:
    Booking.objects.update(policy="any")
    visit: dict[str, object] = {"device": {"type": "ctv"}, "geo": {"country": "CAN"}}
    Campaign.objects.filter(pk=exchange.campaign.pk).update(expression="geo.country = 'CAN'")
    Edge.objects.filter(pk=exchange.last_edge.pk).update(expression="true")
    exchange.campaign.refresh_from_db()
    [step] = explain_as(exchange, viewer_of(exchange, "soda"), visit).changes
    assert step.edge_id == exchange.middle_edge.pk
    assert how_much(step) == "O"
