"""`sase lsp`: the language server, which editors start."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sase import __version__
from sase.cli.config import REMEDY, nearest_config, with_defaults
from sase.cli.event_arguments import discovered, schema_in
from sase.cli.parser import CommandParser
from sase.cli.queries import ArgumentError
from sase.errors import SaseError

if TYPE_CHECKING:
    from sase.engine.sources.discovered import Discovered


def configure(parser: ArgumentParser) -> None:
    """Add the argument that some editors give."""
    parser.add_argument(
        "--stdio", action="store_true", help="use standard input and output, as without it"
    )
    parser.epilog = (
        "An editor starts this, and talks with it on standard input and output. The file sase.toml"
        " nearest to a file of queries names its schema or its events."
    )


def run(arguments: Namespace) -> int:
    """Serve until the editor leaves."""
    try:
        from sase.lsp.server import serve
    except ModuleNotFoundError as problem:
        if problem.name not in ("pygls", "lsprotocol"):
            raise
        raise ArgumentError(
            f"{problem.name} is not installed, which editors need: pip install 'sase[lsp]'"
        ) from problem
    serve(_Configured().events, __version__)
    return 0


class _Configured:
    """The events of files of queries by the nearest `sase.toml`, opened again when it changes."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[object, Discovered | None, str | None]] = {}

    def events(self, path: Path) -> tuple[Discovered | None, str | None]:
        """The events for a file of queries, and a message if they cannot be used."""
        config = nearest_config(path.absolute().parent)
        if config is None:
            return None, None
        try:
            arguments = _arguments(config)
            stamp = [_stamp(each) for each in (config, arguments.schema, arguments.events)]
            if config not in self._kept or self._kept[config][0] != stamp:
                self._kept[config] = (stamp, *_opened(arguments))
            return self._kept[config][1:]
        except ArgumentError as problem:
            return None, str(problem)


def _arguments(config: Path) -> Namespace:
    from sase.cli import run

    parser = _ConfiguredParser(prog="sase lsp")
    run.configure(parser)
    return parser.parse_args(with_defaults(parser, [], config.parent))


def _opened(arguments: Namespace) -> tuple[Discovered | None, str | None]:
    from sase.binding.input_options import InputOptions
    from sase.engine.sources.discovered import Discovered

    try:
        schema = schema_in(arguments)
        if schema is not None:
            return Discovered(schema, InputOptions()), None
        return (discovered(arguments) if arguments.events else None), None
    except (SaseError, ArgumentError) as problem:
        return None, str(problem)


def _stamp(path: str | Path | None) -> object:
    """A value that differs after a change of a file; of a pattern or an address, its text."""
    try:
        return None if path is None else (str(path), Path(path).stat().st_mtime_ns)
    except OSError:
        return str(path)


class _ConfiguredParser(CommandParser):
    """A parser that raises its errors: the server continues."""

    def error(self, message: str) -> NoReturn:
        """Raise the error, without the option that an editor cannot give."""
        raise ArgumentError(message.removesuffix(REMEDY))
