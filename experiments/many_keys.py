"""Ours: patterns over events of many users, beside C programs written for each.

The stream is a day of views, carts and purchases, each of a random user; the window is an hour, and
shorter for less than 100,000 users. Users are dense integers, wide ones, texts, or texts of one
dictionary. One program in C has the state of a stream, and the other one knows that all events are
there. Seconds are of processor time, of runs that take turns, by any numbers of threads; for
ours also the part that the system took, mostly for memory, and the elapsed seconds. With `--memory`
the output is the memory of keys that all live at once: the most memory of a process, less that of
one that knows ten of them and remembers none.

    python -m experiments.many_keys [--events N] [--keys N …] [--kinds K …] [--shapes S …]
        [--threads N …] [--memory]
"""

from __future__ import annotations

import argparse
import re
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import sase
from experiments import machine

EVENTS, DAY, HOUR = 10_000_000, 86_400_000_000, 3_600_000_000
TYPES, SHARES = ("view", "cart", "purchase"), (0.7, 0.2, 0.1)
# An odd number that a user is multiplied with to be a wide integer.
WIDE = 0x1E3779B97F4A7C15
SEED = 20261126
KINDS = ("dense", "wide", "text", "dictionary")
# The number of users that have the window of an hour. With fewer it is shorter in proportion, so
# that matches stay few, and longer with fewer events.
WHOLE = 100_000
SHAPES = {
    "all": "SEQ(view a, cart b, purchase c) WHERE [user]",
    "next": "SEQ(view a, cart b, purchase c) WHERE skip_till_next_match { [user] }",
    "series": "SEQ(view+ a[], purchase b) WHERE skip_till_next_match { [user] }",
}
# Shapes of which only this command shows the seconds.
MORE_SHAPES = {
    "carts": "SEQ(view a, cart+ b[], purchase c) WHERE [user]",
    "next-carts": "SEQ(view a, cart+ b[], purchase c) WHERE skip_till_next_match { [user] }",
}
EVERY_SHAPE = SHAPES | MORE_SHAPES
# The bytes that a live key may take on each level.
MOST_BYTES = 64
# How many times as long as C each may take.
MOST = {"all": 2.0, "next": 2.0, "series": 2.5, "carts": 3.0, "next-carts": 3.0}
# The programs: for a stream, and for a batch.
STREAM, BATCH = "many_keys", "many_keys_batch"
PRINTED = re.compile(r"matches=(\d+) sum=(\d+) seconds=([\d.]+)")


@dataclass(frozen=True)
class Users:
    """The events of a number of users: times, types, and the number of each event's user."""

    ts: NDArray[np.int64]
    types: NDArray[np.int8]
    users: NDArray[np.int64]
    keys: int

    @classmethod
    def drawn(cls, events: int, keys: int) -> Users:
        """Events at rising times through the day."""
        rng = np.random.default_rng(SEED)
        step = DAY // events
        ts = np.arange(events) * step + rng.integers(0, step, events)
        types = rng.choice(len(TYPES), events, p=SHARES).astype(np.int8)
        return cls(ts, types, rng.integers(0, keys, events), keys)

    @property
    def span(self) -> int:
        """The window."""
        return HOUR * min(self.keys, WHOLE) * EVENTS // (WHOLE * len(self.ts))

    @property
    def wide(self) -> NDArray[np.int64]:
        """The users as integers that lie far apart."""
        return _wide(self.users)

    def table(self, kind: str) -> pa.Table:
        """The events with users of a kind."""
        users: pa.Array
        if kind == "dense":
            users = pa.array(self.users)
        elif kind == "wide":
            users = pa.array(self.wide)
        elif kind == "text":
            users = pc.cast(pa.array(self.wide), pa.string())
        else:
            texts = pc.cast(pa.array(_wide(np.arange(self.keys))), pa.string())
            users = pa.DictionaryArray.from_arrays(pa.array(self.users.astype(np.int32)), texts)
        types = pa.DictionaryArray.from_arrays(pa.array(self.types), pa.array(TYPES))
        return pa.table({"ts": self.ts, "type": types, "user": users})


class Program:
    """A C program, compiled, and the columns that it reads, in a folder."""

    def __init__(self, folder: Path, name: str = STREAM) -> None:
        self._folder, self._name = folder, name
        source = Path(__file__).with_name(f"{name}.c")
        command = ["cc", "-O3", "-march=native", "-o", folder / name, source]
        subprocess.run(command, check=True)

    def write(self, events: Users, kinds: Sequence[str]) -> None:
        """Write columns; those of texts only if texts are requested."""
        columns = {"ts": events.ts, "type": events.types}
        columns |= {"dense": events.users, "wide": events.wide}
        for name, values in columns.items():
            values.tofile(self._folder / f"{name}.bin")
        if "text" in kinds:
            _, offsets, data = events.table("text")["user"].chunk(0).buffers()
            (self._folder / "offsets.bin").write_bytes(offsets)
            (self._folder / "bytes.bin").write_bytes(data)

    def run(
        self, shape: str, kind: str, span: int, copies: int = 1
    ) -> tuple[float, tuple[int, int]]:
        """The seconds of a run, and its matches and their row numbers' sum.

        Of several copies that run at once those of the slowest; each has as much to do as one.
        """
        # The indices of a dictionary are dense integers.
        read = "dense" if kind == "dictionary" else kind
        command = [self._folder / self._name, self._folder, shape, read, str(span)]
        pipe = subprocess.PIPE
        begun = [subprocess.Popen(command, stdout=pipe, text=True) for _ in range(copies)]
        printed = [each.communicate()[0].strip() for each in begun]
        told = [each for each in map(PRINTED.fullmatch, printed) if each is not None]
        assert len(told) == copies, printed
        (found,) = {(int(each[1]), int(each[2])) for each in told}
        return max(float(each[3]) for each in told), found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each shape, kind and number of users."""
    parser = argparse.ArgumentParser(prog="python -m experiments.many_keys", description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS, help=f"how many: {EVENTS:,}")
    parser.add_argument(
        "--keys", type=int, nargs="+", default=[10, 10_000, 100_000, 1_000_000, 5_000_000]
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--shapes", nargs="+", choices=EVERY_SHAPE, default=list(EVERY_SHAPE))
    parser.add_argument("--rounds", type=int, default=5, help="how often each runs: 5")
    parser.add_argument("--threads", type=int, nargs="+", default=[1], help="of ours: 1")
    parser.add_argument("--memory", action="store_true", help="of keys that live")
    options = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    print(machine.described(), flush=True)
    if options.memory:
        for keys, kind, shape in product(options.keys, options.kinds, options.shapes):
            print(memory(keys, shape, kind), flush=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        programs = [Program(Path(folder), name) for name in (STREAM, BATCH)]
        for keys in options.keys:
            events = Users.drawn(options.events, keys)
            programs[0].write(events, options.kinds)
            for kind in options.kinds:
                table = events.table(kind)
                for shape in options.shapes:
                    print(line(programs, events, table, shape, kind, options), flush=True)


def line(
    programs: Sequence[Program], events: Users, table: pa.Table, shape: str, kind: str,
    options: argparse.Namespace,
) -> str:  # fmt: skip
    """For each number of threads the medians of ours and of C; all must find the same."""
    plan = sase.compile(f"EVENT {EVERY_SHAPE[shape]} WITHIN {events.span}", table)
    ours = {threads: list[Spent]() for threads in options.threads}
    theirs = [list[float]() for _ in programs]
    found = 0, 0
    for turn in range(options.rounds + 1):
        for program, seconds in zip(programs, theirs, strict=True):
            limit, others = program.run(shape, kind, events.span)
            assert found in ((0, 0), others), (shape, kind, found)
            found = others
            seconds += [limit] * bool(turn)
        for threads, spent in ours.items():
            taken, matches = spent_on(plan, table, threads)
            if turn:
                spent.append(taken)
            else:  # kernels are compiled
                assert found == (len(matches), row_sum(matches.rows)), (shape, kind, found)
            del matches  # the next run may have their memory, as it has after one of a user
    return "\n".join(
        f"{events.keys:10,} {kind:10} {shape:6} {found[0]:11,} matches {threads} threads "
        + compared(spent, theirs, MOST[shape])
        for threads, spent in ours.items()
    )


def spent_on(plan: sase.Plan, table: pa.Table, threads: int) -> tuple[Spent, sase.Matches]:
    """The time of a run, until its matches are counted, and their number."""
    begun = Spent.now()
    matches = plan.run(table, threads=threads)
    assert len(matches)
    now = Spent.now()
    return Spent(*(end - start for end, start in zip(now, begun, strict=True))), matches


class Spent(NamedTuple):
    """Seconds of the processor, those of them that the system took, and those that passed."""

    busy: float
    system: float
    passed: float

    @classmethod
    def now(cls) -> Spent:
        """The resources that this process has used."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return cls(used.ru_utime + used.ru_stime, used.ru_stime, time.perf_counter())


def compared(spent: Sequence[Spent], theirs: Sequence[Sequence[float]], most: float) -> str:
    """The medians of ours and of C, and their ratios."""
    busy, system, passed = map(statistics.median, zip(*spent, strict=True))
    stream, batch = map(statistics.median, theirs)
    told = f"{busy:7.3f} s  C {stream:7.3f} s  ratio {busy / stream:5.2f}, at most {most}"
    told += f"; for a batch {batch:7.3f} s  ratio {busy / batch:5.2f}"
    return f"{told}  (system {system:.3f} s; passed {passed:7.3f} s)"


def memory(keys: int, shape: str, kind: str = "dense") -> str:
    """The bytes that each key takes with an event on every level but the last, which holds none.

    Of other kinds than dense ones the table of their codes is among them.
    """
    levels = steps_of(shape)
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        fresh.submit(peak, 10, shape, 10, 1).result()  # compiles kernels
        none, every = (
            fresh.submit(peak, keys, shape, *how, kind).result() for how in ((10, 1), (keys, DAY))
        )
    each = (every - none) / keys
    told = f"{each:6.1f} bytes a key, {each / levels:5.1f} a level of {levels}"
    return f"{keys:10,} {kind:10} {shape:6} {told}, at most {MOST_BYTES}"


def steps_of(shape: str) -> int:
    """The levels of a shape on which events wait for others."""
    return 1 if shape == "series" else 2


def peak(keys: int, shape: str, known: int, span: int, kind: str = "dense") -> int:
    """The most memory of a process in which all users view, and then all put into the cart.

    It knows this number of them apart.
    """
    steps = steps_of(shape)
    ts = np.arange(steps * keys) + 1
    types = np.repeat(np.arange(steps, dtype=np.int8), keys)
    users = np.tile(np.random.default_rng(SEED).permutation(keys) % known, steps)
    table = Users(ts, types, users, keys).table(kind)
    matches = sase.compile(f"EVENT {EVERY_SHAPE[shape]} WITHIN {span}", table).run(table, threads=1)
    assert not len(matches)
    return machine.peak_bytes()


def row_sum(rows: pa.Table) -> int:
    """The sum of all row numbers of matches."""
    total = 0
    for column in rows.columns:
        flat = pc.list_flatten(column) if pa.types.is_list(column.type) else column
        total += pc.sum(flat).as_py() or 0
    return total


def _wide(users: NDArray[np.int64]) -> NDArray[np.int64]:
    return (users * WIDE) & 0x7FFF_FFFF_FFFF_FFFF


if __name__ == "__main__":
    main()
