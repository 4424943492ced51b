"""The logger "sase": files, plans and times of runs; silent unless a program has a handler."""

import logging

LOG = logging.getLogger("sase")
LOG.addHandler(logging.NullHandler())
