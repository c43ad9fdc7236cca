"""Answers what the editor of expressions asks: check the input, call one service, render."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, cast

from django.core.exceptions import ValidationError as ServiceError
from rest_framework import serializers
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from exchange.accounts.models import User
from exchange.api.impacts import tell_impact
from exchange.api.judging import judge_document, judge_text
from exchange.market.models import Campaign, ValueList
from exchange.market.services import check_expression, save_value_list
from exchange.market.visibility import find_owner_id, owned
from exchange.market.vocabulary import (
    describe_vocabulary,
    find_anywhere,
    find_holder,
    find_values,
)
from exchange.serving.problems import ProblemError
from targeting import DocumentError, ExpressionError
from targeting.documents import from_document
from targeting.printer import print_tree

MAX_BODY_BYTES = 512 * 1024


class Owner(serializers.Serializer[None]):
    """Whose expression it becomes: `party` or `organisation`, by number or name as in the form."""

    party = serializers.CharField(allow_blank=True, max_length=200, required=False)
    organisation = serializers.CharField(allow_blank=True, max_length=200, required=False)


class ExpressionText(Owner):
    """An expression as text or in its JSON form; `name` is what it will be known by, if it is an
    audience."""

    # An empty text is a mistake in the expression, with its own message, not a malformed request.
    text = serializers.CharField(allow_blank=True, trim_whitespace=False, required=False)
    document = serializers.JSONField(required=False)
    name = serializers.CharField(allow_blank=True, max_length=200, required=False)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if ("text" in given) is ("document" in given):
            raise serializers.ValidationError({"text": "Either `text` or `document` is needed."})
        return given


class ImpactAsked(ExpressionText):
    """An expression and `campaign`: the one whose expression it becomes, if it is saved already."""

    campaign = serializers.IntegerField(min_value=1, max_value=2**62, required=False)


class ValuesAsked(serializers.Serializer[None]):
    """Looks through the values of all attributes where none is named."""

    attribute = serializers.CharField(max_length=200, required=False, default="")
    q = serializers.CharField(allow_blank=True, max_length=200, required=False, default="")


class ValuesGiven(serializers.Serializer[None]):
    value = serializers.ListField(child=serializers.CharField(max_length=4_000), max_length=200)


class NewList(Owner):
    name = serializers.CharField(max_length=80)
    values = serializers.ListField(child=serializers.CharField(max_length=4_000), min_length=1)
    type = serializers.ChoiceField(ValueList.Type.choices)


class ValidateExpression(APIView):
    """The editor's live check: what is wrong, where; if nothing is, the canonical text, the JSON
    form with the place of each node, what it says in words, and what is remarkable about it."""

    def post(self, request: Request) -> Response:
        refuse_large_body(request)
        given = read(ExpressionText, request.data)
        owner_id, name = owner_of(request, given), given.get("name") or None
        if "document" in given:
            judged = judge_document(given["document"], organisation_id=owner_id, name=name)
        else:
            judged = judge_text(given["text"], organisation_id=owner_id, name=name)
        return Response(judged)


class ExpressionImpact(APIView):
    """What an expression reaches, by a sample of visits; through a campaign's bookings, for those
    whose campaign it is."""

    def post(self, request: Request) -> Response:
        refuse_large_body(request)
        given = read(ImpactAsked, request.data)
        campaign = find_campaign(request, given.get("campaign"))
        owner_id, name = owner_of(request, given), given.get("name") or None
        try:
            text = print_tree(from_document(given["document"])) if "document" in given else None
            expression = check_expression(
                text=given["text"] if text is None else text, organisation_id=owner_id, name=name
            )
        except (DocumentError, ExpressionError) as error:
            raise serializers.ValidationError({"text": [str(error)]}) from error
        return Response(tell_impact(expression, campaign, request.user))


class Vocabulary(APIView):
    """What an expression may be made of: attributes, audiences, lists, places."""

    def get(self, request: Request) -> Response:
        given = read(Owner, request.query_params)
        return Response(describe_vocabulary(owner_of(request, given)))


class Values(APIView):
    """Values of an attribute, as one types the beginning of one."""

    def get(self, request: Request) -> Response:
        given = read(ValuesAsked, request.query_params)
        name, wanted = given["attribute"], given["q"]
        return Response({"values": find_values(name, wanted) if name else find_anywhere(wanted)})


class Holder(APIView):
    """Which attribute has most of these values: what somebody pastes is a list of what?"""

    def get(self, request: Request) -> Response:
        given = read(ValuesGiven, {"value": request.query_params.getlist("value")})
        return Response({"attribute": find_holder(given["value"])})


class KeepList(APIView):
    """Keeps the values of a condition as a list that others can use as well."""

    def post(self, request: Request) -> Response:
        refuse_large_body(request)
        given = read(NewList, request.data)
        owner_id = owner_of(request, given)
        if owner_id is None:
            raise PermissionDenied
        kept = ValueList(organisation_id=owner_id, name=given["name"], type=given["type"])
        try:
            save_value_list(value_list=kept, values=given["values"], by=cast("User", request.user))
        except ServiceError as error:
            raise serializers.ValidationError({"name": error.messages}) from error
        return Response(
            {"name": kept.name, "type": kept.type, "value_count": kept.value_count},
            status=HTTPStatus.CREATED,
        )


def read(form: type[serializers.Serializer[None]], data: Any) -> dict[str, Any]:
    checked = form(data=data)
    checked.is_valid(raise_exception=True)
    return cast("dict[str, Any]", checked.validated_data)


def owner_of(request: Request, given: Mapping[str, Any]) -> int | None:
    return find_owner_id(
        cast("User", request.user),
        party=given.get("party", ""),
        organisation=given.get("organisation", ""),
    )


def find_campaign(request: Request, campaign_id: int | None) -> Campaign | None:
    """Finds only one's own: what its bookings get is nobody else's to know."""
    if campaign_id is None:
        return None
    mine = owned(Campaign.objects.kept().with_advertiser(), cast("User", request.user))
    campaign = mine.filter(pk=campaign_id).first()
    if campaign is None:
        raise NotFound
    return campaign


def refuse_large_body(request: Request) -> None:
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        raise ProblemError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "body_too_large",
            f"A request may have {MAX_BODY_BYTES} bytes, not more.",
        )
