"""Folders of one user: made for it alone, and not used where others may have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sase.base.files import is_private, private_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of files are those of POSIX")


@pytest.mark.parametrize("mask", [0, 0o002, 0o022, 0o077])
def test_it_is_made_for_its_user_alone(mask: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        found = private_folder(tmp_path / "base", "sase", "kernels")
    finally:
        os.umask(before)
    assert found == tmp_path / "base/sase/kernels"
    assert [each.stat().st_mode & 0o777 for each in (found, found.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_others_may_read_it(mode: int, tmp_path: Path) -> None:
    (tmp_path / "sase").mkdir()
    (tmp_path / "sase").chmod(mode)
    assert private_folder(tmp_path, "sase") == tmp_path / "sase"
    assert (tmp_path / "sase").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("mode", [0o770, 0o720, 0o702, 0o777, 0o1777])
def test_others_may_not_write_to_it(mode: int, tmp_path: Path) -> None:
    (tmp_path / "sase").mkdir()
    (tmp_path / "sase").chmod(mode)
    assert private_folder(tmp_path, "sase") is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "sase").symlink_to(tmp_path / "elsewhere")
    assert private_folder(tmp_path, "sase") is None


def test_a_folder_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert private_folder(tmp_path, "sase") is not None
    other = os.getuid() + 1
    monkeypatch.setattr(os, "getuid", lambda: other)
    assert not is_private(tmp_path / "sase")
    assert private_folder(tmp_path, "sase") is None


def test_where_none_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert private_folder(tmp_path / "file", "sase") is None
