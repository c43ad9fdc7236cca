"""What the README and its pages say is run: examples, the table of settings, commands."""

import doctest
import json
import re
from pathlib import Path

import pytest

from exchange.serving.bookings import Item

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SETTINGS_PAGE = ROOT / "docs" / "settings.md"
SETTING = re.compile(r'env_(?:text|bool|int|list|path)\(\s*"([A-Z_]+)"')


@pytest.mark.parametrize(("page", "least"), [("README.md", 8), ("matcher_ext/README.md", 6)])
def test_examples_give_what_they_show(page: str, least: int) -> None:
    failed, attempted = doctest.testfile(
        str(ROOT / page),
        module_relative=False,
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL,
    )
    assert attempted >= least
    assert failed == 0


def test_names_every_setting_that_is_read() -> None:
    read = set(SETTING.findall((ROOT / "exchange" / "settings.py").read_text()))
    named = set(re.findall(r"`([A-Z_]+)`", SETTINGS_PAGE.read_text()))
    assert "TREELINE_MODE" in read
    assert read <= named


def test_names_only_commands_that_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)", README.read_text()))
    assert {"run", "test", "check"} <= named
    assert named <= targets


def test_shows_an_answer_as_servers_write_it() -> None:
    (text,) = re.findall(r"```json\n(.*?)```", README.read_text(), re.DOTALL)
    (item,) = json.loads(text)["eligible"]
    assert list(item) == [*Item.__struct_fields__, "path"]


def test_stays_short() -> None:
    assert len(README.read_text().splitlines()) <= 200
