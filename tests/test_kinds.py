"""Every kind is said once, in `exchange.kinds`; what is spelled after it must be there."""

from __future__ import annotations

from typing import get_args

import pytest
from django.apps import apps
from django.urls import reverse

from exchange.accounts.ownership import kind_of
from exchange.kinds import KINDS, Kind, KindName
from exchange.market import services
from exchange.market.kinds import model_of
from exchange.market.models import Revised
from exchange.snapshots.models import ChangeKind

KEPT = [kind for kind in KINDS.values() if kind.has_past]


def test_every_name_has_its_kind() -> None:
    assert tuple(KINDS) == get_args(KindName)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_is_found_by_its_model(kind: Kind) -> None:
    assert kind_of(apps.get_model(kind.model)) is kind


def test_the_market_keeps_nothing_that_is_no_kind() -> None:
    models = set(apps.get_app_config("market").get_models())
    assert {model for model in models if issubclass(model, Revised)} == {*map(model_of, KEPT)}


@pytest.mark.parametrize("kind", KEPT, ids=lambda kind: kind.name)
def test_what_is_kept_is_saved_and_retired_under_its_name(kind: Kind) -> None:
    assert {f"save_{kind.name}", f"retire_{kind.name}"} <= set(services.__all__)


@pytest.mark.parametrize("kind", KEPT, ids=lambda kind: kind.name)
def test_addresses_begin_with_the_folder(kind: Kind) -> None:
    for page in ("retire", "history"):
        address = reverse(kind.url_name(page), args=[17])
        assert address == f"/{kind.folder}/17/{page}/"


def test_changes_are_noted_under_the_words_of_kinds() -> None:
    assert set(ChangeKind.values) <= {kind.word for kind in KINDS.values()}
