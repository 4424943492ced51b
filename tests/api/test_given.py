"""What callers say beside a Schema, which says all of itself."""

from __future__ import annotations

from typing import Any

import pytest

import sase

QUERY = "EVENT SEQ(A a, B b) WITHIN 5"
SCHEMA = sase.Schema(time="when", type="kind", time_unit="ms")


def explained(query: str, schema: sase.Schema, **said: Any) -> sase.Explanation:
    return sase.explain(query, schema=schema, **said)


@pytest.mark.parametrize("run", [sase.compile, explained])
@pytest.mark.parametrize("said", [{}, {"time": "when"}, {"type": "kind", "time_unit": "ms"}])
def test_what_a_schema_says_may_be_said_again(run: Any, said: dict[str, Any]) -> None:
    assert run(QUERY, SCHEMA, **said)


@pytest.mark.parametrize("run", [sase.compile, explained])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"time": "at"}, "time='at' is not what the Schema says, which is time='when'"),
        ({"type": None}, "type=None is not what the Schema says, which is type='kind'"),
        ({"seq": "id"}, "seq='id' is not what the Schema says, which is seq=None"),
        ({"time_unit": "s"}, "time_unit='s' is not what the Schema says"),
        ({"types": {"A": "x > 1"}}, "types= says which events of a table are of which type"),
    ],
)
def test_what_would_have_no_effect_is_refused(run: Any, said: dict[str, Any], told: str) -> None:
    with pytest.raises(sase.PlanError) as caught:
        run(QUERY, SCHEMA, **said)
    assert told in str(caught.value)
