"""Plot a value over time by matplotlib, with the matches of one key shaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrays import Numbers
from sase.engine.results.batch import MatchBatch
from sase.engine.results.timeline_events import HeldEvents, check_drawn
from sase.errors import PlanError

# The share of the time of the matches that is drawn before and after them, and the most points.
AROUND, POINTS = 0.25, 100_000
GREY, COLOUR = "0.55", "C0"


def plot_of(parts: Sequence[MatchBatch], value: str, key: object, n: int, axes: Any) -> Any:
    """Draw on axes, or on new ones, and return them."""
    every = [HeldEvents(part) for part in parts]
    check_drawn(parts, n)
    every[0].check_column("value", value)
    wanted = every[0].wanted(key) if key is not None else _key_of_the_first(every)
    if axes is None:
        axes = _new_axes()
    axes.set(xlabel=parts[0].shape.schema.time, ylabel=value)
    chosen = [(held, held.of_key(wanted)) for held in every]
    matches = [(held, place) for held, places in chosen for place in places][:n]
    count = sum(len(places) for _, places in chosen)
    notes = dict[str, None]()
    every[0].note_left_out(notes)
    axes.set_title("\n".join([_title(count, len(matches), wanted), *notes]))
    if not matches:
        return axes
    bound = [held.matches[:, np.array([place])].events for held, place in matches]
    ends = np.array(
        [h.part.history.times(e[[0, -1]]) for (h, _), e in zip(matches, bound, strict=True)]
    )
    begin, end = int(ends.min()), int(ends.max())
    more = max(round((end - begin) * AROUND), 1)
    line = every[0].positions_between(begin - more, end + more, wanted)[:POINTS]
    axes.plot(*_points(every[0], line, value), color=GREY, linewidth=1, zorder=2)
    for span in _joined(ends):
        axes.axvspan(*every[0].shown(span), color=COLOUR, alpha=0.15, linewidth=0)
    for (held, _), events in zip(matches, bound, strict=True):
        axes.plot(*_points(held, events, value), "o", color=COLOUR, markersize=4, zorder=3)
    return axes


def _joined(ends: Numbers) -> Numbers:
    """The times of the first and last events of matches, joined where matches overlap."""
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    last = np.maximum.accumulate(ends[:, 1])
    cuts = np.flatnonzero(ends[1:, 0] > last[:-1])
    return np.stack([ends[[0, *(cuts + 1)], 0], last[[*cuts, -1]]], axis=1)


def _key_of_the_first(every: Sequence[HeldEvents]) -> Mapping[str, object] | None:
    """The key of the first match; None without matches or equivalence tests."""
    held = next((each for each in every if each.matches.size), None)
    return (held.key_of(held.matches[:, np.array([0])].events) or None) if held else None


def _points(held: HeldEvents, positions: Numbers, value: str) -> tuple[list[Any], list[float]]:
    """The times and the values of events that have one."""
    column = held.column(value, held.part.history.places(positions))
    if pa.types.is_decimal(column.type) or pa.types.is_boolean(column.type):
        column = column.cast(pa.float64() if pa.types.is_decimal(column.type) else pa.int8())
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        raise PlanError(f"value={value!r} has the type {column.type}: a plot is of numbers")
    known = column.is_valid().to_numpy()
    return held.shown(
        held.part.history.times(positions[known])
    ), column.drop_null().to_numpy().tolist()


def _title(count: int, drawn: int, wanted: Mapping[str, object] | None) -> str:
    of = ", ".join(f"{name} = {value}" for name, value in (wanted or {}).items())
    found = f"{count:,} match{'' if count == 1 else 'es'}{f' of {of}' if of else ''}"
    # A dollar sign begins a formula.
    return (found if drawn == count else f"{found}, the first {drawn:,} drawn").replace("$", r"\$")


def _new_axes() -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as problem:
        raise PlanError(
            "matplotlib is not installed, which a plot needs: pip install 'sase[plot]'"
        ) from problem
    return pyplot.figure(figsize=(9, 4), layout="constrained").add_subplot()
