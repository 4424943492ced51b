"""Explaining a script: its statements one by one, each over what it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sase.api.compiled_script import CompiledScript, Sources
from sase.api.explain import explain
from sase.engine.sources.discovered import Discovered
from sase.planning.explain import Explanation
from sase.printable import Documented, printable


@dataclass(frozen=True)
class ScriptExplanation(Documented, Mapping[str, Explanation]):
    """The explanation of each statement of a script by its name, and what each reads."""

    explanations: Mapping[str, Explanation]
    sources: Mapping[str, tuple[str | None, ...]]

    def __getitem__(self, name: str) -> Explanation:
        return self.explanations[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.explanations)

    def __len__(self) -> int:
        return len(self.explanations)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, *, verbose: bool = False) -> str:
        """The plan of each statement as a tree, under its name."""
        return "\n\n".join(
            f"{printable(self._heading(name))}\n{each.to_text(verbose=verbose)}"
            for name, each in self.explanations.items()
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data of JSON; docs/scripts.md describes it."""
        return {
            "version": 1,
            "statements": [
                {"name": name, "sources": list(self.sources[name]), **each.to_dict()}
                for name, each in self.explanations.items()
            ],
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
    script: CompiledScript, events: Sources | None, **given: Any
) -> ScriptExplanation:
    """The explanation of each statement, over events, or over what their schemas say."""
    read = script.alone(events) if events is not None else {}
    found = {}
    for query in script.graph.statements:
        known = script.bound.queries[query.name]
        own: Discovered | None = read.get(query.name)
        found[query.name] = explain(
            query.written,
            own,
            schema=None if own is not None else known.source,  # type: ignore[arg-type]
            params=script.params,
            plan=script.recipe,
            **given,
        )
    sources = {each.name: each.sources for each in script.graph.statements}
    return ScriptExplanation(found, sources)
