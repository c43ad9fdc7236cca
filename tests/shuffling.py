"""Runs the tests in another order: `--shuffle SEED`; a pytest plugin, named in pyproject.toml.

It shuffles files, and tests within their file, so that a module's fixtures are still made once.
The same seed gives the same order, in every process of a parallel run.
"""

import random
from collections.abc import Iterable

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--shuffle",
        type=int,
        metavar="SEED",
        help="run files, and the tests in each, in an order of chance",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--shuffle") is not None and hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # xdist would put the longest files first


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seed: int | None = config.getoption("--shuffle")
    if seed is not None:
        items[:] = shuffled(items, seed)


def shuffled(items: Iterable[pytest.Item], seed: int) -> list[pytest.Item]:
    by_file: dict[str, list[pytest.Item]] = {}
    for item in sorted(items, key=lambda item: item.nodeid):
        by_file.setdefault(str(item.path), []).append(item)
    chance = random.Random(seed)
    files = list(by_file.values())
    chance.shuffle(files)
    for tests in files:
        chance.shuffle(tests)
    return [item for tests in files for item in tests]
