"""Every character in an excerpt: the caret is under it, and an invisible one has a picture."""

from __future__ import annotations

from unicodedata import category

from sase.source import Source, Span

UNSEEN = {"Zs", "Zl", "Zp", "Cc", "Cf", "Cs"}


def test_what_is_above_the_caret() -> None:
    for code in [*range(0x10000), *range(0xE0000, 0xE0200)]:
        character = chr(code)
        is_unseen = category(character) in UNSEEN and character not in " \t"
        # Of the many that are seen every seventh.
        if character in "\n\r" or code > 0x3000 and not is_unseen and code % 7:
            continue
        shown, carets = Source(f"ab{character}cd").excerpt(Span(2, 3))
        assert (shown[carets.index("^")] != character) == is_unseen, hex(code)
