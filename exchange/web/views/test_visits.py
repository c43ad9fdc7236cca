"""Shows and edits test visits of a campaign: what it must, and must not, be eligible for."""

from __future__ import annotations

import json
from functools import partial

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from exchange.market.models import Campaign, TestVisit
from exchange.market.services import save_test_visit
from exchange.web.forms import TestVisitForm, save_form
from exchange.web.views.listing import find_visible, open_for_edit, person_of, show_form
from exchange.web.visit_texts import MAX_VISIT_CHARACTERS, write_example


@require_http_methods(["GET", "HEAD", "POST"])
def add_test_visit(request: HttpRequest, campaign_pk: int) -> HttpResponse:
    person = person_of(request)
    campaign = find_visible(Campaign.objects.with_advertiser(), person, campaign_pk)
    test_visit = open_for_edit(TestVisit.objects.all(), person, None, TestVisit(campaign=campaign))
    # Takes over what was tried in “Try a visit”; the form says what is wrong with it.
    tried = request.GET.get("visit", "")[:MAX_VISIT_CHARACTERS]
    test_visit.expects_eligible = request.GET.get("expects") != "no"
    return edit(request, test_visit, visit=tried or write_example())


@require_http_methods(["GET", "HEAD", "POST"])
def edit_test_visit(request: HttpRequest, pk: int) -> HttpResponse:
    rows = TestVisit.objects.select_related("campaign__advertiser")
    test_visit = open_for_edit(rows, person_of(request), pk, TestVisit())
    return edit(request, test_visit, visit=json.dumps(test_visit.visit, indent=2))


def edit(request: HttpRequest, test_visit: TestVisit, visit: str) -> HttpResponse:
    person = person_of(request)
    initial = {"visit": visit, "expects_eligible": "yes" if test_visit.expects_eligible else "no"}
    form = TestVisitForm(request.POST or None, person=person, instance=test_visit, initial=initial)
    if request.method == "POST" and save_form(form, partial(save_test_visit, by=person)):
        messages.success(request, f"The test visit “{test_visit.name}” is saved.")
        return redirect("campaign-tests", test_visit.campaign_id)
    return show_form(
        request,
        "market/test_visit_form.html",
        form,
        test_visit=test_visit,
        campaign=test_visit.campaign,
    )
