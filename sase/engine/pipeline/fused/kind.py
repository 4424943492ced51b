"""A kind of fused path: what it takes, and how it is made of a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from sase.engine.pipeline.fused_path import FusedPath, LoadedPath, PushedPath
from sase.engine.pipeline.pipeline import Pipeline
from sase.planning.declined import Declined
from sase.planning.physical.paths import Feed

PathT = TypeVar("PathT", bound=FusedPath, covariant=True)


@dataclass(frozen=True)
class FusedKind(Generic[PathT]):
    """A kind of fused path: its name and feed, what it fuses, and how it is made of a pipeline."""

    name: str
    feed: Feed
    summary: str
    of: Callable[[Pipeline], PathT | Declined]


class LoadedKind(FusedKind[LoadedPath]):
    """One for events that are loaded as columns."""


class PushedKind(FusedKind[PushedPath]):
    """One for the batches of a stream."""


AnyKind: TypeAlias = LoadedKind | PushedKind
