"""The REST views: check the input, call one service, render."""

from __future__ import annotations

from http import HTTPStatus
from typing import cast

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from exchange.accounts.models import User
from exchange.market.advice import Hint, advise
from exchange.market.services import check_expression
from exchange.market.visibility import find_owner_id
from exchange.serving.problems import ProblemError
from targeting import ExpressionError

MAX_BODY_BYTES = 512 * 1024


class ExpressionText(serializers.Serializer[None]):
    """`party` or `organisation` is whose expression it becomes, by number or name as the form has
    it; `name` what it will be known by, if it is an audience."""

    # An empty text is a mistake in the expression, with its own message, not a malformed request.
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)
    party = serializers.CharField(allow_blank=True, max_length=200, required=False)
    organisation = serializers.CharField(allow_blank=True, max_length=200, required=False)
    name = serializers.CharField(allow_blank=True, max_length=200, required=False)


class ValidateExpression(APIView):
    """The editor's live check: what is wrong, where; if nothing is, the canonical text, what it
    says in words, and what is remarkable about it."""

    def post(self, request: Request) -> Response:
        refuse_large_body(request)
        form = ExpressionText(data=request.data)
        form.is_valid(raise_exception=True)
        given = form.validated_data
        owner_id = find_owner_id(
            cast("User", request.user),
            party=given.get("party", ""),
            organisation=given.get("organisation", ""),
        )
        try:
            expression = check_expression(
                text=given["text"], organisation_id=owner_id, name=given.get("name") or None
            )
        except ExpressionError as error:
            return Response(
                {
                    "valid": False,
                    "canonical": None,
                    "errors": describe(error),
                    "sentence": None,
                    "warnings": [],
                }
            )
        advice = advise(expression, given["text"])
        return Response(
            {
                "valid": True,
                "canonical": expression.text,
                "errors": [],
                "sentence": advice.sentence,
                "warnings": [describe_hint(hint) for hint in advice.hints],
            }
        )


def describe_hint(hint: Hint) -> dict[str, object]:
    place = hint.place
    return {
        "kind": hint.kind,
        "message": hint.message,
        "suggestion": hint.suggestion,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "length": place.length if place else None,
    }


def describe(error: ExpressionError) -> list[dict[str, object]]:
    return [
        {
            "code": problem.code,
            "line": problem.line,
            "column": problem.column,
            "length": problem.length,
            "message": problem.message,
            "suggestion": problem.suggestion,
        }
        for problem in error.errors
    ]


def refuse_large_body(request: Request) -> None:
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        raise ProblemError(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "body_too_large",
            f"A request may have {MAX_BODY_BYTES} bytes, not more.",
        )
