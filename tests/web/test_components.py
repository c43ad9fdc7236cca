"""The page of all components: whole, and for developers only."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from django.urls import NoReverseMatch, reverse

from exchange.accounts.models import User
from exchange.findings.status import Status
from exchange.web.views.components import show_components

pytestmark = pytest.mark.django_db


def test_shows_every_status_and_what_is_not_known(dave: User, rf: RequestFactory) -> None:
    request = rf.get("/components/")
    request.user = dave
    html = show_components(request).content.decode()
    for status in Status:
        assert f">{status.label}</span>" in html
    assert "badge unknown" in html
    assert "no report yet" in html
    assert "not checked yet" in html


def test_shows_every_component_that_pages_share(dave: User, rf: RequestFactory) -> None:
    request = rf.get("/components/")
    request.user = dave
    html = show_components(request).content.decode()
    for mark in (
        *('class="delta bad"', 'class="spark"', "data-combobox", 'class="chips"', "funnel-bar"),
        *("data-expression-editor", "data-impact", "strip-path", 'class="changes"', "grid-table"),
        *("Save and stop 1 booking", "I know that 1 booking", "why-verdict bad", 'class="time"'),
        *('class="blockers"', 'class="table dense funnel"', "0 eligible of 1,400 visits"),
        *("card drawer", "data-jump", "data-toast", "card empty"),
        *('class="table dense"', 'class="way"', 'class="path long"', 'class="tabs"'),
    ):
        assert mark in html, mark


def test_has_no_address_outside_of_debug() -> None:
    with pytest.raises(NoReverseMatch):
        reverse("components")
