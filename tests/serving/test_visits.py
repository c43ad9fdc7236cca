"""Visits as callers send them, nested or flat, become what the index reads."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from exchange.serving.problems import ProblemError
from exchange.serving.visits import copy_flat, flatten
from matcher_ext.visits import MAX_ATTRIBUTES, MAX_DEPTH, MAX_LIST_LENGTH, MAX_NAME_LENGTH

NAMES = {"geo.country", "geo.location", "user.segments"}


def test_nested_objects_become_dotted_names() -> None:
    visit = {"geo": {"country": "USA"}, "user": {"segments": ["cars"]}, "geo.city": "Reno"}
    flat = flatten(visit, NAMES)
    assert flat == {"geo.country": "USA", "user.segments": ["cars"], "geo.city": "Reno"}


def test_object_under_an_attributes_name_is_its_value() -> None:
    position = {"lat": 48.85, "lon": 2.35}
    assert flatten({"geo": {"location": position}}, NAMES) == {"geo.location": position}
    assert flatten({"geo.location": position}, NAMES) == {"geo.location": position}


def test_visit_that_is_flat_already_is_copied_as_it_is() -> None:
    names = frozenset(NAMES)
    visit: dict[str, object] = {"geo.country": "USA", "user.segments": ["cars"]}
    copied = copy_flat(visit, names)
    assert copied == visit == flatten(visit, NAMES)
    assert copied is not visit
    assert copy_flat({**visit, "geo.city": "Reno"}, names) is None
    with pytest.raises(ProblemError):
        copy_flat({"user.segments": ["x"] * (MAX_LIST_LENGTH + 1)}, names)


def test_empty_object_carries_nothing() -> None:
    assert flatten({"geo": {}}, NAMES) == {}


def deep(levels: int) -> dict[str, object]:
    visit: dict[str, object] = {"leaf": 1}
    for _ in range(levels - 1):
        visit = {"a": visit}
    return visit


def test_nesting_is_bounded() -> None:
    assert flatten(deep(MAX_DEPTH), NAMES) == {"a." * (MAX_DEPTH - 1) + "leaf": 1}
    with pytest.raises(ProblemError, match="deep") as refused:
        flatten(deep(MAX_DEPTH + 1), NAMES)
    assert refused.value.status == HTTPStatus.BAD_REQUEST


def test_number_of_attributes_is_bounded() -> None:
    visit: dict[str, object] = {f"a{i}": i for i in range(MAX_ATTRIBUTES)}
    assert len(flatten(visit, NAMES)) == MAX_ATTRIBUTES
    with pytest.raises(ProblemError, match="attributes"):
        flatten({**visit, "one_more": 1}, NAMES)


def test_length_of_names_is_bounded() -> None:
    with pytest.raises(ProblemError, match="name"):
        flatten({"a" * MAX_NAME_LENGTH: {"b": 1}}, NAMES)
