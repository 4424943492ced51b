from dataclasses import replace

import pytest

from sase.engine.match_graph.options import GraphOptions

SMALL = GraphOptions(pairs=3, chunk=1, steps=3, segment=2, batch=2)
NUMBERS = {
    "small": SMALL,
    "modular": replace(SMALL, in_int64=False),
    "large": replace(SMALL, in_int64=False, modular_bits=-1),
}


@pytest.fixture(params=NUMBERS.values(), ids=NUMBERS)
def numbers(request):
    """By kernels in int64 in little pieces, modulo primes, or by integers of any size."""
    return request.param
