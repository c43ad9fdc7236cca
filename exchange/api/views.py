"""The REST views: check the input, call one service, render."""

from __future__ import annotations

from http import HTTPStatus

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from exchange.market.services import check_expression
from exchange.serving.problems import ProblemError
from targeting import ExpressionError

MAX_BODY_BYTES = 512 * 1024


class ExpressionText(serializers.Serializer[None]):
    # An empty text is a mistake in the expression, with its own message, not a malformed request.
    text = serializers.CharField(allow_blank=True, trim_whitespace=False)


class ValidateExpression(APIView):
    """The editor's live check: what is wrong, where, and the canonical text if nothing is."""

    def post(self, request: Request) -> Response:
        refuse_large_body(request)
        form = ExpressionText(data=request.data)
        form.is_valid(raise_exception=True)
        try:
            expression = check_expression(text=form.validated_data["text"])
        except ExpressionError as error:
            return Response({"valid": False, "canonical": None, "errors": describe(error)})
        return Response({"valid": True, "canonical": expression.text, "errors": []})


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
