"""Sign documents with a key of the user's, and verify them: HMAC with SHA-256."""

from __future__ import annotations

import hmac
from hashlib import sha256

from sase.errors import SaseError

# The fewest bytes of a key: all shorter keys can be tried.
FEWEST = 16


def signature(content: bytes, key: bytes, error: type[SaseError]) -> bytes:
    """Return the signature of a content; an invalid key raises an error of this class."""
    if not isinstance(key, bytes | bytearray) or len(key) < FEWEST:
        found = f"{len(key)} bytes" if isinstance(key, bytes | bytearray) else type(key).__name__
        raise error(
            f"a key is at least {FEWEST} bytes, such as  secrets.token_bytes(32)  , and not {found}"
        )
    return hmac.digest(key, content, sha256)


def verify(
    what: str, content: bytes, found: bytes | None, key: bytes, error: type[SaseError]
) -> None:
    """Raise unless the signature of a content exists and was made with this key."""
    expected = signature(content, key, error)
    if found is None:
        raise error(f"this {what} is not signed, and a key was given: sign it where it is written")
    if not hmac.compare_digest(expected, found):
        raise error(
            f"the signature of this {what} does not fit the key: it was signed with another key, or"
            " changed after it was signed"
        )
