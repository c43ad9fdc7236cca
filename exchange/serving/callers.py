"""Knows who asks: the API keys of the snapshot directory, in memory, and what each may ask for.

The key decides on publishers; a request only chooses among them, and a visit has no say at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from exchange.serving.directory import KeyEntry, hash_key
from exchange.serving.problems import ProblemError
from matcher_ext.serving import Pass

ELIGIBILITY_READ = "eligibility:read"
EXPLAIN_READ = "explain:read"
SNAPSHOT_READ = "snapshot:read"
KEY_SCHEME = "Api-Key "
MOST_REMEMBERED = 10_000


class Caller(Pass):
    """A key, as its requests see it."""

    def __init__(self, key_hash: str, entry: KeyEntry) -> None:
        super().__init__(
            key_hash,
            frozenset(entry.publishers),
            entry.expires_at.timestamp(),
            ELIGIBILITY_READ in entry.scopes,
        )
        self.scopes = frozenset(entry.scopes)

    def choose_publisher(self, named: str | None) -> str:
        if named is None:
            if len(self.publishers) == 1:
                return next(iter(self.publishers))
            raise ProblemError(
                HTTPStatus.BAD_REQUEST,
                "publisher_needed",
                "Your key covers several publishers: name one in `publisher`.",
            )
        if named not in self.publishers:
            raise ProblemError(
                HTTPStatus.FORBIDDEN,
                "publisher_not_allowed",
                "Your key does not cover this publisher.",
            )
        return named


class KeyRing:
    """The keys as they are; new keys are a new ring. A header whose key was found is remembered, so
    that the key is hashed once and not with every request."""

    def __init__(self, entries: Mapping[str, KeyEntry]) -> None:
        self._callers = {key_hash: Caller(key_hash, entry) for key_hash, entry in entries.items()}
        self.passes: dict[str, Caller] = {}

    def find(self, header: str, now: float) -> Caller:
        """Finds whom the key of a header belongs to; raises the problem to answer with if it is of
        no use."""
        caller = self.passes.get(header)
        if caller is None:
            caller = self._callers.get(hash_key(read_key(header)))
            if caller is None:
                raise unauthorized("The API key is not known, or was revoked.")
            # Remembers our spelling only: blanks around a key would make any number of headers.
            is_plain = header == KEY_SCHEME + read_key(header)
            if is_plain and len(self.passes) < MOST_REMEMBERED:
                self.passes[header] = caller
        if caller.expires_at_seconds <= now:
            raise unauthorized("The API key has expired.")
        return caller


def read_key(header: str) -> str:
    """Reads the key from the header `Authorization`."""
    if not header.startswith(KEY_SCHEME):
        raise unauthorized("Send the header `Authorization: Api-Key <your key>`.")
    return header[len(KEY_SCHEME) :].strip()


def require_scope(caller: Caller, scope: str) -> None:
    if scope not in caller.scopes:
        raise ProblemError(
            HTTPStatus.FORBIDDEN, "scope_missing", f"Your key lacks the scope {scope}."
        )


def unauthorized(detail: str) -> ProblemError:
    return ProblemError(
        HTTPStatus.UNAUTHORIZED,
        "bad_key",
        detail,
        headers={"WWW-Authenticate": 'Api-Key realm="eligibility"'},
    )
