"""Look for queries with an EXPLAIN that differs from the opened plan, the matches or the counts.

    python -m tests.engine.pipeline.hunt SEED COUNT

tries the queries of the numbers from SEED on, in turn of each form of patterns and each output, by
any recipe. EXPLAIN is compared with the plan that a run over the same events opens and uses, and
the counts of EXPLAIN ANALYZE with its matches. It prints each that differs, and how many queries
there were of each output, and operators and drives of each kind."""

from __future__ import annotations

import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa

import sase
from sase.api.explain import LATE
from sase.engine.operators.branches.union import UnionState
from sase.engine.operators.kleene.line_store import LineStore
from sase.engine.operators.kleene.run_operator import RunOperator
from sase.engine.operators.sequence_scan import SequenceScanState
from sase.engine.pipeline import batch
from sase.engine.pipeline.fused.open import open_pipeline
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.engine_plan import EnginePlan
from sase.planning.explain import Explanation
from sase.planning.explain.driven import paths_of
from sase.planning.explain.value import ExplainedOperator
from sase.planning.physical.drive import Feed
from sase.planning.recipes import recipe_names
from tests.drawing.examples import Example, example
from tests.drawing.queries import FORMS as FORMS_OF_QUERIES

# By words of EXPLAIN the class that is opened, and for runs their store and their sink.
CLASSES = {
    "(in lines)": "LineStore LineSink",
    "(in stretches)": "StretchStore StretchSink",
    "(SES, in lines)": "RowStore RowSink",
    "(SES)": "NodeStore SetSink",
    "through iterations of groups": "NodeStore GroupSink",
    "(merged)": "MergedStore SeriesSink",
    "(versioned)": "VersionedStore SeriesSink",
    "(backtracking)": "BacktrackingStore SeriesSink",
    "(backtracking, rereading)": "RereadingStore SeriesSink",
    "(by intervals)": "IntervalEvaluationState",
    "(postponed)": "WalkBackEvaluationState",
    "join the events of components": "SetTreeEvaluationState",
    "join the required components": "WalkBackEvaluationState",
    "all paths": "MatchSetEvaluationState",
    "runs of the automaton, event by event": "NodeStore SeriesSink",
    "runtime stack of the NFA": "NfaStack",
    "(ZStream)": "JoinTree",
    "(Multi-PAIS)": "MultiStacks",
    "active instance stacks": "ActiveStacks",
}
LOOKS = ("listed", "few_listed")
OUTPUTS = ("all", "non_overlap", "count", "compressed")


class Query(NamedTuple):
    """A query, events, and their options."""

    text: str
    events: Any
    keywords: dict[str, Any]


def named(operator: Any) -> str:
    """The class of an operator, or those of its parts."""
    if isinstance(operator, SequenceScanState):
        return type(operator.stacks).__name__
    if not isinstance(operator, RunOperator):
        return type(operator).__name__
    # A drive keeps lines in a store of its own.
    store = LineStore if isinstance(operator.store, LineStore) else type(operator.store)
    return f"{store.__name__} {type(operator._sink).__name__}"


def opened(pipeline: Pipeline) -> list[str]:
    """The paths that take in events, of all branches."""
    states = list(pipeline.operators)
    for each in pipeline.operators:
        if isinstance(each, UnionState):
            states += (state for scan in each.scans for state in scan.states)
    return [name for each in states if (name := named(each)) in CLASSES.values()]


def said_of(explanation: Explanation) -> list[str]:
    """The paths that take in events, by EXPLAIN."""
    known = [each.algorithm for each in explanation.operators if each.symbol in ("SS→", "NFAb")]
    return [next(name for words, name in CLASSES.items() if words in text) for text in known]


def feeds_differ(plan: EnginePlan, seen: Counter[str]) -> str | None:
    """The stated path for events of each feed, and the opened one, if these differ."""
    for streaming in (False, True):
        feeds = [Feed.LOADED, *[Feed.PUSHED] * streaming]
        paths = (path for path in paths_of(plan, in_pieces=streaming) if path.feed in feeds)
        said = {path.feed: path.name for path in paths if path.declined is None}
        pipeline = open_pipeline(plan, streaming=streaming)
        used = {Feed.LOADED: pipeline.loaded_path, Feed.PUSHED: pipeline.pushed_path}
        names = {feed: path.use.path for feed, path in used.items() if path is not None}
        seen.update(said.values())
        if said != names:
            return f"said {said}, opened {names}"
    return None


# ---------------------------------------------------------------- queries

EVENTS = pa.table({"ts": [1], "type": ["A"], "k": [1], "v": [2], "s": ["x"]})
TYPES = {"A": ["k", "v", "s"], "B": ["k", "v", "s"], "C": ["k"], "D": ["k", "v"]}
PATTERNS = [
    "SEQ(A a, B b)", "SEQ(A a, B b, D d)", "SEQ(A a, !(C n), D d)", "SEQ(A a, B? b, D d)",
    "SEQ(A a, B+ b[], D d)", "SEQ(B+ b[], D d)", "SEQ(A+ a[], A b)", "SEQ(A+ a[], A+ b[])",
    "SEQ(A a, A+ b[], A+ d[])", "SEQ(A{2,5} a[], D d)", "SEQ(A+ a[], B b, !(C n))",
    "SEQ(SET(A a, B b), D d)", "SET(A a, B b)", "SEQ(SET(A a, A b), D d)", "SET(A+ a[], B b)",
    "SEQ(A a, (SEQ(B b, D d))+ g[])", "SEQ(ANY(A, B) a, D d)", "SEQ(ANY a, D d)",
]  # fmt: skip
CONDITIONS = [
    "[k]", "[v]", "a.v < b.v", "a.v + 1 < b.v", "a.s < b.s", "a.s = b.s", "b.v > a.v OR a.k = 1",
    "a.v > 1", "b[i].v > b[i-1].v", "b[i].v < b[i-1].v", "d[1].v > b[b.len].v", "a.k < d.v",
    "d[i].v > d[i-1].v", "a[i].v > a[i-1].v", "b.v < a[a.len].v", "b[1].v < a[a.len].v",
    "b[i].v > a.v", "b[i].s > b[i-1].s", "b.len > 1", "a.v = d.v", "d.k != b.k",
]  # fmt: skip
STRATEGIES = [
    "skip_till_any_match", "skip_till_next_match", "strict_contiguity", "partition_contiguity",
    "earliest_maximal",
]  # fmt: skip
WINDOWS = ["", "WITHIN 10", "WITHIN 10 EVENTS", "WITHIN 10 EVENTS PER PARTITION"]
TAILS = ["", "", "RETURN a.v AS x", "HAVING a.v > 1", "HAVING a.len + 0 > 1"]


def fits(clause: str, pattern: str) -> bool:
    """Whether a clause reads series of a pattern as such, and single events as such."""
    read = re.findall(r"\b([a-d])(\[|\.len|\.)", clause)
    names = [f"{name}{'' if how == '.' else '[]'}" for name, how in read]
    return all(re.search(rf" {re.escape(name)}[,)]", pattern) for name in names)


def drawn_text(random: Random) -> str:
    """A query of one of the patterns, most of which some drive or other may take."""
    pattern, strategy = random.choice(PATTERNS), random.choice(STRATEGIES)
    some = [each for each in CONDITIONS if fits(each, pattern)]
    chosen = random.sample(some, min(len(some), random.randrange(3)))
    asked = " AND ".join(["[k]"] * (strategy == "partition_contiguity") + chosen) or "TRUE"
    tail = random.choice([each for each in TAILS if fits(each, pattern)])
    window = random.choice(WINDOWS)
    return f"EVENT {pattern} WHERE {strategy} {{ {asked} }} {window} {tail}"


def _plain(number: int) -> Query:
    random = Random(number)
    kinds = random.choice(["AB", "ABD", "ABCD", "AAAB"])
    rows = [
        {"ts": n // random.choice([1, 1, 1, 2]), "type": random.choice(kinds),
         "k": random.randrange(3), "v": random.randrange(9), "s": random.choice("xyz")}
        for n in range(random.choice([8, 16, 24]))
    ]  # fmt: skip
    rows.sort(key=lambda row: int(str(row["ts"])))
    types = random.choice([None, TYPES])
    return Query(drawn_text(random), pa.Table.from_pylist(rows), {"types": types})


def _of_example(example: Example) -> Query:
    return Query(example.query.text, example.table, example.given_keywords)


FORMS: Mapping[str, Callable[[int], Query]] = {
    "plain": _plain,
    **{
        form: lambda number, form=form: _of_example(example(number, form))
        for form in (*FORMS_OF_QUERIES, "groups", "imprecise")
    },
}


# ---------------------------------------------------------------- comparing


class Compared:
    """The EXPLAIN of a query of a number, and the figures of its run."""

    def __init__(self, number: int, seen: Counter[str]) -> None:
        random, forms = Random(number), list(FORMS)
        self.number, self.seen = number, seen
        # Every other query is plain: of those some drive takes the events.
        self.form = forms[number // 2 * (number % 2) % len(forms)]
        self.output = OUTPUTS[number // len(forms) % len(OUTPUTS)]
        self.query = FORMS[self.form](number)
        recipes = [*["optimized"] * len(recipe_names()), *recipe_names()]
        self.keywords = {**self.query.keywords, "plan": random.choice(recipes)}
        self.keywords["output"] = self.output

    def __str__(self) -> str:
        return f"{self.number} ({self.form}) {self.keywords}\n  {self.query.text}"

    def explained(self, **more: Any) -> Explanation:
        """The output of EXPLAIN."""
        return sase.explain(self.query.text, self.query.events, **self.keywords, **more)

    def ran(self) -> tuple[Any, list[Pipeline]]:
        """The matches, and the pipelines that a search opened."""
        pipelines, open_pipeline = list[Pipeline](), batch.open_pipeline

        def noted(*given: Any, **more: Any) -> Pipeline:
            pipelines.append(open_pipeline(*given, **more))
            return pipelines[-1]

        with patch.object(batch, "open_pipeline", noted):
            found = sase.match(self.query.text, self.query.events, **self.keywords)
            if self.output in ("all", "non_overlap"):
                len(found)
            elif self.output == "compressed":
                found.count()
        return found, pipelines

    def faults(self) -> Iterator[str]:
        """The difference."""
        said = self.explained()
        found, pipelines = self.ran()
        self.seen[self.output] += 1
        if self.output in ("count", "compressed"):
            yield from self._counted(said, found)
        else:
            yield from self._opened(said, found, pipelines)
            yield from self._analyzed(said, len(found))
            with suppress(sase.SaseError):  # not all events come in order
                yield from self._analyzed(said, len(found), pushed=self.number % 5 + 1)
                self.seen["pushed"] += 1

    def _counted(self, said: Explanation, found: Any) -> Iterator[str]:
        assert said.form is not None
        first = said.form.ways[0].method.name.lower()
        self.seen[first] += 1
        number = found if self.output == "count" else found.count()
        looks = not (found.is_counted if self.output == "count" else found.counts_paths)
        if looks != (first in LOOKS):
            yield f"counted {first}, but matches were looked at: {looks}"
        listed = len(sase.match(self.query.text, self.query.events, **self._listing))
        if number != listed:
            yield f"{number} counted, {listed} found"

    @property
    def _listing(self) -> dict[str, Any]:
        return {**self.keywords, "output": "all"}

    def _opened(self, said: Explanation, found: Any, pipelines: list[Pipeline]) -> Iterator[str]:
        expected = said_of(said)
        self.seen.update(expected)
        for each in pipelines:
            if sorted(opened(each)) != sorted(expected):
                yield f"said {expected}, opened {opened(each)}"
        names = [name for name, _ in found.report.counters]
        shown = {f"{each.name} of branch {each.branch}" if each.branch else each.name
                 for each in said.operators}  # fmt: skip
        if not shown <= {*names}:
            yield f"said {sorted(shown)}, counted {names}"
        yield from self._driven(said, found.report.fused)
        plan = sase.compile(self.query.text, self.query.events, **self.keywords)
        wrong = feeds_differ(plan.engine, self.seen)
        if wrong is not None:
            yield wrong

    def _driven(self, said: Explanation, uses: Any) -> Iterator[str]:
        taking = [p.name for p in said.physical if not p.declined and p.feed is Feed.LOADED]
        # Where events are simultaneous the lines that runs share are kept one by one.
        allowed = [*taking, *(["fused lines"] if "shared lines" in taking else [])]
        for use in uses:
            if use.path not in allowed:
                yield f"said {taking}, used {use}"
            self.seen[f"{use.path} used"] += bool(use.events)

    def _analyzed(self, said: Explanation, number: int, **pushed: int) -> Iterator[str]:
        counted = self.explained(analyze=True, **pushed)
        # A late row is in no match.
        if counted.results != number and not any(LATE in note for note in counted.notes):
            yield f"{number} found, {counted.results} analyzed"
        if not pushed and said_of(counted) != said_of(said):
            yield f"said {said_of(said)}, analyzed {said_of(counted)}"
        # The matches of several branches are checked last, so they are no flow.
        flows = [[each for each in own if each.symbol != "TF"] for own in counted.branches]
        for own in (counted.common, *flows):
            yield from _leaks(own)
        used = [path for path in counted.physical if path.events]
        self.seen.update(f"{path.name} analyzed" for path in used)
        # Their matches are all that there are where they took all events.
        if sum(path.matches or 0 for path in used) > number:
            yield f"{number} found, by drives {used}"


def _leaks(operators: Sequence[ExplainedOperator]) -> Iterator[str]:
    """Where not as many come in as go out below; of a scan and match windows that is another."""
    for below, above in pairwise(operators):
        if above.symbol == "SC←" or "MW" in (below.symbol, above.symbol):
            continue
        assert below.measured is not None and above.measured is not None
        if above.measured.rows_in != below.measured.rows_out:
            yield f"{below.measured} out of {below.symbol}, {above.measured} in"


def hunt(first: int, count: int) -> Counter[str]:
    """Try that many queries that are not refused: the outcomes, and the faults."""
    seen: Counter[str] = Counter()
    number = first
    while sum(seen[each] for each in OUTPUTS) < count:
        compared = Compared(number, seen)
        try:
            wrong = next(compared.faults(), None)
        except (sase.QueryError, sase.PlanError):
            seen["refused"] += 1
            wrong = None
        except Exception:
            wrong = traceback.format_exc()
        if wrong is not None:
            seen["faults"] += 1
            print(f"{compared}\n  {wrong}\n", flush=True)
        number += 1
    return seen


if __name__ == "__main__":
    total = hunt(int(sys.argv[1]), int(sys.argv[2]))
    print(f"{sys.argv[2]} queries: {dict(total)}")
    sys.exit(bool(total["faults"]))
