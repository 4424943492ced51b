"""The content of rivals.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("rivals.toml")
OURS = "ours"
LIMIT = "limit"
MEANINGS = ("starts", "own", "broken")


@dataclass(frozen=True)
class Difference:
    """Which other question a form answers, and the sentence that says so."""

    meaning: str
    sentence: str


@dataclass(frozen=True)
class Form:
    """A way to ask a system: the queries that it is written for, streams that it cannot hold.

    `threads` are all that it can have, where it has not the choice.
    """

    name: str
    queries: tuple[str, ...]
    threads: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    difference: Difference | None = None


@dataclass(frozen=True)
class Rival:
    """A system: its packages, and the form of its queries."""

    name: str
    title: str
    packages: tuple[str, ...] = ()
    python: str | None = None
    needs: str | None = None
    forms: tuple[Form, ...] = ()

    @property
    def program(self) -> str:
        """The module that is run in its environment."""
        return f"experiments.rivals.{self.name}"


ENGINE = Rival(
    OURS, "this engine", forms=(Form("plan", ("Q1", "Q2", "Q3", "Q4", "Q5", "next", "series")),)
)
# The program of many keys is another one, of `experiments.many_keys`.
OTHERS = ("K100k", "K1M", "K5M")
BY_HAND = Form("by hand", ("Q1", "Q2", "Q3", "Q4", "Q5"), (1,), OTHERS)
PROGRAM = Rival(LIMIT, "C program", forms=(BY_HAND,))


def rivals(file: Path = FILE) -> dict[str, Rival]:
    """All that the file has, in its order."""
    told = tomllib.loads(file.read_text(encoding="utf-8"))
    return {name: rival(name, each) for name, each in told.items()}


def rival(name: str, told: dict[str, Any]) -> Rival:
    """One of them."""
    differs = {form: Difference(**each) for form, each in told.get("differs", {}).items()}
    wrong = [form for form, each in differs.items() if each.meaning not in MEANINGS]
    if wrong or set(differs) - set(told["forms"]):
        raise ValueError(f"{name}: {', '.join(wrong or differs)} differs in no known way")
    forms = tuple(form(each, of, differs.get(each)) for each, of in told["forms"].items())
    return Rival(
        name,
        told["title"],
        tuple(told["packages"]),
        told.get("python"),
        told.get("needs"),
        forms,
    )


def form(name: str, told: dict[str, Any], difference: Difference | None) -> Form:
    """One form."""
    lists = {each: tuple(told.get(each, ())) for each in ("queries", "threads", "without")}
    return Form(name, **lists, difference=difference)
