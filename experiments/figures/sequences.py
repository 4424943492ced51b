"""Shared by the figures of SASE 2006: streams of Table 1, queries of their templates, axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa

from experiments.core.experiment import Plot
from sase.generate import uniform_events

SOURCE = "SASE, SIGMOD 2006"
SEED = 20060600
TYPES, ATTRIBUTES = 20, (100, 20, 1000, 1000, 10)
RATE = Plot("events_per_s", "events/s", "", log_y=True)


def stream(
    events: int, *domains: int, types: int = TYPES, seed: int = SEED
) -> Callable[[], pa.Table]:
    """A stream of a number of events; domains that are not given are those of Table 1."""
    sizes = (*domains, *ATTRIBUTES[len(domains) :])
    layout = "int8" if types <= 128 else "int32"
    return partial(_made, events=events, types=types, domains=sizes, seed=seed, type_layout=layout)


@lru_cache(maxsize=1)
def _made(**drawn: Any) -> pa.Table:
    """Events, made once for the points one after the other that read them."""
    return uniform_events(**drawn)


def template(length: int, where: str = "", window: int = 10_000) -> str:
    """The papers' sequence of E1, E2, … as a query."""
    steps = ", ".join(f"E{number} {name}" for number, name in enumerate("abcdefgh"[:length], 1))
    condition = f" WHERE {where}" if where else ""
    return f"EVENT SEQ({steps}){condition} WITHIN {window}"


def rate(x_label: str, *, log_x: bool = True, log_y: bool = True) -> Plot:
    """Throughput over something."""
    return Plot("events_per_s", "events/s", x_label, log_x=log_x, log_y=log_y)


def paper_rate(x_label: str, *, log_x: bool = True) -> Plot:
    """The same as the paper defines it."""
    label = "events/s by the paper's batches of W"
    return Plot("paper_events_per_s", label, x_label, log_x=log_x, log_y=True)
