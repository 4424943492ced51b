"""Explain a script: the plan of each statement, over the events that it reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sase.api.compiled_script import CompiledScript
from sase.api.explain import explain_statement
from sase.api.script_inputs import Sources
from sase.binding.script.statements import ByStatement
from sase.binding.types import Kind
from sase.binding.values.text import window_text
from sase.engine.scripts.asking import Asked, Asking, Value, ValueRange
from sase.engine.scripts.matching_forms import JointStatements
from sase.planning.explain import Explanation
from sase.planning.explain.driven import shared_paths
from sase.printable import Documented, printable

if TYPE_CHECKING:
    from sase.engine.pipeline.pipeline import Pipeline
    from sase.engine.scripts.pipeline import ScriptPipeline
    from sase.planning.engine_plan import EnginePlan


@dataclass(frozen=True)
class SharedMatching:
    """One search for statements that differ only in window, last event, variables and RETURN.

    For each statement, it has the window, the types of the `last` event, and the conditions
    that only this statement has. `found` is the number of matches in a run, or None without a run.
    """

    windows: Mapping[str, str]
    last: Mapping[str, tuple[str, ...]]
    asked: Mapping[str, str]
    found: int | None = None

    def __str__(self) -> str:
        found = "" if self.found is None else f": {self.found:,} found"
        return f"one matching for {', '.join(map(self._shown, self.windows))}{found}"

    def _shown(self, name: str) -> str:
        """A statement with the parts that differ from those of the others."""
        differ = len(set(self.last.values())) > 1
        types = " or ".join(self.last[name]) if differ else ""
        own = ", ".join(filter(None, (types, self.asked[name], self.windows[name])))
        return f"{name} ({own})" if own else name


@dataclass(frozen=True)
class SharedInput:
    """An input that several statements read in one pass, and the work that they share.

    `admitted` maps a type of events, with a value of an attribute if one is tested, to the
    statements that test it. The statements `of_all` receive every event. `texts` maps an attribute
    with text keys to its statements; for pushed rows, these texts are coded once for all of them.
    `conditions` maps a condition on one event to the statements that test it. `evaluated` maps
    a condition to the number of events of a run for which it was evaluated, once for all of them; 0
    says that each statement did it by itself. `given` is how many of the `events` each statement
    received. `matchings` are the searches that serve several statements.
    `apart` is the reason why such statements are searched separately.
    """

    input: str | None
    statements: tuple[str, ...]
    admitted: Mapping[Asked, tuple[str, ...]]
    of_all: tuple[str, ...]
    events: int = 0
    given: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    conditions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    evaluated: Mapping[str, int] = field(default_factory=dict)
    matchings: tuple[SharedMatching, ...] = ()
    apart: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str | None, opened: ScriptPipeline, *, has_run: bool) -> SharedInput:
        """The shared work of the statements that read only this input, and the numbers of a run."""
        read = {n: each for n, each in opened.statements.items() if each.plan.sources == (name,)}
        plans = {statement: each.plan.plan for statement, each in read.items()}
        pipelines = {statement: each.matcher.pipeline for statement, each in read.items()}
        found: dict[Asked, list[str]] = {}
        of_all = []
        for statement, plan in plans.items():
            asked = Asking.of(plan).asked
            if asked is None:
                of_all.append(statement)
            for each in asked or ():
                found.setdefault(each, []).append(statement)
        admitted = {each: tuple(found[each]) for each in sorted(found, key=str)}
        fused = {
            statement
            for statement in plans
            if read[statement].asking.is_all and pipelines[statement].admitted_path is not None
        }
        readers = tuple(plans), admitted, tuple(of_all)
        events, given = opened.given(name) if has_run else (0, {})
        counted = [*opened.conditions[name].shared]
        evaluated = {str(each): each.evaluated for each in counted} if has_run else {}
        conditions = {
            str(each): tuple(each.statements)
            for each in counted
            # The index decides the other conditions, unless it passes all events to these
            # statements.
            if not fused.issuperset(each.statements) or evaluated.get(str(each))
        }
        texts = _texts_of_keys(pipelines)
        return cls(
            name, *readers, events, dict(given), texts, conditions, evaluated,
            *_matchings(plans, opened, has_run=has_run),
        )  # fmt: skip

    def lines(self) -> Iterator[str]:
        """The shared work as text; events of a single statement are only counted."""
        what = "the input" if self.input is None else self.input
        yield f"shared reading of {what}: one pass for {len(self.statements):,} statements"
        alone = 0
        for asked, names in self.admitted.items():
            alone += len(names) == 1
            if len(names) > 1:
                yield f"  {asked} → {', '.join(names)}"
        if alone:
            yield f"  {alone:,} kind{'s' * (alone > 1)} of events → a single statement each"
        if self.of_all:
            yield f"  every event → {', '.join(self.of_all)}"
        yield from (f"  {each}" for each in self.matchings)
        for reason in dict.fromkeys(self.apart.values()):
            names = tuple(name for name, each in self.apart.items() if each == reason)
            yield f"  {', '.join(names)} matched apart, though alike: {reason}"
        for attribute, names in self.texts.items():
            yield f"  texts of {attribute}, pushed, coded once for {', '.join(names)}"
        for condition, names in self.conditions.items():
            yield f"  {condition}, tested by {len(names):,}{self._count(condition)}"
        if self.given:
            some = ", ".join(f"{count:,} to {name}" for name, count in self.given.items())
            yield f"  given of {self.events:,} events: {some}"

    def _count(self, condition: str) -> str:
        """The number of events of a run for which a condition was evaluated."""
        count = self.evaluated.get(condition)
        if count is None:
            return ", evaluated at most once"
        return f", evaluated once, of {count:,} events" if count else ", evaluated by each"

    def to_dict(self) -> dict[str, Any]:
        """The value as plain data for JSON."""
        conditions = [
            {
                "condition": text,
                "statements": list(names),
                "evaluated": self.evaluated.get(text),
            }
            for text, names in self.conditions.items()
        ]
        admitted = [
            {
                "type": each.type,
                "attribute": each.attribute or None,
                "value": _plain(each.value) if each.attribute else None,
                "statements": list(names),
            }
            for each, names in self.admitted.items()
        ]
        return {
            "input": self.input,
            "statements": list(self.statements),
            "admitted": admitted,
            "of_all": list(self.of_all),
            "events": self.events if self.given else None,
            "given": dict(self.given),
            "texts": {name: list(statements) for name, statements in self.texts.items()},
            "conditions": conditions,
            "matchings": [
                {
                    "windows": dict(each.windows),
                    "last": {name: list(types) for name, types in each.last.items()},
                    "asked": dict(each.asked),
                    "found": each.found,
                }
                for each in self.matchings
            ],
            "apart": dict(self.apart),
        }


def _matchings(
    plans: Mapping[str, EnginePlan], opened: ScriptPipeline, *, has_run: bool
) -> tuple[tuple[SharedMatching, ...], Mapping[str, str]]:
    """The searches that serve several statements, and why other statements are separate."""
    running = opened.statements.values()
    joint = {each.reader: each.joint for each in running if each.plan.name in plans}
    matchings = tuple(
        SharedMatching(
            {name: "".join(map(window_text, plans[name].windows[:1])) for name in each.names},
            {name: plans[name].positives[-1].types or () for name in each.names},
            {name: each.asked_last(name) for name in each.names},
            each.found if has_run else None,
        )
        for each in joint.values()
        if each is not None
    )
    return matchings, JointStatements.of(plans).apart


def _texts_of_keys(pipelines: Mapping[str, Pipeline]) -> dict[str, tuple[str, ...]]:
    """The attributes with text keys, with the statements that use them as a key."""
    found: dict[str, list[str]] = {}
    for statement, pipeline in pipelines.items():
        keys = pipeline.dictionary.sizes
        tests = {test for key in keys for test in key.tests if not test.attributes}
        for attribute in {test.attribute for test in tests if test.type.kind is Kind.STRING}:
            found.setdefault(attribute, []).append(statement)
    return {name: tuple(found[name]) for name in sorted(found) if len(found[name]) > 1}


def _plain(value: Value) -> int | str | dict[str, int | float | None]:
    """A value as data for JSON; a range is an object with its bounds `from` and `below`."""
    return {"from": value.low, "below": value.high} if isinstance(value, ValueRange) else value


@dataclass(frozen=True)
class ScriptExplanation(Documented, Mapping[str, Explanation]):
    """The explanation of each statement of a script by its name, and the inputs it reads."""

    explanations: Mapping[str, Explanation]
    sources: Mapping[str, tuple[str | None, ...]]
    # The inputs that several statements read in one pass.
    shared: tuple[SharedInput, ...] = ()
    # The statements that do not run, with the reason.
    set_aside: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Explanation:
        return self.explanations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, verbose: bool = False) -> str:
        """The plan of each statement as a tree, under its name, and their shared work."""
        parts = [
            f"{printable(self._heading(name))}\n{each.to_text(verbose=verbose)}"
            for name, each in self.explanations.items()
        ]
        parts += ["\n".join(map(printable, each.lines())) for each in self.shared]
        aside = [printable(f"set aside: {n}: {why}") for n, why in self.set_aside.items()]
        return "\n\n".join([*parts, *(["\n".join(aside)] if aside else [])])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON; docs/scripts.md describes it."""
        return {
            "version": 1,
            "statements": [
                {"name": name, "sources": list(self.sources[name]), **each.to_dict()}
                for name, each in self.explanations.items()
            ],
            "shared": [each.to_dict() for each in self.shared],
            "set_aside": dict(self.set_aside),
        }

    def _heading(self, name: str) -> str:
        read = [each for each in self.sources[name] if each is not None]
        others = [
            other for other in self.sources if other != name and set(self.sources[other]) == {*read}
        ]
        heading = f"statement {name}"
        if read:
            heading += f", which reads {', '.join(read)}"
        if read and others:
            heading += f" as {', '.join(others)} {'does' if len(others) == 1 else 'do'}"
        return heading


def explain_script(
    script: CompiledScript, events: Sources | None, *, analyze: bool = False, **given: Any
) -> ScriptExplanation:
    """Explain each statement, over events or for the schemas of the inputs."""
    from sase.engine.scripts.pipeline import ScriptPipeline

    opened: list[ScriptPipeline] = []
    read = script.alone(events, watch=opened.append) if events is not None else {}
    given["analyze"] = analyze
    explained = (
        (each.name, explain_statement(script, each, read.get(each.name), **given))
        for each in script.graph.statements
    )
    found = ByStatement(explained, script.reasons)
    sources = {each.name: each.sources for each in script.graph.statements}
    if script.lone is not None:
        return ScriptExplanation(found, sources, (), script.reasons)
    pipeline = opened[0] if opened else ScriptPipeline(script.plan)
    for name in filter(pipeline.is_dealt, found):
        running = pipeline.statements[name]
        own, is_told = running.matcher.pipeline, running.asking.is_all
        used = {use.path: use.measured for use in own.fused} if analyze else None
        in_pieces = own.dictionary.streaming
        paths = shared_paths(own.plan, in_pieces=in_pieces, is_told=is_told, used=used)
        found[name] = replace(found[name], physical=(*found[name].physical, *paths))
    read_by = Counter(each.sources for each in script.plan.statements)
    shared = (each.name for each in script.plan.inputs if read_by[(each.name,)] > 1)
    of_inputs = tuple(SharedInput.of(name, pipeline, has_run=analyze) for name in shared)
    return ScriptExplanation(found, sources, of_inputs, script.reasons)
