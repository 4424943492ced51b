"""The result of `.ci/audit` for the reports of its tool."""

from __future__ import annotations

import json
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from typing import Any

import pytest

from tests.repo.source import ROOT

SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
HOLED = {
    "name": "lark",
    "version": "1.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["1.1"]}, {"id": "PYSEC-2", "fix_versions": []}],
}
UNKNOWN = {"name": "numba", "skip_reason": "not found"}
OURS = {"name": "sase", "skip_reason": "distribution marked as editable"}


@pytest.fixture(scope="module")
def audit() -> Any:
    loader = SourceFileLoader("audit", str(ROOT / ".ci" / "audit"))
    spec = spec_from_loader("audit", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def outcome(audit: Any, monkeypatch: pytest.MonkeyPatch, out: str, said: str = "") -> Any:
    monkeypatch.setattr(audit, "asked", lambda packages: audit.reported(out, said))
    return audit.main()


def report(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages})


def test_no_hole(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(audit, monkeypatch, report(SOUND, OURS)) == 0
    assert capsys.readouterr() == ("audit: packages checked: 1, known holes: 0\n", "")


def test_holes_fail(
    audit: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert outcome(audit, monkeypatch, report(SOUND, HOLED, UNKNOWN)) == 1
    assert capsys.readouterr().err.splitlines() == [
        "audit: packages checked: 2, known holes: 2",
        "audit: lark 1.0: PYSEC-1, mended in 1.1",
        "audit: lark 1.0: PYSEC-2, mended in no version",
        "audit: NOT CHECKED, since the service does not know them: numba",
    ]


@pytest.mark.parametrize(
    ("out", "said"),
    [
        (report(UNKNOWN, OURS), "No known vulnerabilities found"),
        ("", "requests.exceptions.ConnectionError: Failed to resolve"),
        ("", "requests.exceptions.ProxyError: Unable to connect"),
        ("", "requests.exceptions.ReadTimeout: The read timed out."),
    ],
)
def test_nothing_is_checked_where_nobody_can_be_asked(
    out: str,
    said: str,
    audit: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert outcome(audit, monkeypatch, out, said) == 0
    assert capsys.readouterr().err.startswith("audit: NOT CHECKED: the service ")


def test_a_tool_that_fails_otherwise_is_a_failure(
    audit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="pip-audit failed: a fault"):
        outcome(audit, monkeypatch, "", "a fault")
