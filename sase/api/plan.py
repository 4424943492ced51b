"""A compiled query: a frozen value to run over events, open for a stream, or store as text."""

from __future__ import annotations

import time as clocks
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from sase.api.checks import check_bounds, guard_of, guard_of_calls, limits_of
from sase.api.progress import Progress, ProgressCalls, check_progress, rows_of
from sase.binding import Schema
from sase.binding.bound import Condition
from sase.binding.input_options import check_on_bad_row
from sase.binding.values.literals import Given
from sase.cached_property import cached_property
from sase.errors import Diagnostic
from sase.planning.driver import RewriteStep
from sase.planning.engine_plan import Options
from sase.planning.plan.nodes import Operator, chain
from sase.planning.plan.traversal import outline
from sase.printable import on_one_line, printable, printable_lines

if TYPE_CHECKING:
    from sase.engine.pipeline.matcher import Matcher
    from sase.engine.results.matches import Matches
    from sase.planning.engine_plan import EnginePlan

DEFAULT_PLAN = "optimized"
# The characters of a query that are shown on one line.
WIDTH = 80


@dataclass(frozen=True)
class Plan:
    """A compiled query: a frozen value that can be printed, compared, pickled and sent as JSON.

    `steps` are the rewrites of the recipe, each with whether it applied. `on_bad_row` says whether
    a bad row is an "error" or is put into "quarantine". `lateness` is how long events of a stream
    may be late, in raw units of the time column. `params` are the values of parameters by name.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> plan = sase.compile("EVENT SEQ(A a, B b) WHERE [id] WITHIN 10", events)
        >>> plan.run(events).rows.to_pydict()
        {'a': [0], 'b': [1]}
        >>> sase.Plan.from_json(plan.to_json()) == plan
        True
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
    params: tuple[tuple[str, Given], ...] = field(default=(), compare=False, repr=False)

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
        progress: Progress | None = None,
        watch: Callable[[int], object] = lambda rows: None,
        clock: Callable[[], int] = clocks.perf_counter_ns,
    ) -> Matches:
        """Return the matches in complete events; events out of order are sorted.

        The events are read at once, and searched on the first use of the matches. `watch` is called
        from time to time with the number of rows searched so far. `Matches.report.timings` has the
        times of reading and searching, in units of `clock`. `timeout`, `max_memory` and `progress`
        are those of `sase.match`.
        """
        from sase.engine.pipeline.analyze import timed
        from sase.engine.pipeline.batch import most_held, run

        check_bounds(threads, max_matches)
        check_progress(progress, is_listed=True)
        guard = guard_of(limits_of(timeout, max_memory), clock)
        calls = None if progress is None else ProgressCalls(progress, rows_of(events))
        settings: dict[str, Any] = {
            "threads": threads,
            "most": max_matches,
            "watch": watch if calls is None else calls,
            "held": most_held(guard),
            "guard": guard,
        }
        matches = timed(lambda: run(self.engine, events, **settings), clock)
        return matches if calls is None else calls.until_end(matches)

    def open(
        self, *, streaming: bool = True, timeout: object = None, max_memory: object = None
    ) -> Matcher:
        """Return a matcher, to which events are pushed as they arrive.

        `timeout` limits the time of each call to the matcher. `max_memory` limits the growth of the
        process from now on. A call that exceeds a limit is an error. If it was interrupted during
        its work, the matcher is closed.
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
        """Return the matcher from a `Matcher.snapshot`; it continues from that state.

        With a key, the snapshot must be signed with it. A `SnapshotError` is raised if it is not a
        snapshot of this plan, or is damaged. The limits are those of `open`.
        """
        from sase.engine.pipeline.checkpoint import restored
        from sase.engine.pipeline.matcher import Matcher

        guard = guard_of_calls(timeout, max_memory)
        return Matcher.of(restored(self.engine, snapshot, key, guard), guard)

    def __getstate__(self) -> dict[str, Any]:
        """The value alone; it names user aggregates, so their functions need not be pickled."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def engine(self) -> EnginePlan:
        """The plan for the engine."""
        from sase.planning.engine_plan import EnginePlan

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
        """Return the plan as text, from which `from_json` makes an equal plan; a key signs it."""
        from sase.api.stored_plan import PARAMETERS, PARTS
        from sase.planning.serialisation import encoded, plan_to_json

        names = [name for name in PARTS if name != PARAMETERS or self.params]
        rest: dict[str, Any] = {name: encoded(getattr(self, name)) for name in names}
        return plan_to_json(self.operators, self.schema, key=key, **rest)

    @classmethod
    def from_json(cls, text: str, *, key: bytes | None = None) -> Plan:
        """Return the plan from the text of `to_json`; with a key, the text must be signed with it.

        The query in the text is compiled again. A `PlanError` is raised if the stored plan differs.
        """
        from sase.api.stored_plan import read_parts

        return cls(**read_parts(text, key))

    def __str__(self) -> str:
        return printable_lines(outline(self.operators))

    def __repr__(self) -> str:
        """The plan on one line; `to_json` returns the whole value."""
        query = on_one_line(self.query, WIDTH)
        names = (type(each).__name__ for each in reversed(chain(self.operators)))
        return f"<plan {printable(self.recipe)} of {query!r}: {' → '.join(names)}>"

    def _repr_html_(self) -> str:
        from html import escape

        text = f"plan {self.recipe} of\n{self.query}\n\n{self}"
        return f"<pre>{escape(printable_lines(text))}</pre>"
