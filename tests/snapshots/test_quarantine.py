"""The last good form of what does not compile: the newest before the moment that was read."""

from __future__ import annotations

import pytest

from exchange.snapshots.models import ChangeKind
from exchange.snapshots.quarantine import Quarantine
from exchange.snapshots.texts import CheckedText
from targeting import Catalog, ExpressionError, parse

CATALOG = Catalog.of(age="integer")
KEY = (ChangeKind.CAMPAIGN, 7)


def compile_text(text: str) -> CheckedText:
    return CheckedText(parse(text, CATALOG).text, CATALOG)


@pytest.mark.parametrize(
    ("revisions", "good"),
    [
        (["age =", "age = 2", "age = 1"], "age = 2"),
        (["age =", "shoe = 3", "age = 1"], "age = 1"),
        (["age = 3", "age =", "age = 2"], "age = 2"),
        (["age = 2", "age =", "age = 2"], "age = 2"),
        (["age = 3", "age ="], None),
        (["age = 1"], "age = 1"),
        ([], None),
    ],
)
def test_finds_the_newest_form_that_compiles_and_is_not_of_later(
    revisions: list[str], good: str | None
) -> None:
    quarantine = Quarantine(lambda _kind, _object_id: revisions)
    compiled = quarantine.compile(*KEY, "age =", compile_text)
    assert (None if isinstance(compiled, ExpressionError) else compiled.text) == good
    assert quarantine.found[KEY].has_good_form == (good is not None)


def test_what_compiles_is_healthy_and_asks_for_no_history() -> None:
    def refuse(_kind: ChangeKind, _object_id: int) -> list[str]:
        raise AssertionError

    quarantine = Quarantine(refuse)
    quarantine.compile(*KEY, "age = 1", compile_text)
    assert quarantine.healthy == {KEY}
    assert not quarantine.found
