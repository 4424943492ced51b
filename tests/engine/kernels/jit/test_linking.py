"""Parts that are linked into kernels, kernels that are called by address, and tuples that are."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
import pytest

from sase.engine.kernels.jit.compiler import (
    SharedTuple,
    address_of,
    by_address,
    inlined,
    kernel,
    linked,
    tuple_at,
)
from sase.engine.kernels.jit.linking import store_at
from sase.engine.kernels.jit.signatures import Floats, IntRows, Ints, OutInts, frozen, signature


class Pair(NamedTuple):
    factor: int
    numbers: Ints


@linked
def doubled(number: int) -> int:
    return 2 * number


@inlined
def raised(number: int, by: Pair | None) -> int:
    if by is None:
        return doubled(number)
    return doubled(number) * by.factor


def _sum(numbers: Ints, by: Pair | None) -> int:
    total = 0
    for place in range(numbers.shape[0]):
        total += raised(numbers[place], by)
    return total


total = kernel(_sum)
total_alone = kernel(_sum, absent=["by"])
total_at = by_address(_sum)


@kernel
def called(address: int, numbers: Ints, by: Pair) -> int:
    return int(total_at(address, numbers, by))


@kernel
def store_pair(address: int, pair: Pair) -> None:
    store_at(address, pair)


pair_at = tuple_at(Pair)


@kernel
def product(address: int, place: int) -> int:
    pair = pair_at(address)
    return pair.factor * int(pair.numbers[place])


NUMBERS = np.array([1, 2, 3])
BY = Pair(10, frozen(NUMBERS))


@kernel
def calling(numbers: Ints, by: Pair | None) -> int:
    return int(total(numbers, by))


def test_a_kernel_is_no_part_of_another() -> None:
    """The code of the called one would be missing where it was loaded as machine code."""
    if numba.config.DISABLE_JIT:
        assert calling(NUMBERS, BY) == 120
        return
    with pytest.raises(TypeError, match="_sum is a kernel: others call it by its address"):
        calling(NUMBERS, BY)


def test_parts_are_linked_into_kernels() -> None:
    assert total(NUMBERS, BY) == 120
    assert total_alone(NUMBERS, None) == 12


def test_a_kernel_is_called_by_its_address() -> None:
    assert called(address_of(total), NUMBERS, BY) == 120


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="functions of Python have no address")
def test_what_has_no_address_is_not_called() -> None:
    with pytest.raises(RuntimeError, match="an operation was not linked"):
        called(0, NUMBERS, BY)


def test_a_tuple_is_read_from_its_address() -> None:
    shared = SharedTuple(store_pair)
    assert product(shared.of(Pair(3, frozen(NUMBERS))), 2) == 9
    assert product(shared.of(Pair(5, frozen(NUMBERS))), 1) == 10


def test_signatures_come_of_exact_annotations() -> None:
    def exact(numbers: Ints, rows: IntRows, real: Floats, out: OutInts, pair: Pair) -> None: ...
    def vague(numbers: Ints, other: object) -> None: ...

    found = signature(exact)
    assert found is not None
    assert [each.mutable for each in found[:4]] == [False, False, False, True]
    assert signature(vague) is None
    assert signature(_sum, ["by"]) == (found[0], numba.types.none)


def test_frozen_arrays_are_contiguous_and_read_only() -> None:
    view = frozen(np.arange(6)[::2])
    assert view.flags.c_contiguous
    assert not view.flags.writeable
