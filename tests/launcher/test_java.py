"""Which Java is exported, without starting any but the one from the wheel."""

import subprocess
from pathlib import Path

import pytest

from exchange.launcher import java


def make_home(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").touch(mode=0o755)
    (folder / "release").write_text(f'IMPLEMENTOR="Somebody"\nJAVA_VERSION="{version}"\n')
    return folder


def test_takes_the_java_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = make_home(tmp_path / "named", "21.0.1")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert java.find_java_home() == home


def test_takes_the_java_on_path_when_the_named_one_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_home(tmp_path / "old", "1.8.0_392")))
    on_path = make_home(tmp_path / "new", "17.0.15")
    monkeypatch.setenv("PATH", str(on_path / "bin"))
    assert java.find_java_home() == on_path


def test_brings_its_own_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    home = java.find_java_home()
    # Spark passes this module's name to every Java; the trimmed one would refuse to start.
    command = [str(home / "bin/java"), "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"]
    started = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "25." in started.stderr


def test_says_what_to_install_when_there_is_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(java.JavaMissingError, match="apt-get install openjdk"):
        java.find_java_home()
