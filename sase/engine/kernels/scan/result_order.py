"""The order of matches of several branches, and the matches that do not overlap."""

from __future__ import annotations

from typing import NamedTuple

from sase.engine.kernels.jit.compiler import kernel, linked
from sase.engine.kernels.jit.signatures import OutFlags, OutInts

# ---------------------------------------------------------------- union order


class UnitedMatches(NamedTuple):
    """All matches: their events in stream order, the end of each match, and when it is detected.

    `slots` is, for each event, the number of the variable that it is bound to.
    """

    events: OutInts
    slots: OutInts
    ends: OutInts
    detected: OutInts


@linked
def compared(matches: UnitedMatches, one: int, other: int) -> int:
    """Compare two matches: negative if `one` comes first, 0 if they are the same."""
    if matches.detected[one] != matches.detected[other]:
        return -1 if matches.detected[one] < matches.detected[other] else 1
    first = matches.ends[one - 1] if one > 0 else 0
    second = matches.ends[other - 1] if other > 0 else 0
    left, right = matches.ends[one] - 1, matches.ends[other] - 1
    if matches.events[left] != matches.events[right]:
        return -1 if matches.events[left] < matches.events[right] else 1
    left, right = left - 1, right - 1
    while left >= first and right >= second:
        if matches.events[left] != matches.events[right]:  # the more recent first
            return -1 if matches.events[left] > matches.events[right] else 1
        left, right = left - 1, right - 1
    if left >= first or right >= second:
        return 1 if left >= first else -1
    left, right = matches.ends[one] - 1, matches.ends[other] - 1
    while left >= first:
        if matches.slots[left] != matches.slots[right]:
            return -1 if matches.slots[left] < matches.slots[right] else 1
        left, right = left - 1, right - 1
    return 0


@kernel
def order_matches(
    matches: UnitedMatches, order: OutInts, spare: OutInts, runs: OutInts, is_new: OutFlags
) -> None:
    """Sort matches; write for each in order whether it differs from the one before.

    A natural merge sort: sorted runs are merged, and equal matches keep their order.
    """
    count = order.shape[0]
    found = 0
    for number in range(count):
        order[number] = number
        if number == 0 or compared(matches, number - 1, number) > 0:
            runs[found] = number
            found += 1
    runs[found] = count
    while found > 1:
        kept = 0
        for run in range(0, found, 2):
            begin, middle = runs[run], runs[run + 1]
            end = runs[run + 2] if run + 2 <= found else middle
            left, right = begin, middle
            for place in range(begin, end):
                takes_left = left < middle and (
                    right >= end or compared(matches, order[left], order[right]) <= 0
                )
                if takes_left:
                    spare[place] = order[left]
                    left += 1
                else:
                    spare[place] = order[right]
                    right += 1
            runs[kept] = begin
            kept += 1
        runs[kept] = count
        found = kept
        for place in range(count):
            order[place] = spare[place]
    for place in range(count):
        is_new[place] = place == 0 or compared(matches, order[place - 1], order[place]) != 0


# ---------------------------------------------------------------- non overlap


@kernel
def select_disjoint(
    groups: OutInts, begins: OutInts, ends: OutInts, taken: OutInts, keep: OutFlags
) -> None:
    """Write whether each match is selected; `taken` has by group the end of the last selected."""
    for number in range(keep.shape[0]):
        group = groups[number]
        keep[number] = begins[number] > taken[group]
        if keep[number]:
            taken[group] = ends[number]
