"""Whether tests may take their time, as in `make test-long`."""

from hypothesis import settings

LONG = settings().max_examples >= 1000
