"""Report errors on standard error, and map them to exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Callable

from sase.cli.queries import ArgumentError
from sase.cli.signals import TERMINATED, Terminated
from sase.cli.terminal import print_diagnostics
from sase.errors import PlanError, QueryError, SaseError, SchemaError


def status_of(command: str, work: Callable[[], int]) -> int:
    """The status of some work: 1 if it fails, 2 if the query or the arguments are wrong."""
    try:
        return work()
    except QueryError as problem:
        print_diagnostics(problem.diagnostics, sys.stderr)
        return 2
    except (SchemaError, PlanError, ArgumentError) as problem:
        return _failed(command, problem, 2)
    except SaseError as problem:
        return _failed(command, problem, 1)
    except Terminated:
        return TERMINATED


def _failed(command: str, problem: Exception, status: int) -> int:
    print(f"sase {command}: error: {problem}", file=sys.stderr)
    return status
