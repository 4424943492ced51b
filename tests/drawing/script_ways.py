"""The ways to run a script: over all events at once, or pushed in any cuts, with restarts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import sase
from tests.drawing.outcomes import FOUND, NOTHING, REFUSED, Outcome, shrunk
from tests.drawing.script_examples import ScriptExample, ScriptInput, drawn
from tests.drawing.script_statements import Statement
from tests.naive.scripts import ScriptMatch, TooManyResultsError
from tests.seeds import tries

RECIPES = ("optimized", "optimized", "basic", "pais", "nfab", "tree_bushy")
LATE = ("late", "late")
KINDS = ("run", "unsorted", "compiled", "push", "restart", "changed", "edit", "grow", *LATE)
# The parts of composite events beside their attributes, and times, which results show.
HIDDEN = ("type", "ts", "at", "lo", "hi", "sq", "k")
Found = dict[str, list[str]]


@dataclass(frozen=True)
class ScriptWay:
    """How a script is run."""

    kind: str  # one of KINDS
    recipe: str
    seed: int

    def run(self, example: ScriptExample) -> Found:
        if self.kind in ("run", "compiled", "unsorted"):
            return self._run(self.judged(example))
        of_kind = {"late": self._late, "edit": self._edit, "grow": self._grow}
        return of_kind.get(self.kind, self._push)(example)

    def judged(self, example: ScriptExample) -> ScriptExample:
        """The example with its results: with rows in the order in which they arrive.

        Late ones are not among them.
        """
        if self.kind == "unsorted":
            inputs = tuple(
                replace(each, rows=shuffled(Random(self.seed), each.rows))
                for each in example.inputs
            )
            return replace(example, inputs=inputs)
        if self.kind == "grow":
            some, held = example.statements, _held(Random(self.seed), example)
            return replace(example, statements=tuple(each for each in some if each not in held))
        if self.kind != "late":
            return example
        kept = Arrivals.drawn(Random(self.seed), example.inputs).kept
        inputs = tuple(replace(each, rows=kept[each.name]) for each in example.inputs)
        return replace(example, inputs=inputs)

    def _late(self, example: ScriptExample) -> Found:
        """Pushed in disorder, with time that passes, so that some rows are late."""
        arrivals = Arrivals.drawn(Random(self.seed), example.inputs)
        script = self._script(example, schema=True, lateness=arrivals.lateness)
        matcher, parts = script.open(), list[Mapping[str, sase.Matches]]()
        by_name, random = {each.name: each for each in example.inputs}, Random(self.seed)
        for name, what in arrivals.steps:
            if name not in script.inputs:
                continue
            if isinstance(what, int):
                parts.append(matcher.advance(by_name[name].moment(what), name))
            else:
                parts.append(matcher.push(name, by_name[name].table_of(what)))
            if random.random() < 0.15:
                matcher = script.restore(matcher.snapshot())
        parts.append(matcher.finish())
        for name in script.inputs:
            late, wanted = matcher.late[name], [row["u"] for row in arrivals.late[name]]
            assert late["u"].to_pylist() == wanted if wanted else not late, (name, late, wanted)
            assert matcher.input_reports[name].late == len(wanted), (name, wanted)
        return told(parts, script.statements)

    def _script(
        self, example: ScriptExample, schema: bool, lateness: Mapping[str | None, str] | None = None
    ) -> sase.Script:
        options = {**_options(example.inputs), "lateness": lateness}
        if not schema:
            return sase.Script(example.text, plan=self.recipe, **options)
        unnamed, streams = _given(example.inputs)
        return sase.Script(example.text, unnamed, streams=streams, plan=self.recipe, **options)

    def _run(self, example: ScriptExample) -> Found:
        unnamed, streams = _given(example.inputs)
        script, threads = self._script(example, self.kind == "compiled"), 1 + self.seed % 3
        found = script.run(unnamed, streams=streams, threads=threads)
        return told([found], script.statements)

    def _edit(self, example: ScriptExample) -> Found:
        """Pushed, with a statement removed and one added in between.

        The matches of the removed one count as if it had continued, if they were right so far.
        """
        random, script = Random(self.seed), self._script(example, schema=True)
        matcher, parts = script.open(), list[Mapping[str, sase.Matches]]()
        read = tuple(each for each in example.inputs if each.name in script.inputs)
        cuts = list(_cuts(random, read))
        at = random.randint(0, len(cuts))
        parts += [matcher.push(*cut) for cut in cuts[:at]]
        removed = random.choice([*_last_statements(example), None])
        if removed is not None and len(script.statements) > 1:
            matcher.remove(removed)
            before = told(parts, script.statements)[removed]
        added = _addition(random, example)
        names = matcher.add(added.statements[0].text) if added is not None else ()
        later = [*(matcher.push(*cut) for cut in cuts[at:]), matcher.finish()]
        found = told([*parts, *later], tuple(dict.fromkeys((*script.statements, *names))))
        if added is not None:
            _check_added(added, cuts[:at], told(later, tuple(found))[names[0]])
        if removed is not None and len(script.statements) > 1:
            wanted = expected(example)[removed]
            found[removed] = wanted if before == wanted[: len(before)] else before
        return {name: found[name] for name in script.statements}

    def _grow(self, example: ScriptExample) -> Found:
        """Pushed, with statements that come later, and of which some are removed again."""
        random, kept = Random(self.seed), self.judged(example)
        script, added = self._script(kept, schema=True), dict[str, tuple[ScriptExample, int]]()
        matcher, parts = script.open(), list[Mapping[str, sase.Matches]]()
        cuts = list(_cuts(random, tuple(e for e in example.inputs if e.name in script.inputs)))
        left, gone = list(_held(Random(self.seed), example)), set[str]()
        for at in range(len(cuts) + 1):
            while left and random.random() < (0.3 if at < len(cuts) else 0.8):
                query = Statement(_query(left.pop().text), None)
                (name,) = matcher.add(query.text)
                added[name] = ScriptExample((query,), example.inputs), at
            if random.random() < 0.2:
                matcher = matcher.script.restore(matcher.snapshot())
            for name in [e for e in added if e not in gone and random.random() < 0.05]:
                matcher.remove(name)
                gone.add(name)
            parts.append(matcher.push(*cuts[at]) if at < len(cuts) else matcher.finish())
        found = told(parts, (*script.statements, *added))
        for name, (one, at) in added.items():
            _check_added(one, cuts[:at], found[name], is_whole=name not in gone)
        return {name: found[name] for name in script.statements}

    def _push(self, example: ScriptExample) -> Found:
        random, script = Random(self.seed), self._script(example, schema=True)
        matcher, parts = script.open(), list[Mapping[str, sase.Matches]]()
        read = tuple(each for each in example.inputs if each.name in script.inputs)
        for name, rows in _cuts(random, read):
            parts.append(matcher.push(name, rows))
            if self.kind == "restart" and random.random() < 0.4:
                matcher = script.restore(matcher.snapshot())
            if self.kind == "changed":
                matcher = _changed(matcher, random, example)
        parts.append(matcher.finish())
        return told(parts, script.statements)


def _changed(matcher: sase.ScriptMatcher, random: Random, example: ScriptExample) -> Any:
    """A matcher to which a statement is added, or from which one is removed, which change none."""
    added = [name for name in matcher.statements if name.startswith("added")]
    if added and random.random() < 0.3:
        matcher.remove(added[-1])
    elif random.random() < 0.4:
        streams = [each for each in matcher.inputs if each is not None]
        streams += [each.text.split()[2] for each in example.statements if "CREATE" in each.text]
        named = random.sample(streams, min(len(streams), random.choice([1, 2])))
        if any(each.name in named and isinstance(each.time, tuple) for each in example.inputs):
            del named[1:]  # an input with an order is not read beside imprecise time
        source = f"FROM {', '.join(named)} " if named else ""
        matcher.add(f"CREATE STREAM added{len(added)} AS {source}EVENT ANY e")
    return matcher.script.restore(matcher.snapshot()) if random.random() < 0.3 else matcher


def _last_statements(example: ScriptExample) -> list[str]:
    """The statements that no other reads."""
    names = [statement_name(each.text, n) for n, each in enumerate(example.statements, start=1)]
    read = {name for each in example.statements for name in _sources(each.text)}
    return [name for name in names if name not in read]


def _sources(text: str) -> list[str]:
    """The names after FROM."""
    names = text.partition("EVENT")[0].partition("FROM ")[2].strip()
    return names.split(", ") if names else []


def _addition(random: Random, example: ScriptExample) -> ScriptExample | None:
    """A statement over one input alone, once more."""
    inputs = {str(each.name) for each in example.inputs}
    over_one = [each for each in example.statements
                if len(names := _sources(each.text)) < 2 and inputs.issuperset(names)]  # fmt: skip
    if not over_one:
        return None
    query = Statement(_query(random.choice(over_one).text), None)
    return ScriptExample((query,), example.inputs)


def _query(text: str) -> str:
    return text.partition(" AS ")[2] if text.startswith("CREATE") else text


def _held(random: Random, example: ScriptExample) -> tuple[Statement, ...]:
    """Statements that come later: over an input that others read, and read by none."""
    inputs, free = {str(each.name) for each in example.inputs}, _last_statements(example)
    some = [each for n, each in enumerate(example.statements, 1)
            if statement_name(each.text, n) in free and len(_sources(each.text)) < 2
            and inputs.issuperset(_sources(each.text))]  # fmt: skip
    held = random.sample(some, random.randint(0, len(some)))
    known = [_sources(each.text) for each in example.statements if each not in held]
    return tuple(each for each in held if _sources(each.text) in known)


def _check_added(
    added: ScriptExample, before: list[Any], found: list[str], *, is_whole: bool = True
) -> None:
    """An added statement finds its matches in the rows that came since, or were waiting."""
    seen = Counter[str | None]()
    for name, rows in before:
        seen[name] += rows.num_rows
    inputs = tuple(
        replace(each, rows=_waiting(each, seen[each.name]) + each.rows[seen[each.name] :])
        for each in added.inputs
    )
    (wanted,) = expected(replace(added, inputs=inputs)).values()
    assert found == (wanted if is_whole else wanted[: len(found)]), (added.text, found, wanted)


def shuffled(random: Random, rows: tuple[Any, ...]) -> tuple[Any, ...]:
    """Rows in another order, mostly not far from where they were."""
    places = [(place + random.choice([0, 0, 0, 1, 3, 6]), random.random(), row)
              for place, row in enumerate(rows)]  # fmt: skip
    return tuple(row for *_, row in sorted(places, key=lambda each: each[:2]))


@dataclass(frozen=True)
class Arrivals:
    """Rows of inputs in the order in which they come, and seconds to which inputs are advanced.

    A row is late if its time is below the greatest before it, less the lateness, or below a time to
    which its input was advanced.
    """

    lateness: dict[str | None, str]
    steps: list[tuple[str | None, Any]]
    kept: dict[str | None, tuple[Any, ...]]
    late: dict[str | None, tuple[Any, ...]]

    @classmethod
    def drawn(cls, random: Random, inputs: tuple[ScriptInput, ...]) -> Arrivals:
        """Draw the order, the lateness of each input, and how far time passes without an event."""
        seconds = {each.name: random.choice([0, 1, 2, 5, 30]) for each in inputs}
        came = tuple(replace(each, rows=shuffled(random, each.rows)) for each in inputs)
        by_name, steps = {each.name: each for each in inputs}, list[tuple[str | None, Any]]()
        floors: dict[str | None, Any] = dict.fromkeys(by_name)
        kept: dict[str | None, list[Any]] = {name: [] for name in by_name}
        late: dict[str | None, list[Any]] = {name: [] for name in by_name}
        for name, batch in _cuts(random, came):
            given, rows = by_name[name], batch.to_pylist()
            less = given.moment(seconds[name]) - given.moment(0)
            for row in rows:
                at, floor = row[given.first_time], floors[name]
                is_late = floor is not None and at < floor
                (late if is_late else kept)[name].append(row)
                floors[name] = at - less if floor is None else max(floor, at - less)
            steps.append((name, rows))
            if random.random() < 0.3:
                tick = random.randint(0, 20)
                steps.append((name, tick))
                moment = given.moment(tick)
                floors[name] = moment if floors[name] is None else max(floors[name], moment)
        stated = {name: f"{count} s" for name, count in seconds.items()}
        found = ({name: tuple(rows) for name, rows in some.items()} for some in (kept, late))
        return cls(stated, steps, *found)


def _waiting(given: ScriptInput, seen: int) -> tuple[Any, ...]:
    """The rows of imprecise time of the greatest earliest time: one that is over first may come."""
    if not isinstance(given.time, tuple) or not seen:
        return ()
    last = given.rows[seen - 1][given.first_time]
    return tuple(row for row in given.rows[:seen] if row[given.first_time] == last)


def _given(inputs: tuple[ScriptInput, ...]) -> tuple[Any, dict[str, Any] | None]:
    named = {each.name: each.table for each in inputs if each.name is not None}
    unnamed = [each.table for each in inputs if each.name is None]
    return (unnamed[0] if unnamed else None), named or None


def _options(inputs: tuple[ScriptInput, ...]) -> dict[str, Any]:
    if len(inputs) == 1:
        return inputs[0].options
    return {option: {each.name: each.options[option] for each in inputs}
            for option in inputs[0].options}  # fmt: skip


def _cuts(random: Random, inputs: tuple[ScriptInput, ...]) -> Iterator[tuple[str | None, Any]]:
    """Batches of each input, these in their order, among those of the others in any."""
    left = {each.name: 0 for each in inputs if each.rows}
    by_name = {each.name: each for each in inputs}
    while left:
        name = random.choice(list(left))
        given, begin = by_name[name], left[name]
        end = begin + random.choice([1, 1, 2, 3, 5])
        yield name, given.table_of(given.rows[begin:end])
        left[name] = end
        if end >= len(given.rows):
            del left[name]


# ---------------------------------------------------------------- comparisons


def told(parts: list[Mapping[str, sase.Matches]], names: tuple[str, ...]) -> Found:
    """The matches of parts of a run, a line for each result."""
    found: Found = {name: [] for name in names}
    for part in parts:
        for name, matches in part.items():
            found.setdefault(name, [])
            found[name] += [_line(result) for result in matches.to_pylist()]
    return found


def _line(result: dict[str, Any]) -> str:
    times = [str(result.pop(name)) for name in ("detected_at", "ts_start", "ts_end")]
    if "confidence" in result:
        times.append(f"{float(result.pop('confidence')):.6f}")
    return " ".join([*times, *(f"{name}={_shown(value)}" for name, value in result.items())])


def _shown(value: Any) -> str:
    """A value; of an event its attributes, in the order of names."""
    if isinstance(value, list):
        return f"[{' '.join(map(_shown, value))}]"
    if isinstance(value, dict):
        pairs = sorted((n, v) for n, v in value.items() if v is not None and n not in HIDDEN)
        return f"{{{' '.join(f'{name}={each!r}' for name, each in pairs)}}}"
    return repr(value)


def expected(example: ScriptExample) -> Found:
    """The same by the naive way."""
    rows = {each.name: each.rows for each in example.inputs}
    order = [statement_name(each.text, n) for n, each in enumerate(example.statements, start=1)]
    return {
        name: [_line(_result(example, rows, match)) for match in example.expected[name]]
        for name in order
    }


def statement_name(text: str, number: int) -> str:
    """The name of a statement by its text, as scripts give it."""
    return text.split()[2] if text.startswith("CREATE") else f"query_{number}"


def _result(
    example: ScriptExample, rows: Mapping[str | None, tuple[Any, ...]], found: ScriptMatch
) -> dict[str, Any]:
    match = found.match
    times = {name: getattr(match, name) for name in ("detected_at", "ts_start", "ts_end")}
    times |= {} if match.confidence is None else {"confidence": match.confidence}
    if match.values is not None:
        return {**match.values, **times}

    def event(pair: tuple[str | None, int]) -> dict[str, Any]:
        name, row = pair
        return dict(
            rows[name][row] if name in rows else example.expected[str(name)][row].attributes
        )

    columns = {
        name: next(map(event, bound), None)  # queries with series list columns
        for name, bound in zip(match.names, match.events, strict=True)
    }
    return {**columns, **times}


def check(case: Callable[[int], tuple[ScriptExample, ScriptWay]], number: int) -> None:
    """See no fault of the cases of a number, up to one that finds more than a match."""
    for seed in tries(number):
        example, way = case(seed)
        if example.found < 0:
            continue
        try:
            assert fault(example, way) is None, (seed, way, example)
        except TooManyResultsError:
            continue  # by rows in another order, or with fewer statements
        if example.found > 1:
            return


def fault(example: ScriptExample, way: ScriptWay) -> str | None:
    """The mistakes in the matches of a way."""
    try:
        found = way.run(example)
    except TooManyResultsError:
        raise
    except Exception as error:
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        assert place is not None
        code = place.tb_frame.f_code
        at = f"{code.co_filename.rsplit('/', 1)[-1]} line {place.tb_lineno}"
        return f"{type(error).__name__} in {at}: {error}"
    wanted = expected(way.judged(example))
    for name, lines in wanted.items():
        if found[name] != lines:
            return (
                f"other matches: {name} finds\n  "
                + "\n  ".join(found[name])
                + "\nand not\n  "
                + "\n  ".join(lines)
            )
    return None


# ---------------------------------------------------------------- trying


def case(number: int, kinds: Sequence[str] = KINDS) -> tuple[ScriptExample, ScriptWay]:
    """The script of a number, and the way that it is run."""
    random = Random(number)
    return drawn(number), ScriptWay(random.choice(kinds), random.choice(RECIPES), number)


def smaller(example: ScriptExample, way: ScriptWay) -> Iterator[tuple[ScriptExample, ScriptWay]]:
    """With a statement or an event less."""
    for place in reversed(range(len(example.statements))):
        if len(example.statements) > 1:
            left = example.statements[:place] + example.statements[place + 1 :]
            yield replace(example, statements=left), way
    for place, given in enumerate(example.inputs):
        for row in reversed(range(len(given.rows))):
            shorter = replace(given, rows=given.rows[:row] + given.rows[row + 1 :])
            inputs = (*example.inputs[:place], shorter, *example.inputs[place + 1 :])
            yield replace(example, inputs=inputs), way


def tried(number: int, asked: Sequence[str] = ()) -> Outcome:
    """Run the script of a number in a way of the kinds in `asked`, and return the outcome."""
    example, way = case(number, asked or KINDS)
    try:
        problem = fault(example, way)
    except TooManyResultsError as error:  # by rows in another order, or with fewer statements
        return Outcome(f"{REFUSED}: {error}")
    if problem is None:
        return Outcome(FOUND if example.found else NOTHING)
    small, _ = shrunk(example, way, fault, smaller)
    return Outcome(FOUND, f"number {number}, {way}: {small}\n{fault(small, way)}\n")
