"""A compiled query: a frozen value that is run over events, opened for a stream, sent as text."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from sase.api.checks import check_bounds
from sase.api.limits import guard_of, guard_of_calls, limits_of
from sase.binding import Schema
from sase.binding.bound import Condition, Constant
from sase.binding.input_options import check_on_bad_row
from sase.cached_property import cached_property
from sase.errors import Diagnostic
from sase.planning.driver import RewriteStep
from sase.planning.nodes import Operator, chain
from sase.planning.options import Options
from sase.planning.outline import outline
from sase.printable import on_one_line, printable, printable_lines

if TYPE_CHECKING:
    from sase.engine.pipeline.matcher import Matcher
    from sase.engine.results.matches import Matches
    from sase.planning.plan import EnginePlan

DEFAULT_PLAN = "optimized"
# Characters of a query that are shown on one line.
WIDTH = 80


@dataclass(frozen=True)
class Plan:
    """A compiled query: a frozen value, which can be printed, compared, pickled, sent as JSON.

    `steps` are the rewrites of the recipe, each with whether it applied. A bad row is an "error",
    or goes to "quarantine": `on_bad_row` says which. `lateness` is how long events of a stream may
    be late, in raw units of the time column. `params` are the values of parameters by name.
    """

    query: str
    operators: Operator
    schema: Schema
    definitions: tuple[tuple[str, Condition], ...] = ()
    recipe: str = DEFAULT_PLAN
    steps: tuple[RewriteStep, ...] = ()
    options: Options = Options()
    on_bad_row: str = "error"
    lateness: int | None = None
    warnings: tuple[Diagnostic, ...] = field(default=(), compare=False, repr=False)
    params: tuple[tuple[str, Constant], ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        check_on_bad_row(self.on_bad_row)

    def run(
        self,
        events: object,
        *,
        threads: int | None = None,
        max_matches: int | None = None,
        timeout: object = None,
        max_memory: object = None,
        watch: Callable[[int], object] = lambda rows: None,
        clock: Callable[[], int] = clocks.perf_counter_ns,
    ) -> Matches:
        """The matches in events that are all there is; they are sorted if they are not.

        The events are read at once, and searched when the matches are first asked for. `watch` is
        told how many rows have been searched, every now and then. What `clock` counts in the
        reading and in the search is in `Matches.report.timings`. `timeout` and `max_memory` are
        those of `sase.match`.
        """
        from sase.engine.pipeline.analyze import timed
        from sase.engine.pipeline.batch import most_held, run

        check_bounds(threads, max_matches)
        guard = guard_of(limits_of(timeout, max_memory), clock)
        settings: dict[str, Any] = {
            "threads": threads,
            "most": max_matches,
            "watch": watch,
            "held": most_held(guard),
            "guard": guard,
        }
        return timed(lambda: run(self.engine, events, **settings), clock)

    def open(
        self, *, streaming: bool = True, timeout: object = None, max_memory: object = None
    ) -> Matcher:
        """A matcher, to which events are pushed as they come.

        `timeout` is how long each call to it may work, `max_memory` by how much the process may
        grow from now on; a call that exceeds them is an error, and ends the matcher if it was in
        its midst.
        """
        from sase.engine.pipeline.matcher import Matcher

        guard = guard_of_calls(timeout, max_memory)
        return Matcher(self.engine, streaming=streaming, guard=guard)

    def restore(
        self,
        snapshot: bytes,
        *,
        key: bytes | None = None,
        timeout: object = None,
        max_memory: object = None,
    ) -> Matcher:
        """The matcher of which `Matcher.snapshot` made this: it goes on as that one would have.

        With a key the snapshot must be signed with it. What is no snapshot of this plan, or was
        changed to what none of it can be, is a `SnapshotError`. The limits are those of `open`.
        """
        from sase.engine.pipeline.checkpoint import restored
        from sase.engine.pipeline.matcher import Matcher

        guard = guard_of_calls(timeout, max_memory)
        return Matcher.of(restored(self.engine, snapshot, key, guard), guard)

    def __getstate__(self) -> dict[str, Any]:
        """The value alone, which names aggregates of users: their functions need not be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def engine(self) -> EnginePlan:
        """The plan for the engine."""
        from sase.planning.plan import EnginePlan

        return EnginePlan(
            self.operators,
            self.schema,
            self.definitions,
            self.options,
            self.on_bad_row,
            self.lateness,
            tuple(warning.sentence for warning in self.warnings),
        )

    def to_json(self, *, key: bytes | None = None) -> str:
        """The plan as text, from which `from_json` makes an equal one; signed with a key."""
        from sase.api.stored_plan import PARAMETERS, PARTS
        from sase.planning.serialisation import encoded, plan_to_json

        names = [name for name in PARTS if name != PARAMETERS or self.params]
        rest: dict[str, Any] = {name: encoded(getattr(self, name)) for name in names}
        return plan_to_json(self.operators, self.schema, key=key, **rest)

    @classmethod
    def from_json(cls, text: str, *, key: bytes | None = None) -> Plan:
        """The plan of a text that `to_json` gave; with a key, of one that was signed with it.

        Whatever the text says, the plan is what its query comes to, or there is a `PlanError`.
        """
        from sase.api.stored_plan import read_parts

        return cls(**read_parts(text, key))

    def __str__(self) -> str:
        return printable_lines(outline(self.operators))

    def __repr__(self) -> str:
        """On one line; the whole value is what `to_json` gives."""
        query = on_one_line(self.query, WIDTH)
        names = (type(each).__name__ for each in reversed(chain(self.operators)))
        return f"<plan {printable(self.recipe)} of {query!r}: {' → '.join(names)}>"

    def _repr_html_(self) -> str:
        from html import escape

        text = f"plan {self.recipe} of\n{self.query}\n\n{self}"
        return f"<pre>{escape(printable_lines(text))}</pre>"
