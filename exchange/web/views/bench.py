"""The test bench: a visit is tried on a campaign, edge by edge, before or after it is saved as a
test. Its form is filled with a visit that matches, or with one from the sample."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from exchange.accounts.models import User
from exchange.market.catalog import load_catalog
from exchange.market.models import Booking, Campaign
from exchange.market.querysets import ID_DIGITS
from exchange.reading.asked import (
    Asked,
    Rule,
    list_asked,
    list_edges,
    read_edge_rules,
    read_targeting,
    suggest_visit,
)
from exchange.reading.combinations import Matrix, try_combinations
from exchange.reading.sampled import draw_passing
from exchange.reading.trying import NOWHERE, Tried, try_visit
from exchange.serving.visits import stamp
from exchange.web.forms.bench import BenchForm, ToTry, fill_fields
from exchange.web.views.campaign_tabs import find_campaign, try_targeting
from exchange.web.views.listing import person_of
from exchange.web.views.visits import describe_warnings
from exchange.web.visit_texts import EXAMPLE_BID_REQUEST
from targeting import ExpressionError

TABS = {"form": "Form", "json": "JSON", "bid": "Bid request"}
BOOKINGS_TRIED = 12
ROWS_SHOWN = 200
GRID_COLUMNS = 24
MATCHING = "This visit was made up to pass what you may read of the rules."
NONE_MATCHES = "No visit was found that passes. The rules may exclude each other: fill in your own."
NO_SAMPLE = "No night has been counted yet, so there are no sampled visits."
NONE_SAMPLED = "The sample has no visit of these publishers."


@require_http_methods(["GET", "HEAD", "POST"])
def show_bench(request: HttpRequest, pk: int) -> HttpResponse:
    """An htmx request gets the bench alone, everyone else the page with the saved tests."""
    person, campaign = person_of(request), find_campaign(request, pk)
    context: dict[str, Any] = {"campaign": campaign, "tab": "tests", **try_targeting(campaign)}
    try:
        bench = Bench(campaign, person)
    except ExpressionError as error:
        context["broken"] = str(error)
    else:
        context |= bench.answer(request)
    is_part = bool(request.headers.get("HX-Request"))
    template = "bench/_bench.html" if is_part else "market/campaign_tests.html"
    form = context.get("form")
    return render(request, template, context, status=422 if form and form.errors else 200)


class Bench:
    """One campaign on the bench, for one person. Raises `ExpressionError` if its targeting no
    longer compiles."""

    def __init__(self, campaign: Campaign, person: User) -> None:
        self.campaign = campaign
        self.person = person
        self.catalog = load_catalog()
        self.targeting = read_targeting(campaign, self.catalog)
        booked = campaign.bookings.kept().with_parties().order_by("publisher__name", "pk")
        self._booked = booked
        self.booked_count = booked.count()
        self.bookings = list(booked[:BOOKINGS_TRIED])

    def answer(self, request: HttpRequest) -> dict[str, Any]:
        """`do` is the button: what to fill in, which tab to turn to, or simply to try."""
        asked, do = request.POST, request.POST.get("do", "")
        tab = asked.get("tab") if asked.get("tab") in TABS else "form"
        if request.method != "POST" or do == "matching":
            filled, note = self.suggest(self._chosen(asked.get("publisher", "")))
            form = self.fill(filled, asked.get("publisher", ""))
            return self.judge(form, "form", note)
        if do == "sample":
            return self.take_sampled(asked.get("publisher", ""), read_number(asked.get("drawn")))
        form = self.open_form(asked, tab=str(tab))
        turned = do.removeprefix("tab-")
        if form.is_valid() and form.to_try and do.startswith("tab-") and turned in TABS:
            return self.turn(form, turned, asked.get("publisher", ""))
        return self.judge(form, str(tab))

    @cached_property
    def rules(self) -> list[Rule]:
        """The targeting, and the rules of all edges that its bookings may take, each once."""
        edges = {edge.pk: edge for one in self.bookings for edge in list_edges(one, self.person)}
        return [self.targeting, *read_edge_rules(edges.values(), self.person, self.catalog)]

    @cached_property
    def asked(self) -> list[Asked]:
        return list_asked(self.rules, self.catalog)

    def open_form(self, data: Any, *, tab: str) -> BenchForm:
        return BenchForm(
            data, tab=tab, asked=self.asked, campaign=self.campaign, catalog=self.catalog
        )

    # --- what to try

    def suggest(self, bookings: list[Booking]) -> tuple[ToTry, str]:
        """Takes the first booking whose rules can be passed, from the next full minute on: the
        one that has begun may be before the campaign's start."""
        start = max(datetime.now(UTC), self.campaign.starts_at) + timedelta(minutes=1)
        at = start.replace(second=0, microsecond=0)
        for booking in bookings or [None]:  # type: ignore[list-item]
            edges = list_edges(booking, self.person) if booking else []
            rules = [self.targeting, *read_edge_rules(edges, self.person, self.catalog)]
            seller_id = booking.publisher.seller_id if booking else None
            found = suggest_visit(rules, seller_id, self.catalog, at)
            if found is not None:
                said = found.get("time")
                moment = datetime.fromtimestamp(said / 1000, UTC) if said is not None else at
                return ToTry(found, moment), MATCHING
        return ToTry({}, at), NONE_MATCHES

    def take_sampled(self, publisher: str, number: int) -> dict[str, Any]:
        bookings = self._chosen(publisher)
        names = [each.attribute.name for each in self.asked]
        drawn = draw_passing(self.targeting.expression, bookings, names, self.catalog, number)
        if drawn is None:
            form = self.fill(self.suggest(bookings)[0], publisher)
            return self.judge(form, "form", NO_SAMPLE)
        if drawn.visit is None:
            form = self.fill(self.suggest(bookings)[0], publisher)
            return self.judge(form, "form", NONE_SAMPLED)
        form = self.fill(ToTry(drawn.visit.values, drawn.visit.at or datetime.now(UTC)), publisher)
        told = self.judge(form, "form", drawn.note)
        return told | {"drawn": number + 1}

    def fill(self, to_try: ToTry, publisher: str) -> BenchForm:
        """Fills the fields, and reads them again: what is judged is what is shown."""
        filled = fill_fields(to_try.first, to_try.at, self.asked, self.catalog)
        return self.open_form({**filled, "publisher": publisher}, tab="form")

    def turn(self, form: BenchForm, tab: str, publisher: str) -> dict[str, Any]:
        """Takes the visit along to another tab. A bid request cannot be made of a visit."""
        to_try = form.to_try
        assert to_try is not None  # noqa: S101  the caller's promise
        if tab == "form":
            return self.judge(self.fill(to_try, publisher), "form")
        is_kept = tab == "bid" and to_try.imps
        text = form.data.get("text", "") if is_kept else to_try.text
        text = EXAMPLE_BID_REQUEST if tab == "bid" and not to_try.imps else text
        turned = self.open_form({"text": text, "publisher": publisher}, tab=tab)
        return self.judge(turned, tab)

    def _chosen(self, publisher: str) -> list[Booking]:
        """Finds the booking with a publisher, by number or name; all that are shown without one."""
        text = publisher.strip()
        if not text:
            return self.bookings
        is_id = text.isdecimal() and len(text) <= ID_DIGITS
        wanted = Q(publisher=int(text)) if is_id else Q(publisher__name__iexact=text)
        return list(self._booked.filter(wanted)) or self.bookings

    # --- the verdict

    def judge(self, form: BenchForm, tab: str, note: str = "") -> dict[str, Any]:
        context = {
            "form": form,
            "bench_tab": tab,
            "bench_tabs": TABS,
            "note": note,
            "booked_count": self.booked_count,
            "bookings": self.bookings,
            "drawn": 0,
        }
        if not form.is_valid() or form.to_try is None:
            return context
        to_try, chosen = form.to_try, self._chosen(form.data.get("publisher", ""))
        context |= {"to_try": to_try, "warnings": describe_warnings(to_try.notes)}
        if to_try.varied:
            return context | self.lay_out(to_try, chosen)
        tried = try_visit(self.campaign, chosen, to_try.base, self.person, self.catalog, to_try.at)
        return context | {"tried": tried, **sum_up(tried)}

    def lay_out(self, to_try: ToTry, chosen: list[Booking]) -> dict[str, Any]:
        booking = chosen[0] if chosen else None
        base = dict(to_try.base)
        stamp(base, booking.publisher.seller_id if booking else NOWHERE, to_try.at)
        matrix = try_combinations(
            base, to_try.varied, self.targeting, booking, self.person, self.catalog
        )
        cells = matrix.cells[:ROWS_SHOWN]
        return {
            "matrix": matrix,
            "matrix_at": booking.publisher.name if booking else "",
            "by_value": matrix.count_by_value(),
            "grid": make_grid(matrix),
            "cells": [(matrix.tell(cell), cell) for cell in cells],
        }


def make_grid(matrix: Matrix) -> list[tuple[str, list[Any]]] | None:
    """Two things that vary are rows and columns; more are a list."""
    if len(matrix.varied) != 2 or len(matrix.varied[1].labels) > GRID_COLUMNS:
        return None
    rows, width = matrix.varied[0].labels, len(matrix.varied[1].labels)
    if len(rows) * width > ROWS_SHOWN * 4:
        return None
    return [
        (label, list(matrix.cells[number * width : (number + 1) * width]))
        for number, label in enumerate(rows)
    ]


def sum_up(tried: list[Tried]) -> dict[str, Any]:
    passing = sum(one.passes for one in tried)
    return {"passing_count": passing, "passes": passing > 0, "is_booked": tried[0].publisher}


def read_number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 9 else 0
