"""Another order of the tests: the same for everybody with the seed, and file by file."""

from itertools import groupby

import pytest

from tests.shuffling import shuffled


def test_a_seed_gives_one_order(request: pytest.FixtureRequest) -> None:
    items = request.session.items
    assert shuffled(items, 7) == shuffled(items[::-1], 7)
    assert set(shuffled(items, 7)) == set(items)


def test_the_tests_of_a_file_stay_together(request: pytest.FixtureRequest) -> None:
    files = [path for path, _ in groupby(shuffled(request.session.items, 7), lambda it: it.path)]
    assert len(files) == len(set(files))


def test_other_seeds_give_other_orders(request: pytest.FixtureRequest) -> None:
    assert len({tuple(shuffled(request.session.items, seed)) for seed in range(20)}) > 1
