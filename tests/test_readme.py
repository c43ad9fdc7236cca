"""What the README and its pages say is run: examples, the table of settings, commands."""

import doctest
import re
from pathlib import Path

import pytest

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


def test_stays_short() -> None:
    assert len(README.read_text().splitlines()) <= 200
