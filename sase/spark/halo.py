"""How many rows go to several slices of time: an estimate, and a count."""

from __future__ import annotations

from pyspark.sql import functions as sf

from sase.planning.replay import EARLIEST, SlicePlan
from sase.spark.explanation import Halo
from sase.spark.replay import Replay
from sase.spark.shape import PART


def estimated(slices: SlicePlan) -> Halo | None:
    """The halo by the bounds, if as many rows lie in each slice; None where too few are known."""
    lengths = [end - begin for begin, end in zip(slices.bounds, slices.bounds[1:], strict=False)]
    if not lengths or EARLIEST in slices.begins:
        return None
    share = 0.0
    for number, bound in enumerate(slices.bounds):
        # The first and the last slice are open: they are taken to be as long as their neighbours.
        before, behind = lengths[max(number - 1, 0)], lengths[min(number, len(lengths) - 1)]
        share += (bound - slices.begins[number]) / before + (slices.ends[number] - bound) / behind
    return Halo(share / len(slices))


def measured(replay: Replay) -> Halo | None:
    """The halo as it is: a job counts the parts that each row goes to; None if there is no row."""
    parts = sf.size(sf.col(f"`{PART}`"))
    found = (
        replay.rows_with_parts()
        .select(
            sf.count(sf.lit(1)), sf.sum(parts), sf.sum(sf.when(parts > 1, 1).otherwise(0))
        )
        .first()
    )  # fmt: skip
    assert found is not None
    rows, total, several = found
    return Halo(total / rows - 1, several / rows) if rows else None
