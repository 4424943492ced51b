"""A text in an editor: its errors, completions, hovers, definitions and layout, by offset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sase.api.completion import KnownNames, completions
from sase.binding import OPEN
from sase.binding.script.script import check_script
from sase.binding.values.functions import AGGREGATES, FUNCTIONS
from sase.errors import Diagnostic, QueryError
from sase.lang.completion import WordPlace
from sase.lang.keywords import KEYWORD_MEANINGS
from sase.lang.layout import format_text
from sase.lang.outline import StatementOutline, outline, plain
from sase.lang.scene import token_span, tokens
from sase.source import Span

_MEANINGS = {name.lower(): text for name, text in KEYWORD_MEANINGS.items()}


class ProposedWord(NamedTuple):
    """A word that may replace the begun one, its kind, and its meaning if it has one."""

    word: str
    kind: str
    meaning: str | None
    span: Span


@dataclass(frozen=True)
class QueryDocument:
    """A text and the names of its events."""

    text: str
    names: KnownNames = KnownNames()
    name: str = "query"

    def diagnostics(self) -> list[Diagnostic]:
        """The errors and warnings of `sase check`."""
        schema = self.names.schemas[0] if self.names.schemas else OPEN
        try:
            return check_script(self.text, schema, name=self.name)
        except QueryError as problem:
            return list(problem.diagnostics)

    def formatted(self) -> str | None:
        """The text as `sase format` prints it; None if it does not parse."""
        try:
            return format_text(self.text, self.name)
        except QueryError:
            return None

    def completions(self, offset: int) -> Iterator[ProposedWord]:
        """The words that may come at an offset."""
        place = WordPlace.after(self.text[:offset])
        span = Span(offset - len(place.begun), offset)
        own = self._statement(offset)
        text = self.text if own is None else self.text[slice(*own.span)]
        variables = _types_in(own)
        for word, kind in completions(place, self.names, text):
            shown = "function" if kind == "value" and plain(word) not in variables else kind
            meaning = _meaning(word, shown)
            if kind == "attribute":
                meaning = self._attribute(place.path, plain(word), variables)
            yield ProposedWord(word, shown, meaning, span)

    def hover(self, offset: int) -> tuple[str, Span] | None:
        """The meaning of the word at an offset, and its place."""
        word = self._word(offset)
        if word is None:
            return None
        name, span = word
        place = WordPlace.after(self.text[: span.start])
        variables = _types_in(self._statement(offset))
        if place.kind == "attribute":
            found = self._attribute(place.path, name, variables)
        elif name.lower() in (keyword.lower() for keyword in place.keywords):
            found = _meaning(name, "keyword")
        elif place.kind == "type":
            found = self._type(name)
        elif name in variables:
            found = f"`{name}`: an event of {variables[name] or 'several types'}"
        else:
            found = _meaning(name, "function") or _meaning(name, "keyword")
        return None if found is None else (found, span)

    def definition(self, offset: int) -> Span | None:
        """The place in a pattern that names a variable, or the statement of a stream."""
        word, own = self._word(offset), self._statement(offset)
        if word is None or own is None or self.text[: word[1].start].rstrip().endswith("."):
            return None
        name, span = word
        if any(span == each.span for each in own.sources):
            named = [each.stream for each in self.symbols() if each.stream]
        else:
            named = [*own.variables]
        return next((each.span for each in named if each.name == name), None)

    def symbols(self) -> list[StatementOutline]:
        """The statements with their streams and variables."""
        return outline(self.text)

    def _statement(self, offset: int) -> StatementOutline | None:
        """The statement that begins last before an offset."""
        begun = [each for each in self.symbols() if each.span.start <= offset]
        return begun[-1] if begun else None

    def _word(self, offset: int) -> tuple[str, Span] | None:
        for token in tokens(self.text):
            span = token_span(token)
            if span.start <= offset <= span.end and (token[0].isidentifier() or token[0] == "`"):
                return plain(token), span
        return None

    def _attribute(
        self, path: tuple[str, ...], name: str, variables: Mapping[str, str | None]
    ) -> str | None:
        variable, *steps = path or ("",)
        type_name = variables.get(variable)
        found = self.names.attributes(type_name, tuple(steps)).get(name)
        of = "" if type_name is None else f", an attribute of {type_name}"
        return None if found is None else f"`{'.'.join([*steps, name])}`: {found}{of}"

    def _type(self, name: str) -> str | None:
        columns = self.names.attributes(name)
        if name not in self.names.types:
            return None
        return "\n".join([f"events of type `{name}`", "", *map(_line, columns.items())])


def _types_in(statement: StatementOutline | None) -> dict[str, str | None]:
    """The variables of a statement with their types."""
    return {each.name: each.type for each in statement.variables} if statement else {}


def _line(column: tuple[str, object]) -> str:
    return f"- `{column[0]}`: {column[1]}"


def _meaning(word: str, kind: str) -> str | None:
    """The meaning of a function or a keyword."""
    name = plain(word).lower()
    if kind == "function" and name in FUNCTIONS:
        return f"`{FUNCTIONS[name].form}`: {FUNCTIONS[name].says}"
    if kind == "function" and name in AGGREGATES:
        return f"`{name}(a[].p)`: an aggregate of the events of a series"
    return f"`{word}`: {_MEANINGS[name]}" if kind == "keyword" and name in _MEANINGS else None
