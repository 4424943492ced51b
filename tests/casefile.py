"""The `.case` files: records of text, each with a query and its expected results.

    # A line that begins with '#' in column 1 is a comment; it may be between sections.
    === a counter reading in between forbids the match
    stream:
      s1 SHELF   ts=1 id=1
      c1 COUNTER ts=2 id=1
      e1 EXIT    ts=3 id=1
    query:
      EVENT SEQ(SHELF x, !(COUNTER y), EXIT z) WHERE [id] WITHIN 10
    matches:
      none

A record begins with `=== title`. Its sections are `name:` in column 1; their content is indented by
two spaces and otherwise taken without changes; blank lines at the end of a section do not count.

    schema    `TYPE: attribute kind, attribute kind` a line, or `*: …` for one wide table (without a
              schema: one wide table of the columns of the stream)
    options   `name=value` a line: time (also `lo,hi`), type, seq (columns; seq also `#row`),
              time_unit, output, `param.NAME` (a value, or a list of them),
              `type.NAME` (a condition),
              `entry=condition` (the query is a condition alone),
              `inputs=p q` (the names of inputs; the part of a label before the dot
              is the input; then time, type, seq and time_unit also as `time.p`)
              `escapes=yes` (the query holds \\r, \\t, \\0, \\u202e … as strings of Python do).
              `type=-` with a schema of one type: every event has that type
              `flat=yes`: the names of columns of the flat form are checked too
    stream    `label TYPE column=value …` a line; `-` for no type; for the values see
              tests/casevalues.py
    query     the text
    matches   `@detected x=s1 b=[b1 b2] c=-` a line, in the order of results; without any `@…` the
              time of detection is not checked
    returns   `column=value …` a line: the values of RETURN
    count     the number that `output="count"` gives
    form      how EXPLAIN says that it is found
    results   of a script, `STREAM @detected x=p.s1 y=[s#1 s#2] | column=value …` a line; `s#1` is
              the first result of the stream s
    error     the whole text of the error, with its carets (of features that the engine is to learn,
              `TO_COME` of tests/routing.py, the kind of mistake)
    warning   the whole text of the warnings
    tree      the syntax tree in the notation of tests/outline.py
    format    the text that the formatter gives
    plan      the plan of the option `recipe` (default: optimized)
    before    the basic plan after the rewrites of the option `given`
    after     the same after the option `rewrite`; both find the matches of `matches`

`none` means no match, no error, no warning. A record needs at least one of the last twelve.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from tests.casevalues import Event, Value, parse_event, parse_parameter

EXPECTATIONS = (
    "matches", "returns", "count", "form", "results", "error", "warning", "tree", "format", "plan",
    "before", "after",
)  # fmt: skip
SECTIONS = ("schema", "options", "stream", "query", *EXPECTATIONS)
OPTIONS = (
    "inputs", "time", "type", "seq", "time_unit", "output", "flat", "entry", "escapes", "recipe",
    "given", "rewrite",
)  # fmt: skip
FAMILIES = ("param", "type", "time", "seq", "time_unit")
KINDS = ("boolean", "integer", "float", "string", "timestamp", "date", "interval")
INDENT = "  "
_TITLE, _HEADER = re.compile(r"=== (\S.*)"), re.compile(r"(\S*):")
T = TypeVar("T")


class CaseFileError(Exception):
    """A `.case` file that is not one: the file, the line and the mistake."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")


@dataclass(frozen=True)
class Section:
    """A section of a record; `first` is the index of its first content line in the file."""

    name: str
    first: int
    lines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A record."""

    file: str
    line: int
    title: str
    sections: tuple[Section, ...] = ()

    def section(self, name: str) -> tuple[str, ...] | None:
        return next((each.lines for each in self.sections if each.name == name), None)

    @cached_property
    def query(self) -> str:
        text = "\n".join(self.section("query") or ())
        if self.options.get("escapes") == "yes":
            return text.encode("latin-1", "backslashreplace").decode("unicode_escape")
        return text

    @cached_property
    def options(self) -> dict[str, str]:
        return self._table("options", self._option)

    @cached_property
    def schema(self) -> dict[str, dict[str, str]] | None:
        """The kinds of the attributes of each type, or of `*` for one wide table."""
        return self._table("schema", self._schema_line) if self.section("schema") else None

    @cached_property
    def events(self) -> tuple[Event, ...]:
        lines = self.section("stream") or ()
        events = tuple(self._checked(parse_event, line) for line in lines)
        self._refuse_repeated("an event", (event.label for event in events))
        return events

    @cached_property
    def params(self) -> dict[str, Value | list[Value]]:
        family = self.family("param").items()
        return {name: self._checked(parse_parameter, text) for name, text in family}

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of inputs; none where the one input has no name."""
        return tuple(self.options.get("inputs", "").split())

    def family(self, prefix: str) -> dict[str, str]:
        """The options `prefix.NAME`, by NAME."""
        start = f"{prefix}."
        found = (name for name in self.options if name.startswith(start))
        return {name.removeprefix(start): self.options[name] for name in found}

    def problem(self, message: str) -> CaseFileError:
        return CaseFileError(self.file, self.line, f"{self.title}: {message}")

    def check(self) -> None:
        """Read every part of the record once, so that no mistake hides in it."""
        names = [section.name for section in self.sections]
        self._refuse_repeated("a section", names)
        if "query" not in names:
            raise self.problem("there is no query")
        if not set(names) & set(EXPECTATIONS):
            raise self.problem(f"nothing is expected of it: {', '.join(EXPECTATIONS)}")
        _ = self.query, self.schema, self.events, self.params

    def _table(self, name: str, read: Callable[[str], tuple[str, T]]) -> dict[str, T]:
        pairs = [read(line) for line in self.section(name) or ()]
        self._refuse_repeated(f"an entry of {name}", (key for key, _ in pairs))
        return dict(pairs)

    def _option(self, line: str) -> tuple[str, str]:
        name, equals, value = line.partition("=")
        family, _, member = name.partition(".")
        if equals and (name in OPTIONS or family in FAMILIES and member):
            return name, value
        raise self.problem(f"unknown option {line!r}")

    def _schema_line(self, line: str) -> tuple[str, dict[str, str]]:
        name, colon, rest = line.partition(":")
        pairs = [pair.split() for pair in rest.split(",") if pair.strip()]
        if not colon or any(len(pair) != 2 or pair[1] not in KINDS for pair in pairs):
            raise self.problem(f"not a line of a schema: {line!r}")
        return name.strip(), dict(pairs)

    def _checked(self, read: Callable[[str], T], line: str) -> T:
        try:
            return read(line)
        except ValueError as problem:
            raise self.problem(str(problem)) from None

    def _refuse_repeated(self, what: str, names: Iterable[str]) -> None:
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise self.problem(f"{what} is called {name} twice")
            seen.add(name)


def parse_cases(text: str, file: str) -> tuple[Case, ...]:
    """The records of a file, checked."""
    cases: list[tuple[int, str, list[Section]]] = []
    content: list[str] | None = None  # of the open section: a comment or a title closes it
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            content = None
        elif title := _TITLE.fullmatch(line):
            content = None
            cases.append((number, title[1].strip(), []))
        elif header := _HEADER.fullmatch(line):
            content = []
            _open_section(header[1], cases, CaseFileError(file, number, f"no section: {line!r}"))
            cases[-1][2].append(Section(header[1], number))
        elif line == "" or line.startswith(INDENT) and content is not None:
            if content is not None:
                content.append(line.removeprefix(INDENT))
                cases[-1][2][-1] = _with_lines(cases[-1][2][-1], content)
        else:
            raise CaseFileError(file, number, f"not a comment, a title or a section: {line!r}")
    records = tuple(Case(file, line, title, tuple(parts)) for line, title, parts in cases)
    _check(records)
    return records


def _open_section(name: str, cases: list[tuple[int, str, list[Section]]], error: Exception) -> None:
    if name not in SECTIONS or not cases:
        raise error


def _with_lines(section: Section, content: list[str]) -> Section:
    end = max((i for i, line in enumerate(content, 1) if line), default=0)
    return Section(section.name, section.first, tuple(content[:end]))


def _check(cases: tuple[Case, ...]) -> None:
    seen: set[str] = set()
    for case in cases:
        case.check()
        if case.title in seen:
            raise case.problem("another record of the file has this title")
        seen.add(case.title)


def rewritten(text: str, file: str, title: str, sections: Mapping[str, Iterable[str]]) -> str:
    """The text of a file with other content in some sections of a record, all else untouched."""
    case = next(case for case in parse_cases(text, file) if case.title == title)
    lines = text.split("\n")
    for section in sorted(case.sections, key=lambda each: -each.first):
        if section.name in sections:
            content = [INDENT + line if line else "" for line in sections[section.name]]
            lines[section.first : section.first + len(section.lines)] = content
    return "\n".join(lines)
