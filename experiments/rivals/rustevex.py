"""rustevex: one call for each key, on streams that it has interned before."""

from __future__ import annotations

from importlib import metadata
from itertools import pairwise

from rustevex import EventExpressions, Pattern

from experiments.rivals import columns, keys
from experiments.rivals.protocol import Answer, Task, Way, serve


def prepare(task: Task) -> Way:
    """A stream for each key, in its own form."""
    matcher = EventExpressions(pattern(task))
    events = keys.by_key(task, columns.table(task))
    tokens = [str(code) for code in events.codes]
    spans = list(pairwise(events.starts.tolist()))
    streams = [
        matcher.preprocess(tokens[start:end], events.rows[start:end].astype(float).tolist())
        for start, end in spans
    ]

    def run() -> list[keys.Rows]:
        return [matcher.match_preprocessed(stream)["el_stream_idx"] for stream in streams]

    def count(found: list[keys.Rows]) -> Answer:
        return keys.answer(
            [
                events.rows[start:end][each]
                for (start, end), each in zip(spans, found, strict=True)
                if len(each)
            ]
        )

    return Way(run, count)


def pattern(task: Task) -> Pattern:
    """The steps in order within the window, with inclusive bounds; `!` blocks."""
    found = Pattern(max_dt=float(task.window - 1))
    for at, _ in enumerate(task.variables):
        if at == task.negated:
            continue
        blocked = at > 0 and at - 1 == task.negated
        found.add_event(str(at + 1), **({"block_token": str(at)} if blocked else {}))
    return found


if __name__ == "__main__":
    serve(metadata.version("rustevex"), prepare)
