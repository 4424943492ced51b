"""Files as the world writes them are read without an option, or an error names the option."""

# ruff: noqa: DTZ001, DTZ007 - the times of these files have no zone

from __future__ import annotations

import bz2
import gzip
import json
import logging
import lzma
import os
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sase
from sase.binding.input_options import Reading
from sase.engine.columns.decode.time_forms import USUAL, TimeForm
from sase.engine.sources.tail import TailReader

QUERY = "EVENT SEQ(Start a, Stop b) WHERE [user] WITHIN 90 minutes"
BEGIN = datetime(2024, 2, 13, 9)
# Hours after the beginning, types, users and amounts; the first and the last two are matches.
ROWS = [
    (0, "Start", "Jörg", 1.5),
    (1, "Stop", "Jörg", 2.25),
    (2, "Start", "李", 3.5),
    (3, "Stop", "李", 1000.75),
]
FOUND = [("Jörg", 1.5, 2.25), ("李", 3.5, 1000.75)]
NAMES = ["time", "type", "user", "amount"]


def table(
    time: Callable[[datetime], str] = datetime.isoformat,
    delimiter: str = ",",
    quote: str = "",
    decimal: str = ".",
    names: bool = True,
) -> str:
    """The rows as lines of CSV."""
    rows = [NAMES] if names else []
    for hours, type, user, amount in ROWS:
        moment = time(BEGIN + timedelta(hours=hours))
        rows.append([moment, type, user, str(amount).replace(".", decimal)])
    return "".join(delimiter.join(f"{quote}{v}{quote}" for v in row) + "\n" for row in rows)


def records() -> list[dict[str, Any]]:
    return [
        {"time": (BEGIN + timedelta(hours=h)).isoformat(), "type": t, "user": u, "amount": a}
        for h, t, u, a in ROWS
    ]


WRITTEN_ROWS = [{**row, "time": BEGIN + timedelta(hours=n)} for n, row in enumerate(records())]


def zipped(data: bytes, path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("events.csv", data)


def found(path: Path | str, **options: Any) -> list[tuple[str, float, float]]:
    given = {"time": "time", **options}
    matches = sase.match(QUERY, path, **given).to_pylist()
    return [(m["a"]["user"], m["a"]["amount"], m["b"]["amount"]) for m in matches]


WRITTEN = {
    "plain.csv": table(),
    "semicolons.csv": table(delimiter=";"),
    "comma.csv": table(delimiter=";", decimal=","),
    "tabs.tsv": table(delimiter="\t"),
    "tabs.txt": table(delimiter="\t"),
    "tabs": table(delimiter="\t"),
    "tabs.csv": table(delimiter="\t"),
    "bars.csv": table(delimiter="|"),
    "apostrophes.csv": table(quote="'"),
    "quotes.csv": table(quote='"', delimiter=";", decimal=","),
    "ends.csv": table().replace("\n", "\r\n"),
    "lines.jsonl": "".join(json.dumps(row) + "\n" for row in records()),
    "list.json": json.dumps(records(), ensure_ascii=False),
    "pretty.json": json.dumps(records(), indent=2),
    "one after another.json": "\n".join(json.dumps(row, indent=4) for row in records()),
    "lines.log": "".join(json.dumps(row) + "\n" for row in records()),
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_text_is_read_without_an_option(name: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(WRITTEN[name].encode(encoding))
    assert found(path) == FOUND
    if encoding == "utf-16":
        assert found(path, on_bad_row="quarantine") == FOUND
        assert found(str(tmp_path / "*")) == FOUND


PACKED: dict[str, Callable[[bytes, Path], object]] = {
    "e.csv.gz": lambda data, path: path.write_bytes(gzip.compress(data)),
    "e.csv.bz2": lambda data, path: path.write_bytes(bz2.compress(data)),
    "e.csv.xz": lambda data, path: path.write_bytes(lzma.compress(data)),
    "e.csv.zip": zipped,
    "e.zip": zipped,
    "e.csv.zst": lambda data, path: pa.output_stream(path, compression="zstd").write(data),
    "e.csv.lz4": lambda data, path: pa.output_stream(path, compression="lz4").write(data),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", PACKED)
def test_compressed_text(name: str, encoding: str, tmp_path: Path) -> None:
    PACKED[name](table(delimiter=";", decimal=",").encode(encoding), tmp_path / name)
    assert found(tmp_path / name) == FOUND


def test_a_file_that_changes_is_copied_anew(tmp_path: Path) -> None:
    path = tmp_path / "e.csv.xz"
    path.write_bytes(lzma.compress(table().encode()))
    assert found(path) == FOUND
    path.write_bytes(lzma.compress(table().replace("Jörg", "Zoë").encode()))
    assert found(path) == [("Zoë", 1.5, 2.25), FOUND[1]]


TIMES: dict[str, Callable[[datetime], str]] = {
    "day first": lambda t: t.strftime("%d/%m/%Y %H:%M"),
    "month first": lambda t: t.strftime("%m/%d/%Y %I:%M:%S %p"),
    "points": lambda t: t.strftime("%d.%m.%Y %H:%M:%S"),
    "slashes": lambda t: t.strftime("%Y/%m/%d %H:%M:%S"),
    "ctime": datetime.ctime,
    "apache": lambda t: t.strftime("%d/%b/%Y:%H:%M:%S +0000"),
    "UTC": lambda t: t.strftime("%Y-%m-%d %H:%M:%S UTC"),
    "mail": lambda t: format_datetime(t.replace(tzinfo=UTC)).replace(",", ""),
    "compact": lambda t: t.strftime("%Y%m%dT%H%M%S"),
    "Oracle": lambda t: t.strftime("%d-%b-%Y %H:%M:%S").upper(),
    "date": lambda t: t.strftime("%Y-%m-%d %H:%M"),
}


@pytest.mark.parametrize("name", TIMES)
def test_times_in_other_forms(name: str, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(table(TIMES[name]), encoding="utf-8")
    if name == "mail":
        assert found(path, time_format="%a %d %b %Y %H:%M:%S %z") == FOUND
        return
    assert found(path) == FOUND
    first = sase.match(QUERY, path, time="time").to_pylist()[0]["a"]["time"]
    assert first.replace(tzinfo=None) == BEGIN


def test_times_of_the_logger_of_python(tmp_path: Path) -> None:
    handler = logging.Formatter("%(asctime)s;%(levelname)s;%(message)s")
    lines = ["time;type;user"]
    for hours, type, user, _ in ROWS:
        record = logging.LogRecord("x", logging.INFO, "", 0, user, None, None)
        record.created = (BEGIN.replace(tzinfo=UTC) + timedelta(hours=hours)).timestamp()
        record.levelname = type
        lines.append(handler.format(record))
    path = tmp_path / "e.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert len(sase.match(QUERY, path, time="time")) == 2


def test_a_day_that_may_be_a_month_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(table(lambda t: t.strftime("03/02/2024 %H:%M")), encoding="utf-8")
    with pytest.raises(sase.SchemaError, match='time_format="%d/%m/%Y %H:%M"  or'):
        found(path)
    for form, month in (("%d/%m/%Y %H:%M", 2), ("%m/%d/%Y %H:%M", 3)):
        (first, _) = sase.match(QUERY, path, time="time", time_format=form).to_pylist()
        assert first["a"]["time"] == datetime(2024, month, 5 - month, 9)


def test_a_day_that_equals_the_month_at_first_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    rows = "".join(f"01/01/2024 09:{n % 60:02},Start,x,{n}\n" for n in range(1200))
    path.write_text(f"time,type,user,amount\n{rows}01/02/2024 09:00,Stop,x,1\n", encoding="utf-8")
    with pytest.raises(sase.SchemaError, match="the day may be the first number or the second"):
        found(path)
    with pytest.raises(sase.SchemaError, match="the day may be the first number or the second"):
        TailReader(str(path), times=["time"])


def test_a_given_form_comes_before_iso_8601(tmp_path: Path) -> None:
    path, form = tmp_path / "e.jsonl", "%Y-%d-%m %H:%M"
    rows = [{"time": f"2024-0{n}-02 09:00", "type": "Start", "n": n} for n in (3, 4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    query = "EVENT SEQ(Start a, Start b) WITHIN 2 days"
    assert len(sase.match(query, path, time="time")) == 0
    (match,) = sase.match(query, path, time="time", time_format=form).to_pylist()
    assert match["a"]["time"] == datetime(2024, 2, 3, 9)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%Y%m%d"])
def test_a_form_that_no_time_has_is_refused(form: str, tmp_path: Path) -> None:
    for name, text in (("e.csv", table()), ("e.jsonl", WRITTEN["lines.jsonl"])):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(sase.SchemaError, match="`time` has no texts of this form"):
            found(tmp_path / name, time_format=form)
    with pytest.raises(sase.SchemaError, match="`time` has no texts of this form"):
        TailReader(str(tmp_path / "e.jsonl"), reading=Reading(time_format=form))


def test_thousands_with_points_are_no_fractions(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("ts;type;v;n\n1;A;12,50;1.500\n2;A;7,25;2.750\n", encoding="utf-8")
    query = "EVENT A a RETURN a.v AS v, a.n AS n"
    shown = [(row["v"], row["n"]) for row in sase.match(query, path).to_pylist()]
    assert shown == [(12.5, "1.500"), (7.25, "2.750")]


def test_bad_rows_among_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    rows = "".join(f"{n}|A|{n},5\n" for n in range(20))
    path.write_text(f"ts|type|v\n{rows}20|A|oops\n", encoding="utf-8")
    query = "EVENT A a WHERE a.v > 2"
    assert len(sase.match(query, path, on_bad_row="quarantine")) == 18
    with pytest.raises(sase.DataError, match="line 22: `v` is 'oops'"):
        sase.match(query, path)


def test_other_ends_of_lines_of_unicode_stay_in_texts(tmp_path: Path) -> None:
    texts = ["a\u2028b", "a\x85b", "x"]
    rows = [{"ts": n, "type": "A", "s": s} for n, s in enumerate(texts)]
    (tmp_path / "e.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
    lines = "".join(f"{n};A;{s}\n" for n, s in enumerate(texts))
    (tmp_path / "e.csv").write_text(f"ts;type;s\n{lines}", encoding="utf-8")
    for name in ("e.json", "e.csv"):
        shown = sase.match("EVENT A a RETURN a.s AS s", tmp_path / name).to_pylist()
        assert [row["s"] for row in shown] == texts


def test_a_time_of_no_form_is_a_bad_row(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    odd = "31/02/2024 09:00,Start,x,1\n"
    path.write_text(table(TIMES["day first"]) + odd, encoding="utf-8")
    with pytest.raises(sase.DataError, match=r"row 4 .*`time` is '31/02/2024 09:00'"):
        found(path)
    assert found(path, on_bad_row="quarantine") == FOUND


@pytest.mark.parametrize("form", USUAL)
def test_each_form_is_that_of_python(form: str) -> None:
    moments = [datetime(y, m, d, 13, 5, 59, 120_000) for y, m, d in ((1969, 1, 31), (2024, 2, 29))]
    if "%f" not in form:
        moments = [moment.replace(microsecond=0) for moment in moments]
    texts = [each.replace(tzinfo=UTC).strftime(form) for each in moments]
    known = [datetime.strptime(text, form).replace(tzinfo=None) for text in texts]
    got = TimeForm(form).moments(pa.array([*texts, None, "x", "", texts[0] + "1x"])).to_pylist()
    assert [each and each.replace(tzinfo=None) for each in got] == [*known, None, None, None, None]


@pytest.mark.parametrize(
    ("form", "why"),
    [("%d/%m", "has no %Y or %y"), ("%Y-%m-%d %Q", "%Q is none of"), ("%d %d %m %Y", "twice")],
)
def test_a_wrong_form(form: str, why: str) -> None:
    with pytest.raises(sase.SchemaError, match=why):
        TimeForm(form)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_bytes(table().replace("李", "É").encode("cp1252"))
    with pytest.raises(sase.DataError, match='such as  encoding="cp1252"'):
        found(path)
    assert found(path, encoding="cp1252") == [FOUND[0], ("É", 3.5, 1000.75)]
    with pytest.raises(sase.DataError, match="is no text in ascii"):
        found(path, encoding="ascii")


def test_a_file_without_names_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(table(names=False), encoding="utf-8")
    with pytest.raises(sase.SchemaError, match="the first line should have the names"):
        sase.match(QUERY, path)


def test_a_column_that_holds_times_is_named(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(table(TIMES["points"]).replace("time,", "when,"), encoding="utf-8")
    with pytest.raises(sase.SchemaError, match='`when` holds times: say  time="when"'):
        sase.match(QUERY, path)


def test_other_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(table(), encoding="utf-8")
    (tmp_path / "README.md").write_text("# Events\n\nof a day\n", encoding="utf-8")
    assert found(tmp_path) == FOUND
    (tmp_path / "e.csv").unlink()
    with pytest.raises(sase.DataError, match=r"README\.md: events are read from files of"):
        found(tmp_path)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"delimiter": ";;"}, "give one character"),
        ({"delimiter": "§"}, "give one character"),
        ({"quote": "\0"}, "give one character"),
        ({"encoding": "undefined"}, "Python knows no encoding of text"),
        ({"encoding": "a\0b"}, "Python knows no encoding of text"),
        ({"decimal": "'"}, 'decimal="\'": it is "." or ","'),
        ({"encoding": "utf-9"}, "Python knows no encoding of text"),
        ({"encoding": "base64"}, "Python knows no encoding of text"),
        ({"input_format": "cvs"}, "there is no such format: did you mean `csv`"),
    ],
)
def test_wrong_options(options: dict[str, Any], why: str, tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text(table(), encoding="utf-8")
    with pytest.raises(sase.SaseError, match=why):
        found(path, **options)


def test_options_that_another_format_lacks(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(WRITTEN["lines.jsonl"], encoding="utf-8")
    with pytest.raises(sase.SchemaError, match="only CSV has this option"):
        found(path, delimiter=";")


# ---------------------------------------------------------------- logs


def test_logs_of_web_servers(tmp_path: Path) -> None:
    path = tmp_path / "access.log"
    path.write_text(
        "".join(
            f"10.0.0.{1 + h // 2} - - [{TIMES['apache'](BEGIN + timedelta(hours=h))}]"
            f' "{("GET", "POST")[h % 2]} /{t} HTTP/1.1" 200 {h or "-"} "-" "a \\"b\\" c"\n'
            for h, t, *_ in ROWS
        ),
        encoding="utf-8",
    )
    query = "EVENT SEQ(GET a, POST b) WHERE [host] WITHIN 90 minutes"
    matches = sase.match(query, path, time="time", type="method").to_pylist()
    assert [(m["a"]["bytes"], m["b"]["path"], m["b"]["agent"]) for m in matches] == [
        (None, "/Stop", 'a \\"b\\" c'),
        (2, "/Stop", 'a \\"b\\" c'),
    ]
    path.write_text(path.read_text(encoding="utf-8") + "no line\n", encoding="utf-8")
    with pytest.raises(sase.DataError, match=r"line 5: this is no line as 127\.0\.0\.1"):
        sase.match(query, path, time="time", type="method")


def test_lines_of_logs_are_followed(tmp_path: Path) -> None:
    path = tmp_path / "auth.log"
    path.write_text("Feb 13 09:00:00 host Start[1]: x\n", encoding="utf-8")
    assert TailReader(str(path)).schema.names[:3] == ["time", "host", "program"]
    path = tmp_path / "log.xes"
    path.write_text("<log></log>\n", encoding="utf-8")
    with pytest.raises(sase.DataError, match="files of xes have no lines"):
        TailReader(str(path))


@pytest.mark.parametrize("year", [2023, 2024])
def test_lines_of_syslog_have_the_last_year_in_which_they_may_be(year: int, tmp_path: Path) -> None:
    path = tmp_path / "auth"
    lines = (f"Feb 13 {9 + h:02}:00:00 host {t}[{h}]: {u}\n" for h, t, u, _ in ROWS)
    path.write_text("".join(lines), encoding="utf-8")
    changed = datetime(year + 1, 2, 10, tzinfo=UTC).timestamp()
    os.utime(path, (changed, changed))
    query = "EVENT SEQ(Start a, Stop b) WITHIN 90 minutes"
    matches = sase.match(query, path, time="time", type="program").to_pylist()
    assert [(m["a"]["time"], m["b"]["pid"], m["b"]["message"]) for m in matches] == [
        (datetime(year, 2, 13, 9), 1, "Jörg"),
        (datetime(year, 2, 13, 11), 3, "李"),
    ]


def test_a_log_of_process_mining(tmp_path: Path) -> None:
    path = tmp_path / "log.xes"
    events = [
        f'<event><string key="concept:name" value="{t}"/>'
        f'<date key="time:timestamp" value="{(BEGIN + timedelta(hours=h)).isoformat()}Z"/>'
        f'<float key="amount" value="{a}"/><int key="n" value="{h}"/></event>'
        for h, t, _, a in ROWS
    ]
    cases = [
        f'<trace><string key="concept:name" value="{u}"/>{"".join(events[n : n + 2])}</trace>'
        for n, u in ((0, "Jörg"), (2, "李"))
    ]
    path.write_text(
        f'<?xml version="1.0" encoding="UTF-8"?><log xmlns="http://x">{"".join(cases)}</log>',
        encoding="utf-8",
    )
    query = "EVENT SEQ(Start a, Stop b) WHERE [`case:concept:name`] WITHIN 90 minutes"
    matches = sase.match(query, path, time="time:timestamp", type="concept:name").to_pylist()
    assert [(m["a"]["case:concept:name"], m["a"]["amount"], m["b"]["n"]) for m in matches] == [
        ("Jörg", 1.5, 1),
        ("李", 3.5, 3),
    ]
    path.write_text("<log><trace><event></event>", encoding="utf-8")
    with pytest.raises(sase.DataError, match=r"log\.xes cannot be read"):
        sase.match(query, path, time="time:timestamp", type="concept:name")


def test_digits_in_quotes_are_times_of_the_unit_that_they_show(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    for factor in (1, 1000, 10**6):
        lines = []
        for hours, type, user, amount in ROWS:
            moment = (BEGIN.replace(tzinfo=UTC) + timedelta(hours=hours)).timestamp()
            row = {"when": str(int(moment) * factor), "type": type, "user": user, "amount": amount}
            lines.append(json.dumps(row) + "\n")
        path.write_text("".join(lines), encoding="utf-8")
        assert found(path, time="when") == FOUND
        first = sase.match(QUERY, path, time="when").to_pylist()[0]
        assert first["a"]["when"] == BEGIN.replace(tzinfo=UTC)


def test_a_sheet_of_a_workbook(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path, book = tmp_path / "e.xlsx", openpyxl.Workbook()
    sheet = book.active
    sheet.append(NAMES)
    for hours, type, user, amount in ROWS:
        sheet.append([BEGIN + timedelta(hours=hours), type, user, amount])
    book.save(path)
    assert found(path) == FOUND
    sheet.append([])
    sheet.append(["soon", "Stop", "x", 1])
    book.save(path)
    with pytest.raises(sase.DataError, match=r"e\.xlsx, row 4 .* `time` is 'soon'"):
        found(path)
    assert found(path, on_bad_row="quarantine") == FOUND
    path.write_bytes(b"PK no workbook")
    with pytest.raises(sase.DataError, match=r"e\.xlsx cannot be read: this is no workbook"):
        found(path)


# ---------------------------------------------------------------- tables and dicts


def test_usual_names_of_columns_are_found_in_tables_and_dicts() -> None:
    rows = [{**row, "time": BEGIN + timedelta(hours=n)} for n, row in enumerate(records())]
    others = [{"timestamp": r["time"], "event": r["type"], "user": r["user"]} for r in rows]
    for events in (rows, others, pa.Table.from_pylist(others)):
        assert len(sase.match(QUERY, events)) == 2
        plan = sase.compile(QUERY, events)
        assert len(plan.run(events)) == 2
    with pytest.raises(sase.SchemaError, match="there is no time column `ts`"):
        sase.match(QUERY, [{"when": 1, "type": "Start", "user": "x"}])
    with pytest.raises(sase.SchemaError, match="there is no type column `type`"):
        sase.match(QUERY, [{"ts": 1, "kind": "Start", "user": "x"}])


def test_no_tables_have_no_matches() -> None:
    with pytest.raises(sase.SaseError):
        sase.match(QUERY, {})
    assert len(sase.match(QUERY, [])) == 0


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_files_of_columns_without_a_suffix(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e{suffix}"
    sase.match("EVENT ANY a RETURN a.time AS t", WRITTEN_ROWS).write(path)
    path.rename(tmp_path / "e")
    query = "EVENT Row a WHERE a.t IS NOT NULL"
    matches = sase.match(query, tmp_path / "e", time="ts_end", type=None, types=["Row"])
    assert len(matches) == len(ROWS)


def test_one_type_of_all_events_needs_no_column() -> None:
    assert len(sase.match("EVENT SEQ(E a, E b)", [{"ts": 1}, {"ts": 2}], types=["E"])) == 1
    given = [{"ts": 1, "type": "E"}, {"ts": 2, "type": "F"}]
    assert len(sase.match("EVENT SEQ(E a, E b)", given, types=["E"])) == 0
