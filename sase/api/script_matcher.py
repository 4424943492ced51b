"""The matcher of a script: events of each input are pushed to it as they come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sase.engine.scripts.pipeline import ScriptPipeline
from sase.errors import PlanError
from sase.nearest import did_you_mean

if TYPE_CHECKING:
    from sase.api.compiled_script import CompiledScript
    from sase.engine.results.matches import Matches


class ScriptMatcher:
    """Finds the matches of the statements of a script in events that are pushed as they come.

    What `push`, `advance` and `finish` return are the matches by the name of their statement, of
    those statements alone that found some.
    """

    def __init__(self, script: CompiledScript) -> None:
        self._pipeline = ScriptPipeline(script.plan)

    def push(self, name: str | None, batch: object) -> dict[str, Matches]:
        """The matches that some more rows of an input complete; None is the one without a name."""
        return _some(self._pipeline.push(self._input(name), batch))

    def advance(self, to: object, name: str | None = None) -> dict[str, Matches]:
        """The matches that become known when time passes without an event, in all inputs or one."""
        inputs = tuple(self._pipeline.inputs) if name is None else (self._input(name),)
        return _some(self._pipeline.advance(to, inputs))

    def finish(self) -> dict[str, Matches]:
        """The matches that become known because no event is to come in any input."""
        return _some(self._pipeline.finish())

    def _input(self, name: str | None) -> str | None:
        known = self._pipeline.inputs
        if name in known:
            return name
        names = [each for each in known if each is not None]
        hint = did_you_mean(name or "", names) or (_there_are(names),)
        what = "input without a name" if name is None else f"input `{name}`"
        raise PlanError(f"the script reads no {what}: {hint[0]}")


def _there_are(names: list[str]) -> str:
    return f"there are {', '.join(names)}" if names else "push(None, …)  is for the only one"


def _some(found: Mapping[str, Matches]) -> dict[str, Matches]:
    return {name: matches for name, matches in found.items() if len(matches)}
