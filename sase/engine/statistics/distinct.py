"""Estimate the number of distinct values, and their skew, from occurrences in a sample."""

from __future__ import annotations

import math

import numpy as np

from sase.engine.columns.arrays import Numbers

# Standard deviations beyond which values are not equally frequent.
SURE = 3.0


def occurrences(codes: Numbers) -> Numbers:
    """Count the occurrences of each code, for sorted codes that are not negative."""
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return np.diff(starts, append=len(codes))


def distinct(counts: Numbers, part: float) -> int:
    """Estimate the number of distinct values in the whole; the sample is a random part.

    This is HYBGEE of Charikar et al. (PODS 2000). Values of about equal frequency take the smoothed
    jackknife of Haas et al. (VLDB 1995), as in PostgreSQL. Other values take the guaranteed-error
    estimator, with an error of at most a factor of sqrt(1 / part). Both are exact for the whole.
    """
    seen, rows = len(counts), int(counts.sum())
    if not seen or part >= 1:
        return seen
    once = int(np.count_nonzero(counts == 1))
    if _is_even(counts):
        found = seen / (1 - (1 - part) * once / rows)
    else:
        found = math.sqrt(1 / part) * once + seen - once
    return round(min(found, rows / part))


def _is_even(counts: Numbers) -> bool:
    """Whether the counts fit equally frequent values, by Pearson's test."""
    free, usual = len(counts) - 1, float(counts.mean())
    deviation = float(((counts - usual) ** 2).sum()) / usual
    return deviation <= free + SURE * math.sqrt(2 * free)


def agreeing(counts: Numbers, several: int = 2) -> float | None:
    """Estimate without bias how likely several rows have one value; None for too few rows."""
    rows = float(counts.sum())
    if rows < several:
        return None
    found, every = np.ones(len(counts)), 1.0
    for taken in range(several):
        found *= np.maximum(counts - taken, 0.0)
        every *= rows - taken
    return float(found.sum()) / every
