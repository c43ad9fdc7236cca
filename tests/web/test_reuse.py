"""What others use by name: audiences, value lists, attributes."""

from __future__ import annotations

from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from exchange.accounts.models import Role, User
from exchange.market.models import Attribute, Audience, Campaign, TestVisit, ValueList
from exchange.market.names import load_values
from exchange.market.services import save_audience, save_campaign, save_value_list
from tests.trading import Exchange, exchange
from tests.web.conftest import LogIn

__all__ = ["exchange"]

pytestmark = pytest.mark.django_db


@pytest.fixture
def gamers(alice: User) -> Audience:
    audience = Audience(
        name="gamers", organisation=alice.organisation, expression="user.segments one of ('games')"
    )
    return save_audience(audience=audience, by=alice)


@pytest.fixture
def cities(alice: User) -> ValueList:
    value_list = ValueList(name="cities", organisation=alice.organisation)
    return save_value_list(value_list=value_list, values=["Oslo", "Rome"], by=alice)


def text_of(browser: Client, address: str) -> str:
    return unescape(browser.get(address).content.decode())


def test_an_audience_is_written_and_used(alice: User, campaign: Campaign, log_in: LogIn) -> None:
    browser = log_in(alice)
    fields = {
        "name": "gamers",
        "organisation": alice.organisation_id,
        "description": "Play a lot",
        "expression": "user.segments one of ('games')",
    }
    answer = browser.post("/audiences/new/", fields)
    audience = Audience.objects.get()
    assert answer["Location"] == f"/audiences/{audience.pk}/"
    campaign.expression = "@gamers and geo.country = 'USA'"
    save_campaign(campaign=campaign, by=alice)
    assert "1 campaign, such as Summer" in text_of(browser, f"/audiences/{audience.pk}/")
    for address in ("/audiences/", f"/audiences/{audience.pk}/"):
        assert "Visits in audience games" in text_of(browser, address)
    assert "a change of this audience hits 1 campaign" in text_of(
        browser, f"/audiences/{audience.pk}/edit/"
    )
    refused = browser.post(f"/audiences/{audience.pk}/retire/", follow=True)
    assert "@gamers cannot be retired" in refused.content.decode()


def test_an_audience_must_not_use_itself(alice: User, gamers: Audience, log_in: LogIn) -> None:
    fields = {
        "name": "gamers",
        "organisation": gamers.organisation_id,
        "expression": "@gamers",
        "expected_version": gamers.version,
    }
    answer = log_in(alice).post(f"/audiences/{gamers.pk}/edit/", fields)
    assert answer.status_code == 422
    gamers.refresh_from_db()
    assert gamers.expression == "user.segments one of ('games')"


def test_a_list_is_uploaded_and_downloaded(alice: User, log_in: LogIn) -> None:
    browser = log_in(alice)
    content = 'b.example\r\na.example, c.example\n"with, comma"\nb.example\n'.encode("utf-8-sig")
    fields = {"name": "sites", "type": "string", "organisation": alice.organisation_id}
    browser.post("/lists/new/", fields | {"upload": SimpleUploadedFile("sites.csv", content)})
    value_list = ValueList.objects.get()
    assert value_list.value_count == 4
    response = browser.get(f"/lists/{value_list.pk}/values.txt")
    assert b"".join(response).decode() == 'a.example\nb.example\nc.example\n"with, comma"\n'
    assert response["Content-Disposition"] == 'attachment; filename="sites.txt"'
    assert response["Content-Length"] == "44"


def test_a_list_without_values_and_a_file_that_is_no_text_are_refused(
    alice: User, log_in: LogIn
) -> None:
    fields = {"name": "sites", "type": "string", "organisation": alice.organisation_id}
    browser = log_in(alice)
    assert "needs at least one value" in browser.post("/lists/new/", fields).content.decode()
    picture = SimpleUploadedFile("picture.png", b"\x89PNG\xff")
    answer = browser.post("/lists/new/", fields | {"upload": picture})
    assert "not text in UTF-8 (byte 0)" in answer.content.decode()
    assert not ValueList.objects.exists()


def test_new_values_of_a_list_are_compared_before_they_are_saved(
    alice: User, cities: ValueList, log_in: LogIn
) -> None:
    fields = {
        "name": "cities",
        "organisation": cities.organisation_id,
        "expected_version": cities.version,
        "text": "Rome\nParis\nBern",
    }
    browser = log_in(alice)
    html = browser.post(f"/lists/{cities.pk}/compare/", fields).content.decode()
    assert "2 added, 1 removed" in html
    assert "<code>Oslo</code>" in html.partition("Gone")[2]
    cities.refresh_from_db()
    assert cities.value_count == 2
    browser.post(f"/lists/{cities.pk}/edit/", fields)
    cities.refresh_from_db()
    assert (cities.value_count, cities.current_number) == (3, 2)


def test_editing_a_list_without_values_keeps_them(
    alice: User, cities: ValueList, log_in: LogIn
) -> None:
    fields = {
        "name": "cities",
        "organisation": cities.organisation_id,
        "expected_version": cities.version,
        "description": "Where we sell",
    }
    log_in(alice).post(f"/lists/{cities.pk}/edit/", fields)
    cities.refresh_from_db()
    assert (cities.description, cities.value_count, cities.current_number) == (
        "Where we sell",
        2,
        1,
    )


def test_only_the_exchange_changes_the_catalogue(alice: User, bob: User, log_in: LogIn) -> None:
    fields = {"name": "weather.rain", "type": "boolean", "description": "It rains"}
    assert log_in(alice).post("/attributes/new/", fields).status_code == 403
    log_in(bob).post("/attributes/new/", fields)
    assert "weather.rain" in text_of(log_in(alice), "/attributes/?q=weather")


def test_a_domain_is_not_closed_over_values_in_use(
    bob: User, alice: User, campaign: Campaign, log_in: LogIn
) -> None:
    browser = log_in(bob)
    attribute = Attribute.objects.get(name="geo.country")
    campaign.expression = "geo.country = 'USA'"
    save_campaign(campaign=campaign, by=alice)
    fields = {"values": "DEU\nFRA", "expected_version": attribute.version}
    answer = browser.post(f"/attributes/{attribute.pk}/edit/", fields)
    assert answer.status_code == 422
    assert "cannot be closed over values in use" in unescape(answer.content.decode())
    attribute.refresh_from_db()
    assert attribute.values == []


def test_shared_audiences_are_seen_by_all_and_do_not_name_their_users(
    exchange: Exchange, log_in: LogIn
) -> None:
    boss = exchange.operators[Role.ADMIN]
    shared = Audience(
        name="shared", organisation=boss.organisation, expression="geo.country = 'USA'"
    )
    save_audience(audience=shared, by=boss)
    campaign = exchange.rival_campaign
    campaign.expression = "@shared"
    save_campaign(campaign=campaign, by=exchange.rival.admin)
    html = text_of(log_in(exchange.soda.admin), f"/audiences/{shared.pk}/")
    assert "1 campaign" in html
    assert "Winter" not in html
    own = Audience(name="own", organisation=exchange.rival.organisation, expression="true")
    save_audience(audience=own, by=exchange.rival.admin)
    assert log_in(exchange.soda.admin).get(f"/audiences/{own.pk}/").status_code == 404


@pytest.mark.parametrize("kind", ["audience", "list"])
def test_what_makes_test_visits_of_its_campaigns_fail_must_be_confirmed(
    kind: str,
    alice: User,
    campaign: Campaign,
    gamers: Audience,
    cities: ValueList,
    log_in: LogIn,
) -> None:
    campaign.expression = "@gamers and geo.city in $cities"
    save_campaign(campaign=campaign, by=alice)
    visit = {"geo": {"city": "Oslo"}, "user": {"segments": ["games"]}}
    TestVisit.objects.create(campaign=campaign, name="At home", visit=visit)
    address, fields = {
        "audience": (
            f"/audiences/{gamers.pk}/edit/",
            {"name": "gamers", "expression": "user.segments one of ('chess')"},
        ),
        "list": (f"/lists/{cities.pk}/edit/", {"name": "cities", "text": "Rome"}),
    }[kind]
    fields["organisation"] = str(alice.organisation_id)
    browser = log_in(alice)
    assert "Saving runs 1 test visit of these campaigns first." in text_of(browser, address)
    refused = browser.post(address, fields)
    told = unescape(refused.content.decode())
    assert refused.status_code == 422
    assert "1 test visit ran, 1 would fail" in told
    assert "“At home” is not eligible, but should be eligible" in told
    assert f'href="/campaigns/{campaign.pk}/"' in told
    assert browser.post(address, fields | {"confirmed": "on"}).status_code == 302
    assert kind == "list" or Audience.objects.get().expression == fields["expression"]
    assert kind == "audience" or ValueList.objects.get().value_count == 1


def test_values_are_added_and_removed_on_the_page_of_the_list(
    alice: User, cities: ValueList, log_in: LogIn
) -> None:
    browser, page = log_in(alice), f"/lists/{cities.pk}/"
    added = "Bern\nBonn, Bern\nRome"
    told = browser.post(f"{page}change/", {"text": added, "action": "add"}, follow=True)
    assert "$cities: 2 added, 0 removed, 2 duplicates." in unescape(told.content.decode())
    told = browser.post(f"{page}change/", {"text": "Oslo\nParis", "action": "remove"}, follow=True)
    assert "0 added, 1 removed, 1 not in the list" in told.content.decode()
    told = browser.post(f"{page}change/", {"remove": "Bonn", "q": "bo"}, follow=True)
    assert told.redirect_chain == [(f"{page}?q=bo", 302)]
    assert "No value has “bo” in it" in told.content.decode()
    assert load_values(cities.pk, 4, "string") == ("Bern", "Rome")


def test_values_are_searched_on_the_page_of_the_list(
    alice: User, cities: ValueList, log_in: LogIn
) -> None:
    html = text_of(log_in(alice), f"/lists/{cities.pk}/?q=OS")
    assert "<code>Oslo</code>" in html
    assert "<code>Rome</code>" not in html
    assert "1 of 2 with “OS”" in html


def test_what_cannot_be_kept_is_told_with_its_line(
    alice: User, cities: ValueList, log_in: LogIn
) -> None:
    browser, page = log_in(alice), f"/lists/{cities.pk}/"
    tries = {
        'Bern\n"Bonn': "Line 2: a value begins with a quote",
        "Bern\n\n" + "x" * 1_001: "Line 3: A value has 1 to 1,000 characters",
    }
    for text, words in tries.items():
        answer = browser.post(f"{page}change/", {"text": text, "action": "add"})
        assert answer.status_code == 422
        assert words in answer.content.decode()
        fields = {"name": "cities", "organisation": cities.organisation_id, "text": text}
        assert words in browser.post(f"{page}compare/", fields).content.decode()
        saved = browser.post(f"{page}edit/", fields | {"expected_version": cities.version})
        assert saved.status_code == 422
        assert words in saved.content.decode()
    emptied = browser.post(f"{page}change/", {"text": "Oslo, Rome", "action": "remove"})
    assert "Retire the list instead" in emptied.content.decode()
    cities.refresh_from_db()
    assert (cities.value_count, cities.current_number) == (2, 1)


def test_numbers_that_are_none_are_told_with_their_line(alice: User, log_in: LogIn) -> None:
    fields = {"name": "ids", "type": "integer", "organisation": alice.organisation_id}
    answer = log_in(alice).post("/lists/new/", fields | {"text": "1\n2, three"})
    assert "Line 2: “three” is not a whole number." in answer.content.decode()
    saved = log_in(alice).post("/lists/new/", fields | {"text": "1\n2, 01"}, follow=True)
    assert "$ids is saved: 2 values, 1 duplicate." in saved.content.decode()


def test_a_list_that_breaks_test_visits_is_changed_once_that_is_confirmed(
    alice: User, campaign: Campaign, cities: ValueList, log_in: LogIn
) -> None:
    campaign.expression = "geo.city in $cities"
    save_campaign(campaign=campaign, by=alice)
    TestVisit.objects.create(
        campaign=campaign, name="In Oslo", visit={"geo.city": "Oslo"}, expects_eligible=True
    )
    browser, page = log_in(alice), f"/lists/{cities.pk}/change/"
    refused = browser.post(page, {"remove": "Oslo"})
    assert refused.status_code == 422
    assert "1 test visit ran, 1 would fail" in refused.content.decode()
    sure = {"text": "Oslo", "action": "remove", "confirmed": "on"}
    assert browser.post(page, sure).status_code == 302
    assert "Removed Oslo" in text_of(browser, f"/lists/{cities.pk}/history/")
