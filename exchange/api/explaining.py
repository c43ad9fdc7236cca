"""Answers `POST /api/v1/eligibility:explain`: why campaigns are eligible for a visit, or why not.

Not the hot path: it reads the market as it is saved now. What stands in the answer is what the
pages show to the key's organisation, redacted by the same function. Beside each verdict stands what
eligibility answers at the same moment; where a change was saved and is not served yet, it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any

import msgspec
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from exchange.accounts.models import User
from exchange.keys.models import ApiKey
from exchange.market.catalog import load_catalog
from exchange.market.given_visits import GivenVisit, is_bid_request, read_given, write_time
from exchange.market.models import Campaign, Party
from exchange.market.visibility import explainable
from exchange.reading.explaining import Explanation, Line, Step, explain_campaign
from exchange.serving.answers import CampaignId, Options, Paths, WarningNote
from exchange.serving.callers import EXPLAIN_READ, Caller, unauthorized
from exchange.serving.eligibility import service_for
from exchange.serving.endpoint import PATH
from exchange.serving.instruments import REQUESTS
from exchange.serving.openrtb import invalid_bid_request
from exchange.serving.problems import CONTENT_TYPE, ProblemError, method_not_allowed, too_large
from exchange.serving.rates import Buckets
from exchange.serving.requests import MAX_BODY_BYTES, decode

EXPLAIN_PATH = f"{PATH}:explain"
MAX_EXPLAINED = 20
VERDICTS = {True: "eligible", False: "not_eligible"}

CampaignIds = Annotated[list[CampaignId], msgspec.Meta(min_length=1, max_length=MAX_EXPLAINED)]


class ExplainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request as for eligibility, but that a visit's own `time` counts. Of a bid request, also of
    one under `visit`, the impression `imp_id` is explained, or the first."""

    campaigns: CampaignIds
    publisher: str | None = None
    visit: dict[str, Any] | None = None
    bid_request: dict[str, Any] | None = None
    imp_id: str | None = None

    def __post_init__(self) -> None:
        if (self.visit is None) is (self.bid_request is None):
            raise ValueError("Object has either `visit` or `bid_request`")


decoder = msgspec.json.Decoder(ExplainRequest)
buckets = Buckets(settings.EXPLAIN_RATE, burst=2 * settings.EXPLAIN_RATE)


@csrf_exempt
@login_not_required
def explain_eligibility(request: HttpRequest) -> HttpResponse:
    try:
        document = answer(request)
    except ProblemError as problem:
        return refuse(problem)
    except (OperationalError, InterfaceError):
        return refuse(database_away())
    REQUESTS.labels("explain", "200").inc()
    return HttpResponse(msgspec.json.encode(document), content_type="application/json")


def refuse(problem: ProblemError) -> HttpResponse:
    REQUESTS.labels("explain", str(problem.status.value)).inc()
    return HttpResponse(
        problem.body(), status=problem.status, headers=problem.headers, content_type=CONTENT_TYPE
    )


def answer(request: HttpRequest) -> dict[str, object]:
    if request.method != "POST":
        raise method_not_allowed(("POST",))
    header = request.headers.get("Authorization", "")
    caller = service_for(settings.SNAPSHOT_DIR).admit(header, EXPLAIN_READ)
    asked = decode(decoder, read_body(request))
    buckets.take(caller.key_hash, len(asked.campaigns))
    publisher = Party.objects.get(seller_id=caller.choose_publisher(asked.publisher))
    viewer = stand_in_for(caller)
    given = choose_visit(asked)
    moment = given.at or datetime.now(UTC)
    found = explainable(Campaign.objects.with_advertiser(), viewer).in_bulk(asked.campaigns)
    explained = {
        key: explain_campaign(
            campaign=campaign, publisher=publisher, visit=given.flat, viewer=viewer, at=moment
        )
        for key, campaign in found.items()
    }
    served = ask_served(publisher.seller_id, given.flat, list(found), moment)
    return {
        **served.heading,
        "at": write_time(moment),
        "imp_id": given.imp_id,
        "warnings": [
            {"code": code, "attribute": name} for code, name in given.notes_at(publisher.seller_id)
        ],
        "explanations": [
            {**describe(explained[key]), **compare(explained[key], served)}
            if key in explained
            else {"campaign_id": key, "problem": no_campaign().document()}
            for key in dict.fromkeys(asked.campaigns)
        ],
    }


@dataclass(frozen=True, slots=True)
class Served:
    """What eligibility answers: which of the campaigns, from which state. Where no snapshot is
    live, the heading is empty and there are no campaigns."""

    heading: dict[str, object]
    campaign_ids: frozenset[int]


def ask_served(
    seller_id: str, visit: Mapping[str, object], campaign_ids: list[int], moment: datetime
) -> Served:
    service = service_for(settings.SNAPSHOT_DIR)
    if service.live is None:
        return Served({}, frozenset())
    options = Options(campaigns=campaign_ids, paths=Paths.NONE)
    document = service.answer(seller_id, visit, options, moment).document()
    heading = {name: document[name] for name in ("snapshot_id", "delta", "snapshot_age_seconds")}
    return Served(heading, frozenset(item["campaign_id"] for item in document["eligible"]))


def compare(explanation: Explanation, served: Served) -> dict[str, object]:
    """Compares verdicts: `served` is eligibility's; `difference` says why it is another one."""
    if not served.heading:
        return {"served": None, "difference": "No snapshot is live: eligibility answers nothing."}
    is_served = explanation.campaign.pk in served.campaign_ids
    if is_served is explanation.is_eligible:
        return {"served": VERDICTS[is_served], "difference": None}
    state = f"snapshot {served.heading['snapshot_id']}, change {served.heading['delta']}"
    return {
        "served": VERDICTS[is_served],
        "difference": "This explains the market as it is saved now. Eligibility still answers "
        f"{VERDICTS[is_served]!r}: it was changed after what is served ({state}).",
    }


def read_body(request: HttpRequest) -> bytes:
    if int(request.META.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
        raise too_large(MAX_BODY_BYTES)
    body = request.read(MAX_BODY_BYTES + 1)
    if len(body) > MAX_BODY_BYTES:
        raise too_large(MAX_BODY_BYTES)
    return body


def stand_in_for(caller: Caller) -> User:
    """Makes a person who sees what the key's organisation sees, and is never saved."""
    keys = ApiKey.objects.usable(timezone.now()).select_related("organisation")
    key = keys.filter(hash=caller.key_hash).first()
    if key is None:
        raise unauthorized("The API key is not known, or was revoked.")
    return User(username=f"key {key.pk}", organisation=key.organisation)


def choose_visit(asked: ExplainRequest) -> GivenVisit:
    """Takes the first of several impressions if none of them was asked for, and says so."""
    document = asked.visit if asked.visit is not None else asked.bid_request or {}
    if asked.visit is None and not is_bid_request(document):
        raise invalid_bid_request("A bid request needs `imp`: a list of at least one object.")
    given = read_given(document, load_catalog())
    if asked.imp_id is None:
        several: tuple[WarningNote, ...] = (("first_of_several_imps", "imp"),)
        return replace(given[0], notes=given[0].notes + several * (len(given) > 1))
    chosen = [each for each in given if each.imp_id == asked.imp_id]
    if not chosen:
        raise invalid_bid_request("No imp of the request has this imp_id.")
    return chosen[0]


def describe(explanation: Explanation) -> dict[str, object]:
    failed = next((step for step in explanation.steps if step.truth is not True), None)
    path = explanation.path
    return {
        "campaign_id": explanation.campaign.pk,
        "campaign": explanation.campaign.name,
        "verdict": VERDICTS[explanation.is_eligible],
        "reason": explanation.reason,
        "failed_edge_id": failed.edge_id if failed else None,
        "path": [hop.edge.seller.seller_id for hop in path.hops] + [path.hops[-1].buyer.seller_id]
        if path and path.hops
        else None,
        "steps": [describe_step(step) for step in explanation.steps],
        "nearest_changes": [
            {"step": step.title, "edge_id": step.edge_id, "changes": list(step.fixes)}
            for step in explanation.changes
        ],
    }


def describe_step(step: Step) -> dict[str, object]:
    """Describes a step; `tree` is None, and `note` says so, where the asker may not read it."""
    return {
        "title": step.title,
        "truth": step.truth,
        "edge_id": step.edge_id,
        "detail": step.detail,
        "note": step.note,
        "tree": build_tree(step.lines),
        "is_shortened": step.has_more,
    }


def build_tree(lines: Iterable[Line]) -> dict[str, object] | None:
    """Builds a tree of lines, which come parents first, each with its depth."""
    open_: list[dict[str, Any]] = []
    root: dict[str, Any] | None = None
    for line in lines:
        node: dict[str, Any] = {"text": line.text, "truth": line.truth, "saw": line.saw}
        if line.is_group:
            node["children"] = []
        del open_[line.depth :]
        if open_:
            open_[-1].setdefault("children", []).append(node)
        else:
            root = node
        open_.append(node)
    return root


def no_campaign() -> ProblemError:
    return ProblemError(HTTPStatus.NOT_FOUND, "not_found", "You see no campaign with this id.")


def database_away() -> ProblemError:
    return ProblemError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "database_away",
        "The database does not answer, so nothing can be explained. Eligibility itself goes on.",
        headers={"Retry-After": "5"},
    )
