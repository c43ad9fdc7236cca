"""Keeps views of lists that people like to come back to. Nobody else sees them."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import QueryDict

from exchange.accounts.models import SavedView, User

MOST_VIEWS = 30
# Parameters that say where one is in a list, which is no part of how one likes to see it.
PLACES = ("after", "before")


def views_of(person: User, page: str) -> QuerySet[SavedView]:
    return SavedView.objects.filter(person=person, page=page)


def keep_view(*, person: User, page: str, name: str, query: str) -> SavedView:
    """Keeps a view, in the place of one of the same name. Raises `ValidationError` in words for the
    person."""
    view = SavedView(person=person, page=page, name=name.strip(), query=tidy(query))
    if not view.query:
        raise ValidationError("Filter or sort the list first: this is how everybody sees it.")
    view.full_clean(validate_unique=False, validate_constraints=False)
    others = views_of(person, page).exclude(name=view.name)
    if others.count() >= MOST_VIEWS:
        raise ValidationError(f"You have {MOST_VIEWS} views. Remove one first.")
    kept, _ = SavedView.objects.update_or_create(
        person=person, page=page, name=view.name, defaults={"query": view.query}
    )
    return kept


def forget_view(*, person: User, page: str, view_id: int) -> None:
    views_of(person, page).filter(pk=view_id).delete()


def tidy(query: str) -> str:
    """Keeps only what is set, in one order, so that a view is recognised when it is shown."""
    given = QueryDict(query)
    kept = QueryDict(mutable=True)
    for key in sorted(set(given) - set(PLACES)):
        if values := [value for value in given.getlist(key) if value]:
            kept.setlist(key, values)
    return kept.urlencode()
