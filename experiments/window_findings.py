"""The findings of the paper on match windows (KDD 2012, section 6), by the figures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

PLAIN, METHODS = "plain", ("f", "fp", "fpc", "fc")
# Two measurements of the same work differ by as much.
NOISE = 0.9
# Figures of runs, and those of trees.
OF_TREES = {"6a": "7a", "6b": "7b", "6c": "7c", "6d": "7d", "6e": "7e", "6f": "7f", "8a": "8b"}
MANY, OF_MANY, SLOWEST, MOST_APART, LARGE = 100.0, 6, 1 / 1.05, 1.5, 10_000


@dataclass
class Point:
    """A point of a figure: by method its throughput, the steps of runs, windows, and events."""

    label: str
    matches: int = 0
    throughput: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    steps: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    windows: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    handed_on: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    # The same of windows that are searched each by itself, where that was measured.
    by_itself: float = 0.0
    plain_windows: tuple[int, int] = (0, 0)

    def add(self, method: str, seconds: float, counters: Mapping[str, Mapping[str, Any]]) -> None:
        """Add a run of a query: the mean throughput is that of the paper."""
        self.throughput[method] += 1 / seconds
        self.steps[method] += counters.get("RunEvaluation", {}).get("steps", 0)
        counted = counters.get("MatchWindow")
        if counted is not None:
            self.windows[method] += counted["windows"]
            self.handed_on[method] += counted["out"]

    def add_windows(self, seconds: float, windows: int, events: int) -> None:
        """Add a query each window of which was searched by itself."""
        self.by_itself += 1 / seconds
        self.plain_windows = self.plain_windows[0] + windows, self.plain_windows[1] + events

    def factor(self, method: str) -> float:
        """How many times the throughput of the plain plan."""
        return self.throughput[method] / self.throughput[PLAIN]

    def saved(self, method: str) -> float:
        """How many times fewer steps runs take."""
        return self.steps[PLAIN] / max(self.steps[method], 1)

    @property
    def best(self) -> float:
        """The factor of the method that gains most."""
        return max(map(self.factor, self.windows))

    @property
    def over_windows(self) -> float:
        """How many times the throughput of plain windows the best method has."""
        return self.best * self.throughput[PLAIN] / self.by_itself

    @property
    def most_saved(self) -> float:
        """How many times fewer steps the method takes that saves most."""
        return max(map(self.saved, self.windows))

    @property
    def number(self) -> int:
        """The number in the label."""
        return int("".join(filter(str.isdigit, self.label)))

    @property
    def line(self) -> str:
        """All of it."""
        told = [f"{self.label:12}{self.matches:9,} matches"]
        for method in self.windows:
            steps = f", steps {self.saved(method):,.1f}" if self.steps[PLAIN] else ""
            searched = f"{self.windows[method]:,} of {self.handed_on[method]:,}"
            told.append(f"{method} {self.factor(method):.2f}{steps} ({searched})")
        if self.by_itself:
            searched = "{:,} of {:,}".format(*self.plain_windows)
            told.append(f"best over plain windows {self.over_windows:,.1f} ({searched})")
        return "  ".join(told)


# The points of each figure that was measured.
Figures: TypeAlias = dict[str, list[Point]]


def findings(figures: Figures) -> Iterator[str]:
    """Each finding that the figures support or not, and the figures."""
    for figure, points in figures.items():
        met = sum(_is_more_gained_by_more(each) for each in points)
        each = f"each at least {NOISE:g} times the one before"
        yield f"{figure}: fpc >= fp >= f >= 1 ({each}) at {met} of {len(points)} points"
    for sequences, sets in (("6a", "6b"), ("6c", "6d")):
        yield from _of_lengths(sequences, figures.get(sequences, []), sets, figures.get(sets, []))
    for runs, tree in OF_TREES.items():
        pairs = list(zip(figures.get(runs, []), figures.get(tree, []), strict=False))
        if pairs:
            met = sum(one.best >= other.best for one, other in pairs)
            yield f"{tree}: runs gain more than a tree at {met} of {len(pairs)} points"
    if points := figures.get("6e", []):
        gained = [each.factor("fpc") for each in points]
        is_met = gained[-1] > gained[0]
        yield _said("6e: more is gained in longer windows", is_met, gained)
    for figure in ("8a", "8b"):
        if large := [each.best for each in figures.get(figure, []) if each.number >= LARGE]:
            is_met, what = (
                max(large) <= MOST_APART * min(large),
                f"does not go by the number of events (within {MOST_APART:g} from {LARGE:,} on)",
            )
            yield _said(f"{figure}: what is gained {what}", is_met, large)


def _is_more_gained_by_more(point: Point) -> bool:
    gained = [1.0, *(point.factor(each) for each in ("f", "fp", "fpc") if each in point.windows)]
    return all(after >= NOISE * before for before, after in zip(gained, gained[1:], strict=False))


def _of_lengths(
    sequences: str, ordered: Sequence[Point], sets: str, unordered: Sequence[Point]
) -> Iterator[str]:
    """Of the figures of sequences and of sets."""
    many = [each for each in unordered if each.number >= OF_MANY]
    if many:
        times, steps = [each.best for each in many], [each.most_saved for each in many]
        what = f"{sets}: sets of {OF_MANY} members and more"
        yield _said(f"{what} gain {MANY:.0f} times", min(times) >= MANY, times)
        yield _said(f"{what} take {MANY:.0f} times fewer steps", min(steps) >= MANY, steps)
        if all(each.by_itself for each in many):
            over = [each.over_windows for each in many]
            yield _said(f"{what} gain {MANY:.0f} times over plain windows", min(over) >= MANY, over)
    if ordered:
        gained = [each.best for each in ordered]
        yield _said(f"{sequences}: none is 1.05 times slower", min(gained) >= SLOWEST, gained)
    if many and ordered:
        gained = [ordered[-1].best, many[-1].best]
        is_met = gained[1] >= 10 * gained[0]
        yield _said(f"{sets}: the largest set gains ten times what a sequence does", is_met, gained)


def _said(what: str, is_met: bool, gained: Sequence[float]) -> str:
    word, least = "yes" if is_met else "no", min(gained)
    return f"{what}: {word}, {gained[0]:,.2f} … {gained[-1]:,.2f}, {least:,.2f} at least"
