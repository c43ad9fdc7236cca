"""The editor's live check of an expression, over REST."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from exchange.accounts.models import Role, User
from exchange.api.views import MAX_BODY_BYTES
from exchange.market.models import Audience, ValueList
from exchange.market.services import save_audience, save_value_list
from exchange.serving.problems import CONTENT_TYPE
from tests.trading import Exchange, exchange

__all__ = ["exchange"]

PATH = "/api/v1/expressions:validate"


@pytest.fixture
def editor(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def validate(client: Client, body: object) -> Any:
    return client.post(PATH, body, content_type="application/json")


def test_good_expression_comes_back_in_canonical_form(editor: Client) -> None:
    response = validate(editor, {"text": "geo.country==\"USA\"  &&  device.type IN ('ctv','pc')"})
    assert response.status_code == 200
    assert response.json() == {
        "valid": True,
        "text": "geo.country==\"USA\"  &&  device.type IN ('ctv','pc')",
        "canonical": "geo.country = 'USA' and device.type in ('ctv', 'pc')",
        "document": {
            "and": [
                {"attribute": "geo.country", "operator": "=", "values": ["USA"]},
                {"attribute": "device.type", "operator": "in", "values": ["ctv", "pc"]},
            ]
        },
        "spans": {"": [0, 51], "and.0": [0, 18], "and.1": [24, 51]},
        "errors": [],
        "sentence": "Visits from USA, on ctv or pc",
        "warnings": [],
    }


def test_mistake_comes_back_with_its_position_and_a_suggestion(editor: Client) -> None:
    response = validate(editor, {"text": "geo.country = 'USA'\nand geo.contry = 'DEU'"})
    assert response.status_code == 200
    document = response.json()
    assert (document["valid"], document["canonical"]) == (False, None)
    (error,) = document["errors"]
    assert set(error) == {"code", "line", "column", "length", "message", "suggestion", "path"}
    assert error["path"] is None
    assert (error["line"], error["column"], error["length"]) == (2, 5, 10)
    assert "geo.contry" in error["message"]
    assert "geo.country" in error["suggestion"]


@pytest.mark.parametrize("text", ["", "   ", "geo.country =", "(", "'", "é ≥ 3", "a" * 70_000])
def test_any_text_is_judged_not_refused(editor: Client, text: str) -> None:
    response = validate(editor, {"text": text})
    assert response.status_code == 200
    assert not response.json()["valid"]
    assert response.json()["errors"]


MALFORMED = [
    "{",
    "[]",
    "null",
    "7",
    "{}",
    '{"text": null}',
    '{"text": 7.5e}',
    '{"text": ["a"]}',
    '{"text": "\\u0000"}',
    '{"text": "true", "document": {"constant": true}}',
    '{"text": "\\ud800"}',
]


@pytest.mark.parametrize("body", MALFORMED)
def test_malformed_request_is_a_problem_document(editor: Client, body: str) -> None:
    response = validate(editor, body)
    assert response.status_code == 400
    assert response["Content-Type"] == CONTENT_TYPE
    assert response.json()["status"] == 400
    assert response.json()["code"]


def test_large_body_is_refused(editor: Client) -> None:
    response = validate(editor, {"text": "a" * MAX_BODY_BYTES})
    assert response.status_code == 413
    assert response.json()["code"] == "body_too_large"


def test_without_login_nothing_is_judged(db: None) -> None:
    response = validate(Client(), {"text": "true"})
    assert response.status_code == 403
    assert response["Content-Type"] == CONTENT_TYPE
    assert response.json()["code"] == "not_authenticated"


def test_session_alone_is_not_enough_without_the_csrf_token(alice: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(alice)
    response = validate(client, {"text": "true"})
    assert response.status_code == 403
    assert response.json()["code"] == "permission_denied"


def test_only_post_is_allowed(editor: Client) -> None:
    response = editor.get(PATH)
    assert response.status_code == 405
    assert response["Content-Type"] == CONTENT_TYPE


@pytest.mark.parametrize("path", ["/api/", "/api/v1/nothing", "/api/v2/eligibility"])
def test_unknown_address_is_a_problem_document(path: str) -> None:
    response = Client().post(path)
    assert (response.status_code, response["Content-Type"]) == (404, CONTENT_TYPE)


def test_the_organisations_own_audiences_and_lists_are_known_while_one_types(
    exchange: Exchange,
) -> None:
    """Shows that nobody else's are, whatever party is named: neither what they mean nor that they
    exist."""
    for house in (exchange.soda, exchange.rival):
        owner = house.organisation
        own = f"fans_of_{house.party.name.lower()}"
        save_audience(
            audience=Audience(organisation=owner, name=own, expression="user.age >= 18"),
            by=house.admin,
        )
        towns = ValueList(organisation=owner, name=f"towns_{house.party.name.lower()}")
        save_value_list(value_list=towns, values=["Oslo"], by=house.admin)
    text = "@fans_of_soda and geo.city in $towns_soda"

    def check(person: User, **whose: str) -> bool:
        client = Client()
        client.force_login(person)
        return bool(validate(client, {"text": text, **whose}).json()["valid"])

    soda, operator = exchange.soda.admin, exchange.operators[Role.ADMIN]
    assert check(soda)
    assert check(soda, party=str(exchange.soda.party.pk))
    assert check(soda, party=str(exchange.rival.party.pk))  # who acts for themselves only
    assert not check(exchange.rival.admin)
    assert not check(exchange.rival.admin, party=str(exchange.soda.party.pk))
    assert not check(exchange.rival.admin, organisation=str(exchange.soda.organisation.pk))
    assert not check(operator)
    assert check(operator, party="Soda")
    assert check(operator, organisation=exchange.soda.organisation.name)


def test_a_valid_expression_comes_with_its_sentence_and_warnings(editor: Client) -> None:
    document = validate(editor, {"text": "geo.country = 'DE'"}).json()
    assert document["valid"]
    assert document["sentence"] == "Visits from DE"
    place = {"line": 1, "column": 15, "length": 4}
    said = {"message": "visits say `'DEU'`, not `'DE'`", "suggestion": "write `'DEU'`"}
    assert document["warnings"] == [
        {
            "kind": "alias",
            "paths": [""],
            "values": [{"value": "DE", "replacement": "DEU", **said, **place}],
            **said,
            **place,
        }
    ]


def test_warnings_name_the_paths_of_their_conditions(editor: Client) -> None:
    text = "user.consent and (user.age > 30 and user.age < 20 or not site.cat one of ('x'))"
    document = validate(editor, {"text": text}).json()
    places = {warning["kind"]: warning["paths"] for warning in document["warnings"]}
    assert places == {
        "never": ["and.1.or.0.and.0", "and.1.or.0.and.1"],
        "missing": ["and.1.or.1.not"],
    }
    start, end = document["spans"]["and.1.or.1.not"]
    assert text[start:end] == "site.cat one of ('x')"


def test_a_document_is_judged_as_its_text(editor: Client) -> None:
    text = "# adults\nuser.age >= 18\n#- user.consent\nand geo.country = 'DE'"
    by_text = validate(editor, {"text": text}).json()
    assert validate(editor, {"document": by_text["document"]}).json() == by_text


def test_what_is_wrong_with_a_document_has_the_path_of_its_condition(editor: Client) -> None:
    wrong = {"attribute": "user.age", "operator": ">", "values": ["old"]}
    document = {"and": [{"attribute": "user.consent", "operator": "is true"}, {"not": wrong}]}
    answer = validate(editor, {"document": document}).json()
    assert not answer["valid"]
    assert answer["text"] == "user.consent and not user.age > 'old'"
    (error,) = answer["errors"]
    assert (error["path"], error["column"]) == ("and.1.not", 33)
    (misshapen,) = validate(editor, {"document": {"and": []}}).json()["errors"]
    assert (misshapen["path"], misshapen["line"]) == ("and", None)
