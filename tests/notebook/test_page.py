"""The cells of docs/notebook.md, run by a real kernel, print the output that the page shows."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.repo.source import ROOT

PAGE = ROOT / "docs" / "notebook.md"
nbclient = pytest.importorskip(
    "nbclient", reason="nbclient is not installed: see `dev` in setup.cfg"
)
pytest.importorskip("ipykernel", reason="ipykernel is not installed: see `dev` in setup.cfg")
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def blocks() -> list[tuple[str, str]]:
    """The cells of the page, each with its output, which may be empty."""
    return [(cell, output) for cell, output in BLOCK.findall(PAGE.read_text(encoding="utf-8"))]


def run(cells: list[str]) -> list[list[Any]]:
    """The outputs of cells that a kernel runs one after the other."""
    from nbformat import v4

    book = v4.new_notebook(cells=list(map(v4.new_code_cell, cells)))
    client = nbclient.NotebookClient(
        book, timeout=300, kernel_name="python3", allow_errors=True,
        resources={"metadata": {"path": str(ROOT)}},
    )  # fmt: skip
    return [cell["outputs"] for cell in client.execute()["cells"]]


def text_of(outputs: list[Any]) -> str:
    """The text of results and errors; a note on compiling kernels is on standard error."""
    return "\n".join(_lines(outputs))


def _lines(outputs: list[Any]) -> Iterator[str]:
    for each in outputs:
        if each["output_type"] == "error":
            yield from each["traceback"]
        elif each["output_type"] == "stream":
            assert each["name"] == "stderr" and "compiling kernels" in each["text"], each
        else:
            yield each["data"]["text/plain"].lstrip("\n")


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[str, str, list[Any]]]]:
    """The cells of the page with the shown output and the real ones."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR"):
            patch.setenv(name, str(tmp_path_factory.mktemp(name)))
        cells = blocks()
        real = run([cell for cell, _ in cells])
        yield [(*cell, outputs) for cell, outputs in zip(cells, real, strict=True)]


@pytest.mark.slow
def test_the_page_shows_the_output_of_its_cells(ran: list[tuple[str, str, list[Any]]]) -> None:
    assert len(ran) > 5
    for cell, shown, outputs in ran:
        begin, cut, _ = shown.strip().partition("\n…")
        real = text_of(outputs).strip()
        assert (real[: len(begin)] if cut else real) == begin, cell


@pytest.mark.slow
def test_a_result_is_html_without_a_script(ran: list[tuple[str, str, list[Any]]]) -> None:
    pages = [each["data"]["text/html"] for *_, outputs in ran for each in outputs
             if "text/html" in each.get("data", {})]  # fmt: skip
    tabs = [re.findall(r'<input [^>]*name="tab"[^>]*>([\w ]+)</label>', page) for page in pages]
    chosen = [re.findall(r"<input [^>]*checked>([\w ]+)</label>", page) for page in pages]
    both, three = ["Matches", "Timeline", "Plan"], ["Matches", "Plan", "Why not"]
    assert tabs == [both, three, both]
    assert chosen == [["Matches"], ["Why not"], ["Matches"]]
    assert not any("<script" in page for page in pages)


@pytest.mark.slow
def test_errors_are_those_of_the_cells(ran: list[tuple[str, str, list[Any]]]) -> None:
    """So a notebook that is run as a whole ends there."""
    names = [each["ename"] for *_, outputs in ran for each in outputs if "ename" in each]
    assert names == ["BindingError", "QuerySyntaxError"]
