"""Text from outside: files have an end, where a device or a wrong file may have none."""

from __future__ import annotations

from errno import EFBIG
from pathlib import Path
from typing import IO

# Bytes of a file of text, and characters of a query: one that long takes some GB to parse.
MOST = 16 << 20


def read_text(path: Path) -> str:
    """The text of a file in UTF-8; an OSError or a UnicodeDecodeError says why there is none."""
    with path.open("rb") as file:
        return read_all(file).decode("utf-8")


def is_unicode(text: str) -> bool:
    """Whether a text can be written as UTF-8: it has no surrogates, which other bytes become."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_all(file: IO[bytes]) -> bytes:
    """All of a file, or an OSError if it is longer than texts are; no more is read of it."""
    content = file.read(MOST + 1)
    if len(content) > MOST:
        raise OSError(EFBIG, f"it has more than {MOST >> 20} MiB, and no text is so long")
    return content
