"""Makes a short-lived private folder for sockets and, where needed, copies of the servers'
binaries.

Servers refuse to run as root, so root's servers run as `nobody`. That user cannot enter a checkout
below a 0700 home: what it must execute is then copied here. The folder's name is random, its mode
0700.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from exchange.launcher.processes import Account

PREFIX = "treeline-"
# A unix socket's path may have 107 bytes: ours has about 25 more than the folder's own.
MAX_PATH_BYTES = 80


@dataclass(frozen=True, slots=True)
class RunFolder:
    """A folder of the servers' account; removed by whoever made it, or by the next start."""

    path: Path
    account: Account | None

    @classmethod
    def create(cls) -> Self:
        account = server_account()
        parent = Path(tempfile.gettempdir())
        if len(os.fsencode(parent)) > MAX_PATH_BYTES - 20:
            parent = Path("/tmp")  # noqa: S108  (mkdtemp makes a private folder in it)
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        if account:
            os.chown(path, account.uid, account.gid)
        return cls(path, account)

    def make_executable(self, source: Path, *, program: str) -> Path:
        """Finds `source`, or makes a copy whose `program` the servers' account can run."""
        if self._can_run(source / program):
            return source
        copy = self.adopt(source)
        if not self._can_run(copy / program):
            raise PermissionError(
                f"{copy / program} cannot be run: is {copy.parent} mounted noexec?"
            )
        return copy

    def adopt(self, source: Path) -> Path:
        """Makes a copy that belongs to the servers' account, without what only compilers read."""
        copy = self.path / source.name
        if not copy.exists():
            shutil.copytree(
                source, copy, ignore=shutil.ignore_patterns("*.a", "include", "pginstall")
            )
            self._give_away(copy)
        return copy

    def write_private(self, name: str, text: str) -> Path:
        path = self.path / name
        path.touch(mode=0o600)
        path.write_text(text)
        self._give_away(path)
        return path

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def _can_run(self, program: Path) -> bool:
        account = self.account
        try:
            tried = subprocess.run(
                [program, "--version"],
                capture_output=True,
                cwd="/",
                check=False,
                user=account.uid if account else None,
                group=account.gid if account else None,
                extra_groups=[] if account else None,
            )
        except PermissionError:
            return False
        return tried.returncode == 0

    def _give_away(self, top: Path) -> None:
        if self.account:
            for path in [top, *top.rglob("*")]:
                os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)


def server_account() -> Account | None:
    """Finds the account that servers run as; None: our own."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody")
    return Account(nobody.pw_uid, nobody.pw_gid)


def make_private_folder(path: Path, account: Account | None) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.chmod(0o700)
    if account:
        os.chown(path, account.uid, account.gid)
