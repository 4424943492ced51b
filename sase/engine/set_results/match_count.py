"""The number of matches: an integer, which knows how the run went."""

from __future__ import annotations

import pyarrow as pa

from sase.digits import digits
from sase.engine.report import Report
from sase.engine.set_results.collapsed_table import count_column


class MatchCount(int):
    """How many matches there are, as an integer of any size.

    `is_counted` says whether none of them was looked at; else they were found one by one, counted
    and dropped, and the notes of the `report` say why.
    """

    report: Report
    is_counted: bool

    @classmethod
    def of(cls, count: int, report: Report, *, is_counted: bool) -> MatchCount:
        """A count with what there is to say of it."""
        self = cls(count)
        self.report, self.is_counted = report, is_counted
        return self

    def __repr__(self) -> str:
        """All digits, also where Python alone would refuse to write so many."""
        return digits(self)

    __str__ = __repr__

    def to_arrow(self) -> pa.Table:
        """A row with the column `count`: int64, or text where it is larger."""
        return pa.table({"count": count_column([int(self)])})
