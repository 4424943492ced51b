"""The prompt of the shell on a terminal: several lines, a history in a file, and completion."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from sase.cli.messages import notify
from sase.cli.shell.commands import COMMANDS
from sase.cli.shell.session import Session, is_command, items_in
from sase.errors import SaseError
from sase.printable import printable_message

PROMPT, CONTINUED = "sase> ", "  ... "
# Names another file of history than that of the home folder.
VARIABLE, FILE = "SASE_HISTORY", ".sase_history"
PRIVATE = 0o600


def converse(session: Session) -> int:
    """Run the queries and commands that a user types, until the user leaves."""
    prompt: PromptSession[str] = PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=CONTINUED,
        history=_history(),
        completer=ShellCompleter(session),
        complete_while_typing=False,
        complete_in_thread=True,
        key_bindings=_bindings(),
    )
    notify([".help lists the commands; a query ends with a semicolon"])
    while not session.is_over:
        try:
            text = prompt.prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            break
        try:
            session.read(f"{text}\n".splitlines(keepends=True))
        except KeyboardInterrupt:
            notify(["interrupted"])
    return 0


def _history() -> History:
    """The history in a file that only the user can read; without one a message says why."""
    path = Path(os.environ.get(VARIABLE) or Path.home() / FILE)
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE))
    except OSError as problem:
        reason = printable_message(f"{path}: {problem.strerror}")
        notify([f"the history is not kept: {reason}; {VARIABLE} names another file"])
        return InMemoryHistory()
    return FileHistory(path)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def _(event: KeyPressEvent) -> None:
        """Run a complete text, or begin another line."""
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion:
            buffer.complete_state = None
        elif not items_in(f"{buffer.text}\n")[1].strip():
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return bindings


class ShellCompleter(Completer):
    """Completes queries by the schema, commands by their names, and the arguments of commands."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._paths = PathCompleter(expanduser=True)

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        """The completions at the cursor."""
        text = document.text_before_cursor.lstrip()
        if not is_command(text) or "\n" in text:
            return self._of_query(document.text_before_cursor, document.text)
        name, blank, argument = text.partition(" ")
        if not blank:
            return (Completion(each, -len(name)) for each in COMMANDS if each.startswith(name))
        command = COMMANDS.get(name.lower())
        if command is None:
            return ()
        if command.is_path:
            word = argument.rpartition(" ")[2].rpartition("=")[2]
            return self._paths.get_completions(Document(word), complete_event)
        if command.choices:
            found = (each for each in command.choices if each.startswith(argument))
            return (Completion(each, -len(argument)) for each in found)
        return self._of_query(argument, argument)

    def _of_query(self, before: str, text: str) -> Iterable[Completion]:
        from sase.api.completion import KnownNames, completions
        from sase.lang.completion import WordPlace

        schemas = tuple(each.schema for each in self._session.inputs.values())
        names = KnownNames((), schemas)
        with suppress(SaseError):  # types take too long; other names can be proposed
            names = self._session.names
        place = WordPlace.after(before)
        for word, kind in completions(place, names, text):
            yield Completion(word, -len(place.begun), display_meta=kind)
