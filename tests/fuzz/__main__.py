"""Fuzz every target, one after the other: `make fuzz MINUTES=60`."""

import sys

from tests.fuzz.driver import run, targets

if __name__ == "__main__":
    sys.exit(run(targets()))
