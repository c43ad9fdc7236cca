"""Tells which visits are lost: bookings that something blocks, campaigns that fell by half, a build
or a report that failed, answers of ad servers that were wrong."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from exchange.accounts.models import User
from exchange.accounts.ownership import may_change, may_see
from exchange.findings.models import BLOCKING, BookingFinding
from exchange.findings.questions import open_questions
from exchange.reading.falls import find_falls
from exchange.reading.troubles import Change, Trouble, find_troubles
from exchange.reports.models import JobRun, ReportRun
from exchange.reports.parity import JOB as PARITY
from exchange.reports.parity import find_mismatches
from exchange.snapshots.models import SnapshotBuild
from exchange.web.today.matters import Action, Matter, Named, count_words

Kind = BookingFinding.Kind
BY_CHECK = "last check"
BY_NIGHT = "last night"
BY_NOW = "now"
NAMED = 3
QUESTIONS_TOLD = 5
NEW = timedelta(days=3)  # so long a change is marked


def tell_troubles(person: User) -> Iterator[Matter]:
    for trouble in find_troubles(person, BLOCKING):
        yield Matter(
            what=name_trouble(trouble),
            said=explain_trouble(trouble),
            source=BY_CHECK,
            visits=trouble.visits,
            is_at_least=trouble.is_at_least,
            is_urgent=is_new(trouble.change),
            change=trouble.change,
            actions=tuple(offer_for_trouble(trouble, person)),
        )


def is_new(change: Change | None) -> bool:
    return change is not None and change.revision.at > timezone.now() - NEW


def name_trouble(trouble: Trouble) -> str:
    finding, bookings = trouble.finding, count_words(trouble.size, "booking")
    edges = " and ".join(map(str, trouble.edges))
    if finding.kind == Kind.NO_PATH:
        booking = finding.booking
        advertiser = booking.campaign.advertiser.name
        return f"{bookings} without a path from {booking.publisher.name} to {advertiser}"
    if finding.kind == Kind.BROKEN_PATH:
        return f"{bookings} stopped by {edges or 'an edge that is gone'}"
    if finding.kind == Kind.CONTRADICTION:
        return f"{bookings} can never pass {edges or 'an edge of the path'}"
    return (
        f"{bookings} stopped: {'the rule of ' + edges if edges else 'targeting'} does not compile"
    )


def explain_trouble(trouble: Trouble) -> str:
    """Says what the name of the row does not say yet."""
    if trouble.finding.kind == Kind.BROKEN_PATH and trouble.edges:
        return "It is switched off, and their paths lead over it."
    if trouble.finding.kind == Kind.CONTRADICTION and trouble.edges:
        return "Their campaigns ask for visits that it excludes."
    return trouble.told.message


def offer_for_trouble(trouble: Trouble, person: User) -> Iterator[Action]:
    finding, change = trouble.finding, trouble.change
    if trouble.size == 1:
        yield Action("See", reverse("booking-detail", args=[finding.booking_id]))
        if may_see(person, finding.booking.campaign):
            page = reverse("campaign-why", args=[finding.booking.campaign_id])
            yield Action("Why", f"{page}?publisher={finding.booking.publisher_id}")
    else:
        query = urlencode({"cause": finding.cause})
        yield Action("See", f"{reverse('finding-list')}?{query}")
    if change is not None:
        yield from offer_to_revert(change, person)
        return
    for edge in trouble.edges[:1]:
        if may_see(person, edge):
            yield Action("Edge", reverse("edge-detail", args=[edge.pk]))


def offer_to_revert(change: Change, person: User) -> Iterator[Action]:
    edge = change.edge
    if may_see(person, edge):
        yield Action("History", reverse("edge-history", args=[edge.pk]))
    if may_change(person, edge) and not edge.is_retired:
        question = f"Go back to version {change.before} of {edge}?"
        yield Action("Revert", reverse("edge-revert", args=[edge.pk, change.before]), question)


def tell_questions(person: User) -> Iterator[Matter]:
    """Tells what others ask about edges of the person's organisation, with what they named to ask
    it."""
    for question in open_questions(person)[:QUESTIONS_TOLD]:
        booking, asker = question.booking, question.asked_by.organisation
        about = f"{booking.campaign.name} at {booking.publisher.name}"
        yield Matter(
            what=f"{asker or 'Somebody'} asks about {question.edge}",
            said=f"{about}: “{question.text}”"
            if question.text
            else f"It keeps visits from {about}.",
            source=BY_NOW,
            visits=question.visits,
            actions=(
                Action("Edge", reverse("edge-detail", args=[question.edge_id])),
                Action(
                    "Settled",
                    reverse("question-settle", args=[question.pk]),
                    f"Is the question about {question.edge} settled?",
                ),
            ),
        )


def tell_falls(person: User) -> Iterator[Matter]:
    found = find_falls(person)
    if found is None or not found.falls:
        return
    report = reverse("report-eligible-visits")
    named = tuple(
        Named(
            fall.campaign.name,
            reverse("campaign-why", args=[fall.campaign.pk]),
            f"{fall.before:,} to {fall.after:,}",
        )
        for fall in found.falls[:NAMED]
    )
    yield Matter(
        what=f"{count_words(len(found.falls), 'campaign')} fell by half",
        said=f"{found.day:%A %Y-%m-%d} against {found.day_before:%Y-%m-%d}, the same weekday.",
        source=BY_NIGHT,
        visits=found.lost,
        named=named,
        actions=(Action("See the report", report),),
    )


def tell_build(_: User) -> Iterator[Matter]:
    """Tells a failed build; ad servers go on with the snapshot before and every change since."""
    last = SnapshotBuild.objects.order_by("-pk").defer("skipped").first()
    if last is not None and last.status == SnapshotBuild.Status.FAILED:
        yield Matter(
            what="The last build failed",
            said="Ad servers go on with the snapshot before, and with every change since it.",
            source=BY_NOW,
            is_urgent=True,
            actions=(Action("See", reverse("snapshot-detail", args=[last.pk])),),
        )


def tell_report(_: User) -> Iterator[Matter]:
    last = ReportRun.objects.order_by("-pk").first()
    if last is not None and last.status == ReportRun.Status.FAILED:
        yield Matter(
            what="The last report failed",
            said=f"{last.first_day:%Y-%m-%d} to {last.last_day:%Y-%m-%d}: the numbers of the days"
            " before stay as they are.",
            source=BY_NOW,
            actions=(Action("See", reverse("report-eligible-visits")),),
        )
    elif last is not None and (failed := list_untold(last)):
        page = reverse("report-run-detail", args=[last.pk])
        yield Matter(
            what=f"{count_words(len(failed), 'job')} of the last report failed",
            said="Other figures were loaded. Those of these jobs stay as they were.",
            source=BY_NOW,
            named=tuple(Named(job.name, page, job.headline) for job in failed[:NAMED]),
            actions=(Action("See", page),),
        )


def list_untold(run: ReportRun) -> list[JobRun]:
    """Lists jobs that failed, without those that found the answers that have a row of their own."""
    told = {(PARITY, each.day) for each in find_mismatches()}
    return [job for job in run.failed_jobs if (job.job, job.day) not in told]


def tell_parity(_: User) -> Iterator[Matter]:
    """Tells answers of ad servers that are not what they should have been."""
    for found in find_mismatches():
        is_one = found.answers == 1
        page = f"{reverse('report-night', args=['parity-mismatches'])}?day={found.day}"
        yield Matter(
            what=f"{count_words(found.answers, 'answer')} of ad servers "
            f"{'was' if is_one else 'were'} wrong",
            said=f"Of the sample of {found.day:%Y-%m-%d}, recomputed with the same snapshot.",
            source=BY_NIGHT,
            is_urgent=True,
            actions=(Action("See", page),),
        )
