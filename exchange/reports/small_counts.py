"""Hides how few users a figure is of: to whoever trades on the exchange, fewer than some are
"< 10". The exchange's own people see the numbers.

What would tell them by a subtraction or a division is hidden with them: a quotient of visits and
users, and of two parts of a whole the larger one, if the smaller is small. Nobody at all is 0.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from exchange.accounts.ownership import Person
from exchange.accounts.permissions import is_exchange_operator


def least_told(person: Person) -> int:
    """Gives how many users a figure must be of to be told to this person."""
    return 0 if is_exchange_operator(person) else settings.LEAST_USERS_TOLD


def is_small(users: float | None, least: int) -> bool:
    return users is not None and 0 < users < least


def tell_users(users: float | None, least: int) -> str:
    """Writes users for pages and CSV; empty where nothing is known."""
    if users is None:
        return ""
    return f"< {least}" if is_small(users, least) else f"{round(users):,}"


def tell_shared(both: float | None, wholes: Iterable[float | None], least: int) -> str:
    """Users of two at once. If nearly all users of one of them are, the rest would follow by a
    subtraction: then it is told as a bound that says no more than that the rest is small."""
    if both is None or is_small(both, least):
        return tell_users(both, least)
    near = [whole for whole in wholes if whole is not None and is_small(whole - both, least)]
    return f"> {max(0, round(min(near)) - least):,}" if near else tell_users(both, least)
