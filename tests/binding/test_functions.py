"""The table of functions: the docs list each, the naive matcher knows each."""

from __future__ import annotations

from pathlib import Path

import pytest

import sase
from sase.binding.types import STRING
from sase.binding.values.functions import FUNCTIONS, Function
from tests.naive.values import function

ROOT = Path(__file__).parents[2]
ROWS = [{"ts": number, "type": "A", "s": text} for number, text in enumerate(("İx", "b", "", None))]


def test_docs_list_every_function() -> None:
    lines = (ROOT / "docs" / "language.md").read_text(encoding="utf-8").splitlines()
    listed = lines[lines.index("| function | gives |") + 2 :]
    rows = []
    for each in FUNCTIONS.values():
        call, _, arguments = each.form.partition("), ")
        rows.append(f"| `{call})`, {arguments} | {each.says} |")
    assert listed[: listed.index("")] == rows


@pytest.mark.parametrize("name", FUNCTIONS)
def test_naive_matcher_knows_every_function(name: str) -> None:
    example = "Ab" if FUNCTIONS[name].accepts(STRING) else -1
    assert function(name, [example]) is not None


def test_function_of_a_text_is_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Binding, folding, conditions and RETURN take one that docs/development.md adds."""
    monkeypatch.setitem(
        FUNCTIONS,
        "backwards",
        Function(
            "backwards(x.a), of a text", "the text from its end", lambda kind: kind == STRING,
            lambda _: STRING, lambda text: text[::-1],
        ),
    )  # fmt: skip
    query = "EVENT A x WHERE backwards(x.s) >= backwards('ab') RETURN upper(backwards(x.s)) AS b"
    assert [match["b"] for match in sase.match(query, ROWS).to_pylist()] == ["Xİ"]
    with pytest.raises(sase.BindingError, match="did you mean `backwards`"):
        sase.match("EVENT A x WHERE bakwards(x.s) = 'a'", ROWS)
