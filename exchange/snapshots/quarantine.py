"""Keeps expressions that no longer compile out, with their reason; serves their last good form.

The last good form is the newest revision that compiles today: nothing else is kept for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from django.db import transaction

from exchange.market.models import Audience, Campaign, Edge
from exchange.snapshots.models import ChangeKind, Quarantined
from exchange.snapshots.texts import Compiled, Readable
from targeting import ExpressionError

MAX_REVISIONS = 50
MODELS = {
    ChangeKind.AUDIENCE: Audience,
    ChangeKind.CAMPAIGN: Campaign,
    ChangeKind.EDGE: Edge,
}

Key = tuple[ChangeKind, int]
FormerTexts = Callable[[ChangeKind, int], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Finding:
    reason: str
    has_good_form: bool


def no_former_texts(_kind: ChangeKind, _object_id: int) -> Iterable[str]:
    return ()


def read_former_texts(kind: ChangeKind, object_id: int) -> Iterable[str]:
    """Reads an object's revisions, the newest first, also those since the market was read."""
    rows = MODELS[kind].pgh_event_model.objects  # type: ignore[attr-defined]  # pghistory's
    rows = rows.filter(pgh_obj_id=object_id).order_by("-pgh_id")
    texts: list[str] = list(rows.values_list("expression", flat=True)[:MAX_REVISIONS])
    return texts


@dataclass(slots=True)
class Quarantine:
    """What one build or delta found, good and bad. Not thread-safe."""

    former_texts: FormerTexts = no_former_texts
    found: dict[Key, Finding] = field(default_factory=dict)
    healthy: set[Key] = field(default_factory=set)

    def compile(
        self,
        kind: ChangeKind,
        object_id: int,
        text: str,
        compile_text: Callable[[str], Readable],
    ) -> Compiled:
        """Compiles a text. An error is a value here: it becomes the reason of every booking that
        needs the text."""
        try:
            compiled = compile_text(text)
        except ExpressionError as error:
            good = self._find_good(kind, object_id, text, compile_text)
            self.found[kind, object_id] = Finding(str(error), good is not None)
            return error if good is None else good
        self.healthy.add((kind, object_id))
        return compiled

    def _find_good(
        self,
        kind: ChangeKind,
        object_id: int,
        text: str,
        compile_text: Callable[[str], Readable],
    ) -> Readable | None:
        texts = list(self.former_texts(kind, object_id))
        if text in texts:  # what was saved later is not former: a snapshot is of one moment
            texts = texts[texts.index(text) + 1 :]
        for former in dict.fromkeys(texts):
            try:
                return compile_text(former)
            except ExpressionError:
                continue
        return None


@transaction.atomic
def record_quarantine(quarantine: Quarantine, *, is_complete: bool) -> None:
    """Records what was found: a build looked at all (`is_complete`), a delta at what changed."""
    known = {(ChangeKind(row.kind), row.object_id): row for row in Quarantined.objects.all()}
    for (kind, object_id), finding in quarantine.found.items():
        Quarantined.objects.update_or_create(
            kind=kind,
            object_id=object_id,
            defaults={"reason": finding.reason, "has_good_form": finding.has_good_form},
        )
    for key, row in known.items():
        if key not in quarantine.found and (is_complete or key in quarantine.healthy):
            row.delete()
