"""Every page and every service, for every role, at home, at the other end of a trade and elsewhere.

Pages are found from the addresses and services from their signatures: one without a row in
`access_table` fails here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone
from pytest_django import Settings

from exchange.accounts.models import Organisation, Role, User
from exchange.accounts.ownership import NotVisible
from exchange.api.explaining import EXPLAIN_PATH
from exchange.keys.models import ApiKey, Scope
from exchange.keys.services import create_api_key, hash_api_key, revoke_api_key
from exchange.market import services as market_services
from exchange.market.models import Audience, Booking, Campaign, Edge, Party, ValueList
from exchange.serving.downloads import SnapshotDownloads
from exchange.serving.eligibility import EligibilityService, service_for
from exchange.serving.endpoint import BATCH_PATH, PATH, EligibilityEndpoint
from exchange.serving.http.messages import Route
from exchange.snapshots.keys import publish_keys
from matcher_ext.serving import PREFIX
from tests.access_table import (
    KINDS,
    OPERATOR_SERVICES,
    PAGES,
    SERVICES,
    Page,
    World,
    furnish,
    house_of,
)
from tests.market.places import found
from tests.people import hire
from tests.serving import calling
from tests.trading import Exchange, exchange

__all__ = ["exchange"]

OK, DENIED, HIDDEN = "ok", 403, 404


@pytest.fixture(autouse=True)
def _nothing_is_live(settings: Settings, tmp_path: Path) -> None:
    settings.SNAPSHOT_DIR = tmp_path / "snapshots"


@pytest.fixture
def world(exchange: Exchange) -> World:
    return furnish(exchange)


def all_patterns(resolver: URLResolver) -> Iterator[URLPattern]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            if entry.namespace != "admin":
                yield from all_patterns(entry)
        else:
            yield entry


def name_of(pattern: URLPattern) -> str:
    return pattern.name or str(pattern.pattern)


def test_every_address_has_its_row() -> None:
    assert {name_of(pattern) for pattern in all_patterns(get_resolver())} == set(PAGES)


def people(world: World, page: Page) -> Iterator[tuple[str, Role, User]]:
    """Gives each person with how they stand to the object, and their role."""
    yield from (("operators", role, user) for role, user in world.exchange.operators.items())
    kind = KINDS[page.kind] if page.kind and page.needs_object else None
    houses: dict[str, tuple[str, ...]] = {"own": ("rival",)}
    if kind is not None:
        owner = (kind.owner,) if kind.owner else ()
        readers = (*kind.readers, *page.seen_by)
        strangers = tuple(name for name in kind.strangers if name not in readers)
        houses = {"own": owner, "counterparty": readers, "foreign": strangers}
    for standing, names in houses.items():
        for name in names:
            for role, user in house_of(world, name).people.items():
                yield standing, role, user


def expect(page: Page, standing: str, role: Role) -> str | int:
    """Gives what the table says: may, may not, or does not even see it."""
    if page.kind is None:
        may = role in page.roles and (standing == "operators" or not page.is_operators)
        return OK if may else DENIED
    kind = KINDS[page.kind]
    if standing == "foreign":
        # Who may not change such things anywhere is told so before anything is looked up.
        is_private = page.kind in ("api-key", "person") and role not in kind.editors
        return DENIED if is_private else HIDDEN
    if not page.is_edit:
        return OK
    is_theirs = standing == "operators" or (standing == "own" and page.kind != "attribute")
    return OK if is_theirs and role in kind.editors else DENIED


def address_of(name: str, page: Page, world: World) -> str:
    if name == "^api/":
        return "/api/v1/nothing"
    if page.arguments is not None:
        return reverse(name, args=page.arguments(world))
    needs_pk = page.kind is not None and page.needs_object
    return reverse(name, args=[world.things[str(page.kind)].pk] if needs_pk else [])


def ask(client: Client, method: str, address: str, page: Page) -> int:
    """Asks and gives the status; whatever the request changed is undone."""
    with transaction.atomic():
        if method == "get":
            status = client.get(address).status_code
        elif address.startswith("/api/"):
            status = client.post(address, page.data, content_type="application/json").status_code
        else:
            status = client.post(address, page.data).status_code
        transaction.set_rollback(True)
    return status


def methods_of(page: Page) -> Iterator[tuple[str, int]]:
    if page.get is not None:
        yield "get", page.get
    if page.post is not None:
        yield "post", page.post


@pytest.mark.parametrize("name", PAGES)
def test_a_page_answers_as_the_table_says(name: str, world: World) -> None:
    page = PAGES[name]
    address = address_of(name, page, world)
    wrong = []
    for standing, role, person in people(world, page):
        expected = expect(page, standing, role)
        client = Client()
        client.force_login(person)
        for method, usual in methods_of(page):
            wanted = usual if expected == OK else expected
            status = ask(client, method, address, page)
            if status != wanted:
                wrong.append(f"{method} {person.username} ({standing}): {status}, not {wanted}")
    assert not wrong, "\n".join([address, *wrong])


@pytest.mark.parametrize("name", PAGES)
def test_nobody_gets_in_without_logging_in(name: str, world: World) -> None:
    page = PAGES[name]
    address = address_of(name, page, world)
    for method, _ in methods_of(page):
        assert ask(Client(), method, address, page) == page.anonymous, method


def find_services() -> set[Callable[..., object]]:
    """Functions that take the person who asks, `by` or `requested_by`."""
    names = ["exchange.accounts.services", "exchange.keys.services", "exchange.findings.questions"]
    names += ["exchange.market.history", "exchange.reports.services"]
    names += [
        f"exchange.market.services.{module.name}"
        for module in iter_modules(market_services.__path__)
        if module.name != "saving"  # what services are made of, called after they have asked
    ]
    found: set[Callable[..., object]] = set()
    for name in names:
        for _, function in inspect.getmembers(import_module(name), inspect.isfunction):
            parameters = inspect.signature(function).parameters
            asker = parameters.get("by") or parameters.get("requested_by")
            if asker and asker.kind is asker.KEYWORD_ONLY and function.__module__ == name:
                found.add(function)
    return found


def test_every_service_has_its_row() -> None:
    assert find_services() == set(SERVICES) | OPERATOR_SERVICES


@pytest.mark.parametrize("service", SERVICES, ids=lambda it: it.__name__)
def test_a_service_does_as_the_table_says(service: Callable[..., object], world: World) -> None:
    row = SERVICES[service]
    page = Page(row.kind, is_edit=True)
    wrong = []
    for standing, role, person in people(world, page):
        expected = HIDDEN if standing == "foreign" else expect(page, standing, role)
        thing = world.things[row.kind]
        fresh = type(thing)._default_manager.get(pk=thing.pk)
        answer = call(partial(row.call, fresh, person))
        if answer != expected:
            wrong.append(f"{person.username} ({standing}): {answer}, not {expected}")
    assert not wrong, "\n".join(wrong)


def call(service: Callable[[], object]) -> str | int:
    """Calls a service. Being refused for another reason than the person means that the person
    may."""
    try:
        with transaction.atomic():
            service()
            transaction.set_rollback(True)
    except PermissionDenied:
        return DENIED
    except NotVisible:
        return HIDDEN
    except ValidationError:
        return OK
    return OK


# What a key asks at each address of the API, and the one scope that lets it.
KEY_ADDRESSES: dict[str, tuple[str, Scope]] = {
    PATH: ("POST", Scope.ELIGIBILITY_READ),
    BATCH_PATH: ("POST", Scope.ELIGIBILITY_READ),
    EXPLAIN_PATH: ("POST", Scope.EXPLAIN_READ),
    f"{PREFIX}live": ("GET", Scope.SNAPSHOT_READ),
}


@pytest.mark.parametrize("address", KEY_ADDRESSES)
def test_a_key_is_heard_by_its_scope_while_it_lasts(
    address: str, exchange: Exchange, settings: Settings, tmp_path: Path
) -> None:
    settings.SNAPSHOT_DIR = tmp_path
    keys = {scope: make_key(exchange, [scope]) for scope in Scope}
    expired, revoked = make_key(exchange, list(Scope)), make_key(exchange, list(Scope))
    ApiKey.objects.filter(hash=hash_api_key(expired)).update(expires_at=timezone.now())
    revoke_api_key(key=ApiKey.objects.get(hash=hash_api_key(revoked)))
    publish_keys()
    service = service_for(tmp_path)
    service.refresh()
    _, wanted = KEY_ADDRESSES[address]
    for scope, key in keys.items():
        status = ask_with_key(service, address, key)
        assert (status not in (401, 403)) is (scope == wanted), (scope, status)
        assert status not in (401, 500)
    for key in (expired, revoked, "tl_unknown"):
        assert ask_with_key(service, address, key) == 401


def make_key(exchange: Exchange, scopes: list[Scope]) -> str:
    organisation = Organisation.objects.get(is_operator=True)
    _, text = create_api_key(
        name="k", organisation=organisation, publishers=[exchange.herald.party], scopes=scopes
    )
    return text


def ask_with_key(service: EligibilityService, address: str, key: str) -> int:
    """Asks whoever answers the address: the ad servers' process for eligibility and downloads,
    Django for the rest."""
    method, _ = KEY_ADDRESSES[address]
    headers = {"Authorization": f"Api-Key {key}"}
    body = {"visit": {}, "campaigns": [1]}
    if address == EXPLAIN_PATH:
        client = Client()
        return client.post(
            address, body, content_type="application/json", headers=headers
        ).status_code
    endpoint = EligibilityEndpoint(service, 1_000)
    routes: dict[str, Route] = {
        PATH: endpoint,
        BATCH_PATH: endpoint.batch,
        f"{PREFIX}live": SnapshotDownloads(service, service._directory.root),
    }
    sent = b"{}" if method == "POST" else b""
    return calling.call(routes[address], sent, method=method, path=address, key=key).status


# What must not be on any page of anybody else: who may read it, and a text that gives it away.
SECRETS: dict[str, set[str]] = {
    "first-rule": {"herald", "northgate"},
    "middle-rule": {"northgate", "southgate"},
    "last-rule": {"southgate", "soda"},
    "summer-aim": {"soda"},
    "Rivals Own Campaign": {"rival"},
    "rival-aim": {"rival"},
    "thirst": {"soda"},
    "sodaville": {"soda"},
    "From the USA": {"soda"},
    "Herald&#x27;s server": {"herald"},
    "77.70": {"soda"},  # the bid
    "13.37": {"herald", "northgate"},  # the first edge's fee
}


@pytest.fixture
def marked(world: World) -> World:
    exchange = world.exchange
    for edge, text in (
        (exchange.first_edge, "first-rule"),
        (exchange.middle_edge, "middle-rule"),
        (exchange.last_edge, "last-rule"),
    ):
        Edge.objects.filter(pk=edge.pk).update(expression=f"site.page contains '{text}'")
    Edge.objects.filter(pk=exchange.first_edge.pk).update(fee_percent="13.37")
    Campaign.objects.filter(pk=exchange.campaign.pk).update(
        expression="site.page contains 'summer-aim'", bid_cpm="77.70"
    )
    Campaign.objects.filter(pk=exchange.rival_campaign.pk).update(
        name="Rivals Own Campaign", expression="site.page contains 'rival-aim'"
    )
    return world


@pytest.mark.parametrize("reader", ["herald", "northgate", "southgate", "soda", "rival"])
def test_no_page_gives_away_what_is_not_the_readers(reader: str, marked: World) -> None:
    """Looks at every page that an administrator can open, of everything there is."""
    client = Client()
    client.force_login(house_of(marked, reader).admin)
    hidden = {text for text, readers in SECRETS.items() if reader not in readers}
    seen: set[str] = set()
    for name, address in every_address(marked):
        answer = client.get(address)
        content = b"".join(answer) if answer.streaming else answer.content
        text = content.decode()
        leaked = sorted(secret for secret in hidden if secret in text)
        assert not leaked, f"{name} {address} shows {leaked} to {reader}"
        seen |= {secret for secret in SECRETS if secret in text}
    assert seen == set(SECRETS) - hidden, "a secret that its reader never sees proves nothing"


def every_address(world: World) -> Iterator[tuple[str, str]]:
    exchange = world.exchange
    others = {
        "edge": [exchange.middle_edge.pk, exchange.last_edge.pk],
        "campaign": [exchange.rival_campaign.pk],
        "party": [house_of(world, name).party.pk for name in ("northgate", "soda", "rival")],
    }
    for name, page in PAGES.items():
        if page.get is None or name in ("login", "metrics"):
            continue
        yield name, address_of(name, page, world)
        for pk in others.get(str(page.kind), []) if page.arguments is None else []:
            if page.needs_object:
                yield name, reverse(name, args=[pk])
    campaign = exchange.campaign.pk
    yield "try-visit", f"{reverse('try-visit')}?campaign={campaign}"
    yield "report of a campaign", f"{reverse('report-eligible-visits')}?campaign={campaign}"
    yield "campaign-options", f"{reverse('campaign-options')}?explain=1&campaign="
    yield "search", f"{reverse('edge-list')}?q=rule"
    yield "search", f"{reverse('booking-list')}?q=Summer"


LISTS = [*(name for name in PAGES if name.endswith("-list")), "campaign-options", "dashboard"]


READERS = [
    (name, who)
    for name in LISTS
    for who in ("soda", "herald", "operators")
    if who == "operators" or not PAGES[name].is_operators
]


@pytest.mark.parametrize(("name", "who"), READERS)
def test_a_list_costs_the_same_whatever_its_length(name: str, who: str, world: World) -> None:
    exchange = world.exchange
    admin = exchange.operators[Role.ADMIN] if who == "operators" else house_of(world, who).admin
    # The first makes the Herald an intermediary, with a part of its home; more than 12 of a kind
    # are no longer listed in a choice, but asked for while one types.
    for number in range(14):
        crowd(exchange, number)
    before = count_queries(admin, reverse(name))
    for number in range(14, 30):
        crowd(exchange, number)
    assert count_queries(admin, reverse(name)) == before


def count_queries(person: User, address: str) -> int:
    client = Client()
    client.force_login(person)
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def crowd(exchange: Exchange, number: int) -> None:
    """Adds one more of everything, for Soda and for the Herald."""
    soda, herald = exchange.soda, exchange.herald
    middle = found(Party.Kind.INTERMEDIARY, f"Middle {number}", herald.organisation)
    brand = found(Party.Kind.ADVERTISER, f"Brand {number}", soda.organisation)
    Edge.objects.create(seller=herald.party, buyer=middle)
    Edge.objects.create(seller=middle, buyer=brand)
    campaign = Campaign.objects.create(advertiser=brand, name=f"Crowd {number}", expression="true")
    Booking.objects.create(campaign=campaign, publisher=herald.party)
    for house in (soda, herald):
        hire(f"{house.party.name}-{number}", Role.VIEWER, house.organisation)
        organisation: Any = house.organisation
        Audience.objects.create(organisation=organisation, name=f"a{number}", expression="true")
        values = ValueList.objects.create(organisation=organisation, name=f"l{number}")
        values.versions.create(number=1, values=["a"], added_count=1, removed_count=0)
