"""Default options of commands from a file `sase.toml` in the working directory or a parent."""

from __future__ import annotations

import os
from argparse import Action
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from sase.cli.parser import CommandParser

NAME, TABLE, OFF = "sase.toml", "run", "--no-config"
REMEDY = f"; {OFF} ignores this file"
# The options that a file may have: they say how events are read and run, and write nothing.
OPTIONS = (
    "events", "time", "type", "types", "time-unit", "seq", "longest", "null", "text", "delimiter",
    "quote", "decimal", "encoding", "time-format", "input-format", "table-version", "schema",
    "plan", "stats", "on-bad-row", "threads", "timeout", "max-memory", "wide",
)  # fmt: skip
# Options with a path, which begins at the folder of the file.
PATHS = ("events", "types", "schema", "plan", "stats")


def with_defaults(
    parser: CommandParser, arguments: Sequence[str], folder: Path | None = None
) -> list[str]:
    """Put the options of the file nearest to a folder before those given, which win."""
    found = None if OFF in arguments else nearest_config(folder or Path.cwd())
    if found is None:
        return [*arguments]
    from sase.base.log import LOG

    LOG.info("options of %s", found)
    defaults = _Defaults(parser, found)
    if _has_paths(parser, arguments):
        defaults.options.pop("events", None)
    added = [*_added(defaults, arguments)]
    return [*added, *arguments]


def nearest_config(folder: Path) -> Path | None:
    """The file of options in a folder or a parent, or None."""
    files = (each / NAME for each in (folder, *folder.parents))
    return next((each for each in files if each.is_file() and _is_own(each)), None)


def _is_own(path: Path) -> bool:
    """Whether a file belongs to the user or to root, and not to another user of the machine."""
    if not hasattr(os, "getuid"):
        return True
    return path.stat().st_uid in (os.getuid(), 0)


class _Defaults:
    """The options of a file, each with the argument of the command."""

    def __init__(self, parser: CommandParser, path: Path) -> None:
        self.path, self._parser = path, parser
        self.options: dict[str, tuple[Action, Any]] = {}
        data = self._read()
        self._check(data, [TABLE], "table")
        table = data.get(TABLE, {})
        if not isinstance(table, Mapping):
            self.refuse(f"`{TABLE}` is a table: write  [{TABLE}]  above its options")
        self._check(table, OPTIONS, "option")
        by_name = {name: each for each in parser.arguments for name in each.option_strings}
        for name, value in table.items():
            if f"--{name}" in by_name:  # some commands have fewer options than `sase run`
                self.options[name] = by_name[f"--{name}"], value

    def refuse(self, message: str) -> NoReturn:
        """End the program with an error of the file."""
        self._parser.error(f"{self.path}: {message}{REMEDY}")

    def _read(self) -> Mapping[str, Any]:
        import tomllib

        try:
            return tomllib.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            self.refuse(f"the file cannot be read: {problem}")

    def _check(self, given: Mapping[str, Any], known: Sequence[str], kind: str) -> None:
        from sase.base.texts import did_you_mean

        for name in given:
            if name not in known:
                hint = did_you_mean(name, known) or (f"it can be {', '.join(known)}",)
                self.refuse(f"there is no {kind} `{name}`: {hint[0]}")


def _has_paths(parser: CommandParser, arguments: Sequence[str]) -> bool:
    """Whether the arguments have paths of events without an option, as `sase shell PATH`."""
    if all(each.dest != "paths" for each in parser.arguments):
        return False
    parsed, _ = parser.parse_known_intermixed_args(arguments)
    return bool(parsed.paths)


def _added(defaults: _Defaults, arguments: Sequence[str]) -> Iterator[str]:
    for name, (action, value) in defaults.options.items():
        if any(each.partition("=")[0] in action.option_strings for each in arguments):
            continue
        option = f"--{name}"
        if action.nargs == 0:
            if not isinstance(value, bool):
                defaults.refuse(f"`{name}` is true or false")
            yield from [option] * value
            continue
        values = value if isinstance(value, list) else [value]
        if isinstance(value, list) and type(action).__name__ != "_AppendAction":
            defaults.refuse(f"`{name}` has one value, and here is a list")
        for each in values:
            if isinstance(each, bool) or not isinstance(each, str | int | float):
                defaults.refuse(f"`{name}` is a text or a number")
            yield f"{option}={_place(defaults.path.parent, each) if name in PATHS else each}"


def _place(folder: Path, value: Any) -> str:
    """A path from the folder of the file; names of recipes and types stay."""
    text = str(value)
    is_path = os.sep in text or "." in text or (folder / text).exists()
    return os.path.join(folder, text) if is_path and "://" not in text else text
