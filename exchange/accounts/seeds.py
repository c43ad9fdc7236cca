"""Draws secrets that a form makes once, however often it is sent.

A page whose form makes a secret carries a token. The secret is drawn from the token and from what
was filled in: a second click, or a form that is sent again, draws the same one, and a constraint
tells that it is there already. Nothing of it is kept, so nobody without the page draws it again; a
form that was filled in otherwise draws another one.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Sequence
from datetime import timedelta
from hashlib import sha256

from django.core.signing import BadSignature, Signer

from exchange.accounts.models import User

TOKEN_BYTES = 32
TOKEN_FIELD = "form_token"  # noqa: S105  (a name)
# A form that is sent twice by mistake is sent at once; later its secret is not shown again.
SHOWN_AGAIN = timedelta(minutes=10)

Filled = Iterable[tuple[str, Sequence[object]]]


def new_token(by: User) -> str:
    return signer_of(by).sign(secrets.token_urlsafe(TOKEN_BYTES))


def read_seed(*, token: str, by: User, filled: Filled) -> bytes | None:
    """Makes the seed of a filled form; None without a token of ours that was given to this person:
    then nothing is drawn twice."""
    try:
        signer_of(by).unsign(token)
    except BadSignature:
        return None
    content = repr(sorted((name, list(map(str, values))) for name, values in filled))
    return hmac.digest(token.encode(), content.encode(), sha256)


def signer_of(by: User) -> Signer:
    return Signer(salt=f"{TOKEN_FIELD}.{by.pk}")


def draw_secret(seed: bytes | None, byte_count: int) -> str:
    """Writes the secret as `secrets.token_urlsafe` does."""
    if seed is None:
        return secrets.token_urlsafe(byte_count)
    return urlsafe_b64encode(seed[:byte_count]).rstrip(b"=").decode()
