"""Decides whose an object is, and who may see and change it: asked about one object at a time.

Queries over the market, and how much of an object others see, are `market.visibility`; roles alone
are `permissions`.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404

from exchange.accounts.models import User
from exchange.accounts.permissions import is_exchange_operator, may_edit, require_edit
from exchange.kinds import KINDS, Belonging, Kind

Person = User | AnonymousUser

# The kinds by model name, as Django spells it.
KIND_OF_MODEL: dict[str, Kind] = {kind.model_name: kind for kind in KINDS.values()}
BELONGINGS: dict[str, Belonging] = {
    **{kind.model_name: kind.belonging for kind in KINDS.values() if kind.belonging is not None},
    # Rows that are counted, not edited, and so are no kind.
    "eligiblevisits": Belonging("campaign__advertiser__organisation", ("publisher__organisation",)),
}


class NotVisible(Http404):
    """Says that for this person the object does not exist."""


def may_see(user: Person, obj: Model) -> bool:
    belonging = belonging_of(obj)
    if belonging.owner is None or is_exchange_operator(user):
        return True
    organisation_id = organisation_id_of(user)
    if organisation_id is None:
        return False
    paths = (belonging.owner, *(() if is_draft(obj) else belonging.readers))
    if any(follow(obj, path) == organisation_id for path in paths):
        return True
    return belonging.is_shared and is_of_operator(obj)


def is_draft(obj: Model) -> bool:
    campaign = getattr(obj, "campaign", None) if belonging_of(obj).is_of_campaign else None
    return campaign is not None and bool(campaign.is_draft)


def is_of_operator(obj: Model) -> bool:
    organisation = getattr(obj, "organisation", None)
    return organisation is not None and bool(organisation.is_operator)


def may_change(user: Person, obj: Model) -> bool:
    """Tells whether a person may change it, by what the object itself holds: for lists, buttons."""
    kind = kind_of(obj)
    return kind is not None and may_edit(user, kind.name) and owns(user, obj)


def owns(user: Person, obj: Model) -> bool:
    if is_exchange_operator(user):
        return True
    owner = owner_id_of(obj)
    return owner is not None and owner == organisation_id_of(user)


def require_change(by: Person, obj: Model) -> None:
    """Refuses for services. The saved row counts as well as the one in memory: an object can
    neither be taken from nor given to another organisation by the change itself."""
    kind = kind_of(obj)
    if kind is None:
        raise PermissionDenied("People do not change this.")
    stored = find_stored(obj)
    if stored is None and is_ownerless(obj):
        require_edit(by, kind.name)  # incomplete: whoever checks it next says what is missing
        return
    if not may_see(by, stored or obj):
        raise NotVisible("There is no such object.")
    require_edit(by, kind.name)
    if stored is not None and not owns(by, stored):
        raise PermissionDenied("It belongs to another organisation, which alone may change it.")
    if not owns(by, obj):
        raise NotVisible("There is no such object.")


def is_ownerless(obj: Model) -> bool:
    return belonging_of(obj).owner is not None and owner_id_of(obj) is None


def organisation_id_of(user: Person) -> int | None:
    if not isinstance(user, User) or not user.is_active:
        return None
    return user.organisation_id


def owner_id_of(obj: Model) -> int | None:
    """Finds the organisation that an object belongs to; None if it is the exchange's own."""
    owner = belonging_of(obj).owner
    return follow(obj, owner) if owner else None


def belonging_of(model: Model | type[Model]) -> Belonging:
    return BELONGINGS[str(model._meta.model_name)]


def kind_of(model: Model | type[Model]) -> Kind | None:
    """Finds the kind of a model; None for what people do not edit."""
    return KIND_OF_MODEL.get(str(model._meta.model_name))


def follow(obj: Model, path: str) -> int | None:
    """Finds the id at the end of `seller__organisation`; None where a step on the way is not
    set."""
    *steps, last = path.split("__")
    current: Any = obj
    try:
        for step in steps:
            current = getattr(current, step)
    except ObjectDoesNotExist:
        return None
    found: int | None = getattr(current, f"{last}_id", None)
    return found


def find_stored(obj: Model) -> Model | None:
    """Reads the object as it is saved, with what `follow` needs of it in the same query."""
    if obj._state.adding or obj.pk is None:
        return None
    belonging = belonging_of(obj)
    paths = [path for path in (belonging.owner, *belonging.readers) if path]
    joins = {path.rpartition("__")[0] for path in paths} - {""}
    rows: QuerySet[Model] = type(obj)._default_manager.filter(pk=obj.pk)
    return rows.select_related(*sorted(joins)).first() if joins else rows.first()
