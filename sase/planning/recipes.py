"""Recipes: a named list of rewrites over the basic plan, kept as TOML in `plans/`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from sase.errors import PlanError
from sase.nearest import did_you_mean
from sase.planning.nodes import Operator
from sase.planning.rewrites import REWRITES


@dataclass(frozen=True)
class Recipe:
    """Rewrites in order; one that does not apply to a plan is passed over."""

    name: str
    summary: str
    rewrites: tuple[str, ...]


def recipe_names() -> list[str]:
    """The recipes that come with the package."""
    found = files("sase.plans").iterdir()
    return sorted(path.name.removesuffix(".toml") for path in found if path.name.endswith(".toml"))


def read_recipe(name: str) -> Recipe:
    """A recipe of the package by its name, or the user's own by the path of a TOML file."""
    if name.endswith(".toml"):
        return _parsed(Path(name).stem, _text_of(Path(name)))
    known = recipe_names()
    if name not in known:
        hint = did_you_mean(name, known) or (f"there are {', '.join(known)}",)
        raise PlanError(f"there is no recipe `{name}`; {hint[0]}; a file of yours ends in .toml")
    return _parsed(name, files("sase.plans").joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise PlanError(f"{path}: the recipe cannot be read: {problem}") from problem


def _parsed(name: str, text: str) -> Recipe:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        raise PlanError(f"recipe {name}: this is not valid TOML: {problem}") from problem
    rewrites = data.get("rewrites")
    if not isinstance(rewrites, list) or not set(data) <= {"summary", "rewrites"}:
        raise PlanError(f"recipe {name}: it has a `summary` and a list of `rewrites`")
    for rewrite in rewrites:
        if rewrite not in REWRITES:
            hint = did_you_mean(str(rewrite), REWRITES) or (f"there are {', '.join(REWRITES)}",)
            raise PlanError(f"recipe {name}: there is no rewrite `{rewrite}`; {hint[0]}")
    return Recipe(name, str(data.get("summary", "")), tuple(rewrites))


@dataclass(frozen=True)
class Step:
    """A rewrite of a recipe, and whether it changed the plan."""

    rewrite: str
    applied: bool


def cooked(recipe: Recipe, plan: Operator) -> tuple[Operator, tuple[Step, ...]]:
    """The plan after the rewrites of a recipe, and what became of each."""
    steps = []
    for name in recipe.rewrites:
        rewritten = REWRITES[name](plan)
        steps.append(Step(name, rewritten is not None))
        plan = plan if rewritten is None else rewritten
    return plan, tuple(steps)
