"""The exceptions of the project, in one tree, and the diagnostics that they carry.

SaseError                 everything that this package raises on purpose
├── QueryError            the text of a query is wrong; carries `.diagnostics`
│   ├── QuerySyntaxError  it does not parse
│   ├── BindingError      it parses and does not make sense against the schema
│   └── RuleError         a rule of another language is invalid, or has no equivalent here
├── SchemaError           a schema, or the file that should give one, cannot be used
├── PlanError             a plan or a recipe cannot be used
├── StatementError        results of a statement that is set aside are looked up; a KeyError, too
├── SnapshotError         the snapshot of a matcher cannot be restored
├── DataError             events cannot be used; carries `.row`, `.column` and `.value`
├── BudgetError           there is more of something than was allowed, or than memory can hold
│   ├── TimeLimitError    a run took longer than it was allowed; a TimeoutError as well
│   └── MemoryLimitError  a run took more memory than it was allowed
└── SparkError            Spark cannot run here, or gave up a job
    └── SparkMissingError PySpark is not installed, or too old; an ImportError as well

BudgetWarning             a run that begins is expected to exceed a limit
IntervalWarning           a type that is to be widened has no events
ReplayWarning             a replay on Spark cannot be cut into tasks, or its query looks wrong
StatementWarning          statements are set aside, as the events lack types or attributes
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from sase.printable import on_one_line, printable, printable_message
from sase.source import Source, Span
from sase.user_frame import calling_line

Severity = Literal["error", "warning"]
# Characters of a query that an error message shows.
WORDS = 60


@dataclass(frozen=True)
class Diagnostic:
    """A problem of a query: its code, its message, its place, and hints.

    Examples:
        >>> try:
        ...     sase.match("EVENT A WITHIN", [{"ts": 1, "type": "A"}])
        ... except sase.QueryError as problem:
        ...     (each,) = problem.diagnostics
        >>> each.code, each.line, each.column
        ('unexpected', 1, 15)
    """

    code: str
    message: str
    span: Span
    source: Source = field(repr=False)
    hints: tuple[str, ...] = ()
    severity: Severity = "error"

    @property
    def line(self) -> int:
        """The line of the place, counted from 1."""
        return self.source.position(self.span.start).line

    @property
    def column(self) -> int:
        """The column of the place in characters, counted from 1."""
        return self.source.position(self.span.start).column

    def to_dict(self) -> dict[str, Any]:
        """Return the diagnostic as plain data, for editors and JSON."""
        start, end = (self.source.position(offset) for offset in self.span)
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "hints": list(self.hints),
            "source": self.source.name,
            "start": start._asdict(),
            "end": end._asdict(),
        }

    @property
    def sentence(self) -> str:
        """Return the message on one line, with the part of the text that is wrong and the hints."""
        words = on_one_line(self.source.text[slice(*self.span)], WORDS)
        place = f"{self.source.name}:{self.line}:{self.column}"
        return "; ".join([f"`{words}` ({place}): {self.message}", *self.hints])

    def __str__(self) -> str:
        """Return the whole message: code, place, source line with its caret, and hints."""
        excerpt = self.source.excerpt(self.span)
        margin = " " * excerpt[1].index("|")
        return "\n".join(
            [
                f"{self.severity}[{self.code}]: {printable(printable_message(self.message))}",
                f"{margin[1:]}--> {printable(self.source.name)}:{self.line}:{self.column}",
                *excerpt,
                *(f"{margin}= {_indent(hint, margin)}" for hint in self.hints),
            ]
        )


def _indent(hint: str, margin: str) -> str:
    return printable_message(hint).replace("\n", f"\n{margin}  ")


class SaseError(Exception):
    """The root of every exception that this package raises on purpose.

    Examples:
        >>> try:
        ...     sase.match("EVENT A a", [{"ts": 1, "type": "A"}], time="t")
        ... except sase.SaseError as problem:
        ...     print(f"{type(problem).__name__}: {problem}")
        SchemaError: there is no time column `t`: did you mean `ts`?; name it with  time=…
    """

    def __str__(self) -> str:
        # The `__str__` of KeyError, which `super` would call, puts the message in quotes.
        return printable_message(Exception.__str__(self))

    def _render_traceback_(self) -> list[str]:
        # IPython shows these lines in place of a traceback.
        kind = "" if isinstance(self, QueryError) else f"{type(self).__name__}: "
        return [*calling_line(self.__traceback__), f"{kind}{self}"]


class QueryError(SaseError):
    """A query that cannot be used; `diagnostics` has the reasons, in text order.

    Examples:
        >>> try:
        ...     sase.match("EVENT A a WHERE a.idd = 1", [{"ts": 1, "type": "A", "id": 7}])
        ... except sase.QueryError as problem:
        ...     print(problem)
        error[unknown-attribute]: the events have no column `idd`
         --> query:1:19
        1 | EVENT A a WHERE a.idd = 1
          |                   ^^^
          = did you mean `id`?
    """

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.diagnostics))


class QuerySyntaxError(QueryError):
    """A query that does not parse."""


class BindingError(QueryError):
    """A query that parses and does not make sense: names, types, or the rules of the language."""


class RuleError(QueryError):
    """A rule of another language that is invalid, or has no equivalent here."""


class SchemaError(SaseError):
    """A schema, or a file that should give one, cannot be used."""


class PlanError(SaseError):
    """A plan or a recipe cannot be used."""


class StatementError(SaseError, KeyError):
    """A statement was set aside, so its results cannot be looked up."""


class SnapshotError(SaseError):
    """A snapshot cannot be restored: it belongs to another plan or version, or was changed."""


class DataError(SaseError):
    """Events cannot be used; the row, column and value are set if one row is the reason."""

    def __init__(
        self, message: str, row: int | None = None, column: str | None = None, value: object = None
    ) -> None:
        self.message, self.row, self.column, self.value = message, row, column, value
        super().__init__(message, row, column, value)

    def __str__(self) -> str:
        return printable_message(self.message)


class BudgetError(SaseError):
    """More matches or memory than allowed, or than fit in memory."""


class TimeLimitError(BudgetError, TimeoutError):
    """A run took longer than allowed."""


class MemoryLimitError(BudgetError):
    """A run took more memory than allowed."""


class SparkError(SaseError):
    """Spark cannot run here, or gave up a job."""


class SparkMissingError(SparkError, ImportError):
    """PySpark is not installed, or is too old."""


class _Warning(UserWarning):
    def __str__(self) -> str:
        return printable_message(super().__str__())


class BudgetWarning(_Warning):
    """A run is expected to have more matches than allowed, or than fit in memory."""


class IntervalWarning(_Warning):
    """No event has a type that `sase.interval` widens."""


class ReplayWarning(_Warning):
    """A replay on Spark runs in one task, or its query probably does not do as intended."""


class StatementWarning(_Warning):
    """Statements of a script are set aside, as the events lack types or attributes."""
