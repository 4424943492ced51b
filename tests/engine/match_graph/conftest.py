import pytest

from sase.engine.match_graph import links, ranks, totals


@pytest.fixture(params=["small", "modular", "large"])
def numbers(request, monkeypatch):
    """By kernels in int64 in little pieces, modulo primes, or by integers of any size."""
    monkeypatch.setattr(links, "PAIRS", 3)
    monkeypatch.setattr(ranks, "CHUNK", 1)
    monkeypatch.setattr(ranks, "SEGMENT", 2)
    monkeypatch.setattr(totals, "BATCH", 2)
    if request.param != "small":
        monkeypatch.setattr(totals._Pass, "exact", lambda _, frame: frame)
        monkeypatch.setattr(ranks, "_small_matches", lambda *_: None)
    if request.param == "large":
        monkeypatch.setattr(totals, "MODULAR_BITS", -1)
    return request.param
