"""The known name that a misspelled one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 80  # a longer name was not mistyped, it was pasted; and comparing is quadratic


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, or None where none is close."""
    if len(name) > LONGEST:
        return None
    from difflib import get_close_matches  # needed only once something is wrong

    by_folded: dict[str, str] = {}
    for candidate in known:
        by_folded.setdefault(_folded(candidate), candidate)
    cutoff = 0.6 if len(name) > 2 else 0.5
    found = get_close_matches(_folded(name), by_folded, n=1, cutoff=cutoff)
    return by_folded[found[0]] if found else None


def _folded(name: str) -> str:
    return name.casefold().replace("-", "_")


def did_you_mean(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """A hint that proposes the nearest known name, or nothing."""
    found = nearest(name, known)
    return (f"did you mean `{found}`?",) if found is not None else ()
