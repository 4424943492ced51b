"""Texts in an editor, by offset."""

from __future__ import annotations

import re

import pytest

from sase.api.completion import KnownNames
from sase.binding.input_options import InputOptions
from sase.binding.schema_file import read_schema
from sase.engine.sources.discovered import Discovered
from sase.lang.keywords import KEYWORD_MEANINGS
from sase.lang.outline import outline
from sase.lang.scene import KEYWORDS, STRATEGY_WORDS
from sase.lsp.document import QueryDocument
from sase.source import Span
from tests.repo.source import ROOT

SCHEMA = read_schema(ROOT / "examples" / "retail.toml")
NAMES = KnownNames.of(Discovered.of(SCHEMA, InputOptions()))
TEXT = """CREATE STREAM theft AS
EVENT SEQ(SHELF-READING x, !(COUNTER-READING y), EXIT-READING+ z[])
WHERE skip_till_next_match { [tag_id] AND avg(z[].tag_id) > length('a') AND x.weight > 2 }
WITHIN 12 hours
RETURN Theft(x.tag_id AS tag);
FROM theft EVENT Theft x WHERE x.tag = 1
"""


def at(mark: str, text: str = TEXT) -> int:
    """The offset of a `|` in a part of a text that occurs once."""
    part = mark.replace("|", "")
    assert text.count(part) == 1
    return text.index(part) + mark.index("|")


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("x.we|ight", "`weight`: float, an attribute of SHELF-READING"),
        ("[ta|g_id]", "`tag_id`: integer"),
        ("skip_|till", "`skip_till_next_match`: a match may skip an event in a series"),
        ("WI|THIN", "`WITHIN`: the window"),
        ("ST|REAM", "`STREAM`: CREATE STREAM"),
        ("av|g(", "`avg(a[].p)`: an aggregate"),
        ("len|gth(", "`length("),
        ("EXIT-|READING+", "events of type `EXIT-READING`"),
        ("SHELF-READING |x,", "`x`: an event of SHELF-READING"),
        ("EVENT Theft |x", "`x`: an event of Theft"),
    ],
)
def test_hover(mark: str, says: str) -> None:
    found = QueryDocument(TEXT, NAMES).hover(at(mark))
    assert found is not None
    assert found[0].startswith(says)
    assert found[1].start <= at(mark) <= found[1].end


@pytest.mark.parametrize("mark", ["12| hours", "> 2 |}", "x.t|ag = 1"])
def test_no_hover(mark: str) -> None:
    assert QueryDocument(TEXT, NAMES).hover(at(mark)) is None


def test_the_hover_of_a_type_has_its_attributes() -> None:
    found = QueryDocument(TEXT, NAMES).hover(at("EXIT-|READING+"))
    assert found is not None
    assert "- `tag_id`: integer" in found[0]


@pytest.mark.parametrize(
    ("mark", "declared"),
    [
        ("|x.weight", "SHELF-READING |x"),
        ("avg(|z[]", "READING+ |z"),
        ("FROM th|eft", "STREAM |theft"),
        ("|x.tag = 1", "Theft |x WHERE"),
    ],
)
def test_definition(mark: str, declared: str) -> None:
    found = QueryDocument(TEXT).definition(at(mark))
    assert found is not None
    assert found.start == at(declared)


@pytest.mark.parametrize("mark", ["x.we|ight", "WI|THIN", "12| hours"])
def test_no_definition(mark: str) -> None:
    assert QueryDocument(TEXT).definition(at(mark)) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("EVENT SEQ(SH", [("SHELF-READING", "type")]),
        ("EVENT EXIT-READING x WHERE x.we", []),
        ("EVENT SHELF-READING x WHERE x.we", [("weight", "attribute")]),
        ("EVENT A x;EVENT B y WHERE y.v > le", [("least", "function"), ("length", "function")]),
        ("EVENT A xyz;EVENT B xy WHERE x", [("xy", "value")]),
    ],
)
def test_completions(text: str, words: list[tuple[str, str]]) -> None:
    found = [*QueryDocument(text, NAMES).completions(len(text))]
    assert [(each.word, each.kind) for each in found] == words
    begun = re.search(r"[\w-]*$", text)
    assert begun is not None
    assert all(each.span == Span(begun.start(), len(text)) for each in found)


def test_completions_have_meanings() -> None:
    text = "EVENT SHELF-READING x WHERE "
    found = {each.word: each.meaning for each in QueryDocument(text, NAMES).completions(len(text))}
    assert "skip_till_any_match" in str(found["skip_till_any_match"])
    assert "length" in str(found["length"])
    assert found["x"] is None


def test_diagnostics_and_layout() -> None:
    wrong = QueryDocument("EVENT SHELF-READING x WHERE x.wight > 1", NAMES)
    assert [each.code for each in wrong.diagnostics()] == ["unknown-attribute"]
    assert QueryDocument(wrong.text).diagnostics() == []
    assert [each.code for each in QueryDocument("EVENT SEQ(A a").diagnostics()]
    assert QueryDocument("EVENT SEQ(A a").formatted() is None
    assert QueryDocument("event A a where a.x=1").formatted() == "EVENT A a\nWHERE a.x = 1\n"


def test_the_outline_of_a_text_with_a_mistake() -> None:
    first, second = outline(
        "EVENT SEQ(A{2,3} a[], B b WHERE x.y; CREATE STREAM s AS FROM r EVENT C c"
    )
    assert [(each.name, each.type) for each in first.variables] == [("a", "A"), ("b", "B")]
    assert (first.name, first.stream, second.name) == ("query_1", None, "s")
    assert [each.name for each in second.sources] == ["r"]


def test_attributes_with_names_of_clauses() -> None:
    (found,) = outline(
        "FROM r EVENT SEQ(A a, B b) WHERE a.from = b.event AND event = from WITHIN 5"
    )
    assert [each.name for each in found.sources] == ["r"]
    assert [each.name for each in found.variables] == ["a", "b"]


def test_every_keyword_has_a_meaning() -> None:
    words = {word for each in KEYWORDS.values() for word in each}
    assert set(KEYWORD_MEANINGS) == words | {"CASE", "AT"}


def test_strategies_have_the_words_of_the_page() -> None:
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    table = page.split("| strategy | a match may skip an event |")[1].split("\n\n")[0]
    rows = dict(re.findall(r"^\| `(\w+)`[^|]*\| (.*) \|$", table, re.MULTILINE))
    assert set(rows) == set(STRATEGY_WORDS)
    for name, text in rows.items():
        assert KEYWORD_MEANINGS[name] == f"a match may skip an event {text}"
