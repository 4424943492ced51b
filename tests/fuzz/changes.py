"""Change documents of JSON, and states of arrays: numbers, entries, types, lengths, anywhere."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

EDGES = (-2, -1, 0, 1, 2, 3, 7, 63, 64, 127, 255, 256, 1000, 32767, 65536, 10**9, 2**31, 2**32)
EXTREMES = (
    2**62,
    2**63 - 1,
    2**63,
    -(2**63),
    -(2**63) - 1,
    2**64,
    10**30,
    -(2**31),
    -(10**9),
    -1000,
)
OTHERS: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, float("nan"), "", "x", "ts", "1/3", "é", "\ud800",
    [], {}, [[]], [0], {"is": "Constant"}, "a" * 1000, [None] * 100,
)  # fmt: skip


def changed(document: Any, random: Random) -> Any:
    """A copy with one to three changes, mostly one."""
    document = copy.deepcopy(document)
    for _ in range(random.choice((1, 1, 1, 1, 2, 3))):
        change(document, random)
    return document


def change(document: Any, random: Random) -> None:
    """Change one place of a document in place; numbers most often."""
    every = list(places(document))
    if not every:
        return
    numbers = [(at, key) for at, key in every if _is_number(at[key])]
    at, key = random.choice(numbers if numbers and random.random() < 0.5 else every)
    if _is_number(at[key]) and random.random() < 0.8:
        at[key] = number(at[key], random)
        return
    match random.randrange(6):
        case 0:
            at[key] = copy.deepcopy(random.choice(OTHERS))
        case 1:
            other, there = random.choice(every)
            at[key] = copy.deepcopy(other[there])
        case 2:
            del at[key]
        case 3 if isinstance(at, list):
            at.insert(random.randrange(len(at) + 1), copy.deepcopy(at[key]))
        case 4 if isinstance(at, list):
            del at[random.randrange(len(at)) :]
        case 5 if isinstance(at, list):
            at.extend(copy.deepcopy(at) * random.choice((1, 1, 50)))
        case _ if isinstance(at[key], str):
            at[key] = text(at[key], random)
        case _ if isinstance(at, dict):
            at[random.choice([*at, "x", f"{key}s"])] = at.pop(key)
        case _:
            random.shuffle(at)


def number(given: float, random: Random) -> float:
    """Another number: a neighbour, one at some edge, or an extreme one."""
    if isinstance(given, bool):
        return not given
    near = (given + 1, given - 1, -given, given * 2, given // 2)
    return random.choice(random.choice((near, EDGES, EXTREMES)))


def text(given: str, random: Random) -> str:
    """Another text: cut, doubled, or with another letter."""
    at = random.randrange(len(given) + 1)
    other = (given[:at], given[at:], given + given, f"{given[:at]}{chr(random.randrange(1, 900))}")
    return random.choice(other)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every entry of every object and list, as its container and its name or index."""
    if isinstance(data, dict | list):
        for key in list(data) if isinstance(data, dict) else range(len(data)):
            yield data, key
            yield from places(data[key])


def change_state(state: Any, random: Random) -> None:
    """Change an array, most often one number of it, or the values around."""
    holders = [(at, key) for at, key in places(state) if isinstance(at[key], np.ndarray)]
    if not holders or random.random() < 0.35:
        change(state, random)
        return
    at, key = random.choice(holders)
    at[key] = _changed_array(at[key], random)


def _changed_array(array: np.ndarray[Any, Any], random: Random) -> Any:
    found = array.copy()
    match random.randrange(16):
        case 0:
            return found[: random.randrange(len(found) + 1)] if found.ndim else found
        case 1:
            return np.concatenate([found, found])
        case 2:
            return found.astype(random.choice(("int64", "int16", "uint8", "bool")))
        case 3:
            return found.reshape(-1)
        case 4:
            return np.zeros((0, *found.shape[1:]), found.dtype)
        case 5:
            flat = found.reshape(-1)
            at = [random.randrange(found.size) for _ in range(2 if found.size else 0)]
            flat[at] = flat[at[::-1]]
        case _ if found.size:
            flat, place = found.reshape(-1), random.randrange(found.size)
            other = flat[random.randrange(found.size)]
            value = other if random.random() < 0.3 else number(int(flat[place]), random)
            limits = np.iinfo(found.dtype) if found.dtype != np.bool_ else None
            if limits is not None:
                value = min(max(int(value), limits.min), limits.max)
            flat[place] = value
    return found
