"""The language server as an editor uses it: a client of pygls over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from sase.cli.main import main
from tests.repo.source import ROOT

lsp = pytest.importorskip("lsprotocol.types", reason="pygls is missing: see `dev` in setup.cfg")

pytestmark = pytest.mark.slow
SCHEMA = f'[run]\nschema = "{ROOT / "examples" / "retail.toml"}"\n'


class Editor:
    """A client with one open text."""

    def __init__(self, client: Any, uri: str) -> None:
        self.client, self.uri, self.version = client, uri, 1
        self.published: asyncio.Queue[Any] = asyncio.Queue()
        self.shown: list[str] = []

    @property
    def document(self) -> Any:
        return lsp.TextDocumentIdentifier(self.uri)

    async def open(self, text: str) -> list[Any]:
        """Open a text; its diagnostics."""
        item = lsp.TextDocumentItem(self.uri, "sase", self.version, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return await self.diagnostics()

    async def change(self, *changes: Any) -> list[Any]:
        """Change the text; its diagnostics."""
        self.version += 1
        name = lsp.VersionedTextDocumentIdentifier(uri=self.uri, version=self.version)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(name, [*changes]))
        return await self.diagnostics()

    async def diagnostics(self) -> list[Any]:
        found = await asyncio.wait_for(self.published.get(), 60)
        assert found.uri == self.uri
        return list(found.diagnostics)

    async def completed(self, line: int, character: int) -> list[Any]:
        position = lsp.Position(line, character)
        given = lsp.CompletionParams(self.document, position)
        found = await self.client.text_document_completion_async(given)
        return list(found)


def edited(folder: Path, use: Callable[[Editor], Awaitable[None]]) -> None:
    """Start a server for a file in a folder, use it, and end it."""

    async def run() -> None:
        from pygls.lsp.client import LanguageClient

        ended: list[tuple[int | None, bytes]] = []

        class Client(LanguageClient):
            async def server_exit(self, server: Any) -> None:
                ended.append((server.returncode, await server.stderr.read()))

        client = Client("test", "1")
        editor = Editor(client, (folder / "q.sase").as_uri())

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(given: Any) -> None:
            editor.published.put_nowait(given)

        @client.feature(lsp.WINDOW_SHOW_MESSAGE)
        def shown(given: Any) -> None:
            editor.shown.append(given.message)

        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        await client.start_io(sys.executable, "-m", "sase", "lsp", env=environment, cwd=str(folder))
        given = lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), process_id=os.getpid())
        answer = await asyncio.wait_for(client.initialize_async(given), 60)
        assert answer.server_info.name == "sase"
        client.initialized(lsp.InitializedParams())
        try:
            await use(editor)
        finally:
            await client.shutdown_async(None)
            client.exit(None)
            await client.stop()
        assert ended == [(0, b"")]

    asyncio.run(run())


def test_errors_while_typing(tmp_path: Path) -> None:
    (tmp_path / "sase.toml").write_text(SCHEMA, encoding="utf-8")

    async def use(editor: Editor) -> None:
        # The sign outside of the plane of most signs counts twice for an editor.
        line = "EVENT SHELF-READING /* 😋 */ x WHERE x.wight > 1"
        (found,) = await editor.open(f"-- 😋\n{line}\n")
        assert (found.code, found.source) == ("unknown-attribute", "sase")
        assert found.severity == lsp.DiagnosticSeverity.Error
        assert "did you mean `weight`?" in found.message
        assert found.range.start.line == 1
        assert found.range.start.character == line.index("wight") + 1
        assert found.range.end.character == line.index("wight") + 6
        change = lsp.TextDocumentContentChangePartial(range=found.range, text="weight")
        assert await editor.change(change) == []
        whole = lsp.TextDocumentContentChangeWholeDocument(text="EVENT SEQ(A a")
        (found,) = await editor.change(whole)
        assert found.code == "unclosed-bracket"
        closed = lsp.DidCloseTextDocumentParams(editor.document)
        editor.client.text_document_did_close(closed)
        assert await editor.diagnostics() == []

    edited(tmp_path, use)


TEXT = (
    "CREATE STREAM s AS EVENT SHELF-READING x RETURN S(x.tag_id AS t);\nFROM s EVENT S y WHERE y."
)


def test_answers(tmp_path: Path) -> None:
    (tmp_path / "sase.toml").write_text(SCHEMA, encoding="utf-8")

    async def use(editor: Editor) -> None:
        await editor.open(TEXT)
        words = await editor.completed(0, TEXT.index("READING"))
        (word,) = [each for each in words if each.label == "SHELF-READING"]
        assert word.kind == lsp.CompletionItemKind.Class
        assert word.text_edit.range.start.character == TEXT.index("SHELF")
        position = lsp.Position(0, TEXT.index("tag_id") + 1)
        hover = await editor.client.text_document_hover_async(
            lsp.HoverParams(editor.document, position)
        )
        assert hover.contents.value == "`tag_id`: integer, an attribute of SHELF-READING"
        assert hover.range.end.character - hover.range.start.character == len("tag_id")
        found = await editor.client.text_document_definition_async(
            lsp.DefinitionParams(editor.document, lsp.Position(1, 5))
        )
        assert (found.range.start.line, found.range.start.character) == (0, len("CREATE STREAM "))
        symbols = await editor.client.text_document_document_symbol_async(
            lsp.DocumentSymbolParams(editor.document)
        )
        assert [each.name for each in symbols] == ["s", "query_2"]
        assert [each.name for each in symbols[1].children] == ["y"]
        options = lsp.FormattingOptions(tab_size=4, insert_spaces=True)
        given = lsp.DocumentFormattingParams(editor.document, options)
        assert not await editor.client.text_document_formatting_async(given)
        await editor.change(lsp.TextDocumentContentChangeWholeDocument(text="event A a"))
        (edit,) = await editor.client.text_document_formatting_async(given)
        assert edit.new_text == "EVENT A a\n"

    edited(tmp_path, use)


def test_events_and_changes_of_the_options(tmp_path: Path) -> None:
    config = tmp_path / "sase.toml"
    config.write_text("[run]\nevents = 'e.csv'\n", encoding="utf-8")

    async def use(editor: Editor) -> None:
        text = "EVENT SEQ(A a, B b) WHERE a.prise > 1"
        assert await editor.open(text) == []
        assert "e.csv: there is no such file" in editor.shown[0]
        (tmp_path / "e.csv").write_text("ts,type,price\n1,A,1\n2,B,2\n", encoding="utf-8")
        saved = lsp.DidSaveTextDocumentParams(editor.document)
        editor.client.text_document_did_save(saved)
        (found,) = await editor.diagnostics()
        assert found.code == "unknown-attribute"
        for _ in range(10):  # a busy machine may need more than the time for types
            words = {each.label for each in await editor.completed(0, 10)}
            if "A" in words:
                break
        assert {"A", "B"} <= words
        config.write_text("[run]\nevent = 'e.csv'\n", encoding="utf-8")
        editor.client.text_document_did_save(saved)
        assert await editor.diagnostics() == []
        assert "did you mean `events`?" in editor.shown[-1]
        assert "--no-config" not in editor.shown[-1]

    edited(tmp_path, use)


def test_it_needs_pygls(monkeypatch: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    monkeypatch.delitem(sys.modules, "sase.lsp.server", raising=False)
    assert main(["lsp"]) == 2
    assert "pip install 'sase[lsp]'" in capsys.readouterr().err
