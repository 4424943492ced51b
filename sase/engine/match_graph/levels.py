"""The positive components of a pattern, and how many events each may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Levels:
    """The least and the greatest number of events by component; None is no upper bound."""

    minimum: tuple[int, ...]
    maximum: tuple[int | None, ...]

    def __post_init__(self) -> None:
        if not self.minimum or len(self.minimum) != len(self.maximum):
            raise ValueError("levels need a minimum and a maximum for each of the components")
        for least, most in zip(self.minimum, self.maximum, strict=True):
            if least < 0 or (most is not None and most < max(least, 1)):
                raise ValueError(f"a component cannot take from {least} to {most} events")

    def __len__(self) -> int:
        return len(self.minimum)

    def skipped(self, after: int, before: int) -> bool:
        """Whether all components between these two may stay empty."""
        return not any(self.minimum[after + 1 : before])
