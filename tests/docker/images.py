"""Builds our images and runs commands in them without a Docker engine: buildah, in chroots.

The base image is a Debian made by debootstrap, because no registry of images may be in reach. Where
packages come from is what this machine has configured for itself; it stays in the base image, which
is removed with everything else.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from exchange.launcher.processes import RUN_MARK, Program
from tests.docker.compose import CHECKOUT

SUITE = "bookworm"
BASE = "localhost/treeline-test-python"
BASE_PACKAGES = ["python3", "python3-dev", "python3-pip", "python3-venv", "ca-certificates"]
CERTIFICATES = "etc/ssl/certs/ca-certificates.crt"
PACKAGE_INDEXES = ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"]
TOOLS = ["buildah", "debootstrap"]
ACCOUNT = 10001  # the Dockerfile's `treeline`


def require_tools() -> None:
    """Fails with what to do: a skipped test would look as if the images had been built."""
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        pytest.fail(
            f"the images cannot be built without {' and '.join(missing)}; on Debian: "
            f"apt-get install --no-install-recommends {' '.join(missing)}"
        )
    if os.geteuid() != 0:
        pytest.fail("the images can be built here by root alone: debootstrap and chroot need it")


@dataclass(frozen=True, slots=True)
class ImageStore:
    """Images and containers in a folder of their own."""

    folder: Path

    @classmethod
    @contextmanager
    def opened(cls) -> Iterator[ImageStore]:
        """Opens a store that is removed afterwards, unless `TREELINE_TEST_IMAGES` names a folder:
        then the next run builds only what has changed."""
        kept = os.environ.get("TREELINE_TEST_IMAGES")
        # Not in pytest's folder, which keeps the last three: it grows to gigabytes.
        store = cls(Path(kept or tempfile.mkdtemp(prefix="treeline-images-")))
        try:
            yield store
        finally:
            if not kept:
                store.buildah("rm", "--all")
                store.buildah("rmi", "--all", "--force")
                shutil.rmtree(store.folder)

    def command(self, *words: str) -> list[str]:
        own = ["--root", str(self.folder / "root"), "--runroot", str(self.folder / "run")]
        return ["buildah", *own, *words]

    def buildah(self, *words: str) -> str:
        done = subprocess.run(
            self.command(*words), capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode != 0:
            lines = (done.stdout + done.stderr).splitlines()[-60:]
            pytest.fail("\n".join([f"buildah {' '.join(words)}", *lines]))
        return done.stdout.strip()

    def make_base(self) -> None:
        """Makes a base like the Dockerfile's own: Debian with `python` and `pip`."""
        if self.buildah("images", "--quiet", "--filter", f"reference={BASE}"):
            return
        container = self.buildah("from", "scratch")
        root = Path(self.buildah("mount", container))
        options = ["--variant=minbase", f"--include={','.join(BASE_PACKAGES)}"]
        made = subprocess.run(
            ["debootstrap", *options, SUITE, str(root), *debian_mirror()],
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stdout[-3000:] + made.stderr[-3000:]
        (root / "usr/bin/python").symlink_to("python3")
        for mark in root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"):
            mark.unlink()
        environment = configure_packages(root)
        self.buildah("umount", container)
        settings = [word for pair in environment.items() for word in ("--env", "=".join(pair))]
        self.buildah("config", *settings, container)
        self.buildah("commit", "--rm", container, BASE)

    def build(self, target: str) -> str:
        image = f"localhost/treeline-test-{target}"
        dockerfile = CHECKOUT / "docker" / "Dockerfile"
        self.buildah(
            *["bud", "--isolation", "chroot", "--pull-never", "--layers", "--format", "docker"],
            *["--ignorefile", f"{dockerfile}.dockerignore", "--file", str(dockerfile)],
            *["--build-arg", f"PYTHON_IMAGE={BASE}", "--target", target, "--tag", image],
            str(CHECKOUT),
        )
        return image

    def megabytes(self, image: str) -> float:
        """Gives an image's size with everything below it, as a registry counts it unpacked."""
        size = self.buildah("inspect", "--type", "image", "--format", "{{.FromImageID}}", image)
        listed = self.buildah("images", "--format", "{{.ID}} {{.Size}}", "--no-trunc")
        (found,) = [line.split()[1:] for line in listed.splitlines() if size in line.split()[0]]
        factor = {"GB": 1000.0, "MB": 1.0}[found[1]]
        return float(found[0]) * factor

    def container(self, image: str, *, hostname: str, volume: Path, hosts: list[str]) -> Container:
        named = [
            word for host in (hostname, *hosts) for word in ("--add-host", f"{host}:127.0.0.1")
        ]
        name = self.buildah("from", "--pull-never", *named, image)
        return Container(self, name, hostname, volume)


@dataclass(frozen=True, slots=True)
class Container:
    """A container of one image; it shares this machine's network and processes."""

    store: ImageStore
    name: str
    hostname: str
    volume: Path

    def remove(self) -> None:
        self.store.buildah("rm", self.name)

    def command(self, argv: list[str], environment: Mapping[str, str]) -> list[str]:
        settings = [word for pair in environment.items() for word in ("--env", "=".join(pair))]
        return self.store.command(
            *["run", "--isolation", "chroot", "--hostname", self.hostname],
            *["--volume", f"{self.volume}:/var/lib/treeline"],
            *[*settings, self.name, "--", *argv],
        )

    def run(
        self, argv: list[str], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(argv, environment),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=600,
        )

    def program(
        self, name: str, argv: list[str], environment: Mapping[str, str], *, logs: Path
    ) -> Program:
        return Program(
            name=name,
            argv=self.command(argv, environment),
            environment={**os.environ, RUN_MARK: environment[RUN_MARK]},
            log=logs / f"{name}.log",
            folder=CHECKOUT,
            patience_seconds=30,
        )


def debian_mirror() -> list[str]:
    """Finds where this machine gets the suite from; debootstrap knows a place if that is
    nowhere."""
    form = ["--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"]
    listed = subprocess.run(
        ["apt-get", "indextargets", *form], capture_output=True, text=True, check=False
    )
    found = [line.split()[0] for line in listed.stdout.splitlines() if line.split()[1:] == [SUITE]]
    return found[:1]


def configure_packages(root: Path) -> dict[str, str]:
    """Lets apt, pip and uv in the image reach what they reach here; gives their environment."""
    proxies = subprocess.run(
        ["apt-config", "dump", "Acquire::http"], capture_output=True, text=True, check=False
    )
    (root / "etc/apt/apt.conf.d/99here").write_text(proxies.stdout)
    trusted = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile
    if trusted and Path(trusted).is_file():
        shutil.copyfile(trusted, root / CERTIFICATES)
    here = {name: os.environ[name] for name in PACKAGE_INDEXES if os.environ.get(name)}
    if "PIP_INDEX_URL" in here:
        here.setdefault("UV_DEFAULT_INDEX", here["PIP_INDEX_URL"])
    names = ["SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE"]
    return here | dict.fromkeys(names, f"/{CERTIFICATES}")
