"""What the README says is run: its examples, its settings table, its commands and its folders."""

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SETTING = re.compile(r'env_(?:text|bool|int|list|path)\(\s*"([A-Z_]+)"')


def test_examples_give_what_they_show() -> None:
    failed, attempted = doctest.testfile(
        str(README),
        module_relative=False,
        optionflags=doctest.IGNORE_EXCEPTION_DETAIL,
    )
    assert attempted >= 8
    assert failed == 0


def test_names_every_setting_that_is_read() -> None:
    read = set(SETTING.findall((ROOT / "exchange" / "settings.py").read_text()))
    named = set(re.findall(r"`([A-Z_]+)`", README.read_text()))
    assert "TREELINE_MODE" in read
    assert read <= named


def test_names_only_commands_that_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"\bmake ([a-z]+)", README.read_text()))
    assert {"run", "test", "check"} <= named
    assert named <= targets


def test_names_only_folders_that_exist() -> None:
    table = README.read_text().split("## Where things live")[1].split("##")[0]
    folders = re.findall(r"`([a-z_]+)/`", table)
    assert len(folders) >= 8
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_stays_short() -> None:
    assert len(README.read_text().splitlines()) <= 200
