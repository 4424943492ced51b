"""Completion in cells of `%%sase`: keywords, types, variables, attributes, functions and units."""

from __future__ import annotations

from typing import Any

from IPython.core.completer import SimpleCompletion, context_matcher
from IPython.core.error import UsageError

from sase.api.completion import KnownNames, completions
from sase.errors import SaseError
from sase.lang.completion import WordPlace
from sase.notebook.magics import Magic, is_path

MAGIC, IDENTIFIER = "%%sase", "sase"


def register_completion(shell: Any, magic: Magic) -> None:
    """Add the completion to a shell, in place of an earlier one."""
    kept = dict[tuple[str, int], KnownNames]()

    def matcher(context: Any) -> dict[str, Any]:
        line, *lines = context.full_text.split("\n")
        if not line.startswith(MAGIC) or context.cursor_line == 0:
            return {"completions": [], "suppress": False}
        # Names may differ after each cell that runs.
        key = (line, shell.execution_count)
        if key not in kept:
            kept.clear()
            kept[key] = known_names(shell, magic, line.removeprefix(MAGIC))
        before = [*lines[: context.cursor_line - 1], context.text_until_cursor]
        place = WordPlace.after("\n".join(before))
        words = completions(place, kept[key], "\n".join(lines))
        found = [SimpleCompletion(word, type=kind) for word, kind in words]
        # Words of Python have no meaning in a query.
        return {"completions": found, "suppress": True, "matched_fragment": place.begun}

    matchers = shell.Completer.custom_matchers
    others = [each for each in matchers if getattr(each, "matcher_identifier", "") != IDENTIFIER]
    matchers[:] = [*others, context_matcher(identifier=IDENTIFIER, priority=100)(matcher)]


def known_names(shell: Any, magic: Magic, line: str) -> KnownNames:
    """The names that the events of a line have; none if the line is unfinished or wrong."""
    try:
        given = magic.arguments(line)
        texts, variables = [given["events"], *filter(None, [given.get("types")])], shell.user_ns
        # An expression may have effects, and is only evaluated when the cell runs.
        # A reader can be read once, by the cell itself.
        is_reader = hasattr(variables.get(texts[0]), "read_next_batch")
        known = all(each in variables or is_path(each, variables) for each in texts)
        if known and not is_reader:
            return KnownNames.of(magic.source(given))
    except (UsageError, SaseError):
        pass
    return KnownNames()
