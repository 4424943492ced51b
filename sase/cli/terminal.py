"""What the terminal can show."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO


def wants_colour(stream: TextIO, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether to write colours to this stream: NO_COLOR, then FORCE_COLOR, then what it is.

    An empty variable counts as absent, as no-color.org and force-color.org ask.
    """
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR"):
        return True
    return environment.get("TERM") != "dumb" and stream.isatty()
