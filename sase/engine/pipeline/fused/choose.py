"""The physical plan of a pipeline: which fused paths execute it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from sase.engine.blocks.key_texts import SharedTexts
from sase.engine.blocks.shared_conditions import ConditionsOf
from sase.engine.kernels.jit.compile_ahead import compile_ahead
from sase.engine.pipeline.fused import neighbours, push, scan
from sase.engine.pipeline.fused.kind import AnyKind, FusedKind, LoadedKind, PathT, PushedKind
from sase.engine.pipeline.fused_path import LINES, SHARED_LINES, LoadedPath
from sase.engine.pipeline.pipeline import Pipeline, Slice
from sase.engine.resources import Check, no_check
from sase.planning.declined import NO_RUNS, Declined
from sase.planning.physical.paths import Feed, PhysicalPath
from sase.planning.plan import EnginePlan

NOT_FUSED = Declined("fused paths are switched off")
NARROWED = Declined("match windows narrow each block")
GIVEN_NONE = Declined("the index did not part what is admitted from other events")
NOT_TOLD = Declined("more is asked of an event than the index of the script tells")


def _lines(pipeline: Pipeline, *, shares: bool) -> LoadedPath | Declined:
    if pipeline.plan.runs is None:
        return NO_RUNS
    from sase.engine.pipeline.fused.lines import FusedLines  # with kernels that no other plan needs

    return FusedLines.of(pipeline, shares=shares)


# All fused paths. Of those of one feed the first that does not decline is taken.
FUSED: tuple[AnyKind, ...] = (
    scan.KIND,
    scan.OF_ADMITTED,
    LoadedKind(
        SHARED_LINES,
        Feed.LOADED,
        "runs that wait for the same events share a stack, from columns to matches, by one kernel",
        partial(_lines, shares=True),
    ),
    LoadedKind(
        LINES,
        Feed.LOADED,
        "deterministic runs, from columns to matches, by one kernel",
        partial(_lines, shares=False),
    ),
    push.KIND,
    neighbours.KIND,
)


def open_pipeline(
    plan: EnginePlan,
    *,
    streaming: bool = False,
    slice: Slice | None = None,
    watch: Callable[[int], object] = lambda rows: None,
    clock: Callable[[], int] | None = None,
    check: Check = no_check,
    key_texts: SharedTexts | None = None,
    conditions: ConditionsOf | None = None,
) -> Pipeline:
    """Open a plan, with the fused paths that execute it."""
    pipeline = Pipeline(
        plan,
        streaming=streaming,
        slice=slice,
        watch=watch,
        clock=clock,
        check=check,
        key_texts=key_texts,
        conditions=conditions,
    )
    for kernel in pipeline.context.kernels:
        compile_ahead(kernel)
    choose(pipeline)
    return pipeline


def choose(pipeline: Pipeline) -> None:
    """Have a pipeline executed by fused paths where its plan and options allow it."""
    pipeline.loaded_path = _first(pipeline, _of_columns(Feed.LOADED))
    if pipeline.dictionary.streaming:
        pipeline.pushed_path = _first(pipeline, _of_batches())


def choose_for_shared(pipeline: Pipeline) -> None:
    """Have what a shared reading knows to be admitted executed by a path of its own."""
    pipeline.admitted_path = _first(pipeline, _of_columns(Feed.SHARED))


def _of_columns(feed: Feed) -> Iterator[LoadedKind]:
    return (kind for kind in FUSED if isinstance(kind, LoadedKind) and kind.feed is feed)


def _of_batches() -> Iterator[PushedKind]:
    return (kind for kind in FUSED if isinstance(kind, PushedKind))


def _first(pipeline: Pipeline, kinds: Iterator[FusedKind[PathT]]) -> PathT | None:
    for kind in kinds:
        path = path_of(kind, pipeline)
        if not isinstance(path, Declined):
            return path
    return None


def path_of(kind: FusedKind[PathT], pipeline: Pipeline) -> PathT | Declined:
    """The path of a kind for a pipeline, or why it declines."""
    if pipeline.plan.is_narrowed:
        return NARROWED
    return kind.of(pipeline) if pipeline.plan.options.fused else NOT_FUSED


def physical_plan(plan: EnginePlan, *, in_pieces: bool = False) -> tuple[PhysicalPath, ...]:
    """What each fused path says of a plan, whose events are loaded whole or `in_pieces`."""
    opened = {
        Feed.LOADED: Pipeline(plan, streaming=in_pieces),
        Feed.PUSHED: Pipeline(plan, streaming=True),
    }
    return tuple(_described(each, opened[each.feed]) for each in FUSED if each.feed in opened)


def shared_plan(pipeline: Pipeline, *, is_told: bool, counted: bool) -> Iterator[PhysicalPath]:
    """What executes the events that a shared reading deals out, and did where that is `counted`.

    If it `is_told` its index knows which of them the scan admits, unless it gives it all.
    """
    opened = Pipeline(pipeline.plan, streaming=pipeline.dictionary.streaming)
    used = {use.path: use.measured for use in pipeline.fused} if counted else {}
    for kind in FUSED:
        path = replace(_described(kind, opened), feed=Feed.SHARED)
        if kind.name in used:
            yield replace(path, declined=None, **used[kind.name])
        elif kind.feed is Feed.SHARED:
            reason = path.declined or (None if is_told else NOT_TOLD.reason)
            yield replace(path, declined=reason or (GIVEN_NONE.reason if counted else None))
        elif kind.feed is Feed.LOADED and not counted and path.declined is None:
            yield path


def _described(kind: AnyKind, pipeline: Pipeline) -> PhysicalPath:
    path = path_of(kind, pipeline)
    declined = path.reason if isinstance(path, Declined) else None
    return PhysicalPath(kind.name, kind.feed, kind.summary, declined)
