"""Choosing among more names than a menu could hold."""

from __future__ import annotations

import pytest

from exchange.accounts.models import Organisation, Role, User
from exchange.market.models import Booking, Edge, Party
from tests.market.places import found
from tests.people import hire
from tests.web.conftest import LogIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes two names too many for a menu."""
    monkeypatch.setattr("exchange.web.forms.naming.MENU_LIMIT", 1)


def test_few_names_are_a_menu(
    erin: User, log_in: LogIn, herald: Party, northgate: Party, edges: tuple[Edge, Edge]
) -> None:
    page = log_in(erin).get("/edges/new/").content.decode()
    assert f'<option value="{herald.pk}">Daily Herald</option>' in page
    assert "party-options" not in page


@pytest.mark.usefixtures("many")
def test_many_names_are_typed_and_suggested(
    erin: User, log_in: LogIn, booking: Booking, operator: Organisation
) -> None:
    found(Party.Kind.PUBLISHER, "Evening Post", operator)
    client = log_in(erin)
    page = client.get("/edges/new/").content.decode()
    assert "<option" not in page
    assert 'hx-get="/parties/options/?side=seller"' in page
    shown = client.get("/parties/options/?side=seller&seller=eve").content.decode()
    assert 'value="Evening Post"' in shown
    assert "Solberg" not in client.get("/parties/options/?side=seller&seller=sol").content.decode()


@pytest.mark.usefixtures("many")
def test_what_was_typed_is_saved_and_shown_by_its_name(
    erin: User, log_in: LogIn, herald: Party, soda: Party, operator: Organisation
) -> None:
    found(Party.Kind.PUBLISHER, "Evening Post", operator)
    found(Party.Kind.INTERMEDIARY, "Northgate", operator)
    client = log_in(erin)
    typed = {"seller": "daily herald", "buyer": "Solberg Soda", "fee_percent": "1"}
    answer = client.post("/edges/new/", {**typed, "expression": "true", "is_active": "on"})
    assert answer.status_code == 302
    edge = Edge.objects.get()
    assert (edge.seller, edge.buyer) == (herald, soda)
    page = client.get(f"/edges/{edge.pk}/edit/").content.decode()
    assert 'value="Daily Herald"' in page


@pytest.mark.usefixtures("many")
def test_a_name_that_is_not_offered_is_refused_beside_its_field(
    erin: User, log_in: LogIn, herald: Party, soda: Party, operator: Organisation
) -> None:
    found(Party.Kind.PUBLISHER, "Evening Post", operator)
    typed = {"seller": "Morning Post", "buyer": str(soda.pk), "fee_percent": "1"}
    answer = log_in(erin).post("/edges/new/", {**typed, "expression": "true"})
    assert answer.status_code == 422
    assert "There is no “Morning Post” to choose" in answer.content.decode()
    assert 'value="Morning Post"' in answer.content.decode()


@pytest.mark.usefixtures("many")
def test_lists_are_narrowed_by_number_and_by_name(
    dave: User, log_in: LogIn, edges: tuple[Edge, Edge], herald: Party
) -> None:
    client = log_in(dave)
    for asked in (str(herald.pk), "Daily Herald"):
        page = client.get(f"/edges/?seller={asked}").content.decode()
        assert "Daily Herald → Northgate" in page
        assert "Northgate → Solberg Soda" not in page
        assert 'value="Daily Herald"' in page


@pytest.fixture
def stranger() -> User:
    """Hires somebody of an organisation that has no party."""
    return hire("mallory", Role.ADMIN, Organisation.objects.create(name="Elsewhere"))


def test_a_form_suggests_only_the_own_side(stranger: User, log_in: LogIn, herald: Party) -> None:
    """Lets everybody choose everybody of the other side; the filters of lists name all."""
    client = log_in(stranger)
    assert "Daily Herald" not in client.get("/parties/options/?side=seller").content.decode()
    assert "Daily Herald" in client.get("/parties/options/?side=publisher").content.decode()
    assert "Daily Herald" in client.get("/parties/options/?side=seller&all=1").content.decode()


@pytest.mark.usefixtures("many")
def test_operators_type_an_organisation(
    erin: User, stranger: User, log_in: LogIn, operator: Organisation
) -> None:
    Organisation.objects.create(name="Fjord Foods")
    client = log_in(erin)
    assert "/people/organisations/" in client.get("/parties/new/").content.decode()
    shown = client.get("/people/organisations/?organisation=fjo").content.decode()
    assert 'value="Fjord Foods"' in shown
    assert log_in(stranger).get("/people/organisations/").status_code == 403
