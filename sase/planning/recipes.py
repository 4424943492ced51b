"""Recipes: ordered rewrites of the basic plan, and choices among them; TOML files in `plans/`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

from sase.base.files import read_text
from sase.base.texts import did_you_mean
from sase.errors import PlanError
from sase.planning.driver import RewriteCall
from sase.planning.rewrites import REWRITES
from sase.planning.rewrites.use_algorithm import use_algorithm

_ENTRY = (
    "a name, {rewrite = NAME, …} with its parameters, {algorithm = NAME}, or {one_of = [[…], …]}"
    " with a list of rewrites for each choice"
)
# Former rewrites by which recipes chose an algorithm.
_FORMER = {
    "backtrack_runs": "backtracking",
    "collapse_matches": "expanded",
    "join_sets": "by joins",
    "merge_runs": "merged",
    "postpone_conditions": "postponed",
    "reread_events": "rereading",
    "version_runs": "versioned",
}

_MEMBERS = {"summary", "rewrites", "extends", "fused"}


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives: the cheapest is taken, or the first if costs are unknown."""

    alternatives: tuple[tuple[RewriteCall, ...], ...]


Entry: TypeAlias = RewriteCall | Choice


@dataclass(frozen=True)
class Recipe:
    """Rewrites in order; one that does not apply to a plan is skipped.

    If not `fused`, every event passes the operators of the plan one by one.
    """

    name: str
    summary: str
    entries: tuple[Entry, ...]
    fused: bool = True

    @property
    def calls(self) -> Iterator[RewriteCall]:
        """Every rewrite that the recipe may use."""
        for entry in self.entries:
            if isinstance(entry, RewriteCall):
                yield entry
            else:
                yield from (call for each in entry.alternatives for call in each)


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    found = files("sase.plans").iterdir()
    return sorted(path.name.removesuffix(".toml") for path in found if path.name.endswith(".toml"))


def read_recipe(name: str, extending: tuple[str, ...] = ()) -> Recipe:
    """Read a recipe of the package by name, or the user's own by the path of a TOML file.

    `extending` are the recipes that led to this one by `extends`, to detect cycles.
    """
    if name in extending:
        raise PlanError(f"recipe {name}: it extends itself")
    if name.endswith(".toml"):
        recipe, other = _parsed(Path(name).stem, _text_of(Path(name)))
    else:
        recipe, other = _parsed(name, _packaged(name))
    if other is None:
        return recipe
    return replace(recipe, entries=read_recipe(other, (*extending, name)).entries)


def _packaged(name: str) -> str:
    path = files("sase.plans").joinpath(f"{name}.toml")
    if not (name.isidentifier() and path.is_file()):
        known = recipe_names()
        hint = did_you_mean(name, known) or (f"there are {', '.join(known)}",)
        raise PlanError(f"there is no recipe `{name}`; {hint[0]} (a file of yours ends in .toml)")
    return path.read_text(encoding="utf-8")


def _text_of(path: Path) -> str:
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError) as problem:
        raise PlanError(f"{path}: the recipe cannot be read: {problem}") from problem


@lru_cache(maxsize=64)
def _parsed(name: str, text: str) -> tuple[Recipe, str | None]:
    """Parse a recipe, and the name of the recipe that it extends."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise PlanError(f"recipe {name}: this is not valid TOML: {problem}") from problem
    other, rewrites, fused = data.get("extends"), data.get("rewrites"), data.get("fused", True)
    is_one = isinstance(rewrites, list) if other is None else isinstance(other, str)
    if not is_one or None not in (other, rewrites) or not set(data) <= _MEMBERS:
        raise PlanError(
            f"recipe {name}: it has a `summary` and a list of `rewrites`, or `extends` a recipe"
        )
    if not isinstance(fused, bool):
        raise PlanError(f"recipe {name}: fused = {fused!r}: it is true or false")
    entries = tuple(_entry(name, given) for given in rewrites or ())
    return Recipe(name, str(data.get("summary", "")), entries, fused), other


def _entry(recipe: str, value: object) -> Entry:
    match value:
        case {"one_of": [*alternatives], **rest} if not rest and alternatives:
            return Choice(tuple(_alternative(recipe, each) for each in alternatives))
    return _call(recipe, value)


def _alternative(recipe: str, value: object) -> tuple[RewriteCall, ...]:
    if not isinstance(value, list):
        raise PlanError(f"recipe {recipe}: {value!r} is no alternative: each is a list of rewrites")
    return tuple(_call(recipe, each) for each in value)


def _call(recipe: str, given: object) -> RewriteCall:
    match given:
        case str():
            entry: object = {"rewrite": given}
        case {"algorithm": algorithm, **rest} if not rest:
            entry = {"rewrite": use_algorithm.__name__, "name": algorithm}
        case _:
            entry = given
    if not isinstance(entry, dict) or not isinstance(entry.get("rewrite"), str):
        raise PlanError(f"recipe {recipe}: {given!r} is no rewrite: give {_ENTRY}")
    name = str(entry["rewrite"])
    parameters = {key: value for key, value in entry.items() if key != "rewrite"}
    if name not in REWRITES:
        hint = did_you_mean(name, REWRITES) or (f"there are {', '.join(REWRITES)}",)
        if name in _FORMER:
            hint = (f'write {{algorithm = "{_FORMER[name]}"}}',)
        raise PlanError(f"recipe {recipe}: there is no rewrite `{name}`; {hint[0]}")
    known = REWRITES[name].parameters
    for parameter, value in parameters.items():
        if parameter not in known or not isinstance(value, str):
            takes = f"takes {', '.join(sorted(known))}" if known else "takes no parameters"
            raise PlanError(f"recipe {recipe}: {parameter} = {value!r}: `{name}` {takes}, as text")
    return RewriteCall(name, tuple((key, str(value)) for key, value in sorted(parameters.items())))
