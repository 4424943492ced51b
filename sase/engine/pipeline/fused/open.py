"""Open a pipeline with the drives that its plan has chosen; each drive has a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from sase.engine.blocks.key_texts import SharedTexts
from sase.engine.blocks.shared_conditions import ConditionsOf
from sase.engine.kernels.jit.compile_ahead import compile_ahead
from sase.engine.kernels.jit.intrinsics import CLOCK, NO_CLOCK
from sase.engine.pipeline.pipeline import Pipeline, Slice
from sase.engine.resources import Check, no_check
from sase.planning.engine_plan import EnginePlan
from sase.planning.physical import line_drives, stack_drives
from sase.planning.physical.drive import Drive, DriveRequest, Feed
from sase.planning.physical.drives import NarrowedScanDrive, choose_drive

# By drive its module, which is imported with the first such drive, and the opening function.
PATHS: Mapping[type, str] = {
    stack_drives.FusedScanDrive: "scan:FusedScan",
    stack_drives.AdmittedScanDrive: "scan:FusedScan",
    line_drives.SharedLinesDrive: "lines:FusedLines",
    line_drives.FusedLinesDrive: "lines:FusedLines",
    line_drives.FusedWalkDrive: "walks:FusedWalks",
    stack_drives.FusedPushDrive: "push:fused_push",
    NarrowedScanDrive: "neighbours:NarrowedScan",
}


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
    """Open a plan, with the drives that take its events."""
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
    drive_by_plan(pipeline)
    return pipeline


def drive_by_plan(pipeline: Pipeline) -> None:
    """Open the drives of a pipeline's plan."""
    pipeline.loaded_path = _opened(pipeline, Feed.LOADED)
    if pipeline.dictionary.streaming:
        pipeline.pushed_path = _opened(pipeline, Feed.PUSHED)


def drive_admitted(pipeline: Pipeline) -> None:
    """Open the drive for events that a shared reading has already admitted."""
    pipeline.admitted_path = _opened(pipeline, Feed.SHARED)


def _opened(pipeline: Pipeline, feed: Feed) -> Any:
    """The opened drive of a feed, if the plan has one."""
    plan, in_pieces = pipeline.plan, pipeline.dictionary.streaming
    is_timed = pipeline.stopwatch is not None
    key = ("drive", feed, in_pieces, is_timed, plan.options.analyze)
    if key not in plan.cache:
        has_clock = CLOCK != NO_CLOCK
        request = DriveRequest(plan, in_pieces=in_pieces, is_timed=is_timed, has_clock=has_clock)
        plan.cache[key] = choose_drive(request, feed)
    drive: Drive | None = plan.cache[key]
    return None if drive is None else _opener(PATHS[type(drive)])(pipeline, drive)


@cache
def _opener(path: str) -> Any:
    module, name = path.split(":")
    return getattr(import_module(f"sase.engine.pipeline.fused.{module}"), name)
