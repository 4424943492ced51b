"""BoboCEP: events given to its engine one by one, each with its conditions as Python functions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Any

from bobocep.cep.action.handler import BoboActionHandlerBlocking
from bobocep.cep.engine.producer.pubsub import BoboProducerSubscriber
from bobocep.cep.event import BoboEventComplex
from bobocep.cep.phenom.pattern.builder import BoboPatternBuilder
from bobocep.cep.phenom.phenom import BoboPhenomenon
from bobocep.setup.simple import BoboSetupSimple

from experiments.rivals import columns
from experiments.rivals.protocol import Answer, Task, Way, serve

Event = tuple[int, ...]  # time, type, keys


class Found(BoboProducerSubscriber):
    """The first event of each match."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[int] = []

    def on_producer_update(self, event: BoboEventComplex, local: bool) -> None:
        """Keep it."""
        self.starts.append(event.history.group("s0")[0].data[0])


def prepare(task: Task) -> Way:
    """Events as tuples."""
    table = columns.table(task)
    events = list(zip(*(table[name].to_pylist() for name in task.columns), strict=True))

    def run() -> list[int]:
        phenomenon = BoboPhenomenon(name="found", patterns=[pattern(task)])
        engine = BoboSetupSimple([phenomenon], BoboActionHandlerBlocking()).generate()
        found = Found()
        engine.producer.subscribe(found)
        for event in events:
            engine.receiver.add_data(event)
            engine.update()
        return found.starts

    return Way(run, lambda starts: Answer(len(starts), None, len(set(starts))))


def pattern(task: Task) -> Any:
    """The steps, each with any events before it, in a run that ends with the window."""
    builder = BoboPatternBuilder("found").followed_by(of_type(1), group="s0")
    for number in range(2, task.steps + 1):
        builder = builder.followed_by(of_type(number), group=f"s{number - 1}")
    return builder.haltcondition(
        lambda event, history: (
            isinstance(event.data, tuple) and event.data[0] - history.first().data[0] >= task.window
        )
    ).generate()


def of_type(number: int) -> Callable[..., bool]:
    """Whether an event is of the type, and has the keys of the first."""

    def holds(event: Any, history: Any) -> bool:
        if not isinstance(event.data, tuple) or event.data[1] != number:
            return False
        first = history.first()
        return first is None or bool(event.data[2:] == first.data[2:])

    return holds


if __name__ == "__main__":
    serve(metadata.version("bobocep"), prepare)
