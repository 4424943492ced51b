"""`python -m sase`: the same as the command `sase`."""

import sys

from sase.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
