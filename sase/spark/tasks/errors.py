"""Translate errors of Spark jobs to `SaseError`, without Java's stack traces."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from sase import errors
from sase.errors import DataError, SaseError, SparkError
from sase.spark.tasks.worker import is_worker

# The place of one of our errors in a traceback of Python; its message follows.
_RAISED = re.compile(r"(?:^|: )sase\.errors\.(\w+): ", re.MULTILINE)
# With this variable, Spark hides the tracebacks of a worker.
HIDES = "SPARK_HIDE_TRACEBACK"
# The text that Spark and Java add after a message.
_BEHIND = re.compile(
    r"\n\s+at [\w.$/]+\(|\s+SQLSTATE: |\nDriver stacktrace|\nJVM stacktrace"
    r"|\n\nThe above exception"
)
# The text that Spark adds before a message.
_NOISE = re.compile(r"^(?:: )?(?:[\w.]+(?:Exception|Error): )?")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Convert errors of Spark jobs to ours."""
    try:
        yield
    except Exception as problem:
        if not is_foreign(problem):
            raise
        raise translated(problem) from problem


def is_foreign(problem: Exception) -> bool:
    """Whether an error is one of Spark."""
    # Connect alone is installed without py4j, so this cannot name its classes.
    return type(problem).__module__.partition(".")[0] in ("pyspark", "py4j")


@contextmanager
def without_traceback() -> Iterator[None]:
    """Let Spark show an error of ours without the traceback of its worker."""
    try:
        yield
    except SaseError:
        if is_worker():
            os.environ[HIDES] = "1"  # this worker ends with the error
        raise


def is_of_spark(problem: Exception) -> bool:
    """Whether Spark itself failed, and not the query, the rows or the arguments."""
    return is_foreign(problem) and isinstance(translated(problem), SparkError)


def translated(problem: Exception) -> SaseError:
    """The error of ours that a task raised, or else a short SparkError."""
    text = str(problem)
    if raised := list(_RAISED.finditer(text)):
        message = text[raised[-1].end() :]
        return _error_of(raised[-1][1], _BEHIND.split(message, maxsplit=1)[0].rstrip())
    if (cause := getattr(problem, "java_exception", None)) is not None:
        text = str(cause)
    return SparkError(f"Spark gave up: {short_message(text)}")


def _error_of(name: str, message: str) -> SaseError:
    """An error of this class, if its constructor needs only a message."""
    kind = getattr(errors, name, SaseError)
    is_ours = isinstance(kind, type) and issubclass(kind, SaseError)
    needs_more = is_ours and issubclass(kind, errors.QueryError) and kind is not DataError
    return kind(message) if is_ours and not needs_more else SaseError(message)


def short_message(text: str) -> str:
    """A message of Spark without stack traces; for a Python traceback, its last line."""
    shown = _NOISE.sub("", _BEHIND.split(text.strip(), maxsplit=1)[0]).strip()
    lines = [line for line in shown.split("\n") if line.strip()]
    if any(line.startswith("Traceback (most recent call last)") for line in lines):
        return lines[-1].strip()
    return " ".join(line.strip() for line in lines[:3])
