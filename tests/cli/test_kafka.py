"""Lines that another program prints slowly into a pipe, and how to go on after it has stopped."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import sase

STAND_IN = Path(__file__).parent / "stand_in_for_kcat.py"
WINDOW, LATENESS = 20, 3
QUERY = f"EVENT SEQ(Order o, !(Payment p)) WHERE [id] WITHIN {WINDOW} RETURN o.id AS id, o.ts AS t"


def messages() -> list[dict[str, Any]]:
    """Orders, of which every third is not paid; some come late, within the lateness."""
    found = []
    for number in range(60):
        found.append({"ts": 4 * number, "type": "Order", "id": number})
        if number % 3:
            found.append({"ts": 4 * number + 2 + number % 7, "type": "Payment", "id": number})
    found.sort(key=lambda row: row["ts"] + (row["ts"] % 4 == 3) * (LATENESS - 1))
    return found


def followed(topic: Path, *options: str) -> tuple[list[dict[str, Any]], int, str]:
    """The matches of a pipe, the status of the first program, and the messages of both."""
    source = [sys.executable, str(STAND_IN), "-C", "-t", str(topic), "-u", "-q", *options]
    search = [sys.executable, "-m", "sase", "run", "-q", QUERY, "--events", "-", "--follow"]
    search += ["--lateness", str(LATENESS)]
    line = f"set -o pipefail; {shlex.join(source)} | {shlex.join(search)}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    return [json.loads(row) for row in done.stdout.splitlines()], done.returncode, done.stderr


@pytest.mark.slow
def test_a_stopped_program_is_started_again_one_window_before(tmp_path: Path) -> None:
    rows, topic = messages(), tmp_path / "topic"
    lines = [json.dumps(row) for row in rows]
    lines.insert(5, "")  # an empty message
    topic.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = {(row["id"], row["detected_at"]) for row in sase.match(QUERY, rows)}
    assert len(expected) == 20

    stop = 50
    first, status, said = followed(topic, "--stop", str(stop))
    assert status == 1
    assert "brokers are down" in said
    last = max(json.loads(line)["ts"] for line in lines[:stop] if line)
    begin = last - WINDOW - LATENESS
    second, status, said = followed(topic, "-o", f"s@{begin}")
    assert status == 0
    assert "late" not in said
    until = last - LATENESS
    kept = [row for row in first if row["detected_at"] <= until]
    kept += [row for row in second if row["detected_at"] > until]
    assert len(kept) == len(expected)
    assert {(row["id"], row["detected_at"]) for row in kept} == expected
    # The first run has matches that are wrong, because it ended before the payments came.
    assert any((row["id"], row["detected_at"]) not in expected for row in first)
