"""Describes the eligibility endpoints as OpenAPI 3.1: `GET /api/v1/openapi.json`.

The shapes of requests are taken from what decodes them, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from http import HTTPStatus
from typing import Any

import msgspec
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from exchange.api.explaining import EXPLAIN_PATH, ExplainRequest
from exchange.serving.callers import ELIGIBILITY_READ, EXPLAIN_READ, SNAPSHOT_READ
from exchange.serving.directory import CATALOG_FILE, INDEX_FILE, SNAPSHOT_ID
from exchange.serving.endpoint import BATCH_PATH, PATH
from exchange.serving.problems import CONTENT_TYPE
from exchange.serving.requests import EligibilityRequest
from matcher_ext.serving import BOOKINGS_LINES, DELTA_LINES, HASHES_FILE, PREFIX, TERMS_FILE

OPENAPI_PATH = "/api/v1/openapi.json"
REFUSALS = (400, 401, 403, 405, 408, 413, 422, 429, 431, 503)
FILE_REFUSALS = (400, 401, 403, 404, 405, 503)
Document = dict[str, Any]

WARNING: Document = {
    "type": "object",
    "required": ["code", "attribute"],
    "properties": {
        "code": {"type": "string"},
        "attribute": {"type": "string", "description": "Empty if it is about the whole answer."},
    },
}
ELIGIBLE: Document = {
    "type": "object",
    "required": ["campaign_id", "campaign", "advertiser", "booking_id", "net_cpm", "fee_percent"],
    "properties": {
        "campaign_id": {"type": "integer"},
        "campaign": {"type": "string"},
        "advertiser": {"type": "string"},
        "booking_id": {"type": "integer"},
        "net_cpm": {"type": "number", "description": "What is left of the bid after all fees."},
        "fee_percent": {"type": "number", "description": "All fees of the path together."},
        "path": {"type": "array", "items": {"type": "string"}, "description": "Seller ids."},
    },
}
PART: Document = {
    "eligible": {"type": "array", "items": {"$ref": "#/components/schemas/Eligible"}},
    "count": {"type": "integer", "description": "Of all that are eligible, whatever the limit."},
    "warnings": {"type": "array", "items": {"$ref": "#/components/schemas/Warning"}},
}
HEADING: Document = {
    "snapshot_id": {"type": "string"},
    "delta": {"type": "integer", "description": "Number of the last change in the answer."},
    "snapshot_age_seconds": {"type": "number"},
}
IMPS: Document = {
    "imps": {
        "type": "array",
        "items": {"type": "object", "properties": {"imp_id": {"type": "string"}, **PART}},
    }
}
ANSWER: Document = {
    "type": "object",
    "required": list(HEADING),
    "properties": {**HEADING, **PART, **IMPS},
}
BATCH_ANSWER: Document = {
    "type": "object",
    "required": [*HEADING, "answers"],
    "properties": {
        **HEADING,
        "answers": {
            "type": "array",
            "description": "In the order of the requests; a bad one has a `problem` alone.",
            "items": {
                "type": "object",
                "properties": {**PART, **IMPS, "problem": {"$ref": "#/components/schemas/Problem"}},
            },
        },
    },
}
VERDICT: Document = {"enum": ["eligible", "not_eligible"]}
EXPLANATIONS: Document = {
    "type": "object",
    "required": ["at", "imp_id", "warnings", "explanations"],
    "properties": {
        **HEADING,
        "at": {
            "type": "string",
            "description": "When the visit happens: the `time` that it says, or now.",
        },
        "imp_id": {
            "type": ["string", "null"],
            "description": "Which impression is explained; null for a plain visit.",
        },
        "warnings": PART["warnings"],
        "explanations": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["campaign_id"],
                "properties": {
                    "campaign_id": {"type": "integer"},
                    "verdict": {**VERDICT, "description": "Of the market as it is saved now."},
                    "served": {"enum": [*VERDICT["enum"], None]},
                    "difference": {
                        "type": ["string", "null"],
                        "description": "Why `served`, which eligibility answers, is another.",
                    },
                    "problem": {"$ref": "#/components/schemas/Problem"},
                },
            },
        },
    },
}
BATCH_REQUEST: Document = {
    "type": "object",
    "required": ["requests"],
    "additionalProperties": False,
    "properties": {
        "requests": {
            "type": "array",
            "minItems": 1,
            "maxItems": 1000,
            "items": {"$ref": "#/components/schemas/EligibilityRequest"},
        }
    },
}
# Exactly one of the two must be there, which the decoder checks after the shapes.
EITHER: Document = {
    "oneOf": [
        {
            "required": [one],
            "properties": {one: {"type": "object"}, other: {"type": "null"}},
        }
        for one, other in (("visit", "bid_request"), ("bid_request", "visit"))
    ]
}
LIVE_SNAPSHOT: Document = {
    "type": "object",
    "required": ["snapshot_id", "delta", "built_delta", "log_id", "read_at", "files", "sha256"],
    "properties": {
        "snapshot_id": {"type": "string"},
        "delta": {"type": "integer", "description": "Number of the last change that is served."},
        "built_delta": {"type": "integer", "description": "Of the last one in the files."},
        "log_id": {"type": "string", "description": "Of the log that the changes are in."},
        "read_at": {"type": "string", "format": "date-time"},
        "activated_at": {"type": "string", "format": "date-time"},
        "bookings": {"type": "integer"},
        "files": {"type": "object", "additionalProperties": {"type": "string"}},
        "sha256": {"type": "string", "description": "Of all that stands before it."},
    },
}
CHANGE: Document = {
    "type": "object",
    "description": "What `LiveIndex.apply_record` takes, and the changed bookings.",
    "required": [
        "number",
        "definitions",
        "dead",
        "entries",
        "routes",
        "lent",
        "bookings",
        "reaches",
        "sha256",
    ],
    "properties": {
        "number": {"type": "integer"},
        "definitions": {"type": "object", "additionalProperties": {"type": "string"}},
        "dead": {"type": "array", "items": {"type": "integer"}},
        "entries": {"type": "object", "additionalProperties": {"type": "string"}},
        "routes": {"type": ["object", "null"]},
        "lent": {"type": "object"},
        "bookings": {"type": "array", "items": {"$ref": "#/components/schemas/Eligible"}},
        "reaches": {
            "type": "object",
            "description": "Of each booking what a visit's own path is known by (0: it has one "
            "path), and what the path's share is taken of.",
        },
        "sha256": {"type": "string", "description": "Of all that stands before it in the line."},
    },
}
PROBLEM: Document = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string"},
        "detail": {"type": "string"},
    },
}


@login_not_required
@require_safe
def openapi(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(msgspec.json.encode(describe_api()), content_type="application/json")


@cache
def describe_api() -> Document:
    return {
        "openapi": "3.1.0",
        "info": {"title": "Treeline", "version": "1"},
        "paths": {
            **answered_by_serving(
                {
                    PATH: post(
                        "Which campaigns are eligible",
                        "EligibilityRequest",
                        "Answer",
                        ELIGIBILITY_READ,
                    ),
                    BATCH_PATH: post(
                        "Many at once", "BatchRequest", "BatchAnswer", ELIGIBILITY_READ
                    ),
                    f"{PREFIX}live": get(
                        "The live snapshot and its files", JSON_LINE, "LiveSnapshot"
                    ),
                    **describe_files(),
                }
            ),
            EXPLAIN_PATH: post("Why, or why not", "ExplainRequest", "Explanations", EXPLAIN_READ),
        },
        "components": {"schemas": describe_shapes(), "securitySchemes": {"key": KEY}},
        "security": [{"key": []}],
    }


def answered_by_serving(paths: Document) -> Document:
    """Adds the address of the other process, which ad servers ask, to these paths."""
    servers = [{"url": settings.SERVING_URL}]
    return {path: {**item, "servers": servers} for path, item in paths.items()}


JSON_LINE = "application/json"
LINES = "application/x-ndjson"
FILES = {
    INDEX_FILE: ("What `matcher_ext.Snapshot` opens", "application/octet-stream", "File"),
    BOOKINGS_LINES: ("A line per booking, as answers name it", LINES, "Eligible"),
    TERMS_FILE: (
        "A row per booking: what its place in answers depends on, as `numpy.load` opens it",
        "application/octet-stream",
        "File",
    ),
    CATALOG_FILE: ("The attributes", "application/octet-stream", "File"),
    HASHES_FILE: ("SHA-256 of the files", JSON_LINE, "Hashes"),
    DELTA_LINES: ("A line per change since it was built, oldest first", LINES, "Change"),
}
SNAPSHOT_PARAMETER: Document = {
    "name": "snapshot_id",
    "in": "path",
    "required": True,
    "description": "Of the live snapshot; any other is a 404: ask for `live` again.",
    "schema": {"type": "string", "pattern": f"^{SNAPSHOT_ID.pattern}$"},
}
AFTER_PARAMETER: Document = {
    "name": "after",
    "in": "query",
    "description": "The number of the last change that you have; only later ones are sent.",
    "schema": {"type": "integer", "minimum": 0, "maximum": 10**18 - 1, "default": 0},
}
LOG_PARAMETER: Document = {
    "name": "log",
    "in": "query",
    "description": "The log that you follow; if it is not the live one any more, that is a 404.",
    "schema": {"type": "string"},
}


def describe_files() -> Document:
    paths: Document = {}
    for name, (summary, kind, shape) in FILES.items():
        parameters = [SNAPSHOT_PARAMETER]
        if name == DELTA_LINES:
            parameters += [AFTER_PARAMETER, LOG_PARAMETER]
        paths[f"{PREFIX}{{snapshot_id}}/{name}"] = get(summary, kind, shape, parameters)
    return paths


KEY: Document = {
    "type": "apiKey",
    "in": "header",
    "name": "Authorization",
    "description": "`Api-Key <your key>`",
}


def describe_shapes() -> Document:
    _, shapes = msgspec.json.schema_components(
        [EligibilityRequest, ExplainRequest],
        ref_template="#/components/schemas/{name}",
        schema_hook=lambda _: {"description": "Any JSON value."},
    )
    for name in ("EligibilityRequest", "ExplainRequest"):
        shapes[name] |= EITHER
    return {
        **shapes,
        "BatchRequest": BATCH_REQUEST,
        "Answer": ANSWER,
        "BatchAnswer": BATCH_ANSWER,
        "Explanations": EXPLANATIONS,
        "LiveSnapshot": LIVE_SNAPSHOT,
        "Change": CHANGE,
        "File": {"type": "string", "format": "binary"},
        "Hashes": {"type": "object", "additionalProperties": {"type": "string"}},
        "Eligible": ELIGIBLE,
        "Warning": WARNING,
        "Problem": PROBLEM,
    }


def post(summary: str, request: str, answer: str, scope: str) -> Document:
    return {
        "post": {
            "summary": summary,
            "description": f"Needs a key with the scope `{scope}`.",
            "requestBody": {"required": True, "content": json_of(request)},
            "responses": {"200": {"description": "OK", "content": json_of(answer)}, **refusals()},
        }
    }


def get(summary: str, kind: str, answer: str, parameters: list[Document] | None = None) -> Document:
    content = {kind: {"schema": {"$ref": f"#/components/schemas/{answer}"}}}
    return {
        "get": {
            "summary": summary,
            "description": f"Needs a key with the scope `{SNAPSHOT_READ}`.",
            "parameters": parameters or [],
            "responses": {
                "200": {"description": "OK", "content": content},
                **refusals(FILE_REFUSALS),
            },
        }
    }


def json_of(name: str) -> Document:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}


def refusals(statuses: Iterable[int] = REFUSALS) -> Document:
    schema = {"schema": {"$ref": "#/components/schemas/Problem"}}
    return {
        str(status): {
            "description": HTTPStatus(status).phrase,
            "content": {CONTENT_TYPE: schema},
        }
        for status in statuses
    }
