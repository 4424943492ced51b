"""The hand-written C program beside which the engine is judged, run from where it lies.

It comes as a folder with `limit.py`, which makes its data and names them, and `sase.c`.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow as pa

from experiments.cells import Cell, Series
from experiments.core.times import Times

COLUMNS = ("ts", "type", "attr1", "attr2")  # those that the program reads
SERIES_COLUMNS = ("symbol", "price", "volume")
# Runs one after the other, of which the median counts: enough that it is not of the first ones, in
# which a query that other work kept waiting warms up.
REPEATS = 31
PRINTED = re.compile(r"matches=(\d+) median=([\d.]+) min=([\d.]+) max=([\d.]+)")


class Limit:
    """The program, compiled, and the folder with its data."""

    def __init__(self, script: Path, folder: Path) -> None:
        self._script = _module(script)
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        flags = ["-O3", "-march=native", "-w"]
        source = script.with_name("sase.c")
        subprocess.run(["cc", *flags, "-o", folder / "sase", source], check=True)

    def prepare(self, cell: Cell | Series, table: pa.Table) -> None:
        """Write the data of a cell, and see that they are those of the table."""
        stream = cell.name.partition("/")[2]
        if isinstance(cell, Series):
            theirs = self._script.stock()
            ours = {name: table[name].to_numpy() for name in SERIES_COLUMNS}
        else:
            theirs = self._script.columns(stream)
            types = table["type"].combine_chunks().indices.to_numpy() + 1
            ours = {"type": types} | {n: table[n].to_numpy() for n in COLUMNS if n != "type"}
        for name, values in ours.items():
            if not np.array_equal(values, theirs[name]):
                raise SystemExit(f"{cell.name}: {name} is not what limit.py makes")
            path = self._folder / f"{stream}.{name}.bin"
            if not path.exists():
                theirs[name].tofile(path)

    def run(self, cell: Cell | Series) -> Times:
        """The times of the program, all tuples written, and its count checked."""
        query, _, stream = cell.name.partition("/")
        data = self._folder / stream
        command = [self._folder / "sase", data, query.lower(), "mat", str(REPEATS)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = PRINTED.search(done.stdout)
        if found is None:
            raise SystemExit(f"{cell.name}: the C program printed {done.stdout!r}")
        if int(found[1]) != cell.matches:
            raise SystemExit(f"{cell.name}: C finds {found[1]} matches, right are {cell.matches}")
        return Times(*map(float, found.group(2, 3, 4)))


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("limit", path)
    if spec is None or spec.loader is None or not path.exists():
        raise SystemExit(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
