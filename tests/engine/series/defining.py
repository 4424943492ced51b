"""Random examples of level 2 in which users have added the aggregates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa

from tests.drawing.examples import Example
from tests.drawing.queries import Query
from tests.drawing.streams import FLOAT, INTEGER, Setting
from tests.drawing.ways import Way, case
from tests.user_aggregates import define_all

# A range of a series in one of the functions that give numbers, or over possible numbers.
CALL = re.compile(r"\b(?:avg|sum|stddev|min|max|count|first|last)\((\w+\[[^\]]*\])\.(\w+)\)")
OF_NUMBERS, OF_INTEGERS = ("decay", "slope", "checked"), ("hashed", "most", "cross")


def cases(numbers: Iterator[int]) -> Iterator[tuple[int, Example, Way]]:
    """Examples by number; in their queries, aggregates of users replace others."""
    define_all()
    for number in numbers:
        example, way = case(number, "series")
        changed = with_defined(example, Random(number))
        if changed is not None:
            yield number, changed, way


def with_defined(example: Example, random: Random) -> Example | None:
    """The example with other aggregates; None if none takes the place of any."""
    query, setting = example.query, example.setting

    def written(text: str) -> str:
        return CALL.sub(lambda call: _another(call, setting, random), text)

    conditions = tuple(map(written, query.conditions))
    changed = replace(
        query, conditions=conditions, having=written(query.having), returned=written(query.returned)
    )
    return replace(example, query=changed) if changed != query else None


def defined_in(query: Query) -> set[str]:
    """The aggregates of users that a query has."""
    return set(re.findall(rf"\b({'|'.join(OF_NUMBERS + OF_INTEGERS)})\(", query.text))


def _another(call: re.Match[str], setting: Setting, random: Random) -> str:
    series, attribute = call.groups()
    kinds = _kinds(setting, attribute)
    if not kinds or not kinds <= {INTEGER, FLOAT}:
        return call[0]
    name = random.choice(OF_NUMBERS if FLOAT in kinds else OF_NUMBERS + OF_INTEGERS)
    if name == "cross":
        others = [each for each in setting.columns if _kinds(setting, each) == {INTEGER}]
        return f"cross({series}.({attribute}, {random.choice(others)}))"
    return f"{name}({series}.{attribute})"


def _kinds(setting: Setting, attribute: str) -> set[pa.DataType]:
    """The types that an attribute has in those of events."""
    found = [columns.get(attribute) for columns in setting.by_type.values()]
    return {each for each in (setting.columns.get(attribute), *found) if each is not None}
