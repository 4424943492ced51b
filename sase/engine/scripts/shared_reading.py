"""Reading an input once for all statements over it: one decoding, and to each what concerns it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sase.binding.types import UNKNOWN
from sase.cached_property import cached_property
from sase.engine.blocks.builder import loader_of
from sase.engine.blocks.dictionary import PlanDictionary, TypeDictionary
from sase.engine.columns import Events, Inputs, Loader
from sase.engine.columns.arrays import Numbers
from sase.engine.columns.slice import taken
from sase.engine.columns.time_column import time_type
from sase.engine.pipeline.shared_rows import SharedRows
from sase.engine.pipeline.warnings import RunWarnings
from sase.engine.scripts.admission import AdmissionIndex, AdmittedPart
from sase.engine.scripts.asking import Asking
from sase.engine.scripts.pieces import Piece
from sase.planning.plan import EnginePlan

# So many rows go through all plans before the next ones do: what is dealt out stays small.
STRETCH = 1 << 20


@dataclass(frozen=True, eq=False)
class Dealt:
    """Events of an input, and what of them each statement is given."""

    events: tuple[Events, ...]
    parts: dict[str, list[SharedRows]]

    def note_types(self, warnings: RunWarnings) -> None:
        """Have the types noted that occur, also in what a statement is not given."""
        for each in self.events:
            if warnings.unseen:
                warnings.note_types(each, slice(None))

    def __len__(self) -> int:
        return sum(map(len, self.events))


class SharedReading:
    """Loads the rows of an input for the plans of some statements, and deals them out."""

    def __init__(
        self, plans_by_name: Mapping[str, EnginePlan], asking: Mapping[str, Asking]
    ) -> None:
        self._names, plans = tuple(plans_by_name), tuple(plans_by_name.values())
        self._plans, self.index = plans, AdmissionIndex([asking[name] for name in self._names])
        names = dict.fromkeys(name for plan in plans for name in plan.attributes)
        first = plans[0]
        coding = PlanDictionary(TypeDictionary(first.schema, first.positives), streaming=True)
        self._loader = loader_of(first, coding, first.on_bad_row, tuple(names))
        # How many events there were, and how many of them each statement was given.
        self.events, self.given = 0, dict.fromkeys(self._names, 0)
        # Those that were given nothing so far, and do not know the columns of events yet.
        self._without_columns = set(self._names)

    def stretches(self, pieces: Sequence[Piece]) -> list[RowRange] | None:
        """The rows of pieces, so many at a time; None if bad ones are among them.

        Which rows are bad is for each plan to say, by the columns that it names.
        """
        found = list[RowRange]()
        for piece in pieces:
            inputs = self._loader.proved(self._loader.opened(piece.inputs).drained())
            self._check_known(inputs)
            events = self._loader.load(inputs)
            if events.refused is not None:
                return None
            for begin in range(0, max(len(events), 1), STRETCH):
                part = _stretch(events, begin, min(begin + STRETCH, len(events)))
                found.append(RowRange(self._loader, inputs, part, begin, piece.rows))
        return found

    def _check_known(self, inputs: Inputs) -> None:
        """Refuse events without which a plan was compiled."""
        if all(table.is_open for table in inputs.tables):
            return
        for plan in self._plans:
            has_times = plan.lacks_unit and time_type(inputs, plan.schema.time) != UNKNOWN
            plan.check_known(has_tables=inputs.typed, has_times=has_times)

    def dealt(self, stretches: Sequence[RowRange]) -> Dealt:
        """What of some stretches concerns each statement."""
        parts: dict[str, list[SharedRows]] = {name: [] for name in self._names}
        for stretch in stretches:
            self.events += len(stretch.events)
            dealt = zip(parts.items(), self.index.parts(stretch.events), strict=True)
            for (name, own), part in dealt:
                self.given[name] += len(stretch.events if part is None else part.places)
                if part is None:
                    own.append(stretch.whole)
                elif len(part.places) or name in self._without_columns:
                    own.append(stretch.part(part))
                self._without_columns.discard(name)
        return Dealt(tuple(each.events for each in stretches), parts)


def _stretch(events: Events, begin: int, end: int) -> Events:
    """Slice events, whose order keys are ranked from 0 on."""
    part = events.between(begin, end)
    return part if part.tie is None else replace(part, tie=part.tie - part.tie[:1])


class _TakenRows:
    """Some rows of an input and the events that they are, taken out when they are first shown."""

    __slots__ = ("_events", "_found", "_inputs", "_rows")

    def __init__(self, inputs: Inputs, rows: Numbers, events: Events) -> None:
        self._inputs, self._rows, self._events = inputs, rows, events
        self._found: tuple[Inputs, Events] | None = None

    def __call__(self) -> tuple[Inputs, Events]:
        if self._found is None:
            self._found = taken(self._inputs, self._rows), self._events
        return self._found


@dataclass(frozen=True, eq=False)
class RowRange:
    """Events from one of an input on, and what tells the rows of these."""

    loader: Loader
    inputs: Inputs
    events: Events
    begin: int
    numbers: Numbers | None

    @cached_property
    def whole(self) -> SharedRows:
        """All of them, made once for all plans that are given all."""
        places = np.arange(len(self.events))
        part = self.part(AdmittedPart(places, self.events, is_decided=False))
        return replace(part, places=None)

    def _none(self) -> tuple[Inputs, Events]:
        return self._emptied

    @cached_property
    def _emptied(self) -> tuple[Inputs, Events]:
        return self.inputs.emptied(), replace(self.events.between(0, 0), order=None)

    def part(self, part: AdmittedPart) -> SharedRows:
        """Some of them with their rows, which are taken out when shown."""
        places, events = part.places, part.events
        order, numbers = self.events.order, self.numbers
        rows = places + self.begin if order is None else np.sort(order[places])
        if order is not None:
            events = replace(events, order=np.searchsorted(rows, order[places]))

        numbered = rows if numbers is None else numbers[rows]
        sources = _TakenRows(self.inputs, rows, events), self._none
        return SharedRows(
            self.loader, events, numbered, part.is_decided, *sources, self.events, places
        )
