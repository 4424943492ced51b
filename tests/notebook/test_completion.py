"""Tab in cells of `%%sase`."""

import pytest

ROWS = [
    {"ts": 1, "type": "SHELF-READING", "tag_id": 7, "user": {"name": "x", "tags": [{"key": 1}]}},
    {"ts": 2, "type": "exit gate", "tag_id": 7, "user": {"name": "y", "tags": []}},
]
PAIR = "EVENT SEQ(SHELF-READING x, `exit gate` y) "
ALL = ["tag_id", "ts", "type", "user"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("EVENT SEQ(sh", ["SHELF-READING"]),
        ("EVENT SEQ(SHELF-READING x, e", ["`exit gate`"]),
        ("EVENT SEQ(SHELF-READING x, `exi", ["`exit gate`"]),
        ("EVENT ", ["ANY", "NOT", "SEQ", "SET", "SHELF-READING", "`exit gate`"]),
        (PAIR + "WH", ["WHERE"]),
        (PAIR + "wh", ["where"]),
        (PAIR + "\nWHERE x.", ALL),
        (PAIR + "WHERE x.t", ["tag_id", "ts", "type"]),
        (PAIR + "WHERE [ta", ["tag_id"]),
        (PAIR + "WHERE x.user.", ["name", "tags"]),
        (PAIR + "WHERE x.user.tags[0].", ["key"]),
        (PAIR + "WHERE x.tag_id > len", ["length"]),
        (PAIR + "WHERE y", ["y", "year"]),
        (PAIR + "WITHIN 5 mi", ["microseconds", "milliseconds", "minutes"]),
    ],
)
def test_words(shell, completed, text, words):
    shell.push({"rows": ROWS})
    assert completed(f"%%sase rows -o found\n{text}") == words


def test_the_text_after_the_cursor_counts(shell):
    from IPython.core.completer import provisionalcompleter

    shell.push({"rows": [{"ts": 1, "type": "A", "a": 1}], "others": {"A": [{"ts": 1, "a": 1}],
                "B": [{"ts": 1, "b": 1}]}})  # fmt: skip
    text = "%%sase others\nEVENT SEQ(A x, B y) WHERE x."
    with provisionalcompleter():
        found = shell.Completer.completions(f"{text} = 1 WITHIN 5", len(text))
        assert [each.text for each in found] == ["a", "ts"]


def test_files_and_schemas(shell, completed, monkeypatch):
    import sase
    from tests.repo.source import ROOT

    monkeypatch.chdir(ROOT)
    assert completed("%%sase examples/logs/process.csv\nEVENT pay") == ["`pay compensation`"]
    shell.push({"kinds": {"Large": "tag_id > 5"}, "rows": ROWS})
    assert completed("%%sase rows --types kinds\nEVENT La") == ["Large"]
    shell.push({"schema": sase.Schema(types=(sase.binding.EventType("Known"),))})
    assert completed("%%sase schema\nEVENT Kn") == ["Known"]


def test_names_are_looked_up_again_after_a_cell(shell, completed):
    for name in ("First", "Second"):
        shell.run_cell(f"rows = [{{'ts': 1, 'type': '{name}'}}]", store_history=True)
        assert completed(f"%%sase rows\nEVENT {name[:3]}") == [name]


def test_an_expression_is_not_evaluated(shell, completed):
    called = list[int]()
    shell.push({"load": lambda: called.append(1) or ROWS, "rows": ROWS})
    assert "SHELF-READING" not in completed("%%sase load()\nEVENT SEQ(sh")
    assert completed("%%sase load()\nEVENT SEQ(A x) WH") == ["WHERE"]
    assert "SHELF-READING" not in completed("%%sase rows --types load()\nEVENT SEQ(sh")
    assert called == []


@pytest.mark.parametrize("line", ["", "nothing", "rows --lim", 'rows "', "number", "rows --time x"])
def test_a_wrong_line_leaves_keywords(shell, completed, line):
    shell.push({"rows": ROWS, "number": 7})
    assert completed(f"%%sase {line}\nEVENT A a WH") == ["WHERE"]


def test_other_cells_are_left_alone(shell, completed):
    shell.push({"rows": ROWS})
    assert "rows" in completed("ro")
    assert "append" in completed("rows.app")
