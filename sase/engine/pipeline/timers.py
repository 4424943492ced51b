"""The next timer of a pipeline: the first time at which the passing of time has an effect."""

from __future__ import annotations

from sase.binding.bound import WindowKind
from sase.engine.operators.contract import HasTimers
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.split import window_of


def due(pipeline: Pipeline) -> int | None:
    """The first time to which an `advance` has an effect; None if no time has.

    At that time a waiting row is released, an absence becomes certain, or the last window has
    passed.
    """
    known = [pipeline.reorder_buffer.due()]
    known += [each.next_timer() for each in pipeline.operators if isinstance(each, HasTimers)]
    window, last = window_of(pipeline.plan.operators), pipeline.state.last
    if window is not None and window.kind is WindowKind.TIME and last is not None:
        is_needed = any(each.horizon() is not None for each in pipeline.operators)
        known.append(last[0] + (window.size or 0) + 1 if is_needed else None)
    return min((each for each in known if each is not None), default=None)
