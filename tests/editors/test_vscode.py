"""The package for Visual Studio Code: its grammar colours queries, and it is built and loaded."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from sase.lang.scene import KEYWORDS, token_span, tokens
from tests.repo.source import ROOT

PACKAGE = ROOT / "editors" / "vscode"
QUERIES = sorted((ROOT / "examples" / "queries").glob("*.sase"))
COLOURS = ("keyword.", "storage.", "constant.language.")
# Every keyword of the language; queries that parse need not have all.
EVERY = """CREATE STREAM s AS FROM a, b PATTERN SEQ(SET(A a, ANY b), !(C-D c))
WHERE earliest_maximal { a.x IN (1, 2) OR NOT b.y BETWEEN 1 AND 2 AND a.z LIKE 'x' AND a.z ILIKE 'y'
AND a.w IS NULL AND a.v = TRUE AND a.u != FALSE AND a.t >
TIMESTAMP '2026-01-01' AT TIME ZONE 'UTC' }
WITHIN 5 EVENTS PER PARTITION INCLUSIVE WITH CONFIDENCE >= 0.5 HAVING a.d > DATE '2026-01-01'
RETURN CASE WHEN a.x > 1 THEN 2 ELSE 3 END AS n, a.i + INTERVAL '5' minutes AS m LIMIT 5;
EVENT A a WHERE strict_contiguity; EVENT A a WHERE partition_contiguity;
EVENT A a WHERE skip_till_next_match; EVENT A a WHERE skip_till_any_match
"""


def keywords_of_the_grammar() -> set[str]:
    """The words of the terminals of `sase.lark` that are keywords."""
    grammar = (ROOT / "grammar" / "sase.lark").read_text(encoding="utf-8")
    terminals = re.findall(r"^_?[A-Z]+\.2: /\(\?ai:([\w|]+)\)", grammar, re.MULTILINE)
    return {word for each in terminals for word in each.split("|")}


def coloured_words() -> set[str]:
    """The words of the rules for keywords in the grammar of the editor."""
    text = (PACKAGE / "syntaxes" / "sase.tmLanguage.json").read_text(encoding="utf-8")
    rules = json.loads(text)["repository"]["keywords"]["patterns"]
    words = [re.search(r"\)\(([\w|]+)\)\(\?!", rule["match"]) for rule in rules]
    return {word for each in words if each for word in each[1].split("|")}


def test_the_keywords_of_the_editor_are_those_of_the_language() -> None:
    assert coloured_words() == keywords_of_the_grammar()
    assert {"event", "case", "skip_till_next_match"} <= coloured_words()


def test_no_type_is_the_word_before_a_keyword() -> None:
    """The rule of types leaves out a name if a keyword that may come there is next."""
    text = (PACKAGE / "syntaxes" / "sase.tmLanguage.json").read_text(encoding="utf-8")
    rule = json.loads(text)["repository"]["types"]["match"]
    (words,) = re.findall(r"\(\?i:([\w|]+)\)", rule)
    left = coloured_words() - set(words.split("|"))
    strategies = {each.lower() for each in KEYWORDS["STRATEGY"]}
    assert left == strategies | {"case", "date", "time", "timestamp", "interval", "null", "true",
                                 "false"}  # fmt: skip


def test_the_package_starts_the_command() -> None:
    package = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert package["contributes"]["languages"][0]["extensions"] == [".sase"]
    command = package["contributes"]["configuration"]["properties"]["sase.command"]["default"]
    assert command == ["sase", "lsp"]


# ---------------------------------------------------------------- in node


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with its dependencies."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed")
    folder = tmp_path_factory.mktemp("vscode") / "package"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    command = ["npm", "install", "--no-audit", "--no-fund"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    if re.search("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT", done.stderr):
        pytest.skip("npm reaches no registry")
    assert done.returncode == 0, done.stderr
    return folder


def tokenized(folder: Path, files: list[Path]) -> dict[Path, list[tuple[str, str]]]:
    """The tokens of files by the grammar of the editor: each with its scope."""
    command = ["node", "test/tokenize.js", *map(str, files)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return {Path(name): [(t, s) for t, s in each] for name, each in json.loads(done.stdout).items()}


def placed(text: str, found: list[tuple[str, str]]) -> Iterator[tuple[int, str, str]]:
    """The tokens of a text with their offsets."""
    place = 0
    for part, scope in found:
        place = text.index(part, place)
        yield place, part, scope
        place += len(part)


@pytest.mark.heavy
def test_queries_are_coloured(installed: Path, tmp_path: Path) -> None:
    """Each keyword that the lexer of the language finds has the colour of one."""
    every = tmp_path / "every.sase"
    every.write_text(EVERY, encoding="utf-8")
    assert len(QUERIES) > 4
    seen = set[str]()
    for path, found in tokenized(installed, [*QUERIES, every]).items():
        text = path.read_text(encoding="utf-8")
        scopes = {place: scope for place, _, scope in placed(text, found)}
        for token in tokens(text):
            # The lexer alone takes an attribute such as `x.from` for a keyword.
            is_attribute = text[: token_span(token).start].endswith(".")
            is_keyword = token.type in {*KEYWORDS, "_CASE", "_AT"} and token.isidentifier()
            if is_keyword and not is_attribute:
                seen.add(token.lower())
                assert scopes[token_span(token).start].startswith(COLOURS), (path, token)
        for comment in re.finditer("--.*", text):
            assert scopes[comment.start()].startswith("comment.")
    assert seen == keywords_of_the_grammar()


@pytest.mark.heavy
def test_other_parts_are_coloured(installed: Path, tmp_path: Path) -> None:
    path = tmp_path / "q.sase"
    text = (
        "EVENT SEQ(A+ a[], SHELF-READING b)\nWHERE a[i].event > avg(a[..i-1].v) AND b.c = :p -- e\n"
    )
    path.write_text(text, encoding="utf-8")
    scopes = {part.strip(): scope for part, scope in tokenized(installed, [path])[path]}
    assert scopes["A"] == scopes["SHELF-READING"] == "entity.name.type.sase"
    assert scopes["event"] == "variable.other.property.sase"
    assert scopes["avg"] == "support.function.sase"
    assert scopes[":p"] == "variable.parameter.sase"
    assert scopes["-- e"] == "comment.line.double-dash.sase"


LOADED = """
const load = require("module")._load;
const values = { get: (_, name) => name === "workspace" ? { getConfiguration() {} } : class {} };
const vscode = new Proxy({}, values);
require("module")._load = (name, ...more) => name === "vscode" ? vscode : load(name, ...more);
const { activate, deactivate } = require("./extension/extension.js");
console.log(typeof activate, typeof deactivate);
"""


@pytest.mark.heavy
def test_the_package_can_be_built_and_loaded(installed: Path, tmp_path: Path) -> None:
    built = tmp_path / "sase.vsix"
    command = ["npm", "run", "package", "--", "--out", str(built)]
    done = subprocess.run(command, cwd=installed, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    with ZipFile(built) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path)
    assert "extension/syntaxes/sase.tmLanguage.json" in names
    assert not [name for name in names if name.startswith("extension/test/")]
    command = ["node", "-e", LOADED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("function function\n", "")
