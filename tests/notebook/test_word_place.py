"""The place at the end of an unfinished query."""

import pytest

from sase.lang.completion import WordPlace
from sase.lang.outline import variables_in

PAIR = "EVENT SEQ(A a, B+ b[]) "


@pytest.mark.parametrize(
    ("text", "begun", "kind", "path"),
    [
        ("", "", None, ()),
        ("EVENT ", "", "type", ()),
        ("EVENT SEQ(SHELF-RE", "SHELF-RE", "type", ()),
        ("EVENT SEQ(A a, `register re", "`register re", "type", ()),
        ("EVENT SEQ(`register request` r, p", "p", "type", ()),
        ("EVENT SEQ(A a", "a", None, ()),
        (PAIR + "WH", "WH", None, ()),
        (PAIR + "WHERE a", "a", "value", ()),
        (PAIR + "WHERE a.", "", "attribute", ("a",)),
        (PAIR + "WHERE a.pr", "pr", "attribute", ("a",)),
        (PAIR + "WHERE b[i].user.tags[1].na", "na", "attribute", ("b", "user", "tags")),
        (PAIR + "WHERE b[b.len].", "", "attribute", ("b",)),
        (PAIR + "WHERE `a`.`user na", "`user na", "attribute", ("a",)),
        (PAIR + "WHERE a.x-b", "b", "value", ()),
        (PAIR + "WHERE [", "", "attribute", ()),
        (PAIR + "WHERE [id, us", "us", "attribute", ()),
        (PAIR + "WHERE b[", "", None, ()),
        (PAIR + "WHERE a.x > 5 AND le", "le", "value", ()),
        (PAIR + "WITHIN 5 mi", "mi", "unit", ()),
        (PAIR + "WITHIN 5 hours RETURN a.(", "", "attribute", ("a",)),
        (PAIR + "WITHIN 5 hours RETURN a.(x, ", "", "attribute", ("a",)),
        (PAIR + "WHERE a.x = 'a text with a.", "", None, ()),
        ("EVENT SEQ(A a B b) WHERE a.", "", None, ()),
    ],
)
def test_the_end_of_a_text(text: str, begun: str, kind: str | None, path: tuple[str, ...]) -> None:
    place = WordPlace.after(text)
    assert (place.begun, place.kind, place.path) == (begun, kind, path)


@pytest.mark.parametrize(
    ("text", "some", "none"),
    [
        ("", {"EVENT", "FROM"}, {"WHERE", "AND"}),
        (PAIR, {"WHERE", "WITHIN", "RETURN", "OR"}, {"EVENT", "AND", "LIKE"}),
        (PAIR + "WHERE ", {"skip_till_next_match", "NOT"}, {"WITHIN"}),
        (PAIR + "WHERE a.x ", {"IN", "LIKE", "BETWEEN", "IS"}, {"EVENT"}),
        (PAIR + "WHERE a.", set(), {"TIMESTAMP", "NOT"}),
        (PAIR + "WHERE a.x = 'b ", set(), {"AND"}),
    ],
)
def test_keywords_are_those_that_may_come(text: str, some: set[str], none: set[str]) -> None:
    words = set(WordPlace.after(text).keywords)
    assert some <= words
    assert not none & words


def test_variables_have_their_types() -> None:
    text = (
        "EVENT SEQ(A a, B+ b[], `C c`{2,3} c[], !(D-D d), ANY e, ANY(F, G) f, (SEQ(H h, I i))+ j[])"
        " WHERE a.x = k.y WITHIN 5"
    )
    assert variables_in(text) == {
        "a": "A", "b": "B", "c": "C c", "d": "D-D", "e": None, "f": None, "h": "H", "i": "I",
        "j": None,
    }  # fmt: skip
    assert variables_in("EVENT A a; FROM s EVENT B b") == {"a": "A", "b": "B"}
