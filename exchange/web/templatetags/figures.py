"""Writes figures of the sample: visits a day, and changes in percent."""

from __future__ import annotations

from django import template
from django.db.models import Model
from django.urls import reverse

from exchange.accounts.ownership import KIND_OF_MODEL, Person
from exchange.reading.impact import LEAST_PEOPLE
from exchange.reading.verdicts import say
from exchange.reports.small_counts import least_told, tell_users
from exchange.web.templatetags.treeline import share

register = template.Library()

MINUS = "\N{MINUS SIGN}"


@register.filter
def a_day(visits: float | None) -> str:
    """Writes visits a day, never rounded to none. None stands for fewer people than are told."""
    if visits is None:
        return f"under {LEAST_PEOPLE} people"
    return say(visits) if visits else "0"


@register.filter
def users_for(users: float, person: Person) -> str:
    """Users a day, as far as this person may know how few they are."""
    return tell_users(users, least_told(person))


@register.filter
def change(percent: float) -> str:
    """Writes a change with its sign, never rounded to nothing or to everything."""
    if not percent:
        return "as before"
    sign = "+" if percent > 0 else MINUS
    size = abs(percent)
    return f"{sign} {share(size) if size <= 100 else f'{size:,.0f} %'}"


@register.simple_tag
def difference(before: float, after: float) -> str:
    """Writes the difference of two figures, in percent where there was something before."""
    if before:
        return change(100 * (after / before - 1))
    return f"+ {a_day(after)}" if after else "as before"


@register.simple_tag
def history_of(row: Model) -> str:
    """Gives the address of what a thing was before."""
    return reverse(KIND_OF_MODEL[str(row._meta.model_name)].url_name("history"), args=[row.pk])
