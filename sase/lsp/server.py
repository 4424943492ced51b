"""The language server over standard input and output, by pygls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec

from sase.api.completion import KnownNames
from sase.engine.sources.discovered import Discovered
from sase.errors import SaseError
from sase.lsp.document import ProposedWord, QueryDocument
from sase.source import Source, Span

SOURCE = "sase"
TRIGGERS = [".", "[", "`"]
KINDS = {
    "type": lsp.CompletionItemKind.Class,
    "attribute": lsp.CompletionItemKind.Field,
    "value": lsp.CompletionItemKind.Variable,
    "function": lsp.CompletionItemKind.Function,
    "unit": lsp.CompletionItemKind.Unit,
    "keyword": lsp.CompletionItemKind.Keyword,
}
SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
}
# The events of a file of queries, and a message if they cannot be used.
EventsOf = Callable[[Path], tuple[Discovered | None, str | None]]


class _Places:
    """Converts offsets in a text to positions of an editor, which counts in units of its own."""

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self._source, self._codec = Source(text), codec

    def offset(self, position: lsp.Position) -> int:
        """The offset of a position; one behind the end of a line is its end."""
        lines = self._source.text.split("\n")
        if position.line >= len(lines):
            return len(self._source.text)
        line, begin = lines[position.line], sum(len(each) + 1 for each in lines[: position.line])
        place = units = 0
        while place < len(line) and units < position.character:
            units += self._codec.client_num_units(line[place])
            place += 1
        return begin + place

    def position(self, offset: int) -> lsp.Position:
        """The position of an offset."""
        number, column, _ = self._source.position(offset)
        before = self._source.text[offset - column + 1 : offset]
        return lsp.Position(number - 1, self._codec.client_num_units(before))

    def range(self, span: Span) -> lsp.Range:
        """The range of a span."""
        return lsp.Range(self.position(span.start), self.position(span.end))


class QueryServer(LanguageServer):
    """Answers an editor about its open files."""

    def __init__(self, events_of: EventsOf, version: str) -> None:
        super().__init__(SOURCE, version)
        self._events_of = events_of
        self._shown = set[str]()

    def document(self, uri: str, *, has_types: bool = True) -> tuple[QueryDocument, _Places]:
        """An open text with the names of its events; looking up types may search the events."""
        opened = self.workspace.get_text_document(uri)
        path = Path(to_fs_path(uri) or opened.filename or uri)
        source, problem = self._events_of(path)
        if problem is not None and problem not in self._shown:
            self._shown.add(problem)
            self.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, problem))
        names = KnownNames() if source is None else KnownNames((), (source.schema,))
        if source is not None and has_types:
            with suppress(SaseError):  # types take too long; other names can be proposed
                names = _names(source)
        places = _Places(opened.source, self.workspace.position_codec)
        return QueryDocument(opened.source, names, path.name), places

    def publish(self, uri: str) -> None:
        """Send the errors and warnings of a text."""
        document, places = self.document(uri, has_types=False)
        found = [
            lsp.Diagnostic(
                range=places.range(each.span),
                message="\n".join([each.message, *each.hints]),
                severity=SEVERITIES[each.severity],
                code=each.code,
                source=SOURCE,
            )
            for each in document.diagnostics()
        ]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found))


@lru_cache(8)
def _names(source: Discovered) -> KnownNames:
    return KnownNames.of(source)


def serve(events_of: EventsOf, version: str) -> None:
    """Answer an editor on standard input and output until it leaves."""
    server = QueryServer(events_of, version)
    _add_checks(server)
    _add_answers(server)
    # pygls closes the output that it writes to; standard output must stay open.
    with open(sys.stdout.fileno(), "wb", closefd=False) as output:
        server.start_io(stdout=output)


def _add_checks(server: QueryServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def did_open(given: lsp.DidOpenTextDocumentParams) -> None:
        server.publish(given.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(given: lsp.DidChangeTextDocumentParams) -> None:
        server.publish(given.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def did_save(given: lsp.DidSaveTextDocumentParams) -> None:
        server.publish(given.text_document.uri)  # the schema may have changed

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(given: lsp.DidCloseTextDocumentParams) -> None:
        closed = lsp.PublishDiagnosticsParams(given.text_document.uri, [])
        server.text_document_publish_diagnostics(closed)


def _add_answers(server: QueryServer) -> None:
    @server.feature(
        lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=TRIGGERS)
    )
    def completion(given: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        document, places = server.document(given.text_document.uri)
        return [
            _item(number, each, places)
            for number, each in enumerate(document.completions(places.offset(given.position)))
        ]

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(given: lsp.HoverParams) -> lsp.Hover | None:
        document, places = server.document(given.text_document.uri)
        found = document.hover(places.offset(given.position))
        if found is None:
            return None
        text, span = found
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text), places.range(span))

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(given: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        document, places = server.document(given.text_document.uri, has_types=False)
        new = document.formatted()
        if new is None or new == document.text:
            return []
        return [lsp.TextEdit(places.range(Span(0, len(document.text))), new)]

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(given: lsp.DefinitionParams) -> lsp.Location | None:
        document, places = server.document(given.text_document.uri, has_types=False)
        span = document.definition(places.offset(given.position))
        return None if span is None else lsp.Location(given.text_document.uri, places.range(span))

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(given: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        document, places = server.document(given.text_document.uri, has_types=False)
        return [
            lsp.DocumentSymbol(
                name=each.name,
                kind=lsp.SymbolKind.Class if each.stream else lsp.SymbolKind.Function,
                range=places.range(each.span),
                selection_range=places.range(each.stream.span if each.stream else each.span),
                children=[
                    lsp.DocumentSymbol(
                        name=variable.name,
                        kind=lsp.SymbolKind.Variable,
                        range=places.range(variable.span),
                        selection_range=places.range(variable.span),
                        detail=variable.type,
                    )
                    for variable in each.variables
                ],
            )
            for each in document.symbols()
        ]


def _item(number: int, proposed: ProposedWord, places: _Places) -> lsp.CompletionItem:
    """A completion; the order of the proposals is kept."""
    return lsp.CompletionItem(
        label=proposed.word,
        kind=KINDS[proposed.kind],
        documentation=proposed.meaning,
        sort_text=f"{number:04}",
        text_edit=lsp.TextEdit(places.range(proposed.span), proposed.word),
    )
