"""Documents that the driver must survive, by number; no target, since it breaks all rules."""

from __future__ import annotations

import faulthandler
import time

from sase.errors import PlanError
from tests.fuzz import driver


def judge(document: bytes) -> str:
    """Open, refuse, crash, hang, fail, allocate more than there is, or work without an end."""
    match int(document):
        case 1:
            raise PlanError("no")
        case 2:
            faulthandler._sigsegv()  # type: ignore[attr-defined]
        case 3:
            time.sleep(3600)
        case 4:
            return str(1 // 0)
        case 5:
            return str(len(bytearray(2 * driver.MOST_BYTES)))
        case 6:
            while True:
                pass
    return "opened"


TARGET = driver.Target(lambda number: b"%d" % number, judge)
