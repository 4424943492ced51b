"""The events of MkDocs at which pages of the tree become pages of the site."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files

from docs.site.commands import commands
from docs.site.diagrams import diagrams
from docs.site.links import OUTSIDE, ROOT, for_the_site, linked_files, with_anchors
from docs.site.names import names

PATHS = {place: path for path, place in OUTSIDE.items() if path != "README.md"}


# A comment `<!-- made: NAME -->` of a page, and the text in its place.
MADE = {"commands": commands, "diagrams": diagrams, "names": names}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages outside of docs/, and the files to which pages link."""
    for place, path in PATHS.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    for page in files.documentation_pages():
        path = PATHS.get(page.src_uri, f"docs/{page.src_uri}")
        for target in linked_files(page.content_string, path):
            if files.get_file_from_path(target) is None:
                files.append(File.generated(config, target, abs_src_path=str(ROOT / target)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Move links, and put in the parts that are made."""
    path = page.file.src_uri
    text = for_the_site(markdown, PATHS.get(path, f"docs/{path}"))
    for name, make in MADE.items():
        mark = f"<!-- made: {name} -->"
        text = text.replace(mark, make()) if mark in text else text
    return with_anchors(text) if path == "diagnostics.md" else text
