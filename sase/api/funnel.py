"""The public function that counts how many keys reach each of several steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from sase.binding.funnel_queries import NEXT, FunnelQueries, Steps
from sase.binding.input_options import InputKeywords, InputOptions, takes_input_options

if TYPE_CHECKING:
    from sase.engine.results.funnel import Funnel


@takes_input_options
def funnel(
    events: object,
    steps: Steps,
    *,
    by: str | Sequence[str],
    within: object = None,
    without: str | Sequence[str] = (),
    strategies: str | Sequence[str] = NEXT,
    threads: int | None = None,
    timeout: object = None,
    max_memory: object = None,
    **options: Unpack[InputKeywords],
) -> Funnel:
    """Count how many keys reach each step, and the time that they take between steps.

    `steps` are the types of events, in order, or a dict of name → condition, such as
    `{"view": "page = '/'"}`. `by` is the column that identifies a key, such as the user, or
    several. A key reaches a step if a match has events of this step and of all before it, within
    the time `within` (such as "1 hour", a `timedelta`, or a number). No event of a type in
    `without` may come between them. `strategies` say which events a match may skip; with several
    of them their counts are side by side. The times are those of the first strategy, and of the
    first match of each key. The other keywords are those of `match`.

    Examples:
        >>> events = [{"ts": 1, "type": "A", "id": 7}, {"ts": 2, "type": "B", "id": 7}]
        >>> print(sase.funnel(events, ["A", "B"], by="id", within=10))
        step                                  keys  of first  of previous  lost  median time
        ----  ------------------------------  ----  --------  -----------  ----  -----------
        A     ██████████████████████████████     1    100.0%
        B     ██████████████████████████████     1    100.0%       100.0%     0            1
    """
    asked = FunnelQueries.of(steps, by, within, without, strategies)
    if asked.definitions:
        options = {"type": None, **options, "types": dict(asked.definitions)}
    from sase.api.matching import match
    from sase.api.script import Script
    from sase.engine.results.funnel import Funnel, reached_by_first, unreached
    from sase.engine.sources.discovered import Discovered

    source = Discovered.of(events, InputOptions(**options))
    asked.check(source.schema)
    script = Script(asked.script(source.schema.time), params=asked.parameters)
    found = script.run(source, threads=threads, timeout=timeout, max_memory=max_memory)
    reached = {name: reached_by_first(found[name].to_arrow(), asked) for name in asked.names}
    missing = [
        name for name in unreached(asked, reached) if not len(match(asked.any(name), source))
    ]
    return Funnel.of(asked, reached, source.schema.nanoseconds, missing)
