"""Owns the errors for what an index refuses (ids, names and files), beside the language's own."""

from collections.abc import Mapping


class RefusedExpressionsError(ValueError):
    """Some texts of a bulk insert are no expressions; nothing was changed.

    `errors` maps each of their ids to the language's error.
    """

    def __init__(self, errors: Mapping[int, Exception]) -> None:
        super().__init__(errors)
        self.errors = dict(errors)

    def __str__(self) -> str:
        return "\n".join(f"id {entry_id}: {error}" for entry_id, error in self.errors.items())


class DuplicateIdError(ValueError):
    """An id is inserted that is in the index already; nothing was changed."""


class UnknownIdError(LookupError):
    """An id is deleted or asked for that is not in the index; nothing was changed."""


class UnknownDefinitionError(ValueError):
    """An expression refers to a name that has no definition; nothing was changed."""


class DefinitionCycleError(ValueError):
    """A definition would refer to itself, directly or through others; nothing was changed."""


class SnapshotError(ValueError):
    """A file is not a snapshot that this program can trust."""
