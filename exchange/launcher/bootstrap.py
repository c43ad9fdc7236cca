"""Makes `.venv`, installs the locked dependencies, builds the engine; standard library only.

Run by the system's Python, before anything is installed. Each step leaves a stamp of its inputs in
`.venv` and is skipped while they stay the same. Every foreseeable failure is one line that says
what to do.
"""

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
VENV = CHECKOUT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = CHECKOUT / "requirements.lock"
ENGINE = CHECKOUT / "matcher_ext"
SOURCE_SUFFIXES = {".pyx", ".pxd", ".pxi", ".h", ".hpp", ".cpp", ".c"}
UV_REQUIREMENT = "uv>=0.5,<1"
# Compiles as pip does: else every process that may not write bytecode compiles Django again.
UV_INSTALL = ["pip", "install", "--quiet", "--compile-bytecode", "--python", str(PYTHON)]


class SetupError(Exception):
    """Says how the person at the keyboard can repair what is wrong."""


def main() -> int:
    started = time.monotonic()
    try:
        with one_at_a_time():
            check_build_tools()
            worked = [make_venv(), install_dependencies(), build_engine()]
    except SetupError as problem:
        say(str(problem))
        return 1
    except KeyboardInterrupt:
        return 130
    if any(worked):
        say(f"ready after {time.monotonic() - started:.0f} s")
    return 0


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Locks this very file: two set-ups of one checkout would undo each other's work."""
    with Path(__file__).open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another set-up of this checkout")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def check_build_tools() -> None:
    """Looks for a compiler first: a missing one should not show after minutes of downloads."""
    if is_current("build", engine_digest()):
        return
    compilers = [os.environ.get("CXX", "g++"), "c++", "clang++"]
    if not any(shutil.which(name.split()[0]) for name in compilers if name):
        raise SetupError("no C++ compiler found; on Debian: apt-get install g++ python3-dev")
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(
            f"Python.h of Python {version} is missing; on Debian: apt-get install g++ python3-dev"
        )


def make_venv() -> bool:
    digest = digest_of([], sys.version, sys.base_prefix, str(CHECKOUT))
    if PYTHON.exists() and is_current("venv", digest):
        return False
    say(f"making {VENV.name} with Python {sys.version.split()[0]}")
    # Made without pip: Debian's python3 has no ensurepip unless python3-venv is installed, and uv
    # needs none.
    run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)], "making .venv")
    site_packages().joinpath("treeline-checkout.pth").write_text(f"{CHECKOUT}\n")
    stamp("venv", digest)
    return True


def site_packages() -> Path:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return VENV / "lib" / version / "site-packages"


def install_dependencies() -> bool:
    digest = digest_of([LOCK], sys.version)
    if is_current("install", digest):
        return False
    say(
        "installing the locked dependencies (1.4 GB, most of it Spark: some minutes the first time)"
    )
    run([*installer(), "--require-hashes", "-r", str(LOCK)], "installing dependencies")
    stamp("install", digest)
    return True


def installer() -> list[str]:
    """Finds what installs into `.venv`: uv if it can be had (2 to 3 times as quick), else pip."""
    uv = shutil.which("uv")
    # Asked for its version: a version manager's shim may be on PATH without a uv behind it.
    if uv and succeeds([uv, "--version"]):
        return [uv, *UV_INSTALL]
    pip = pip_command()
    own_uv = VENV / "bin" / "uv"
    if succeeds([*pip, "install", "--quiet", UV_REQUIREMENT]) and succeeds(
        [str(own_uv), "--version"]
    ):
        return [str(own_uv), *UV_INSTALL]
    return [*pip, "install", "--quiet"]


def pip_command() -> list[str]:
    if succeeds([str(PYTHON), "-m", "ensurepip"]):
        return [str(PYTHON), "-m", "pip", "--disable-pip-version-check"]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(PYTHON)]
    raise SetupError("neither uv nor pip found; on Debian: apt-get install python3-venv")


def build_engine() -> bool:
    digest = engine_digest()
    if is_current("build", digest) and all(is_built(source) for source in ENGINE.rglob("*.pyx")):
        return False
    say("building the compiled engine")
    jobs = str(os.cpu_count() or 1)
    log = VENV / "build.log"
    with log.open("wb") as output:
        command = [str(PYTHON), "setup.py", "build_ext", "--inplace", "-j", jobs]
        built = subprocess.run(
            command, cwd=CHECKOUT, stdout=output, stderr=subprocess.STDOUT, check=False
        )
    if built.returncode != 0:
        print(log.read_text(errors="replace"), file=sys.stderr)
        raise SetupError(
            f"the engine does not compile; the compiler's words are above and in {log}"
        )
    stamp("build", digest)
    return True


def is_built(source: Path) -> bool:
    return source.with_name(f"{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}").exists()


def engine_digest() -> str:
    sources = [path for path in ENGINE.rglob("*") if path.suffix in SOURCE_SUFFIXES]
    return digest_of([CHECKOUT / "setup.py", LOCK, *sorted(sources)], sys.version)


def digest_of(files: Iterable[Path], *texts: str) -> str:
    digest = hashlib.sha256("\0".join(texts).encode())
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def is_current(step: str, digest: str) -> bool:
    try:
        return (VENV / f"{step}.stamp").read_text() == digest
    except OSError:
        return False


def stamp(step: str, digest: str) -> None:
    (VENV / f"{step}.stamp").write_text(digest)


def succeeds(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def run(command: list[str], doing: str) -> None:
    if subprocess.run(command, cwd=CHECKOUT, check=False).returncode != 0:
        raise SetupError(f"{doing} failed; its own words are above")


if __name__ == "__main__":
    sys.exit(main())
