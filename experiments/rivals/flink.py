"""Flink CEP: a program in Java, compiled when it is first run, which waits for a signal to run."""

from __future__ import annotations

import subprocess
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path
from typing import IO

import numpy as np

from experiments.process_tree import cpu_seconds
from experiments.rivals import columns
from experiments.rivals.protocol import Answer, Task, Way, serve
from experiments.rivals.trees import peak_of_tree

SOURCE = Path(__file__).with_name("Flink.java")
PACKAGES = ("java.lang", "java.util", "java.util.concurrent.atomic", "java.time", "java.nio")


def prepare(task: Task) -> Way:
    """The program, with the columns in its memory."""
    table = columns.table(task)
    key = np.zeros(len(table), dtype=np.int64)
    for name in task.keys:
        values = table[name].to_numpy().astype(np.int64)
        key = key * (int(values.max(initial=0)) + 1) + values
    process = started(task, {"codes": table["code"].to_numpy().astype(np.int64), "keys": key})
    assert process.stdin is not None and process.stdout is not None
    asked, told = process.stdin, process.stdout

    def run() -> Answer:
        print("run", file=asked, flush=True)
        return Answer(*map(int, awaited(told, "found").split()))

    return Way(run, lambda answer: answer)


def started(task: Task, arrays: dict[str, np.ndarray]) -> subprocess.Popen[str]:
    """The program, when it has read its columns."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, values in arrays.items():
            files.append(str(Path(folder, name)))
            values.tofile(files[-1])
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in PACKAGES]
        negated = 0 if task.negated is None else task.negated + 1
        numbers = map(str, (task.steps, negated, task.window, task.threads))
        process = subprocess.Popen(
            ["java", "-Xmx8g", *opened, "-cp", classes(), "Flink", *files, *numbers],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        awaited(process.stdout, "ready")
    return process


def classes() -> str:
    """The class path: Flink's jars and the compiled program, which lies in this environment."""
    libraries = Path(sysconfig.get_paths()["purelib"], "pyflink", "lib")
    compiled = Path(sysconfig.get_paths()["data"], "flink-classes")
    path = f"{libraries}/*:{compiled}"
    made = compiled / "Flink.class"
    if not made.exists() or made.stat().st_mtime < SOURCE.stat().st_mtime:
        compiled.mkdir(exist_ok=True)
        subprocess.run(["javac", "-cp", path, "-d", compiled, SOURCE], check=True)
    return path


def awaited(stream: IO[str], word: str) -> str:
    """The text after the word in the first line that begins with it."""
    for line in stream:
        if line.startswith(word):
            return line.removeprefix(word)
    raise RuntimeError("Flink's program has ended")


if __name__ == "__main__":
    serve(metadata.version("apache-flink-libraries"), prepare, cpu_seconds, peak_of_tree)
