"""`%%sase` in a shell of IPython in this process."""

import pytest

import sase

ROWS = [
    {"ts": 1, "type": "A", "id": 7, "user": {"name": "x"}},
    {"ts": 2, "type": "B", "id": 7, "user": {"name": "y"}},
    {"ts": 3, "type": "B", "id": 8, "user": {"name": "z"}},
]
QUERY = "EVENT SEQ(A a, B b) WITHIN 5"


def cell(shell, line, query=QUERY):
    """The result of a cell, or its error."""
    ran = shell.run_cell(f"%%sase {line}\n{query}")
    return ran.result if ran.success else ran.error_in_exec


@pytest.fixture(autouse=True)
def _rows(shell):
    shell.push({"rows": ROWS})


def test_the_result_has_the_matches_and_the_plan(shell):
    found = cell(shell, "rows -o found")
    assert shell.user_ns["found"] is found.matches
    assert found.matches.to_pylist() == sase.match(QUERY, ROWS).to_pylist()
    assert str(found.plan) == str(sase.explain(QUERY, ROWS))
    assert found.why is None
    assert repr(found) == repr(sase.match(QUERY, ROWS))
    assert found._repr_html_().count("<label>") == 3


def test_the_reason_is_there_if_nothing_matched(shell):
    query = "EVENT SEQ(B b, A a) WITHIN 5"
    for line in ("rows", "rows --output count"):
        found = cell(shell, line, query)
        assert str(found.why) == str(sase.why(query, ROWS))
        assert repr(found).endswith(str(found.why))
        assert "checked>Why not</label>" in found._repr_html_()


def test_values_of_html_are_escaped(shell):
    shell.push({"rows": [{"ts": 1, "type": "A", "id": "<b>"}]})
    page = cell(shell, "rows", "EVENT A a WHERE a.id = '<b>'")._repr_html_()
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.replace("<b>1 match", "")


@pytest.mark.parametrize(
    ("line", "query", "count"),
    [
        ("rows", QUERY, 2),
        ('"[each for each in rows if each[\'id\'] == 7]"', QUERY, 1),
        ("rows[:2]", QUERY, 1),
        ("rows --limit 1", QUERY, 1),
        ("rows --output non_overlap", QUERY, 1),
        ("rows --plan basic", QUERY, 2),
        ("rows --param w=len(rows)-1", "EVENT SEQ(A a, B b) WITHIN :w", 1),
        ("rows --param \"i=[6 + 1, 9]\"", "EVENT B b WHERE b.id IN :i", 1),
        ("rows --param \"n='y'\"", "EVENT B b WHERE b.user.name = :n", 1),
        ("rows --types \"{'C': 'id = 7'}\"", "EVENT C c", 2),
        ("rows --type type --seq '#row' --time-unit s", QUERY + " s", 2),
        ("rows --time ts,ts2 --longest 2", QUERY, 2),
        ("examples/logs/process.csv", "EVENT decide d", 30),
        ("'examples/logs/proc*.csv' --text case_id", "EVENT decide d", 30),
        ("rows", "CREATE STREAM s AS EVENT B b RETURN C(b.id AS id); FROM s EVENT C c", 2),
    ],
)  # fmt: skip
def test_the_line(shell, line, query, count, monkeypatch):
    from tests.repo.source import ROOT

    monkeypatch.chdir(ROOT)
    if "ts2" in line:
        shell.push({"rows": [{**row, "ts2": row["ts"]} for row in ROWS]})
    assert len(cell(shell, line, query).matches) == count


def test_the_variable_keeps_its_value_after_an_error(shell):
    cell(shell, "rows -o found")
    before = shell.user_ns["found"]
    for line, query in (("rows", "EVENT A a WHERE a.none = 1"), ("rows --max-matches 1", QUERY)):
        assert isinstance(cell(shell, f"{line} -o found", query), sase.SaseError)
        assert shell.user_ns["found"] is before


def test_other_forms_of_the_result(shell):
    assert cell(shell, "rows --output count").matches == 2
    found = cell(shell, "rows --output compressed")
    assert found.matches.count() == 2
    assert found.why is None
    assert "compressed matches of a, b" in found._repr_html_()


def test_the_types_of_a_file_are_found_once(shell, tmp_path, monkeypatch):
    from sase.engine.sources import discovered

    (tmp_path / "rows.csv").write_text("ts,type,id\n1,A,1\n2,B,1\n", encoding="utf-8")
    found = list[frozenset[str]]()
    real = discovered.infer_types
    monkeypatch.setattr(
        discovered, "infer_types", lambda files, named, **rest: found.append(named) or
        real(files, named, **rest),
    )  # fmt: skip
    query = "EVENT SEQ(A a, B b) WHERE a.id = b.id WITHIN 5"
    assert len(cell(shell, tmp_path / "rows.csv", query).matches) == 1
    assert len(found) == 1


def test_limits_are_those_of_the_search_and_of_the_reason(shell):
    assert isinstance(cell(shell, "rows --timeout 0.000001"), sase.TimeLimitError)
    backwards = "EVENT SEQ(B b, A a) WITHIN 5"
    found = cell(shell, "rows --timeout 5min --max-memory '100 GB'", backwards)
    assert found.why is not None


def test_a_variable_comes_before_a_file_of_its_name(shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").write_text("ts,type\n1,A\n", encoding="utf-8")
    assert len(cell(shell, "rows").matches) == 2
    del shell.user_ns["rows"]
    assert len(cell(shell, "rows", "EVENT A a").matches) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "the following arguments are required: EVENTS"),
        ("rws", "NameError: name 'rws' is not defined; and it is no file: define the variable"),
        ("nowhere/*.csv", "correct the name or the path"),
        ("rows more", "unrecognized arguments: more: %sase lists the options"),
        ("rows --lim 1", "unrecognized arguments: --lim 1: %sase lists the options"),
        ('rows "', "No closing quotation"),
        ("rows -o 1x", "1x is no name of a variable, such as  -o found"),
        ("rows --param w", "--param NAME=VALUE gives each parameter one value"),
        ("rows --param w=1 --param w=2", "--param NAME=VALUE gives each parameter one value"),
        ("rows --param w=Monday", "a text needs quotes, as in  --param"),
        ("rows --types kinds", "give a list or a dict of types"),
    ],
)
def test_a_wrong_line_names_the_remedy(shell, capsys, line, said):
    from IPython.core.error import UsageError

    assert isinstance(cell(shell, f"{line} -o found" if "-o" not in line else line), UsageError)
    printed = capsys.readouterr().err
    assert said in printed
    assert "Traceback" not in printed
    assert "found" not in shell.user_ns


def test_help(shell, capsys):
    shell.run_cell("%sase")
    printed = capsys.readouterr().out
    assert printed.startswith("usage: %%sase [-o NAME]")
    for name in sase.match.__kwdefaults__ or {}:
        assert f"--{name.replace('_', '-')}" in printed or name in ("streams", "params", "stats")


def test_loading_again_adds_nothing(shell):
    shell.run_line_magic("reload_ext", "sase")
    assert len(shell.Completer.custom_matchers) == 1
    assert len(cell(shell, "rows").matches) == 2


# ---------------------------------------------------------------- errors


def error(shell, capsys, *cells):
    """The text that the last of some cells prints for an error."""
    for each in cells:
        capsys.readouterr()
        ran = shell.run_cell(each, store_history=True)
    assert not ran.success
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out.splitlines()


def test_an_error_of_the_cell_is_the_message_alone(shell, capsys):
    assert error(shell, capsys, "%%sase rows\nEVENT SEQ(A a, B b WITHIN 5") == [
        "error[unclosed-bracket]: this `(` is not closed before `WITHIN`",
        " --> query:1:10",
        "1 | EVENT SEQ(A a, B b WITHIN 5",
        "  |          ^",
        "  = put in the missing  )",
    ]


def test_an_error_of_a_call_has_the_line_of_the_cell(shell, capsys):
    place = shell.execution_count
    call = "import sase\nx = 1\nsase.match('EVENT C c', rows, limit=-1)"
    lines = error(shell, capsys, call)
    assert lines[:3] == [
        f"Cell In[{place}], line 3", "----> 3 sase.match('EVENT C c', rows, limit=-1)", "",
    ]  # fmt: skip
    assert lines[3].startswith("PlanError: limit=-1: ")
    assert len(lines) == 4


def test_an_error_in_a_function_has_the_cell_that_defines_it(shell, capsys):
    place = shell.execution_count
    define = "import sase\ndef find(query):\n    return sase.match(query, rows)"
    lines = error(shell, capsys, define, "find('EVENT')")
    assert lines[:2] == [
        f"Cell In[{place}], line 3, in find", "----> 3 return sase.match(query, rows)",
    ]  # fmt: skip


def test_an_error_in_a_module_has_its_file(shell, capsys, tmp_path, monkeypatch):
    path = tmp_path / "finding.py"
    path.write_text("import sase\n\ndef find():\n    sase.match('EVENT', [])\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    lines = error(shell, capsys, "import finding\nfinding.find()")
    assert lines[:2] == [f"File {path}, line 4, in find", "----> 4 sase.match('EVENT', [])"]


def test_an_error_when_matches_are_read_has_that_line(shell, capsys):
    text = "import sase\nfound = sase.match('EVENT A a', rows + rows, max_matches=1)\nlen(found)"
    lines = error(shell, capsys, text)
    assert lines[1] == "----> 3 len(found)"
    assert lines[3].startswith("BudgetError: ")


def test_an_error_that_is_raised_again_has_its_line(shell, capsys):
    lines = error(shell, capsys, "import sase\nraise sase.PlanError('why')")
    assert lines[1:] == ["----> 2 raise sase.PlanError('why')", "", "PlanError: why"]


def test_an_error_outside_of_ipython_is_a_traceback():
    """The lines for IPython are made only by it."""
    with pytest.raises(sase.PlanError) as caught:
        sase.match("EVENT A a", ROWS, limit=-1)
    assert str(caught.value).startswith("limit=-1")
