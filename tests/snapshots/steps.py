"""What tests of snapshots do and ask, again and again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from django.utils import timezone

from exchange.launcher.processes import Running
from exchange.serving.directory import SnapshotDirectory
from exchange.serving.eligibility import EligibilityService
from exchange.snapshots.models import SnapshotBuild
from exchange.snapshots.services import STALE_AFTER, run_build
from tests import waiting

AMERICAN: dict[str, object] = {"geo.country": "USA", "user.age": 30}
GERMAN: dict[str, object] = {"geo.country": "DEU", "user.age": 30}


class Server:
    """A server process's view of the directory, without the waiting."""

    def __init__(self, directory: SnapshotDirectory) -> None:
        self.service = EligibilityService(directory.root)

    def ask(self, visit: dict[str, object], publisher: str = "daily-herald") -> list[int]:
        self.service.refresh()
        answer = self.service.answer(publisher, visit).document()
        return [item["booking_id"] for item in answer["eligible"]]

    def item(self, publisher: str = "daily-herald") -> dict[str, object]:
        self.service.refresh()
        answer = self.service.answer(publisher, AMERICAN).document()
        first: dict[str, object] = answer["eligible"][0]
        return first

    def names(self) -> list[str]:
        """Names the campaigns that an American at the Herald may be shown."""
        self.service.refresh()
        if self.service.live is None:
            return []
        answer = self.service.answer("daily-herald", AMERICAN).document()
        return [str(item["campaign"]) for item in answer["eligible"]]

    @property
    def number(self) -> int:
        self.service.refresh()
        assert self.service.live
        return self.service.live.delta


def build() -> SnapshotBuild:
    """Builds without a message: a worker that shares the directory would begin it before we do."""
    waiting = SnapshotBuild.objects.filter(status=SnapshotBuild.Status.QUEUED).first()
    queued = waiting or SnapshotBuild.objects.create()
    assert run_build(build_id=queued.pk)
    queued.refresh_from_db()
    return queued


def eligible(directory: SnapshotDirectory, visit: dict[str, object], seller_id: str) -> list[int]:
    return Server(directory).ask(visit, seller_id)


def served_names(directory: SnapshotDirectory) -> list[str]:
    return Server(directory).names()


def make_stale(build: SnapshotBuild) -> None:
    long_ago = timezone.now() - STALE_AFTER - timedelta(seconds=1)
    SnapshotBuild.objects.filter(pk=build.pk).update(heartbeat_at=long_ago)


def is_over(build: SnapshotBuild) -> bool:
    build.refresh_from_db()
    return build.is_over


def wait_until(is_so: Callable[[], bool], worker: Running) -> None:
    waiting.wait_until(is_so, why=lambda: worker.last_lines(60), look_every=0.002)
