"""pandas-match-recognize: the clause of the SQL standard on a frame."""

from __future__ import annotations

from importlib import metadata

import pandas as pd
from pandas_match_recognize import match_recognize

from experiments.rivals import columns, sql
from experiments.rivals.protocol import Answer, Task, Way, serve


def prepare(task: Task) -> Way:
    """A frame with the columns."""
    table = columns.table(task)
    frame = pd.DataFrame({name: table[name].to_numpy() for name in table.column_names})
    frame = frame[frame["code"] <= task.steps].reset_index(drop=True)
    text = sql.match_recognize(task, sql.Dialect()).replace(
        f"(SELECT * FROM events WHERE code <= {task.steps})", "events"
    )
    return Way(lambda: match_recognize(text, frame), answer)


def answer(found: pd.DataFrame) -> Answer:
    """A row for each start."""
    return Answer(len(found), None, found["a"].nunique() if len(found) else 0)


if __name__ == "__main__":
    serve(metadata.version("pandas-match-recognize"), prepare)
