"""The statements of a script, running: who feeds whom, in the order in which they read each other.

Inputs are brought into order once each. What comes of one goes to every statement that reads it,
and what a statement finds goes on to those that read its stream, with the time up to which it has
found everything: its floor. Pushing is all there is: a batch is pushed as a whole.
"""

from __future__ import annotations

from typing import TypeAlias

from sase.engine.pipeline.matcher import Matcher
from sase.engine.results.matches import Matches
from sase.engine.scripts.input_stream import InputStream
from sase.engine.scripts.pieces import Fed
from sase.engine.scripts.plan import ScriptPlan
from sase.engine.scripts.statement import RunningStatement

Found: TypeAlias = dict[str, Matches]


class ScriptPipeline:
    """The opened inputs and statements of a script."""

    def __init__(self, plan: ScriptPlan, *, streaming: bool = True) -> None:
        self.plan = plan
        self.inputs = {each.name: InputStream(each, streaming=streaming) for each in plan.inputs}
        self.statements = {
            each.name: RunningStatement(each, Matcher(each.plan, streaming=streaming))
            for each in plan.statements
        }

    def push(self, name: str | None, batch: object) -> Found:
        """What some more rows of an input complete, by statement."""
        return self._pass_on({name: self.inputs[name].push(batch)})

    def advance(self, to: object, names: tuple[str | None, ...]) -> Found:
        """What becomes known when time passes in some inputs without an event."""
        return self._pass_on({name: self.inputs[name].advance(to) for name in names})

    def finish(self) -> Found:
        """What becomes known because no event is to come."""
        return self._pass_on({name: each.finish() for name, each in self.inputs.items()})

    def _pass_on(self, fed: dict[str | None, Fed]) -> Found:
        """Feed every statement with what came of those that it reads."""
        found: Found = {}
        for name, statement in self.statements.items():
            (source,) = statement.plan.sources
            if source not in fed:
                continue
            matches = found[name] = statement.take(fed[source])
            if statement.plan.composite is not None:
                fed[name] = statement.told(matches)
        return found
