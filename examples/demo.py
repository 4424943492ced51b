"""A tour of what is there: check and format the papers' queries, and read the messages of three
broken ones. Every line that begins with `$` is a command that you can type yourself."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from sase.cli.main import main

HERE = Path(__file__).parent


def show(title: str, *arguments: str, expected: int = 0) -> None:
    """Run a command as a user would, and stop if it does not end as it should."""
    print(f"\n# {title}\n$ sase {shlex.join(arguments)}", flush=True)
    status = main(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    if status != expected:
        sys.exit(f"the demo expected exit status {expected} and got {status}")


def relative(folder: str) -> list[str]:
    """The queries of a folder, as paths from here."""
    base = Path.cwd()
    found = sorted((HERE / folder).glob("*.sase"))
    return [str(path.relative_to(base) if path.is_relative_to(base) else path) for path in found]


show("The queries that the papers print, checked", "check", *relative("queries"))
show("The same in their standard layout", "format", *relative("queries"))
schema = str((HERE / "retail.toml").relative_to(Path.cwd()))
for number, path in enumerate(relative("broken"), 1):
    show(f"Broken query {number} of 3", "check", "--schema", schema, path, expected=2)
print("\nNext: write a query to a file and run  .venv/bin/sase check FILE")
