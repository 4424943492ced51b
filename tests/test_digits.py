"""Integers of any size are written and read, also those that Python alone refuses."""

from hypothesis import given
from hypothesis import strategies as st

from sase.base.texts import digits, grouped, number_of


@given(st.integers(0, 10**2000))
def test_text_is_what_python_writes(number: int) -> None:
    assert digits(number) == str(number)
    assert grouped(number) == f"{number:,}"
    assert number_of(digits(number)) == number


def test_beyond_the_limit_of_python() -> None:
    for number in (10**5_000, 10**5_000 - 1, 7 * 10**9_999 + 3):
        text = digits(number)
        assert len(text) in (5_000, 5_001, 10_000)
        assert number_of(text) == number
        assert grouped(number).replace(",", "") == text
    assert digits(10**5_000) == "1" + "0" * 5_000
    assert digits(10**5_000 - 1) == "9" * 5_000
