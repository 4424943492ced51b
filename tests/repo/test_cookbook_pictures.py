"""The pictures of the cookbook are those of the results."""

from __future__ import annotations

import pytest

from tests.repo.cookbook_pictures import FOLDER, path_of, picture_of
from tests.repo.source import ROOT
from tests.repo.test_cookbook import PAGE, RECIPES, run

# Recipes without a picture: numbers, imprecise time, pairs, reasons, and two keys among all events.
WITHOUT = {16, 17, 18, 23, 24, 25}


@pytest.mark.parametrize(("name", "file", "blocks"), RECIPES, ids=[name for name, _, _ in RECIPES])
def test_a_picture_is_that_of_the_result(
    name: str, file: str, blocks: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python -m tests.repo.cookbook_pictures` writes them anew."""
    monkeypatch.chdir(ROOT)
    made, path = picture_of(run(file, blocks)[0]), ROOT / "docs" / path_of(name)
    assert (made is None) == (int(name.partition(".")[0]) in WITHOUT)
    assert (path.read_text(encoding="utf-8") if path.exists() else None) == made
    assert (f"]({path_of(name)})" in PAGE.read_text(encoding="utf-8")) == (made is not None)


def test_each_picture_is_of_a_recipe() -> None:
    assert {each.name for each in FOLDER.iterdir()} <= {
        path_of(n).split("/")[1] for n, _, _ in RECIPES
    }
