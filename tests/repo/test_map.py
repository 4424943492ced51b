"""The map of docs/architecture.md has a line for each folder of the package, and no other."""

import re

from tests.repo.source import ROOT
from tests.repo.test_imports import ENGINE, OPERATORS

TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
FILES = {path.name for path in (ROOT / "sase" / "engine" / "operators").glob("*.py")}
# Rows with a first cell that names folders of the package, or files beside them.
ROW = re.compile(r"^\| (`[^|]*`) \|", re.MULTILINE)


def named(heading: str) -> list[str]:
    """The names in the first cells of a table, from the top down."""
    rows = TEXT.split(f"| {heading} | job |\n")[1].split("\n\n")[0]
    return re.findall(r"`([^`]+)`", " ".join(ROW.findall(rows)))


def folders(path: str) -> set[str]:
    """The packages right below a folder."""
    return {f"{found.parent.name}/" for found in (ROOT / path).glob("*/__init__.py")}


def test_the_map_has_every_folder_of_the_package() -> None:
    shipped = {"grammar/", "plans/"}  # they are seen there where the package is installed in place
    assert {name for name in named("folder of `sase/`") if name.endswith("/")} == (
        folders("sase") - shipped
    )


def test_the_map_has_every_folder_and_file_of_the_engine() -> None:
    files = {path.name for path in (ROOT / "sase" / "engine").glob("*.py")} - {"__init__.py"}
    listed = set(named("folder of `sase/engine/`"))
    assert {name for name in listed if "/" not in name} == files
    assert {name for name in listed if name.count("/") == 1} == folders("sase/engine")
    for name in listed - files:
        assert (ROOT / "sase" / "engine" / name).is_dir()


def test_the_map_goes_down_as_imports_do() -> None:
    folders = [name for name in named("folder of `sase/engine/`") if name.count("/") == 1]
    assert folders == [f"{layer}/" for layer in reversed(ENGINE)]


def test_the_map_of_operators_goes_down_as_imports_do() -> None:
    parts = named("part of `sase/engine/operators/`")
    listed = [name for name in parts if name.endswith("/") or name in FILES]
    assert [name.removesuffix("/").removesuffix(".py") for name in listed] == OPERATORS[::-1]
