"""The file format of Arrow."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sase.engine.sources.formats.base import FileFormat


class ArrowFormat(FileFormat):
    """Arrow IPC files, read with the types that they have."""

    name = "arrow"
    title = "Arrow (.arrow, .feather)"
    suffixes = (".arrow", ".feather", ".ipc")

    def arrow_format(self, strings: Collection[str] = ()) -> Any:
        """Return Arrow's reader of IPC files."""
        from pyarrow import dataset  # which takes long, and who has tables needs none

        return dataset.IpcFileFormat()
