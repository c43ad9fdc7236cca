"""Spells out once more who may do what: the table that the access matrix is held against.

A new page needs a row here, a new service one in `SERVICES`; `test_access_matrix` says which is
missing. It shares nothing with `exchange.accounts.permissions`, so that a slip there shows here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db.models import Model
from django.utils import timezone

from exchange.accounts.models import Role, User
from exchange.accounts.services import reset_password, save_organisation, save_person
from exchange.findings.models import OwnerQuestion
from exchange.findings.questions import ask_owner, settle_question
from exchange.keys.models import ApiKey
from exchange.keys.services import create_api_key, revoke_api_key
from exchange.market import services
from exchange.market.history import revert
from exchange.market.models import Attribute, Audience, Booking, Edge, TestVisit, ValueList
from exchange.reports.models import ReportRun
from exchange.reports.services import create_run, request_run
from exchange.snapshots.models import SnapshotBuild
from tests.trading import Exchange, House

BUILDERS = {Role.CAMPAIGN_MANAGER, Role.ADMIN}
GRAPHERS = {Role.GRAPH_OPERATOR, Role.ADMIN}
BOTH = BUILDERS | GRAPHERS
ADMINS = {Role.ADMIN}
EVERYONE = set(Role)


@dataclass(frozen=True, slots=True)
class World:
    """The exchange of the tests and one thing of every kind in it."""

    exchange: Exchange
    things: Mapping[str, Model]


@dataclass(frozen=True, slots=True)
class Kind:
    """Who may do what with one kind of thing. `readers` are houses that see it besides its owner;
    `strangers` do not, though some trade with it. What has no owner is the exchange's, and read by
    all."""

    editors: set[Role]
    owner: str | None
    readers: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ("rival",)


KINDS: dict[str, Kind] = {
    "party": Kind(GRAPHERS, "herald", strangers=("northgate", "rival")),
    "edge": Kind(GRAPHERS, "herald", ("northgate",), ("soda", "rival")),
    "campaign": Kind(BUILDERS, "soda", strangers=("herald", "rival")),
    "booking": Kind(BUILDERS, "soda", ("herald",), ("northgate", "rival")),
    "test-visit": Kind(BUILDERS, "soda", strangers=("herald", "rival")),
    "audience": Kind(BOTH, "soda", strangers=("southgate", "rival")),
    "value-list": Kind(BOTH, "soda", strangers=("southgate", "rival")),
    "attribute": Kind(GRAPHERS, None, ("rival",), ()),
    "api-key": Kind(ADMINS, "herald", strangers=("northgate", "rival")),
    "person": Kind(ADMINS, "herald", strangers=("northgate", "rival")),
}


@dataclass(frozen=True, slots=True)
class Page:
    """What a page answers to those who may see it. A page without a kind is about no one thing:
    then `roles` of every organisation may, or of the exchange alone (`is_operators`). The graph is
    also `seen_by` houses that meet the thing on the paths of their bookings, or trade with it."""

    kind: str | None = None
    get: int | None = None
    post: int | None = None
    data: Mapping[str, str] = field(default_factory=lambda: {"x": "1"})
    is_edit: bool = False
    needs_object: bool = True
    roles: frozenset[Role] = frozenset(Role)
    is_operators: bool = False
    anonymous: int = 302
    seen_by: tuple[str, ...] = ()
    arguments: Callable[[World], Sequence[int | str]] | None = None


def listing() -> Page:
    return Page(get=200)


def reading(kind: str) -> Page:
    return Page(kind, get=200)


def creating(kind: str) -> Page:
    return Page(kind, get=200, post=422, is_edit=True, needs_object=False)


def editing(kind: str) -> Page:
    return Page(kind, get=200, post=422, is_edit=True)


def acting(kind: str, *, answer: int = 302, **data: str) -> Page:
    return Page(kind, post=answer, is_edit=True, data=data or {"x": "1"})


def pages_of(kind: str) -> dict[str, Page]:
    """Lists the pages that everything that people keep has."""
    return {
        f"{kind}-retire": acting(kind),
        f"{kind}-history": reading(kind),
        f"{kind}-revert": Page(
            kind,
            post=302,
            is_edit=True,
            arguments=lambda world: [world.things[kind].pk, 1],
        ),
    }


def first_build(_: World) -> list[int]:
    return [SnapshotBuild.objects.get(status="live").pk]


def first_run(_: World) -> list[int]:
    return [ReportRun.objects.get_or_create(first_day="2026-11-01", last_day="2026-11-01")[0].pk]


def night_report(get: int) -> Page:
    """Makes the row of a report that everybody has a part in; `tests/reports/night` has who sees
    which rows of which."""
    return Page(get=get, arguments=lambda _: ["reach"])


def choosing_what_is_live() -> Page:
    return Page(post=302, roles=frozenset(BOTH), is_operators=True, arguments=first_build)


def campaign_of(world: World) -> list[int]:
    return [world.exchange.campaign.pk]


PAGES: dict[str, Page] = {
    "healthz": Page(get=200, anonymous=200),
    "readyz": Page(get=503, anonymous=503),  # no snapshot is live in these tests
    "metrics": Page(get=200, anonymous=200),
    "^api/": Page(get=404, anonymous=404),
    "serving-eligibility": Page(post=421, anonymous=421),  # ad servers ask another process
    "serving-batch": Page(post=421, anonymous=421),
    "serving-snapshots": Page(get=421, anonymous=421, arguments=lambda _: ["live"]),
    "eligibility-explain": Page(post=401, anonymous=401),  # asks for a key, whoever is logged in
    "openapi": Page(get=200, anonymous=200),
    "expression-validate": Page(post=200, data={"text": "true"}, anonymous=403),
    "expression-impact": Page(post=200, data={"text": "true"}, anonymous=403),
    "expression-vocabulary": Page(get=200, anonymous=403),
    "expression-holder": Page(get=200, anonymous=403),
    "expression-values": Page(get=200, anonymous=403),
    "value-list-keep": Page(post=400, anonymous=403),  # no name is given; see test_vocabulary
    "login": Page(get=302, anonymous=200),  # those who are in already are sent on
    "logout": Page(post=302),
    "password-change": Page(get=200, post=422),
    "password-forgotten": Page(get=404, post=404, anonymous=404),  # no mail is sent in these tests
    "password-link": Page(get=404, post=404, anonymous=404, arguments=lambda _: ["nobody-s"]),
    "dashboard": listing(),
    **{
        f"{kind}-list": listing()
        for kind in ("party", "edge", "campaign", "booking", "audience", "value-list", "attribute")
    },
    **{f"{kind}-create": creating(kind) for kind in KINDS if kind != "test-visit"},
    **{f"{kind}-edit": editing(kind) for kind in KINDS if kind != "api-key"},
    **{
        f"{kind}-detail": reading(kind)
        for kind in ("party", "edge", "campaign", "booking", "audience", "value-list", "attribute")
    },
    "test-visit-create": Page("test-visit", get=200, post=422, is_edit=True, arguments=campaign_of),
    # No field of these forms is required, so that anything saves.
    "booking-edit": Page("booking", get=200, post=302, is_edit=True),
    "attribute-edit": Page("attribute", get=200, post=302, is_edit=True),
    "campaign-options": listing(),
    "campaign-csv": listing(),
    "find": listing(),
    "campaign-view-save": Page(post=302),
    "campaign-view-remove": Page(post=302, arguments=lambda _: [1]),
    "party-options": listing(),
    "organisation-options": Page(get=200, is_operators=True),
    "campaign-status": acting("campaign", status="paused"),
    "campaign-tests": Page("campaign", get=200, post=200),
    **{
        f"campaign-{tab}": reading("campaign")
        for tab in ("bookings", "impact", "paths", "api", "served")
    },
    "campaign-why": Page("campaign", get=200, seen_by=("herald",)),
    "campaign-ask": acting("campaign"),
    "question-settle": Page(
        "edge", post=302, is_edit=True, arguments=lambda _: [OwnerQuestion.objects.get().pk]
    ),
    **{
        f"{kind}-rehearse": acting(kind, answer=200)
        for kind in ("edge", "audience", "value-list", "attribute")
    },
    **{
        f"{kind}-rehearse-new": Page(kind, post=200, is_edit=True, needs_object=False)
        for kind in ("edge", "attribute")
    },
    "campaign-book": acting("campaign"),
    "value-list-compare-new": Page("value-list", post=200, is_edit=True, needs_object=False),
    "value-list-compare": acting("value-list", answer=200),
    "value-list-change": acting("value-list", text="Bern", action="add"),
    "value-list-values": reading("value-list"),
    "finding-list": listing(),
    "graph": listing(),
    "graph-groups": listing(),
    "graph-party": Page("party", get=200, seen_by=("northgate", "soda")),
    "graph-party-drawer": Page("party", get=200, seen_by=("northgate", "soda")),
    "graph-edge-drawer": Page("edge", get=200, seen_by=("soda",)),
    "try-visit": Page(get=200, post=422),
    "snapshot-list": listing(),
    "snapshot-build-progress": listing(),
    "snapshot-detail": Page(get=200, arguments=first_build),
    "snapshot-build": Page(post=302, roles=frozenset(BOTH), is_operators=True),
    "snapshot-activate": choosing_what_is_live(),
    "snapshot-roll-back": choosing_what_is_live(),
    # Those who may look find nothing, because there are no two builds to compare.
    "snapshot-compare": Page(get=404, roles=frozenset(BOTH), is_operators=True),
    "report-catalogue": listing(),
    "report-eligible-visits": listing(),
    "report-csv": listing(),
    "report-figures": listing(),
    "report-overlap": listing(),
    "report-overlap-csv": Page(get=404),  # no night was counted in these tests
    "report-sold": listing(),
    "report-night": night_report(200),
    "report-night-picture": night_report(200),
    "report-night-csv": night_report(404),
    "report-night-parquet": night_report(404),
    "report-night-notebook": night_report(404),
    "report-runs": listing(),
    "report-run-detail": Page(get=200, arguments=first_run),
    "report-run-progress": listing(),
    "report-run": Page(
        post=302,
        data={"first_day": "2026-11-01", "last_day": "2026-11-02"},
        roles=frozenset({Role.ANALYST, Role.ADMIN}),
        is_operators=True,
    ),
    "api-key-list": Page(get=200, roles=frozenset(ADMINS)),
    "api-key-revoke": acting("api-key"),
    "organisation-list": Page(get=200, roles=frozenset(ADMINS), is_operators=True),
    "organisation-create": Page(get=200, post=422, roles=frozenset(ADMINS), is_operators=True),
    "organisation-edit": Page(
        get=200,
        post=422,
        roles=frozenset(ADMINS),
        is_operators=True,
        arguments=lambda world: [world.exchange.herald.organisation.pk],
    ),
    "person-list": Page(get=200, roles=frozenset(ADMINS)),
    "person-password": acting("person", answer=200),
    "person-switch": acting("person", active="no"),
}
for name in KINDS:
    if name not in ("api-key", "person"):
        PAGES |= pages_of(name)


@dataclass(frozen=True, slots=True)
class Service:
    """A service, and how to call it: `call` gets a fresh copy of the kind's thing, and the
    person."""

    kind: str
    call: Callable[[Any, User], object]


def new_key(key: ApiKey, by: User) -> object:
    return create_api_key(
        name="another",
        organisation=key.organisation,
        publishers=list(key.publishers.all()),
        by=by,
    )


def ask_about(booking: Booking, by: User) -> object:
    edge = OwnerQuestion.objects.get().edge
    return ask_owner(booking=booking, edge=edge, on_way=[edge.pk], by=by)


def settle_about(edge: Edge, by: User) -> object:
    return settle_question(question=OwnerQuestion.objects.get(edge=edge), by=by)


SERVICES: dict[Callable[..., object], Service] = {
    services.save_party: Service("party", lambda it, by: services.save_party(party=it, by=by)),
    services.retire_party: Service("party", lambda it, by: services.retire_party(party=it, by=by)),
    services.save_edge: Service("edge", lambda it, by: services.save_edge(edge=it, by=by)),
    services.retire_edge: Service("edge", lambda it, by: services.retire_edge(edge=it, by=by)),
    services.save_campaign: Service(
        "campaign", lambda it, by: services.save_campaign(campaign=it, by=by)
    ),
    services.retire_campaign: Service(
        "campaign", lambda it, by: services.retire_campaign(campaign=it, by=by)
    ),
    services.save_booking: Service(
        "booking", lambda it, by: services.save_booking(booking=it, by=by)
    ),
    services.book_publishers: Service(
        "campaign", lambda it, by: services.book_publishers(campaign=it, publishers=[], by=by)
    ),
    services.retire_booking: Service(
        "booking", lambda it, by: services.retire_booking(booking=it, by=by)
    ),
    services.save_audience: Service(
        "audience", lambda it, by: services.save_audience(audience=it, by=by)
    ),
    services.retire_audience: Service(
        "audience", lambda it, by: services.retire_audience(audience=it, by=by)
    ),
    services.save_value_list: Service(
        "value-list", lambda it, by: services.save_value_list(value_list=it, by=by)
    ),
    services.change_values: Service(
        "value-list", lambda it, by: services.change_values(value_list=it, by=by, add=["Bern"])
    ),
    services.retire_value_list: Service(
        "value-list", lambda it, by: services.retire_value_list(value_list=it, by=by)
    ),
    services.save_attribute: Service(
        "attribute", lambda it, by: services.save_attribute(attribute=it, by=by)
    ),
    services.retire_attribute: Service(
        "attribute", lambda it, by: services.retire_attribute(attribute=it, by=by)
    ),
    services.save_test_visit: Service(
        "test-visit", lambda it, by: services.save_test_visit(test_visit=it, by=by)
    ),
    services.retire_test_visit: Service(
        "test-visit", lambda it, by: services.retire_test_visit(test_visit=it, by=by)
    ),
    revert: Service("edge", lambda it, by: revert(obj=it, to=1, by=by)),
    ask_owner: Service("booking", ask_about),
    settle_question: Service("edge", settle_about),
    create_api_key: Service("api-key", new_key),
    revoke_api_key: Service("api-key", lambda it, by: revoke_api_key(key=it, by=by)),
    save_person: Service("person", lambda it, by: save_person(person=it, by=by)),
    reset_password: Service("person", lambda it, by: reset_password(person=it, by=by)),
}
# Services that touch everybody's market: only the exchange's own people may call them.
OPERATOR_SERVICES = {create_run, request_run, save_organisation}


def furnish(exchange: Exchange) -> World:
    """Makes one thing of every kind, each owned as `KINDS` says."""
    soda, herald = exchange.soda, exchange.herald
    audience = Audience.objects.create(
        organisation=soda.organisation, name="drinkers", expression="site.page contains 'thirst'"
    )
    value_list = ValueList.objects.create(organisation=soda.organisation, name="towns")
    value_list.versions.create(number=1, values=["sodaville"], added_count=1, removed_count=0)
    key, _ = create_api_key(
        name="Herald's server", organisation=herald.organisation, publishers=[herald.party]
    )
    OwnerQuestion.objects.create(
        edge=exchange.first_edge,
        booking=exchange.booking,
        asked_by=soda.admin,
        asked_at=timezone.now(),
    )
    SnapshotBuild.objects.create(
        status="live", snapshot_id="a" * 32, finished_at=timezone.now() - timedelta(hours=1)
    )
    return World(
        exchange,
        {
            "party": herald.party,
            "edge": exchange.first_edge,
            "campaign": exchange.campaign,
            "booking": exchange.booking,
            "test-visit": TestVisit.objects.create(
                campaign=exchange.campaign, name="From the USA", visit={"geo": {"country": "USA"}}
            ),
            "audience": audience,
            "value-list": value_list,
            "attribute": Attribute.objects.get(name="geo.country"),
            "api-key": key,
            "person": herald.people[Role.VIEWER],
        },
    )


def house_of(world: World, name: str) -> House:
    house: House = getattr(world.exchange, name)
    return house
