"""How long a query takes from its text to its bound form.

    python experiments/front_end.py [RUNS]

Prints medians over the queries of `examples/queries`, in one process, warm; and the first query of
a process, with the tables of the grammar cached and without.
"""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lark

import sase
from sase.binding import bind_text
from sase.lang.parser import parse_query

QUERIES = sorted((Path(__file__).parents[1] / "examples" / "queries").glob("*.sase"))
FIRST = """
import time
start = time.process_time()
from sase.cli.main import main
main(["check", "-q", "EVENT SEQ(A a, B b) WHERE [id] AND a.x < b.x WITHIN 1 hour"])
print(time.process_time())
"""


def median_ms(action: object, runs: int) -> float:
    """The median time of a call in milliseconds."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1000


def first_query_seconds(cache: str) -> float:
    """The CPU time of a process that checks one query, imports and all."""
    done = subprocess.run(
        [sys.executable, "-c", FIRST],
        env={**os.environ, "SASE_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main(runs: int) -> None:
    """Print the table."""
    print(f"sase {sase.__version__}, lark {lark.__version__}, Python {platform.python_version()},")
    print(f"{platform.machine()}, {os.cpu_count()} cores; {runs} runs each\n")
    print("| query | characters | parse, ms | parse and bind, ms |\n| --- | --- | --- | --- |")
    for path in QUERIES:
        text = path.read_text(encoding="utf-8")
        bind_text(text)  # the scanners of the lexer are made when they are first needed
        parse = median_ms(lambda text=text: parse_query(text), runs)
        both = median_ms(lambda text=text: bind_text(text), runs)
        print(f"| {path.stem} | {len(text)} | {parse:.2f} | {both:.2f} |")
    with tempfile.TemporaryDirectory() as cache:
        cold = first_query_seconds(cache)
        warm = statistics.median(first_query_seconds(cache) for _ in range(5))
    print(
        f"\nA process that checks one query: {cold:.2f} s of CPU the first time, then {warm:.2f} s"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
