"""Lists addresses of the REST API that Django answers; eligibility itself is
`exchange.serving`'s."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from exchange.api.explaining import EXPLAIN_PATH, explain_eligibility
from exchange.api.openapi import OPENAPI_PATH, openapi
from exchange.api.problems import misdirected, not_found
from exchange.api.views import (
    ExpressionImpact,
    Holder,
    KeepList,
    ValidateExpression,
    Values,
    Vocabulary,
)

elsewhere = csrf_exempt(login_not_required(misdirected))

urlpatterns = [
    path(OPENAPI_PATH.removeprefix("/"), openapi, name="openapi"),
    path(EXPLAIN_PATH.removeprefix("/"), explain_eligibility, name="eligibility-explain"),
    path("api/v1/expressions:validate", ValidateExpression.as_view(), name="expression-validate"),
    path("api/v1/expressions:impact", ExpressionImpact.as_view(), name="expression-impact"),
    path("api/v1/expressions:vocabulary", Vocabulary.as_view(), name="expression-vocabulary"),
    path("api/v1/expressions:values", Values.as_view(), name="expression-values"),
    path("api/v1/expressions:holder", Holder.as_view(), name="expression-holder"),
    path("api/v1/lists", KeepList.as_view(), name="value-list-keep"),
    path("api/v1/eligibility", elsewhere, name="serving-eligibility"),
    path("api/v1/eligibility:batch", elsewhere, name="serving-batch"),
    path("api/v1/snapshots/<path:file>", elsewhere, name="serving-snapshots"),
    re_path(r"^api/", csrf_exempt(login_not_required(not_found))),
]
