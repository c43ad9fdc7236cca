"""Keeps questions to the owner of an edge: asked by those whose booking it keeps visits from,
settled by those who may change it."""

from __future__ import annotations

from collections.abc import Collection

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from exchange.accounts.models import User
from exchange.accounts.ownership import NotVisible, require_change
from exchange.accounts.permissions import may_edit
from exchange.findings.models import OwnerQuestion
from exchange.market.models import Booking, Edge
from exchange.market.visibility import owned

LONGEST_TEXT = 500


@transaction.atomic
def ask_owner(
    *,
    booking: Booking,
    edge: Edge,
    on_way: Collection[int],
    by: User,
    text: str = "",
    visits: int | None = None,
) -> OwnerQuestion:
    """Asks, or puts another text into the question that is still open. `on_way` are the edges that
    the booking's visits may take: about others nobody asks, who should not know of them."""
    require_change(by, booking)
    if edge.pk not in on_way:
        raise NotVisible("There is no such edge on the way of this booking.")
    if len(text) > LONGEST_TEXT:
        raise ValidationError(f"A question has at most {LONGEST_TEXT} characters.")
    said = {"text": text.strip(), "visits": visits, "asked_by": by, "asked_at": timezone.now()}
    question, _ = OwnerQuestion.objects.update_or_create(
        edge=edge, booking=booking, settled_at=None, defaults=said
    )
    return question


@transaction.atomic
def settle_question(*, question: OwnerQuestion, by: User) -> None:
    """Takes it off Today, for good; the asker may ask again."""
    require_change(by, question.edge)
    still_open = OwnerQuestion.objects.filter(pk=question.pk, settled_at=None)
    still_open.update(settled_at=timezone.now(), settled_by=by)


def open_questions(person: User) -> QuerySet[OwnerQuestion]:
    """Lists the open questions that the person could do something about, the newest first."""
    questions = OwnerQuestion.objects.filter(settled_at=None).order_by("-asked_at", "-pk")
    if not may_edit(person, "edge"):
        return questions.none()
    edges = owned(Edge.objects.kept().order_by(), person).values("pk")
    return questions.filter(edge__in=edges).select_related(
        "edge__seller",
        "edge__buyer",
        "booking__campaign__advertiser",
        "booking__publisher",
        "asked_by__organisation",
    )


def questions_of(booking: Booking) -> dict[int, OwnerQuestion]:
    """Gives the newest question about each edge, settled or not."""
    asked = OwnerQuestion.objects.filter(booking=booking).select_related("asked_by")
    return {question.edge_id: question for question in asked.order_by("asked_at", "pk")}
