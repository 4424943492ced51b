"""Run a target of fuzzing in a process of its own, which may crash, hang or exhaust its memory.

A target is a module here with a constant `TARGET`. Whatever number it makes a document of, judging
the document names the outcome in a word, such as "opened"; an error of ours counts as "refused".
All else is a finding: another exception, a crash, a hang. Its document is kept in `corpus/`, where
`test_targets.py` judges it ever after.

A document hangs on which its process has worked for more than `LONGEST` seconds of a processor, or
slept `ASLEEP` times as long. Seconds in which it waits for a processor that others have are
neither, so that a busy machine finds the same; if the system does not report them, they are sleep.

    python -m tests.fuzz.plan_json --seconds 60 --seed 7
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import json
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from os import cpu_count
from pathlib import Path
from random import SystemRandom
from typing import IO

from sase.errors import SaseError
from tests import processor_time
from tests.seeds import NUMBERS, SEEDS

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
# Seconds of work for a document, for one that may have had kernels compiled, and for a process to
# begin.
LONGEST, PATIENCE, START = 5.0, 120.0, 600.0
# How many times as long it may sleep, as while others compile, and seconds between two looks.
ASLEEP, LOOK = 6, 0.5
# Bytes of memory that a process may take beside those at its start.
MOST_BYTES = 3 << 30
# Findings after which a run ends, and the words for them.
MOST_FINDINGS = 20
# Says that a process judges so few documents that those which warm it up would take longer.
COLD = "--cold"
FINDINGS = ("crashed", "failed", "hung")


@dataclass(frozen=True)
class Target:
    """Make a document of a number, and judge a document, in a word."""

    make: Callable[[int], bytes]
    judge: Callable[[bytes], str]
    suffix: str = ".bin"
    # Documents that compile or load on first use, so that no document is blamed for it.
    warm: Callable[[], object] = lambda: None


@dataclass(frozen=True)
class Finding:
    """A document that was neither opened nor refused."""

    number: int
    what: str
    document: bytes


@dataclass
class Outcome:
    """How many documents came to which end."""

    counts: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0

    def __str__(self) -> str:
        number = sum(self.counts.values())
        parts = [f"{number:,} documents, {number / max(self.seconds, 1e-9):,.0f} a second"]
        parts += [f"{count:,} {word}" for word, count in sorted(self.counts.items())]
        return ", ".join(parts)


# ---------------------------------------------------------------- the process that may crash


def _serve(modules: list[str]) -> None:
    """Judge the documents that lines of the input name: a target, and a number or a file."""
    faulthandler.enable()
    is_cold = COLD in modules
    names = [name for name in modules if name != COLD]
    known: dict[str, Target] = {name: importlib.import_module(name).TARGET for name in names}
    for target in known.values():
        if not is_cold:
            target.warm()
    _bound_memory()
    out, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        module, given, place = json.loads(line)
        print(json.dumps(_judged(known[module], given, Path(place))), file=out, flush=True)


def _bound_memory() -> None:
    """Have the process fail to allocate, instead of the machine."""
    with Path("/proc/self/statm").open(encoding="ascii") as facts:
        size = int(facts.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, size + MOST_BYTES))


def _judged(target: Target, given: int | str, place: Path) -> tuple[str, str]:
    """The outcome of a document, and if it is a finding, the traceback."""
    try:
        if isinstance(given, int):
            document = target.make(given)
            place.write_bytes(document)
        else:
            document = Path(given).read_bytes()
        return target.judge(document), ""
    except SaseError:
        return "refused", ""
    except BaseException:  # sent to the calling process
        return "failed", traceback.format_exc()


# ---------------------------------------------------------------- the process that asks


class Worker:
    """A process that judges documents of targets; one that crashed or hangs is replaced."""

    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._folder = tempfile.TemporaryDirectory()
        self.place = Path(self._folder.name) / "document"
        self._process: subprocess.Popen[str] | None = None
        self._errors: IO[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._folder.cleanup()

    def start(self) -> None:
        """Begin, which takes a while, if it has not begun."""
        self._running()

    def ask(self, module: str, given: int | Path) -> tuple[str, str]:
        """The word for the document of a number or a file, and the facts of a finding.

        One that takes long may have had a kernel compiled: it is judged again.
        """
        before = self._worked()
        word, said = self._asked(module, given, PATIENCE)
        if word not in FINDINGS and self._worked() - before > LONGEST:
            return self._asked(module, given, LONGEST)
        return word, said

    def _asked(self, module: str, given: int | Path, seconds: float) -> tuple[str, str]:
        process = self._running()
        assert process.stdin is not None
        named = given if isinstance(given, int) else str(given)
        process.stdin.write(json.dumps([module, named, str(self.place)]) + "\n")
        process.stdin.flush()
        line = self._line(seconds)
        if line:
            word, said = json.loads(line)
            return word, said
        hangs = process.poll() is None and not self._has_ended(process)
        return ("hung" if hangs else "crashed"), self._stop()

    @staticmethod
    def _has_ended(process: subprocess.Popen[str]) -> bool:
        """Whether it ends by itself at once: its output is closed before it has gone."""
        try:
            process.wait(0.5)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._errors = (Path(self._folder.name) / "errors").open("w+", encoding="utf-8")
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.driver", *self._modules],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
            if self._line(START) != "ready":
                raise RuntimeError(f"{', '.join(self._modules)} does not begin:\n{self._stop()}")
        return self._process

    def _line(self, seconds: float) -> str:
        """The next line that it says, or nothing if it ends or none comes by so much work."""
        assert self._process is not None
        assert self._process.stdout is not None
        begin, worked, waited = time.monotonic(), self._worked(), self._waited()
        while not select.select([self._process.stdout], [], [], LOOK)[0]:
            work = self._worked() - worked
            slept = time.monotonic() - begin - work - (self._waited() - waited)
            if work > seconds or slept > ASLEEP * seconds:
                return ""
        return self._process.stdout.readline().strip()

    def _worked(self) -> float:
        """The seconds that it has had a processor."""
        return 0.0 if self._process is None else processor_time.worked(self._process.pid) or 0.0

    def _waited(self) -> float:
        """The seconds in which its first thread has waited for a processor."""
        return 0.0 if self._process is None else processor_time.waited(self._process.pid)

    def _stop(self) -> str:
        """End it, with the stack on which it was; its output at its end."""
        if self._process is None or self._errors is None:
            return ""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGABRT)
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read()[-5000:]
        for each in (self._process.stdin, self._process.stdout, self._errors):
            assert each is not None
            each.close()
        self._process = None
        return said


def fuzz(
    module: str,
    numbers: Iterable[int],
    *,
    seconds: float = float("inf"),
    say: bool = False,
    few: bool = False,
) -> Outcome:
    """Judge the documents of numbers, for so long at most; few are judged without warming up."""
    outcome = Outcome()
    with Worker(module, *[COLD] * few) as worker:
        worker.start()
        begin = time.monotonic()
        for place, number in enumerate(numbers, 1):
            if say and place % 10_000 == 0:
                print(f"{module}: {outcome}", flush=True)
            word, said = worker.ask(module, number)
            outcome.counts[word] += 1
            if word in FINDINGS:
                what = f"{module} {number} {word}:\n{said}"
                outcome.findings.append(Finding(number, what, worker.place.read_bytes()))
                if say:
                    kept = keep(module, outcome.findings[-1]).relative_to(ROOT)
                    print(f"{what}\nkept: {kept}", flush=True)
            outcome.seconds = time.monotonic() - begin
            if outcome.seconds > seconds or len(outcome.findings) >= MOST_FINDINGS:
                break
    return outcome


def keep(module: str, finding: Finding) -> Path:
    """Write the document of a finding to the corpus."""
    target: Target = importlib.import_module(module).TARGET
    folder = CORPUS / module.rpartition(".")[2]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{sha256(finding.document).hexdigest()[:12]}{target.suffix}"
    path.write_bytes(finding.document)
    return path


def targets() -> list[str]:
    """Every module here that is a target."""
    paths = sorted(Path(__file__).parent.glob("*.py"))
    found = [path.stem for path in paths if "\nTARGET = " in path.read_text(encoding="utf-8")]
    return [f"tests.fuzz.{name}" for name in found]


def run(modules: list[str], arguments: list[str] | None = None) -> int:
    """Fuzz targets as the command line has it: 1 if there was a finding."""
    parser = argparse.ArgumentParser(description="fuzz " + ", ".join(modules))
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, in all (60)")
    parser.add_argument("--seed", type=int, help="the seed of the documents; made without it")
    parser.add_argument("--cases", type=int, help="how many documents a target, however long")
    parser.add_argument("--at-once", type=int, default=cpu_count(), help="targets at a time")
    given = parser.parse_args(arguments)
    seed = SystemRandom().randrange(SEEDS) if given.seed is None else given.seed
    numbers = range(seed * NUMBERS, (seed + 1) * NUMBERS)[: given.cases]
    at_once = min(given.at_once, len(modules))
    share = given.seconds * at_once / len(modules) if given.cases is None else float("inf")
    print(f"seed {seed}: {', '.join(modules)}", flush=True)
    with ThreadPoolExecutor(at_once) as pool:
        ran = pool.map(lambda module: fuzz(module, numbers, seconds=share, say=True), modules)
        outcomes = dict(zip(modules, ran, strict=True))
    for module, outcome in outcomes.items():
        print(f"{module}: {outcome}", flush=True)
    return int(any(outcome.findings for outcome in outcomes.values()))


if __name__ == "__main__":
    _serve(sys.argv[1:])
