"""Lists the kinds that the market keeps, with their tables and services.

Services are found by the name of the kind: a `value_list` is saved by `save_value_list` and ended
by `retire_value_list`, under its own name.
"""

from __future__ import annotations

from typing import Any, cast

from django.apps import apps
from django.db.models import QuerySet

from exchange.accounts.models import User
from exchange.kinds import Kind
from exchange.market import services
from exchange.market.models import Revised


def model_of(kind: Kind) -> type[Revised]:
    return cast("type[Revised]", apps.get_model(kind.model))


def rows_of(kind: Kind) -> QuerySet[Any]:
    """Reads rows with what their pages need."""
    return model_of(kind)._default_manager.select_related(*kind.joins)


def save(kind: Kind, row: Revised, *, by: User, **options: Any) -> Revised:
    service = getattr(services, f"save_{kind.name}")
    return cast("Revised", service(**{kind.name: row}, by=by, **options))


def retire(kind: Kind, row: Revised, *, by: User) -> None:
    getattr(services, f"retire_{kind.name}")(**{kind.name: row}, by=by)
