"""Reads the past of what people edit: every revision with who, when and from where; reverts to one.

Revisions are written by triggers (`models.revised`); nothing here writes one. Differences are in
words; whoever shows them to others passes them through `visibility.sight`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.text import Truncator

from exchange.accounts.models import User
from exchange.accounts.ownership import kind_of
from exchange.kinds import Kind
from exchange.market import kinds
from exchange.market.catalog import load_catalog
from exchange.market.models import Revised, ValueList, ValueListVersion
from exchange.market.names import load_values
from exchange.market.recording import Source
from exchange.market.services.value_lists import ValuesDifference, difference_of
from targeting import Catalog, ExpressionError, parse
from targeting.differences import describe_difference

NOT_SAID = frozenset({"id", "version", "updated_by", "value_count", "retired_at"})
MAX_ITEMS_NAMED = 5
MAX_ITEM_CHARACTERS = 60
SWITCHES = {
    "is_active": ("switched off", "switched on"),
    "is_disclosed": ("no longer disclosed", "disclosed"),
    "is_required": ("no longer required", "required"),
    "is_personal": ("no longer personal", "personal"),
    "expects_eligible": ("expected not to be eligible", "expected to be eligible"),
}


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of an object. `by` is None where nobody was named, as in SQL by hand."""

    event: Any
    by: User | None
    source: Source

    @property
    def number(self) -> int:
        version: int = self.event.version
        return version

    @property
    def at(self) -> datetime:
        moment: datetime = self.event.pgh_created_at
        return moment

    @property
    def expression(self) -> str:
        return str(getattr(self.event, "expression", ""))


def revisions_of(obj: Revised, *, limit: int = 100, before: int | None = None) -> list[Revision]:
    """Lists revisions, newest first; `before` is the number of the last one seen. Two queries."""
    events = events_of(obj).order_by("-version", "-pgh_id")
    if before is not None:
        events = events.filter(version__lt=before)
    found = list(events[:limit])
    people = User.objects.in_bulk({event.updated_by_id for event in found if event.updated_by_id})
    return [read_revision(event, people) for event in found]


def find_revision(obj: Revised, number: int) -> Revision:
    """Finds one revision; raises `ValidationError` if there is none of that number."""
    event = events_of(obj).filter(version=number).order_by("-pgh_id").first()
    if event is None:
        raise ValidationError(f"{obj} has no version {number}.")
    people = User.objects.in_bulk([event.updated_by_id] if event.updated_by_id else [])
    return read_revision(event, people)


def events_of(obj: Revised) -> models.QuerySet[Any]:
    model = apps.get_model("market", f"{type(obj).__name__}Event")
    rows: models.QuerySet[Any] = model._default_manager.filter(pgh_obj_id=obj.pk)
    return rows


def read_revision(event: Any, people: dict[int, User]) -> Revision:
    """Takes a change without a context for SQL by hand: the name in the row is then an earlier
    change's."""
    if event.pgh_context is None:
        return Revision(event, None, Source.SQL)
    return Revision(
        event, people.get(event.updated_by_id), Source(event.pgh_context.get("source", Source.SQL))
    )


def difference(before: Revision, after: Revision, *, catalog: Catalog | None = None) -> list[str]:
    """Tells the changes in words, one each; a page with many revisions hands the catalogue in."""
    catalog = catalog or load_catalog()
    words: list[str] = []
    for field in content_of(after.event):
        old, new = getattr(before.event, field.attname), getattr(after.event, field.attname)
        if old != new:
            words += describe_field(field, before.event, after.event, catalog)
    if (before.event.retired_at is None) != (after.event.retired_at is None):
        words.append("retired" if after.event.retired_at else "brought back")
    return words


def content_of(event: Any) -> Iterator[models.Field[Any, Any]]:
    for field in event._meta.fields:
        if not field.name.startswith("pgh_") and field.name not in NOT_SAID:
            yield field


def describe_field(
    field: models.Field[Any, Any], before: Any, after: Any, catalog: Catalog
) -> list[str]:
    old, new = getattr(before, field.attname), getattr(after, field.attname)
    if field.name == "expression":
        return describe_expressions(old, new, catalog)
    if field.name == "current_number":
        return describe_values(after.pgh_obj_id, old, new, after.type)
    if field.name in SWITCHES:
        return [SWITCHES[field.name][bool(new)]]
    name = str(field.verbose_name)
    if isinstance(old, list) and isinstance(new, list):
        return describe_items(name, old, new)
    if field.is_relation:
        old, new = getattr(before, field.name), getattr(after, field.name)
    return [f"{name} from {say_value(old)} to {say_value(new)}"]


def describe_expressions(old: str, new: str, catalog: Catalog) -> list[str]:
    """Describes what changed; a text that today's catalogue refuses has no tree to compare."""
    try:
        return describe_difference(parse(old, catalog).root, parse(new, catalog).root)
    except ExpressionError:
        return ["expression rewritten"]


def describe_values(list_id: int, old: int, new: int, kind: str) -> list[str]:
    if new == old + 1:
        row = ValueListVersion.objects.defer("values").get(value_list_id=list_id, number=new)
        return describe_version(row)
    return describe_version(
        difference_of(load_values(list_id, old, kind), load_values(list_id, new, kind))
    )


def describe_version(changed: ValueListVersion | ValuesDifference) -> list[str]:
    """Says what a new version of a list changed. Versions from before the first values were named
    have the numbers only."""
    words = []
    for verb, count, first in (
        ("added", changed.added_count, changed.first_added),
        ("removed", changed.removed_count, changed.first_removed),
    ):
        if count:
            words.append(f"{verb} {name_items(first, count)}" if first else f"{count:,} {verb}")
    return words or ["the same values again"]


def describe_items(name: str, old: list[Any], new: list[Any]) -> list[str]:
    """Says which labels, domain values or pinned edges came and went, or that the order changed."""
    words = []
    for verb, items in (
        ("added", [item for item in new if item not in old]),
        ("removed", [item for item in old if item not in new]),
    ):
        if items:
            words.append(f"{name}: {verb} {name_items(items, len(items))}")
    return words or [f"{name}: in another order"]


def name_items(items: Sequence[Any], count: int) -> str:
    """Writes `AUT, BEL and 13 more` of `count` items; one with a comma is put in quotes."""
    cut = [Truncator(str(item)).chars(MAX_ITEM_CHARACTERS) for item in items[:MAX_ITEMS_NAMED]]
    named = [f"“{item}”" if "," in item else item for item in cut]
    more = f" and {count - len(named):,} more" * (count > len(named))
    return f"{', '.join(named)}{more}"


def say_value(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    return "nothing" if value in (None, "") else str(value)


def revert(*, obj: Revised, to: int, by: User, confirmed: bool = False) -> Revised:
    """Saves an earlier state as a new revision, checked like any other save."""
    target = find_revision(obj, to)
    for field in content_of(target.event):
        if field.name != "current_number":
            setattr(obj, field.attname, getattr(target.event, field.attname))
    options: dict[str, Any] = {}
    if isinstance(obj, ValueList):
        number = target.event.current_number
        options["values"] = load_values(obj.pk, number, obj.type)
    kind = cast("Kind", kind_of(obj))
    if kind.is_tested:
        options["confirmed"] = confirmed
    return kinds.save(kind, obj, by=by, **options)
