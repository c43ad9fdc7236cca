"""Request ids, security headers and log lines, without a database."""

import json
import logging

from django.http import HttpRequest, HttpResponse

from exchange.logs import JsonLogFormatter
from exchange.site.middleware import ContentSecurityPolicyMiddleware, RequestIdMiddleware


def make_log_line() -> dict[str, str]:
    record = logging.LogRecord("exchange.test", logging.INFO, "", 0, "saved %s", ("edge",), None)
    line: dict[str, str] = json.loads(JsonLogFormatter().format(record))
    return line


def answer_with_log_line(_: HttpRequest) -> HttpResponse:
    return HttpResponse(make_log_line().get("request_id", "none"))


def make_request(request_id: str | None = None) -> HttpRequest:
    request = HttpRequest()
    if request_id is not None:
        request.META["HTTP_X_REQUEST_ID"] = request_id
    return request


def test_keeps_a_well_formed_request_id_and_logs_it() -> None:
    response = RequestIdMiddleware(answer_with_log_line)(make_request("ad-server-7.42"))
    assert response["X-Request-Id"] == "ad-server-7.42"
    assert response.content == b"ad-server-7.42"


def test_replaces_a_request_id_that_could_forge_a_log_line() -> None:
    response = RequestIdMiddleware(answer_with_log_line)(make_request('x"\n{"level": "ERROR"}'))
    assert len(response["X-Request-Id"]) == 32
    assert response["X-Request-Id"].isalnum()


def test_forgets_the_request_id_after_the_request() -> None:
    RequestIdMiddleware(answer_with_log_line)(make_request("first"))
    assert "request_id" not in make_log_line()


def test_log_line_names_time_level_logger_and_message() -> None:
    line = make_log_line()
    assert line["level"] == "INFO"
    assert line["logger"] == "exchange.test"
    assert line["message"] == "saved edge"
    assert line["time"].endswith("+00:00")


def test_policy_forbids_inline_script() -> None:
    response = ContentSecurityPolicyMiddleware(answer_with_log_line)(make_request())
    policy = response["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe-inline" not in policy
