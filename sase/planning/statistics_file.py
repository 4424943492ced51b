"""Statistics as JSON text and back, in the form of plans (see `serialisation`).

{"format": 1,                                     a reader refuses every other
 "statistics": {"is": "Statistics", "rows": 1000, …}}
"""

from __future__ import annotations

import json
from reprlib import repr as brief

from sase.errors import PlanError
from sase.planning.serialisation import decoded, encoded
from sase.planning.statistics import Statistics

FORMAT = 1
_MEMBERS = {"format", "statistics"}


def statistics_to_json(statistics: Statistics) -> str:
    """The text of statistics."""
    return json.dumps({"format": FORMAT, "statistics": encoded(statistics)}, indent=1)


def statistics_from_json(text: str) -> Statistics:
    """The statistics of a text, or a `PlanError` that says where the text is wrong."""
    try:
        document = json.loads(text)
    except ValueError as problem:
        raise PlanError(f"these are no statistics: it is not valid JSON: {problem}") from problem
    except RecursionError as problem:
        raise PlanError("these are no statistics: it is nested too deeply") from problem
    if not isinstance(document, dict) or "format" not in document:
        raise PlanError("these are no statistics: they are a JSON object that states its `format`")
    if document["format"] != FORMAT:
        found = brief(document["format"])
        raise PlanError(f"these statistics have format {found}, not {FORMAT}: measure them again")
    if document.keys() != _MEMBERS:
        found = brief([*document])
        raise PlanError(f"a file of statistics has format, statistics; this has {found}")
    try:
        statistics: Statistics = decoded(document["statistics"], Statistics, "statistics")
    except RecursionError as problem:
        raise PlanError("these are no statistics: it is nested too deeply") from problem
    return statistics
