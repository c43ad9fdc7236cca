"""Lists what to ask at every address of the exchange: real objects, small, usual and large ones.

`LEFT_OUT` names what is not asked, with the reason; a test holds both against the addresses that
there are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from django.contrib import admin
from django.db.models import Count, Model, QuerySet
from django.db.models.functions import Length
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from exchange.accounts.models import Organisation, User
from exchange.accounts.permissions import is_exchange_operator, may_edit
from exchange.findings.models import BookingFinding
from exchange.keys.models import ApiKey
from exchange.market.models import (
    Attribute,
    Audience,
    Booking,
    Campaign,
    Edge,
    Party,
    TestVisit,
    ValueList,
)
from exchange.market.visibility import owned, visible
from exchange.reading.paging import write_cursor
from exchange.reports.models import ReportRun
from exchange.reports.night.catalogue import REPORTS
from exchange.reports.night.seeing import may_read
from exchange.reports.night.tables import find_night
from exchange.snapshots.models import SnapshotBuild
from exchange.web.kinds import KINDS

ONLY_POST = "it changes something and shows another page"
ELSEWHERE = "another process answers it"
LEFT_OUT = {
    "serving-eligibility": ELSEWHERE,
    "serving-batch": ELSEWHERE,
    "serving-snapshots": ELSEWHERE,
    "logout": ONLY_POST,
    "campaign-status": ONLY_POST,
    "campaign-book": ONLY_POST,
    "campaign-ask": ONLY_POST,
    "question-settle": ONLY_POST,
    "campaign-view-save": ONLY_POST,
    "campaign-view-remove": ONLY_POST,
    "value-list-keep": ONLY_POST,
    "api-key-revoke": ONLY_POST,
    "person-password": ONLY_POST,
    "person-switch": ONLY_POST,
    "snapshot-build": ONLY_POST,
    "snapshot-activate": ONLY_POST,
    "snapshot-roll-back": ONLY_POST,
    "report-run": ONLY_POST,
    "report-night-notebook": "a few lines, whatever the table",
    "value-list-change": ONLY_POST,
    **{f"{slug}-retire": ONLY_POST for slug in KINDS},
    **{f"{slug}-revert": ONLY_POST for slug in KINDS},
    "login": "it sends on whoever is logged in",
    "password-link": "it is for who has the link and cannot log in",
    "password-forgotten": "only where mail is sent",
    "admin:login": "it sends on to the exchange's log-in",
    "admin:logout": ONLY_POST,
    "admin:password_change": "the exchange's own page does it",
    "admin:password_change_done": "the exchange's own page does it",
    "admin:autocomplete": "no table offers it",
    "admin:view_on_site": "it sends on",
    "admin:app_list": "a part of the index",
    "admin:(?P<url>.*)$": "there is nothing",
    "admin:<path:object_id>/": "it sends on to the row's page",
}
LEFT_OUT_ENDINGS = {"_add": "nobody adds rows there", "_delete": "nobody deletes rows there"}


@dataclass(frozen=True, slots=True)
class Question:
    """One request; `what` says which object or search it is about. With `data` it is posted, as a
    page's script does; it saves nothing."""

    name: str
    what: str
    address: str
    data: dict[str, Any] = field(default_factory=dict)
    is_json: bool = False


def find_names() -> set[str]:
    return {name for name, _ in walk(get_resolver())}


def walk(resolver: URLResolver, space: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            inner = f"{entry.namespace}:" if entry.namespace else ""
            yield from walk(entry, space + inner)
        else:
            yield f"{space}{entry.name or entry.pattern}", entry


def is_left_out(name: str) -> bool:
    return name in LEFT_OUT or (
        name.startswith("admin:") and name.endswith(tuple(LEFT_OUT_ENDINGS))
    )


def ask_all(person: User) -> Iterator[Question]:
    """Asks at every address that is not left out, for what this person may see."""
    for name in sorted(find_names()):
        if not is_left_out(name):
            yield from ask(name, person)


PAGES_OF_ONE = (
    "detail",
    "edit",
    "history",
    "values",
    "bookings",
    "impact",
    "paths",
    "tests",
    "api",
    "served",
    "why",
)


def ask(name: str, person: User) -> Iterator[Question]:
    if name.startswith("admin:"):
        yield from ask_admin(name, person)
    elif name in SPECIAL:
        yield from SPECIAL[name](name, person)
    else:
        slug, _, page = name.rpartition("-")
        if page in PAGES_OF_ONE and slug in PICKS:
            for what, row in PICKS[slug](person, page == "edit"):
                yield Question(name, what, reverse(name, args=[row.pk]))
        else:
            yield Question(name, "", reverse(name))


Picked = Iterator[tuple[str, Any]]


def see(rows: QuerySet[Any], person: User, is_edit: bool) -> QuerySet[Any]:
    return owned(rows, person) if is_edit else visible(rows, person)


def first_of(**ordered: QuerySet[Any]) -> Picked:
    """Picks the first row of each query that has one, each row once."""
    seen: set[int] = set()
    for what, rows in ordered.items():
        row = rows.first()
        if row is not None and row.pk not in seen:
            seen.add(row.pk)
            yield what.replace("_", " "), row


def pick_parties(person: User, is_edit: bool) -> Picked:
    rows = see(Party.objects.kept(), person, is_edit)
    sizes = rows.annotate(size=Count("sales", distinct=True) + Count("purchases", distinct=True))
    return first_of(
        most_edges=sizes.order_by("-size", "pk"),
        publisher=rows.filter(kind="publisher").order_by("pk"),
        advertiser=rows.filter(kind="advertiser").order_by("pk"),
        last=rows.order_by("-pk"),
    )


def pick_edges(person: User, is_edit: bool) -> Picked:
    rows = see(Edge.objects.active(), person, is_edit).order_by("pk")
    inner = rows.filter(seller__kind="intermediary", buyer__kind="intermediary")
    busiest = inner.annotate(size=Count("buyer__sales")).order_by("-size", "pk")
    return first_of(
        busy_middle=busiest,
        of_a_publisher=rows.filter(seller__kind="publisher"),
        last_middle=inner.order_by("-pk"),
        to_an_advertiser=rows.filter(buyer__kind="advertiser"),
        switched_off=see(Edge.objects.filter(is_active=False), person, is_edit).order_by("pk"),
        long_rule=rows.annotate(size=Length("expression")).order_by("-size", "pk"),
    )


def pick_campaigns(person: User, is_edit: bool) -> Picked:
    rows = see(Campaign.objects.kept(), person, is_edit)
    booked = Booking.objects.values("campaign").annotate(n=Count("pk")).order_by("-n", "campaign")
    most = [row["campaign"] for row in booked[:1]]
    return first_of(
        most_bookings=rows.filter(pk__in=most).order_by("pk"),
        first=rows.order_by("pk"),
        long_targeting=rows.annotate(size=Length("expression")).order_by("-size", "pk"),
        newest=rows.order_by("-pk"),
    )


def pick_bookings(person: User, is_edit: bool) -> Picked:
    rows = see(Booking.objects.kept(), person, is_edit).order_by("-pk")
    found = BookingFinding.objects.order_by("-pk").values("booking")[:1]
    return first_of(
        **{policy: rows.filter(policy=policy) for policy in Booking.Policy.values},
        wide=rows.filter(policy="any").order_by("-hop_limit", "pk"),
        with_a_finding=rows.filter(pk__in=found),
    )


def pick_used(model: type[Model], prefix: str, key: str) -> Callable[[User, bool], Picked]:
    """Picks the row that most campaigns use, the first and the last."""

    def pick(person: User, is_edit: bool) -> Picked:
        rows: QuerySet[Any] = see(model._default_manager.all(), person, is_edit).order_by("pk")
        uses = Campaign.objects.order_by()[:5_000].values_list("uses", flat=True)
        words = [
            word.removeprefix(prefix) for found in uses for word in found if word.startswith(prefix)
        ]
        plain = [word for word in words if ":" not in word]  # others say how a list is used
        common = max(set(plain), key=plain.count) if plain else None
        most = rows.filter(**{key: common}) if common else rows.none()
        return first_of(most_used=most, first=rows, last=rows.order_by("-pk"))

    return pick


def pick_any(model: type[Model]) -> Callable[[User, bool], Picked]:
    def pick(person: User, is_edit: bool) -> Picked:
        rows: QuerySet[Any] = see(model._default_manager.all(), person, is_edit)
        return first_of(first=rows.order_by("pk"), last=rows.order_by("-pk"))

    return pick


PICKS: dict[str, Callable[[User, bool], Picked]] = {
    "party": pick_parties,
    "edge": pick_edges,
    "campaign": pick_campaigns,
    "booking": pick_bookings,
    "audience": pick_used(Audience, "audience:", "pk"),
    "value-list": pick_used(ValueList, "list:", "pk"),
    "attribute": pick_used(Attribute, "attribute:", "name"),
    "test-visit": pick_any(TestVisit),
    "api-key": pick_any(ApiKey),
    "person": pick_any(User),
    "organisation": lambda *_: first_of(first=Organisation.objects.order_by("pk")),
}


# Lists, with their searches and filters, and later pages.

SEARCHES = {
    "party-list": ["q=a", "q=nothing+like+it", "kind=advertiser"],
    "edge-list": ["q=news", "q=nothing+like+it", "active=no"],
    "campaign-list": ["q=sale", "q=nothing+like+it", "status=draft", "label=brand", "q=12345"],
    "booking-list": ["q=news", "q=nothing+like+it", "status=draft", "active=no"],
    "finding-list": ["kind=no_path", "kind=cycle", "q=news", "q=nothing+like+it"],
    "audience-list": ["q=brand"],
    "value-list-list": ["q=site"],
    "attribute-list": ["q=geo"],
    "graph": ["q=a", "q=news", "q=nothing+like+it"],
    "find": ["find=a", "find=sale", "find=nothing+like+it"],
    "campaign-csv": ["q=sale"],
    "expression-vocabulary": [],
    "snapshot-list": ["status=failed"],
    "report-eligible-visits": [
        "q=news",
        "q=sale",
        "q=a",
        "q=again+3",
        "q=fontaine+bank",
        "sort=campaign",
        "sort=-publishers",
    ],
}
NAMED_FILTERS = {
    "edge-list": ["seller", "buyer"],
    "campaign-list": ["advertiser"],
    "booking-list": ["publisher"],
    "report-eligible-visits": ["publisher", "campaign"],
}


def ask_list(name: str, person: User) -> Iterator[Question]:
    address = reverse(name)
    yield Question(name, "", address)
    for search in SEARCHES.get(name, []):
        yield Question(name, search, f"{address}?{search}")
    for side in NAMED_FILTERS.get(name, []):
        pk = find_filter(side, person)
        if pk is not None:
            yield Question(name, f"one {side}", f"{address}?{side}={pk}")
    if name in ("campaign-list", "booking-list"):
        model: Any = Campaign if name == "campaign-list" else Booking
        rows = visible(model.objects.kept(), person).order_by("-pk").values_list("pk", flat=True)
        for place, pk in enumerate(rows[:5_000:4_999]):
            what = "near the end" if place else "second page"
            yield Question(name, what, f"{address}?after={write_cursor((pk,))}")


def find_filter(side: str, person: User) -> int | None:
    if side == "campaign":
        rows: QuerySet[Any] = visible(Campaign.objects.all(), person)
    else:
        kinds = {"seller": "intermediary", "buyer": "advertiser"}
        rows = Party.objects.filter(kind=kinds.get(side, side))
    pk: int | None = rows.order_by("pk").values_list("pk", flat=True).first()
    return pk


# Questions of a page's script, and pages that are about something else than one object.

VISIT = {"geo": {"country": "USA"}, "device": {"type": "phone"}, "user": {"age": 34}}


def ask_options(name: str, _: User) -> Iterator[Question]:
    for text in ("", "a", "sale", "nothing like it"):
        yield Question(name, f"“{text}”", f"{reverse(name)}?campaign={text.replace(' ', '+')}")
        explain = f"{reverse(name)}?explain=1&campaign={text.replace(' ', '+')}"
        yield Question(name, f"“{text}” to explain", explain)


def ask_sides(name: str, _: User) -> Iterator[Question]:
    for side in ("seller", "buyer", "advertiser", "publisher"):
        for text in ("", "news", "nothing"):
            address = f"{reverse(name)}?side={side}&{side}={text}"
            yield Question(name, f"{side} “{text}”", address)


def ask_visit(name: str, person: User) -> Iterator[Question]:
    """Asks for the page, as linked from a campaign, and for an explanation for each policy."""
    address = reverse(name)
    yield Question(name, "", address)
    bookings = owned(Booking.objects.active(), person).order_by("-pk")
    for what, booking in first_of(
        **{policy: bookings.filter(policy=policy) for policy in Booking.Policy.values},
        any_of_8_hops=bookings.filter(policy="any").order_by("-hop_limit", "pk"),
    ):
        yield Question(name, "of a campaign", f"{address}?campaign={booking.campaign_id}")
        data = {
            "publisher": str(booking.publisher_id),
            "visit": json.dumps(VISIT),
            "campaign": f"#{booking.campaign_id}",
        }
        yield Question(name, f"explain {what}", address, data)


def ask_validation(name: str, _: User) -> Iterator[Question]:
    data = {"text": "geo.country in ('USA', 'CAN') and @brand_safe"}
    yield Question(name, "", reverse(name), data, is_json=True)


def ask_values(name: str, _: User) -> Iterator[Question]:
    asked = "value=USA" if name.endswith("-holder") else "attribute=geo.country&q=U"
    yield Question(name, "", f"{reverse(name)}?{asked}")


def ask_comparison(name: str, person: User) -> Iterator[Question]:
    rows = [] if name.endswith("-new") else pick_any(ValueList)(person, True)
    data = {"name": "towns", "type": "string", "text": "Oslo\nBergen"}
    for what, row in rows or [("new", None)]:
        yield Question(name, what, reverse(name, args=[row.pk] if row else []), data)


# What a form would send, but for what it is about.
REHEARSED: dict[str, dict[str, Any]] = {
    "edge": {"fee_percent": "5", "is_active": "on", "expression": "geo.country = 'USA'"},
    "audience": {"name": "some", "expression": "geo.country = 'USA'"},
    "value-list": {"name": "some", "text": "Oslo\nBergen"},
    "attribute": {"name": "site.mood", "type": "string", "is_required": "on"},
}


def ask_rehearsal(name: str, person: User) -> Iterator[Question]:
    """Of rows that the person could save, each with another rule than it has."""
    slug = name.removesuffix("-new").removesuffix("-rehearse")
    if not may_edit(person, KINDS[slug].name):
        return
    rows = [("new", None)] if name.endswith("-new") else PICKS[slug](person, True)
    for what, row in rows:
        kept = {"name", "seller_id", "buyer_id", "organisation_id"}
        said = {key.removesuffix("_id"): getattr(row, key) for key in kept if hasattr(row, key)}
        address = reverse(name, args=[row.pk] if row else [])
        yield Question(name, what, address, REHEARSED[slug] | said)


def ask_of_campaign(name: str, person: User) -> Iterator[Question]:
    for what, row in pick_any(Campaign)(person, True):
        yield Question(name, what, reverse(name, args=[row.pk]))


def ask_graph(name: str, person: User) -> Iterator[Question]:
    """Asks for parties and edges that the graph draws."""
    picked = pick_edges if name == "graph-edge-drawer" else pick_parties
    for what, row in picked(person, False):
        if getattr(row, "is_active", True):
            yield Question(name, what, reverse(name, args=[row.pk]))


def ask_night(name: str, person: User) -> Iterator[Question]:
    """Every report that the person has; a table's own pages need a night that was counted."""
    is_of_table = name not in ("report-night", "report-night-picture")
    for slug, report in REPORTS.items():
        is_counted = find_night(report.job, table=report.table) is not None
        if may_read(person, report) and (is_counted or not is_of_table):
            address = reverse(name, args=[slug])
            yield Question(name, slug, address)
            if name == "report-night" and "campaign_id" in report.names:
                yield Question(name, f"{slug}, a search", f"{address}?q=again+3")
                pk = find_filter("campaign", person)
                yield Question(name, f"{slug}, one campaign", f"{address}?campaign={pk}")


def ask_overlap(name: str, person: User) -> Iterator[Question]:
    if find_night("overlap"):
        yield Question(name, "", reverse(name))
        pk = find_filter("publisher", person)
        yield Question(name, "one publisher", f"{reverse(name)}?publisher={pk}")


def ask_runs(name: str, _: User) -> Iterator[Question]:
    for pk in ReportRun.objects.order_by("-pk").values_list("pk", flat=True)[:1]:
        yield Question(name, "newest", reverse(name, args=[pk]))


def ask_builds(name: str, _: User) -> Iterator[Question]:
    for build in SnapshotBuild.objects.order_by("-pk")[:2]:
        yield Question(name, build.status, reverse(name, args=[build.pk]))


def ask_build_comparison(name: str, _: User) -> Iterator[Question]:
    kept = SnapshotBuild.objects.filter(status__in=["live", "replaced"]).order_by("pk")
    pks = list(kept.values_list("pk", flat=True))
    if len(pks) > 1:
        yield Question(name, "", f"{reverse(name)}?before={pks[0]}&after={pks[-1]}")


def ask_nothing_there(name: str, _: User) -> Iterator[Question]:
    yield Question(name, "no such address", "/api/v1/nothing")


def ask_explanation(name: str, person: User) -> Iterator[Question]:
    """Asks for explanations as ad servers do; `bench.pages` sends the key along."""
    for what, booking in first_of(
        **{
            policy: owned(Booking.objects.active(), person).filter(policy=policy).order_by("-pk")
            for policy in Booking.Policy.values
        }
    ):
        data = {
            "publisher": booking.publisher.seller_id,
            "visit": VISIT,
            "campaigns": [booking.campaign_id],
        }
        yield Question(name, what, reverse(name), data, is_json=True)


SPECIAL: dict[str, Callable[[str, User], Iterator[Question]]] = {
    **dict.fromkeys(SEARCHES, ask_list),
    "campaign-options": ask_options,
    "party-options": ask_sides,
    "try-visit": ask_visit,
    "expression-validate": ask_validation,
    "expression-impact": ask_validation,
    "expression-values": ask_values,
    "expression-holder": ask_values,
    **{f"{slug}-rehearse": ask_rehearsal for slug in REHEARSED},
    "edge-rehearse-new": ask_rehearsal,
    "attribute-rehearse-new": ask_rehearsal,
    "value-list-compare": ask_comparison,
    "value-list-compare-new": ask_comparison,
    "test-visit-create": ask_of_campaign,
    "graph-party": ask_graph,
    "graph-party-drawer": ask_graph,
    "graph-edge-drawer": ask_graph,
    "report-night": ask_night,
    "report-night-csv": ask_night,
    "report-night-parquet": ask_night,
    "report-night-picture": ask_night,
    "report-overlap-csv": ask_overlap,
    "report-overlap": ask_overlap,
    "report-run-detail": ask_runs,
    "snapshot-detail": ask_builds,
    "snapshot-compare": ask_build_comparison,
    "^api/": ask_nothing_there,
    "eligibility-explain": ask_explanation,
}


# Django's own pages of the tables.


def ask_admin(name: str, person: User) -> Iterator[Question]:
    if not is_exchange_operator(person):
        return
    page = name.removeprefix("admin:")
    table, _, view = page.rpartition("_")
    if view in ("change", "history"):
        row = find_model(table)._default_manager.order_by("-pk").first()
        if row is not None:
            yield Question(name, "newest", reverse(name, args=[row.pk]))
    elif page == "jsi18n" or view == "changelist" or page == "index":
        yield Question(name, "", reverse(name))


def find_model(table: str) -> type[Model]:
    models = {f"{model._meta.app_label}_{model._meta.model_name}": model for model in registered()}
    return models[table]


def registered() -> list[type[Model]]:
    return list(admin.site._registry)
