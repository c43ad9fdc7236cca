"""Gives templates what they need beyond Django: navigation, roles, how we write ages, numbers and
states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from datetime import UTC, datetime
from typing import Any

from django import template
from django.db.models import Model
from django.template import RequestContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from exchange.accounts.models import User
from exchange.accounts.ownership import Person, may_change, may_see, owns
from exchange.accounts.permissions import (
    is_exchange_operator,
    may_edit,
    may_start,
)
from exchange.accounts.seeds import TOKEN_FIELD, new_token
from exchange.findings.status import Status, tell_reason
from exchange.findings.wording import Told
from exchange.market.models import Booking, Campaign, Edge, Party
from exchange.market.visibility import may_create, may_name
from exchange.reading.explaining import Step
from exchange.reports.sample_table import Sample
from exchange.web.navigation import groups_for

register = template.Library()


UNKNOWN = "\N{EN DASH}"

SOURCES = {
    "web": "on a page",
    "api": "over the API",
    "import": "import",
    "sql": "in the database by hand",
}

BADGES = {
    "live": "good",
    "serving": "good",
    "scheduled": "info",
    "blocked": "bad",
    "done": "good",
    "active": "good",
    "eligible": "good",
    "paused": "warn",
    "queued": "info",
    "ready": "info",
    "building": "info",
    "running": "info",
    "waiting": "info",
    "failed": "bad",
    "revoked": "bad",
    "expired": "warn",
    "no_path": "bad",
    "broken_path": "bad",
    "contradiction": "bad",
    "cycle": "warn",
    "never_matched": "warn",
    "quarantined": "bad",
    "older_form": "warn",
}


@register.simple_tag(takes_context=True)
def form_token(context: RequestContext) -> SafeString:
    """Writes a hidden field for forms that make a secret: sent twice, they make one."""
    token = new_token(context["user"])
    return format_html('<input type="hidden" name="{}" value="{}">', TOKEN_FIELD, token)


@register.inclusion_tag("parts/_navigation.html", takes_context=True)
def navigation(context: RequestContext) -> dict[str, Any]:
    folder = context["request"].path.strip("/").split("/")[0]
    groups = [
        (
            title,
            [
                {
                    "label": item.label,
                    "url": reverse(item.url_name),
                    "icon": item.icon,
                    "is_current": item.folder == folder,
                }
                for item in items
            ],
        )
        for title, items in groups_for(context["user"])
    ]
    return {"groups": groups}


register.filter("may_edit", may_edit)
register.filter("may_start", may_start)
register.filter("may_create", may_create)
register.filter("may_see", may_see)
register.filter("may_change", may_change)
register.filter("may_name", may_name)
register.filter("owns", owns)
register.filter("is_operator", is_exchange_operator)


@register.filter
def named_for(other: User | None, user: Person) -> str:
    """Names who did something, as this person may know it."""
    if other is None:
        return "nobody named"
    return str(other) if may_name(user, other) else "someone of another organisation"


@register.simple_tag(takes_context=True)
def party_link(context: RequestContext, party: Party) -> SafeString | str:
    """Writes a party's name, as a link for those to whom its page exists."""
    if not may_see(context["user"], party):
        return party.name
    return format_html('<a href="{}">{}</a>', reverse("party-detail", args=[party.pk]), party.name)


@register.simple_tag
def address(kind: str, page: str, row: Model) -> str:
    """Finds the address of a page about one row: `{% address "edge" "history" edge %}`."""
    return reverse(f"{kind}-{page}", args=[row.pk])


@register.filter
def badge(status: str, label: str = "") -> SafeString:
    text = label or status.capitalize()
    return format_html('<span class="badge {}">{}</span>', BADGES.get(status, ""), text)


@register.filter
def status_badge(row: Campaign | Booking) -> SafeString:
    """Writes a row's status (it comes with `findings.status`), and why it does not serve."""
    label = Status(row.standing).label
    reason = tell_reason(row)
    said = format_html(' <span class="soft small">{}</span>', reason) if reason else ""
    return format_html("{}{}", badge(row.standing, label), said)


@register.filter
def of(told: dict[int, list[Told]], row: Model) -> list[Told]:
    """Finds what belongs to one row: `{{ told|of:booking }}`."""
    return told.get(row.pk, [])


@register.filter
def by_row(found: Mapping[int, Any], row: Model) -> Any:
    """Returns what was found out about one row: `{{ sentences|by_row:campaign }}`."""
    return found.get(row.pk)


@register.filter
def step_of(steps: Sequence[Step] | None, edge: Edge) -> Step | None:
    """Returns what a visit's explanation says about an edge of its path."""
    return next((step for step in steps or () if step.edge_id == edge.pk), None)


@register.filter
def at(things: Sequence[Any], place: int) -> Any:
    return things[place]


@register.filter
def sample_words(sample: Sample) -> str:
    """Says what figures were counted on."""
    first, last = (f"{day.day} {day:%b}" for day in (sample.first_day, sample.last_day))
    days = last if first == last else f"{first} to {last}"
    return f"sample of {len(sample):,} visits, {days}"


@register.filter
def active_badge(is_active: bool) -> SafeString:
    return badge("active" if is_active else "off", "Active" if is_active else "Switched off")


@register.filter
def code_quotes(text: object) -> SafeString:
    """Shows as code what messages quote in backticks."""
    parts = str(text).split("`")
    return format_html_join(
        "",
        "{}",
        ((format_html("<code>{}</code>", p) if n % 2 else p,) for n, p in enumerate(parts)),
    )


@register.filter
def source_words(source: str) -> str:
    """Says from where a change came."""
    return SOURCES[source]


@register.filter
def number(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


@register.filter
def share(percent: float, digits: int = 0) -> str:
    """Writes a share, never rounded to all or nothing: `{{ row.percent|share:1 }}`."""
    least = 10**-digits
    if 0 < percent < least:
        return f"under {least:.{digits}f} %"
    most = 100 - least
    return f"over {most:.{digits}f} %" if most < percent < 100 else f"{percent:.{digits}f} %"


@register.filter
def minus(count: int, shown: Sized) -> int:
    """Counts how many there are beside those that are shown."""
    return count - len(shown)


@register.filter
def counted(things: str, count: int) -> str:
    """Writes the plural, or its singular for one: `{{ "parties"|counted:1 }}`."""
    if count != 1:
        return things
    if things == "people":
        return "person"
    return things.removesuffix("ies") + "y" if things.endswith("ies") else things.removesuffix("s")


@register.filter
def age(moment: datetime | None) -> SafeString | str:
    """Says how long ago (or ahead), with the exact time in UTC on hover."""
    if moment is None:
        return UNKNOWN
    seconds = (timezone.now() - moment).total_seconds()
    said = describe_seconds(abs(seconds))
    return stamp(moment, f"{said} ago" if seconds >= 0 else f"in {said}")


@register.filter
def since(moment: datetime | None) -> SafeString | str:
    """Says how old something is: an age without the word ago."""
    if moment is None:
        return UNKNOWN
    return stamp(moment, describe_seconds((timezone.now() - moment).total_seconds()))


@register.filter
def when(at: datetime | None) -> SafeString | str:
    """Writes a time in the time zone of the reader's browser, by a script; in UTC without it."""
    if at is None:
        return UNKNOWN
    return stamp(at, at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC"), local="minute")


@register.filter
def when_day(at: datetime | None) -> SafeString | str:
    """Writes a time likewise, to the day."""
    if at is None:
        return UNKNOWN
    return stamp(at, at.astimezone(UTC).strftime("%Y-%m-%d"), local="day")


@register.filter
def moment(value: datetime) -> SafeString:
    """Writes a time with the day of the week, which schedules go by."""
    return stamp(value, value.astimezone(UTC).strftime("%a %Y-%m-%d %H:%M"))


def stamp(moment: datetime, text: str, local: str = "") -> SafeString:
    exact = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC"{}>{}</time>',
        exact.isoformat(timespec="seconds"),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        format_html(' data-local="{}"', local) if local else "",
        text,
    )


def describe_seconds(seconds: float) -> str:
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}" if count == 1 else f"{count} {name}s"
    return f"{int(seconds)} s"


@register.filter
def seconds(value: float) -> str:
    return describe_seconds(value)


@register.filter
def took(later: datetime | None, earlier: datetime | None) -> str:
    """Says how long something took: `{{ build.finished_at|took:build.started_at }}`."""
    if later is None or earlier is None:
        return UNKNOWN
    seconds = (later - earlier).total_seconds()
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
