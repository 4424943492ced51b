"""The running statements of a script, and their inputs; a statement comes after those it reads.

Each input is brought into order once. Its rows are passed to every statement that reads it. The
matches of a statement are passed to the statements that read its stream, with a floor: the time up
to which all matches have been found. All work is done by pushing whole batches. Rows of an input
that several statements read alone are loaded once, and each statement gets the events that concern
it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from sase.binding import Schema
from sase.binding.schema import MERGED
from sase.engine.blocks.key_texts import SharedTexts
from sase.engine.blocks.shared_conditions import ConditionsOf, SharedConditions
from sase.engine.columns.decode.quarantine import each_once, joined
from sase.engine.pipeline.batch import NumberedRows
from sase.engine.pipeline.checkpoint import passed_on
from sase.engine.pipeline.fused.open import drive_admitted
from sase.engine.pipeline.matcher import Matcher
from sase.engine.pipeline.pipeline import Pipeline
from sase.engine.pipeline.stream_state import BEGINNING
from sase.engine.report import Report
from sase.engine.resources import Check, no_check
from sase.engine.results.matches import Matches
from sase.engine.scripts.joint_matching import JointMatching, added_to
from sase.engine.scripts.matching_forms import JointNames, joint_plan
from sase.engine.scripts.plan import Additions, ScriptPlan, StatementPlan
from sase.engine.scripts.rows import Fed, InputRows
from sase.engine.scripts.shared_reading import Dealt, InputStream, RowRange, SharedReading
from sase.engine.scripts.statement import RunningStatement
from sase.engine.scripts.threads import Workers, dealt_to
from sase.planning.engine_plan import EnginePlan

Found: TypeAlias = dict[str, Matches]


class ScriptPipeline:
    """The opened inputs and statements of a script.

    One matching serves each group of `joint` statements, which are given by name if a state is
    restored. Without `joint` all statements that begin together and can share a matching do. More
    `threads` than one are for complete inputs.
    """

    def __init__(
        self,
        plan: ScriptPlan,
        *,
        streaming: bool = True,
        whole: Collection[str | None] = (),
        check: Check = no_check,
        joint: Sequence[JointNames] | None = None,
        threads: int = 1,
    ) -> None:
        self.plan = plan
        # The names of statements that are searched side by side; None if all are in one thread.
        self._parts = dealt_to(plan, threads) if threads > 1 else None
        self._workers = Workers(threads, check)
        self.inputs = {
            each.name: InputStream(each, streaming=each.name not in whole) for each in plan.inputs
        }
        self._streaming, self._check = streaming, self._workers.check
        # The texts of keys; all statements that read an input alone share them.
        self.key_texts = {each.name: SharedTexts() for each in plan.inputs}
        # The conditions on one event; all statements that read an input alone share them.
        self.conditions = {each.name: SharedConditions(each.schema) for each in plan.inputs}
        self.statements = self._opened(plan.statements, plan.joint if joint is None else joint)
        self._shared = dict(self._shared_readings())
        # The times up to which complete inputs are read.
        self.floors = dict.fromkeys(self.inputs, BEGINNING)
        # The greatest number of a statement so far: none is used again.
        self.numbered = len(plan.statements)
        # Rows that a statement refused, by its only input, or else by its name.
        self._bad: dict[str | None, list[pa.Table]] = {}
        # Whether only some of the statements have the last rows.
        self.is_in_midst = self.is_finished = False

    def _opened(
        self, plans: Sequence[StatementPlan], joint: Sequence[JointNames]
    ) -> dict[str, RunningStatement]:
        """Open statements that begin, some of them together."""
        by_name = {each.name: each for each in plans}
        matchings = dict[str, JointMatching]()
        for names, types, added, drops in joint:
            own = {name: by_name[name].plan for name in names}
            plan = joint_plan(own.values(), types, drops=drops)
            matcher = self._matcher(by_name[names[0]], plan)
            matchings |= dict.fromkeys(names, JointMatching(own, matcher, added, drops=drops))
        return {
            each.name: RunningStatement(each, self._matcher(each, each.plan))
            if each.name not in matchings
            else RunningStatement(each, matchings[each.name].matcher, matchings[each.name])
            for each in plans
        }

    def _matcher(self, statement: StatementPlan, plan: EnginePlan) -> Matcher:
        shared = self.shared_by(statement)
        # Matches of others come in pieces, each with texts of its own.
        streaming = self._streaming or not shared
        return Matcher(plan, streaming=streaming, check=self._check, **shared)

    def go_on(self, reader: str, opened: Callable[..., Pipeline]) -> None:
        """Continue with another pipeline in a statement, and in those that its matching serves.

        `opened` opens it for a plan, with the shared parts as keywords.
        """
        members = _served(self.statements, reader)
        own = {each.plan.name: each.plan.plan for each in members}
        first, joint = members[0].plan, members[0].joint
        if joint is None:
            matcher = Matcher.of(opened(first.plan, **self.shared_by(first)))
        else:
            plan = joint_plan(own.values(), joint.types, drops=joint.drops)
            matcher = Matcher.of(opened(plan, **self.shared_by(first)))
            joint = JointMatching(own, matcher, joint.added, drops=joint.drops)
        for each in members:
            each.go_on(matcher, joint)
        if self.is_dealt(first.name):
            drive_admitted(matcher.pipeline)

    @property
    def joint(self) -> list[JointNames]:
        """The names of the statements that one matching serves, the first of them first."""
        found, matchings = dict[str, dict[str, None]](), dict[str, JointMatching]()
        for name, each in self.statements.items():
            if each.joint is not None:
                found.setdefault(each.reader, {each.reader: None})[name] = None
                matchings[each.reader] = each.joint
        return [each.named(found[name]) for name, each in matchings.items()]

    def shared_by(self, plan: StatementPlan) -> dict[str, Any]:
        """The parts that a statement shares with all readers of its input alone, as keywords."""
        name = plan.sources[0]
        if len(plan.sources) > 1 or name not in self.inputs:
            return {}
        conditions = ConditionsOf(self.conditions[name], plan.name)
        return {"key_texts": self.key_texts[name], "conditions": conditions}

    def _recycle_texts(self, name: str | None) -> None:
        """Forget texts of keys, once there are many; statements without events advance first."""
        texts = self.key_texts[name]
        if not texts.is_full:
            return
        for each in self.statements.values():
            if each.plan.sources == (name,) and not each.is_over:
                each.matcher.pipeline.pass_time(self.inputs[name].reorder_buffer.floor)
        texts.recycle()

    def exchange(self, plan: ScriptPlan) -> None:
        """Run the statements of another plan over the same inputs from now on.

        Statements that already ran continue with their state. New ones begin at the current time,
        and join a matching that runs if it finds their matches.
        """
        before, self.plan, self.statements = self.statements, plan, {}
        for conditions in self.conditions.values():
            conditions.keep({each.name for each in plan.statements if each.name in before})
        begin = [each for each in plan.statements if each.name not in before]
        known = (each for each in plan.statements if each.name in before)
        additions = Additions.of(plan.inputs, known, begin)
        running, joined = dict(before), dict[str, set[str]]()
        for name, other in additions.joined.items():
            joined.setdefault(before[other].reader, set()).add(name)
        for reader, names in joined.items():
            self._join(running, reader, names)
        alone = self._opened([each for each in begin if each.name not in running], additions.joint)
        running |= alone
        for each in plan.statements:
            self.statements[each.name] = running[each.name]
            running[each.name].apart = additions.apart.get(each.name, running[each.name].apart)
            if each.name in alone:
                floors = {name: Fed((), self._floor(name)) for name in each.sources}
                running[each.name].take(floors)
            running[each.name].plan = each
        for reader in {each.reader for n, each in before.items() if n not in self.statements}:
            self._leave(reader)
        self._shared = dict(self._shared_readings())

    def _join(
        self, running: dict[str, RunningStatement], reader: str, names: Collection[str]
    ) -> None:
        """Add statements to a matching that runs; their matches have later events only."""
        members = _served(running, reader)
        first, begin = members[0], [each for each in self.plan.statements if each.name in names]
        pipeline, joint = first.matcher.pipeline, first.joint
        at, own = added_to(pipeline), {each.plan.name: each.plan.plan for each in members}
        own |= {each.name: each.plan for each in begin}
        drops = joint is not None and joint.drops
        plan = joint_plan(own.values(), () if joint is None else joint.types, drops=drops)
        matcher = first.matcher
        is_new = plan.operators != pipeline.plan.operators
        if is_new or not {*plan.attributes} <= {*pipeline.plan.attributes}:
            matcher = Matcher.of(passed_on(pipeline, plan, **self.shared_by(first.plan)))
        added = {**({} if joint is None else joint.added), **dict.fromkeys(own.keys() & names, at)}
        found = JointMatching(own, matcher, added, drops=drops)
        for each in members:
            each.go_on(matcher, found)
        running |= {each.name: RunningStatement(each, matcher, found) for each in begin}

    def _leave(self, reader: str) -> None:
        """Reduce a matching to the state that its remaining statements need."""
        left = _served(self.statements, reader)
        if left and not left[0].is_over:
            pipeline = left[0].matcher.pipeline
            self.go_on(reader, lambda plan, **shared: passed_on(pipeline, plan, **shared))

    def _floor(self, name: str | None) -> int:
        """The time before which no events of an input or a statement come any more."""
        if name in self.inputs:
            return self.inputs[name].reorder_buffer.floor
        assert name is not None, "a statement has a name"
        return self.statements[name].floor

    def push(self, name: str | None, batch: object) -> Found:
        """Push rows of an input, and return the matches by statement."""
        fed = self.inputs[name].push(batch)
        self.is_in_midst = True
        stretches = self._stretches(name, fed)
        dealt = None if stretches is None else self._shared[name].dealt(stretches)
        found = self._pass_on({name: fed}, dealt)
        self._recycle_texts(name)
        return found

    def search(self, inputs: Mapping[str | None, InputRows]) -> Iterator[Found]:
        """Search complete inputs to their end, in pieces of as many rows as may be held."""
        with self._workers:
            for name, piece in read_in_turn(inputs, self.floors.__getitem__):
                yield from self._searched_piece(name, piece)
            yield self.finish()

    def _searched_piece(self, name: str | None, piece: NumberedRows | None) -> Iterator[Found]:
        """Search the next rows of a complete input; None at its end."""
        if piece is None:
            yield self._pass_on({name: self.inputs[name].finish()})
            return
        fed = self.inputs[name].push(*piece)
        self.floors[name] = fed.floor
        yield from self._searched(name, fed)
        self._recycle_texts(name)

    def _searched(self, name: str | None, fed: Fed) -> Iterator[Found]:
        """Search rows of an input, a part at a time through all statements."""
        stretches = self._stretches(name, fed)
        if stretches is None:
            yield self._pass_on({name: fed})
            return
        if len(stretches) > 1:
            for statement in self.statements.values():
                statement.matcher.pipeline.expect_pieces()
        dealing = (partial(self._shared[name].dealt, [stretch]) for stretch in stretches)
        # No variable holds a part or its matches: the next part takes their memory.
        coming = self._workers.ahead(dealing)
        for left in reversed(range(len(stretches))):
            yield self._pass_on({} if left else {name: fed}, next(coming))

    def _stretches(self, name: str | None, fed: Fed) -> list[RowRange] | None:
        """The stretches of a shared reading of an input; None if each statement reads it itself."""
        shared = self._shared.get(name)
        return shared.stretches(fed.pieces) if shared is not None and fed.pieces else None

    def advance(self, to: object, names: tuple[str | None, ...]) -> Found:
        """The matches that become certain when time passes in some inputs without an event."""
        return self._pass_on({name: self.inputs[name].advance(to) for name in names})

    def due(self) -> Iterator[tuple[Schema, int]]:
        """The next timers, each with the schema by which it is counted."""
        for given in self.inputs.values():
            if (first := given.reorder_buffer.due()) is not None:
                yield given.plan.schema, first
        for statement in self.statements.values():
            if (first := statement.due()) is not None:
                yield statement.plan.plan.schema, first

    def finish(self) -> Found:
        """The matches that become certain because no event will come."""
        found = self._pass_on({name: each.finish() for name, each in self.inputs.items()})
        self.is_finished = True
        return found

    def _note_bad(self, name: str, bad: pa.Table | None) -> None:
        """Keep the rows that a statement refused."""
        if bad is not None and bad.num_rows:
            sources = self.statements[name].plan.sources
            is_of_input = len(sources) == 1 and sources[0] in self.inputs
            self._bad.setdefault(sources[0] if is_of_input else name, []).append(_as_read(bad))

    @property
    def arrived(self) -> int:
        """The number of rows of all inputs so far."""
        return sum(each.reorder_buffer.arrived for each in self.inputs.values())

    def take_bad(self) -> dict[str | None, pa.Table | None]:
        """The bad rows of each input since the last call, for all statements or for one of its own.

        A statement over several streams has its bad rows under its name, if there are some. Each
        row occurs once for each column that makes it bad; None if a bad row is an error.
        """
        found = {name: each.take_bad() for name, each in self.inputs.items()}
        of_statements, self._bad = self._bad, {}
        for name, tables in of_statements.items():
            of_all = found.get(name)
            found[name] = rows_once(tables if of_all is None else [of_all, *tables])
        return found

    def bad_rows(self) -> dict[str | None, pa.Table]:
        """The bad rows that `take_bad` would return, without taking them; only names with some."""
        tables = {name: [each.bad_rows()] for name, each in self.inputs.items()}
        for name, more in self._bad.items():
            tables[name] = [*tables.get(name, ()), *more]
        some = {n: [e for e in each if e is not None and len(e)] for n, each in tables.items()}
        return {name: joined(each) for name, each in some.items() if each}

    def put_back_bad(self, tables: Mapping[str | None, pa.Table]) -> None:
        """Restore bad rows that were not taken yet."""
        self._bad = {name: [table] for name, table in tables.items()}

    def is_dealt(self, name: str) -> bool:
        """Whether a statement gets events of a shared reading."""
        read = self.statements[name].plan.sources
        return len(read) == 1 and read[0] in self._shared

    def given(self, name: str | None) -> tuple[int, Mapping[str, int]]:
        """The number of events of a shared input, and the number that each statement got."""
        shared = self._shared.get(name)
        if shared is None:
            return 0, {}
        readers = {each.plan.name: each.reader for each in self.statements.values()}
        given = shared.given
        return shared.events, {n: given[each] for n, each in readers.items() if each in given}

    def report(self, name: str) -> Report:
        """The report of a statement, with the late and bad rows of the inputs that it reads."""
        statement = self.statements[name]
        own = statement.report()
        read = [self.inputs[each] for each in statement.plan.sources if each in self.inputs]
        late, bad = (sum(getattr(each.report(), of) for each in read) for of in ("late", "bad"))
        return replace(own, late=own.late + late, bad=own.bad + bad)

    def whole_report(self, name: str, aside: Sequence[pa.Table]) -> Report:
        """The report of a whole run, with the bad rows of the statement and of its inputs."""
        read = [
            self.inputs[each] for each in self.statements[name].plan.sources if each in self.inputs
        ]
        tables = [*(each.bad_rows() for each in read), *aside]
        some = [_as_read(table) for table in tables if table is not None]
        quarantined = joined(some) if some else None
        return replace(self.report(name), quarantined=quarantined)

    def _pass_on(self, fed: dict[str | None, Fed], dealt: Dealt | None = None) -> Found:
        """Feed every statement with the rows of its sources, or with the events dealt out to it."""
        self.is_in_midst = True
        parts = [[*self.statements]] if self._parts is None else self._parts
        told = self._workers.run([partial(self._passed, each, {**fed}, dealt) for each in parts])
        self.is_in_midst = False
        every = {name: each for found in told for name, each in found.items()}
        found = {name: every[name] for name in self.statements if name in every}
        for name, matches in found.items():
            if self.statements[name].plan.plan.on_bad_row == "quarantine":
                self._note_bad(name, matches.report.quarantined)
        for conditions in self.conditions.values():
            conditions.forget()
        return found

    def _passed(
        self, names: Iterable[str], fed: dict[str | None, Fed], dealt: Dealt | None
    ) -> Found:
        """Feed some statements, which no other one reads, and add their streams to `fed`."""
        found: Found = {}
        for name in names:
            statement = self.statements[name]
            if statement.is_over:
                continue
            if dealt is not None and statement.reader in dealt.parts:
                (source,) = statement.plan.sources
                floor = fed[source].floor if source in fed else BEGINNING
                matches = statement.take_shared(dealt, floor)
            elif not fed.keys().isdisjoint(statement.plan.sources):
                matches = statement.take(fed)
            else:
                continue
            if matches is not None:
                found[name] = matches
            if statement.plan.composite is not None:
                assert matches is not None, "a statement that is read needs all times"
                fed[name] = statement.told(matches)
        return found

    def _shared_readings(self) -> Iterator[tuple[str | None, SharedReading]]:
        """The inputs that several statements read alone."""
        told = {each.reader for each in self.statements.values() if each.plan.composite is not None}
        for each in self.statements.values():
            each.is_told = each.reader in told
        for name in self.inputs:
            over_it = (each for each in self.statements.values() if each.plan.sources == (name,))
            readers = {each.reader: each for each in over_it}
            asking = {reader: each.asking for reader, each in readers.items()}
            if len(readers) > 1 or any(each.told_apart for each in asking.values()):
                pipelines = {reader: each.matcher.pipeline for reader, each in readers.items()}
                for pipeline in pipelines.values():
                    drive_admitted(pipeline)
                yield name, SharedReading({n: p.plan for n, p in pipelines.items()}, asking)


def read_in_turn(
    inputs: Mapping[str | None, InputRows], floor: Callable[[str | None], int]
) -> Iterator[tuple[str | None, NumberedRows | None]]:
    """Read complete inputs piece by piece, and None at the end of each.

    Of inputs that come in pieces the one that is read up to the least time is read next.
    """
    left = {name: each.pieces() for name, each in inputs.items()}
    while left:
        name = min(left, key=floor)
        piece = next(left[name], None)
        if piece is None:
            del left[name]
        yield name, piece


def rows_once(tables: Sequence[pa.Table]) -> pa.Table:
    """Bad rows of several tables, each row once for each column that makes it bad."""
    return each_once(joined(tables))


def _served(statements: Mapping[str, RunningStatement], reader: str) -> list[RunningStatement]:
    """The statements that one matching serves, its first one first."""
    members = (each for each in statements.values() if each.reader == reader)
    return sorted(members, key=lambda each: each.plan.name != reader)


def _as_read(bad: pa.Table) -> pa.Table:
    """Bad rows without the columns that merging several streams adds."""
    names = enumerate(bad.column_names)  # some may occur twice
    return bad.select([place for place, name in names if name not in MERGED])
