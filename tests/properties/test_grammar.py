"""The grammar has no conflicts, and its tables are kept where nobody else can write."""

from __future__ import annotations

import logging
import os
import pickle
import stat
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path

import lark
import pytest
from lark.utils import logger

from sase.lang import tables
from sase.lang.parser import LENGTH, parse_query

GRAMMAR = files("sase.grammar").joinpath("sase.lark").read_text(encoding="utf-8")
posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
not_root = pytest.mark.skipif(
    os.name == "posix" and os.getuid() == 0, reason="the superuser may write anywhere"
)

# ---------------------------------------------------------------- conflicts


def conflicts(grammar: str, start: list[str]) -> list[str]:
    """The messages of lark on a grammar in which it has to choose between shifting and reducing."""
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(record.getMessage())

    listener, level = Listener(), logger.level
    logger.addHandler(listener)
    logger.setLevel(logging.DEBUG)
    try:
        lark.Lark(grammar, parser="lalr", start=start, debug=True, maybe_placeholders=True)
    finally:
        logger.removeHandler(listener)
        logger.setLevel(level)
    return [message for message in said if "onflict" in message]


def test_the_grammar_has_no_conflicts() -> None:
    assert conflicts(GRAMMAR, tables.ENTRY_POINTS) == []


def test_a_conflict_would_be_found() -> None:
    dangling = """
        start: "if" start ["else" start] | NAME
        NAME: /[a-z]/
    """
    assert len(conflicts(dangling, ["start"])) == 1
    with pytest.raises(lark.exceptions.GrammarError, match="Reduce/Reduce"):
        conflicts('start: a | b\na: "x"\nb: "x"', ["start"])


# ---------------------------------------------------------------- the cache of tables


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty home folder, and no setting that names another place."""
    for variable in ("SASE_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    yield tmp_path / "home"


# Building takes most of the time of these tests, so a grammar is built once for all of them.
build_once = cache(tables._build)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One entry for each time the tables would be built rather than loaded."""
    built: list[str] = []

    def build(grammar: str) -> lark.Lark:
        built.append(grammar)
        return build_once(grammar)

    monkeypatch.setattr(tables, "_build", build)
    return built


def load() -> lark.Lark:
    """The parser, as a new process would get it."""
    parser: lark.Lark = tables.parser.__wrapped__()
    return parser


QUERY = "EVENT SEQ(A a, B+ b[]) WHERE a.x = b[i].x AND [id] WITHIN 5 minutes RETURN a.x AS y"


def works(parser: lark.Lark) -> bool:
    """Whether a parser gives the trees of the one that all other tests use."""
    script = parser.parse(QUERY, start="script")
    condition = parser.parse("80% * x >= 3", start="condition")
    reference = tables.parser()
    return bool(
        script == reference.parse(QUERY, start="script")
        and condition == reference.parse("80% * x >= 3", start="condition")
    )


def kept(folder: Path) -> list[Path]:
    """The files in a folder and below it."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_tables_are_built_once(home: Path, builds: list[str]) -> None:
    assert works(load())
    assert len(builds) == 1
    (path,) = kept(home)
    assert path.parent == home / ".cache" / "sase"
    content, modified = path.read_bytes(), path.stat().st_mtime_ns
    assert works(load()) and works(load())
    assert len(builds) == 1
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (content, modified)


@posix
def test_what_is_kept_is_private(home: Path, builds: list[str]) -> None:
    mask = os.umask(0)
    try:
        load()
    finally:
        os.umask(mask)
    (path,) = kept(home)
    for place in (path, path.parent):
        assert not place.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@pytest.mark.parametrize("variable", ["SASE_CACHE_DIR", "XDG_CACHE_HOME"])
def test_the_place_can_be_chosen(
    variable: str, home: Path, builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    load()
    load()
    assert len(builds) == 1
    assert len(kept(tmp_path / "elsewhere")) == 1
    assert not home.exists()


def test_our_own_variable_comes_first(
    home: Path, builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SASE_CACHE_DIR", str(tmp_path / "ours"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "common"))
    load()
    assert len(kept(tmp_path / "ours")) == 1 and not (tmp_path / "common").exists()


def damages(content: bytes) -> Iterator[bytes]:
    """A file cut short, made longer, overwritten, and with single bytes changed."""
    size = len(content)
    yield from (content[: size * part // 8] for part in range(8))
    yield from (content[:-1], b"\0" * size, b"not a pickle", content[size // 2 :], content[::-1])
    for place in [*range(0, 60, 3), *range(60, size, size // 40)]:
        for change in (0x01, 0xFF):
            yield content[:place] + bytes([content[place] ^ change]) + content[place + 1 :]


@pytest.mark.heavy
def test_a_damaged_file_is_built_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = load()
    (path,) = kept(home)
    content = path.read_bytes()
    built: list[str] = []

    def build(grammar: str) -> lark.Lark:
        built.append(grammar)
        return parser

    monkeypatch.setattr(tables, "_build", build)
    for times, damaged in enumerate(damages(content), start=1):
        path.write_bytes(damaged)
        assert load() is parser
        assert len(built) == times
        path.write_bytes(content)


def test_a_damaged_file_is_replaced(home: Path, builds: list[str]) -> None:
    load()
    (path,) = kept(home)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    assert works(load())
    assert len(builds) == 2
    assert works(load())
    assert len(builds) == 2
    assert kept(home) == [path]


# A pickle that leaves a trace when it is loaded.
TRAP = b"cos\nmkdir\n(S'%s'\ntR."


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_read(
    mode: int, home: Path, builds: list[str], tmp_path: Path
) -> None:
    load()
    (path,) = kept(home)
    path.write_bytes(TRAP % bytes(tmp_path / "trace"))
    path.chmod(mode)
    assert works(load())
    assert len(builds) == 2
    assert not (tmp_path / "trace").exists()


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_nothing_is_kept_in_a_folder_that_others_can_write(
    mode: int, home: Path, builds: list[str]
) -> None:
    load()
    (path,) = kept(home)
    path.unlink()
    path.parent.chmod(mode)
    assert works(load())
    assert len(builds) == 2
    assert kept(home) == []


@posix
@pytest.mark.parametrize("mode", [0o770, 0o777])
def test_nothing_is_read_from_a_folder_that_others_can_write(
    mode: int, home: Path, builds: list[str], tmp_path: Path
) -> None:
    load()
    (path,) = kept(home)
    path.write_bytes(TRAP % bytes(tmp_path / "trace"))
    path.parent.chmod(mode)
    assert works(load())
    assert len(builds) == 2
    assert not (tmp_path / "trace").exists()


@pytest.mark.heavy
@posix
def test_links_are_not_followed(home: Path, builds: list[str], tmp_path: Path) -> None:
    load()
    (path,) = kept(home)
    target = tmp_path / "target"
    path.rename(target)
    path.symlink_to(target)
    assert works(load())
    assert len(builds) == 2


@posix
def test_a_folder_that_is_a_link_is_not_used(home: Path, builds: list[str], tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "sase").symlink_to(elsewhere)
    assert works(load())
    assert kept(elsewhere) == []


def test_the_trap_would_close(tmp_path: Path) -> None:
    pickle.loads(TRAP % bytes(tmp_path / "trace"))
    assert (tmp_path / "trace").is_dir()


@posix
def test_a_home_that_cannot_be_made(
    tmp_path: Path, home: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    assert works(load())
    assert len(builds) == 1


def test_a_user_without_a_home(
    home: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    assert works(load())
    assert len(builds) == 1


@posix
@not_root
def test_a_home_that_is_read_only(home: Path, builds: list[str]) -> None:
    home.mkdir(mode=0o500)
    assert works(load())
    assert kept(home) == []


def test_a_disk_that_is_full(
    home: Path, builds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert works(load())
    assert kept(home) == []  # nothing half-written is left behind


def ship_from(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the package come with the files of a folder."""
    monkeypatch.setattr(tables, "get_data", lambda _, name: (folder / name).read_bytes())


def test_another_grammar_has_another_file(
    home: Path, builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load()
    (first,) = kept(home)
    ship_from(tmp_path, monkeypatch)
    (tmp_path / "sase.lark").write_text(f"{GRAMMAR}\n// another\n", encoding="utf-8")
    assert works(load())
    assert len(builds) == 2
    assert len(kept(home)) == 2 and first in kept(home)


def test_what_came_with_the_wheel_is_used_where_it_is_whole(
    home: Path, builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, content = tables.file_of_tables()
    builds.clear()
    ship_from(tmp_path, monkeypatch)
    (tmp_path / "sase.lark").write_text(GRAMMAR, encoding="utf-8")
    (tmp_path / name).write_bytes(content)
    assert works(load())
    assert (len(builds), kept(home)) == (0, [])
    (tmp_path / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert works(load())
    assert (len(builds), len(kept(home))) == (1, 1)


@pytest.mark.heavy
def test_the_tables_of_another_grammar_are_not_used(
    home: Path, builds: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even from a file that has the right name."""
    load()
    (path,) = kept(home)
    ship_from(tmp_path, monkeypatch)
    (tmp_path / "sase.lark").write_text(f"{GRAMMAR}\n// another\n", encoding="utf-8")
    load()
    (other,) = set(kept(home)) - {path}
    other.replace(path)
    (tmp_path / "sase.lark").write_text(GRAMMAR, encoding="utf-8")
    assert works(load())
    assert len(builds) == 3


def test_a_short_text_is_parsed_once_and_a_long_one_is_not_kept() -> None:
    text = "EVENT SEQ(A a, B b) WITHIN 10"
    assert parse_query(text) is parse_query(text)
    assert parse_query(text, "another") is not parse_query(text)
    long = text + " -- " + LENGTH * "x"
    assert parse_query(long) is not parse_query(long)
