"""The page of an explanation in a real browser: selecting, keys, colours, widths, paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Page, browsing, found
from tests.planning.explain.pages import EXAMPLES

BROWSER = found()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        BROWSER is None, reason="no Chromium is installed (Debian: apt-get install chromium)"
    ),
]
BASIC, MEASURED = EXAMPLES["nothing known"], EXAMPLES["measured"]
SELECTED = "document.querySelector('[aria-selected=true]').id"
FOCUSED = "document.activeElement.id"
SHOWN = "[...document.querySelectorAll('.panel')].filter(e => e.offsetHeight).map(e => e.id)"
MARKED = "[...document.querySelectorAll('#query mark')].map(e => e.textContent).join('')"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    assert BROWSER is not None
    with browsing(BROWSER, tmp_path_factory.mktemp("profile")) as page:
        yield page


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every example as a file."""
    folder = tmp_path_factory.mktemp("pages")
    written = {name: folder / f"{name.replace(' ', '_')}.html" for name in EXAMPLES}
    for name, path in written.items():
        path.write_text(EXAMPLES[name].to_html(), encoding="utf-8")
    return written


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """The browser as a reader finds it; whatever a page does, it must not complain."""
    browser.media()
    browser.scripts(True)
    yield browser
    assert browser.complaints() == []


def test_it_opens_with_an_operator_selected(page: Page, paths: dict[str, Path]) -> None:
    page.open(paths["nothing known"])
    assert page.value(SELECTED) == "box-SequenceScan"
    assert page.value(SHOWN) == ["operator-SequenceScan"]
    page.open(paths["measured"])
    assert page.value(SELECTED) == "box-SequenceConstruction"  # the worst estimate
    page.open(paths["measured"], fragment="operator-Transformation")
    assert page.value(SELECTED) == "box-Transformation"


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_click_selects_an_operator_and_marks_its_query(
    page: Page, paths: dict[str, Path], name: str
) -> None:
    page.open(paths[name])
    marked = set()
    for operator in EXAMPLES[name].operators:
        page.click(f"#box-{operator.key}")
        assert page.value(SELECTED) == f"box-{operator.key}"
        assert page.value(SHOWN) == [f"operator-{operator.key}"]
        covered = sorted({place for part in operator.parts for place in range(*part)})
        assert page.value(MARKED) == "".join(EXAMPLES[name].query[each] for each in covered)
        marked.add(page.value(MARKED))
        assert page.value("document.getElementById('query').textContent") == EXAMPLES[name].query
    assert len(marked) > 1


def test_a_link_to_the_worst_estimate_selects_it(page: Page, paths: dict[str, Path]) -> None:
    page.open(paths["measured"])
    page.click("#box-SequenceScan")
    page.click(".facts a")
    assert page.value(SELECTED) == page.value(FOCUSED) == "box-SequenceConstruction"


def test_the_keyboard_does_all_of_it(page: Page, paths: dict[str, Path]) -> None:
    page.open(paths["nothing known"])
    page.press("Tab")
    assert page.value(FOCUSED) == "box-SequenceScan"
    for key, name in (
        ("ArrowUp", "SequenceConstruction"),  # the part above in the picture
        ("ArrowUp", "Selection"),
        ("ArrowDown", "SequenceConstruction"),
        ("Home", "Transformation"),
        ("ArrowUp", "Transformation"),
        ("End", "SequenceScan"),
        ("ArrowDown", "SequenceScan"),
    ):
        page.press(key)
        assert page.value(FOCUSED) == page.value(SELECTED) == f"box-{name}"
        assert page.value(SHOWN) == [f"operator-{name}"]
    # The picture is one stop; then come the details.
    page.press("Tab")
    assert page.value(FOCUSED) == "operator-SequenceScan"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.value(outline) == "solid"


@pytest.mark.parametrize("key", ["Enter", " "])
def test_on_a_narrow_screen_a_key_leads_to_the_details(
    page: Page, paths: dict[str, Path], key: str
) -> None:
    page.media(calm=True)
    page.open(paths["measured"], 360, 700)
    top = "document.querySelector('.beside').getBoundingClientRect().top"
    page.press("Tab")  # the link to the worst estimate
    page.press("Tab")
    page.press("Home")
    assert page.value(FOCUSED) == "box-Transformation"
    before = page.value(top)
    page.press(key)
    assert before > 700
    assert 0 <= page.value(top) < 100


def test_the_picture_stays_in_sight_and_the_details_of_another_operator_begin_there(
    page: Page, paths: dict[str, Path]
) -> None:
    page.media(calm=True)
    page.open(paths["measured"], 1400, 700)
    page.value("scrollTo(0, 700)")
    assert page.value("document.querySelector('.beside').getBoundingClientRect().top") < 0
    assert 0 <= page.value("document.querySelector('.operators').getBoundingClientRect().top") < 350
    page.click("#box-SequenceScan")
    assert page.value("document.querySelector('.beside').getBoundingClientRect().top") >= 0


@pytest.mark.parametrize("width", [360, 800, 1400])
@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_is_wider_than_the_screen(
    page: Page, paths: dict[str, Path], name: str, width: int
) -> None:
    page.open(paths[name], width)
    page.value("document.querySelectorAll('details').forEach(each => each.open = true)")
    for operator in EXAMPLES[name].operators:
        page.click(f"#box-{operator.key}")
        assert page.value("document.documentElement.scrollWidth") == width
        # Nor is anything cut off or does it scroll by itself.
        wider = "[...document.querySelectorAll('body *')].filter(e => !e.closest('.unseen, svg')"
        wider += " && e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML)"
        assert page.value(wider) == []


def test_the_picture_is_beside_the_details_where_there_is_room(
    page: Page, paths: dict[str, Path]
) -> None:
    left = "document.querySelector('.beside').getBoundingClientRect().left"
    page.open(paths["measured"], 360)
    assert page.value(left) < 50
    for width in (800, 1400):
        page.resize(width)
        assert page.value(left) > 300


def test_dark_and_light_differ_and_paper_is_light(page: Page, paths: dict[str, Path]) -> None:
    page.open(paths["measured"])
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "getComputedStyle(document.body).color"

    def light(colour: str) -> float:
        return sum(map(int, re.findall(r"\d+", page.value(colour))[:3])) / 3

    assert light(ground) > 200 > 100 > light(ink)
    pictures = [page.screenshot()]
    page.media(scheme="dark")
    assert light(ground) < 60 < 200 < light(ink)
    pictures.append(page.screenshot())
    assert pictures[0] != pictures[1]
    page.media(scheme="dark", kind="print")
    assert light(ink) < 100


def test_paper_has_everything(page: Page, paths: dict[str, Path]) -> None:
    page.open(paths["measured"])
    every = [f"operator-{each.name}" for each in MEASURED.operators]
    page.media(kind="print")
    assert page.value(SHOWN) == every
    seen = "[...document.querySelectorAll('.history li, .history td')].every(e => e.offsetHeight)"
    assert page.value(seen)
    page.media()
    # One that opened before printing is closed again.
    opened = "document.querySelectorAll('details[open]').length"
    page.value("addEventListener('beforeprint', () => { window.printed = " + opened + "; })")
    assert page.pdf().startswith(b"%PDF")
    assert page.value("window.printed") == 2
    assert page.value(opened) == 0


def test_without_the_script_it_is_a_document(page: Page, paths: dict[str, Path]) -> None:
    page.scripts(False)
    page.open(paths["nothing known"])
    page.scripts(True)  # to ask; the page's own has not run
    assert page.value(SHOWN) == [f"operator-{each.name}" for each in BASIC.operators]
    assert page.value("document.querySelectorAll('[role=tab]').length") == 0


def test_a_screen_reader_is_told_what_the_picture_shows(page: Page, paths: dict[str, Path]) -> None:
    page.open(paths["measured"])
    nodes = page.accessible()
    tabs = [node for node in nodes if node["role"] == "tab"]
    assert [tab["selected"] for tab in tabs] == [False, True, False]
    assert re.fullmatch(
        r"SC← walk back from each z through the stacks .* worst estimate: × 16"
        r" 41,872 in, 18,231 out 9\.87 ms, 26 % of the time",
        tabs[1]["name"],
    )
    assert [node["name"] for node in nodes if node["role"] == "tablist"] == ["Dataflow"]
    panels = [node["name"] for node in nodes if node["role"] == "tabpanel"]
    assert panels == ["SC← walk back from each z through the stacks"]
    headings = [node["name"] for node in nodes if node["role"] == "heading"]
    assert headings[:4] == ["Plan optimized", "Dataflow", "Query", "Operators"]
    assert [n["name"] for n in nodes if n["role"] == "rowheader"][:2] == ["rows in", "rows out"]


def test_what_was_marked_is_announced(page: Page, paths: dict[str, Path]) -> None:
    page.open(paths["nothing known"])
    status = "document.querySelector('[role=status]').textContent"
    assert page.value(status) == ""
    page.click("#box-Window")
    assert page.value(status) == "1 part of the query marked"
    page.click("#box-SequenceScan")
    assert page.value(status) == "3 parts of the query marked"


@pytest.mark.parametrize("name", EXAMPLES)
def test_only_the_file_itself_is_read(page: Page, paths: dict[str, Path], name: str) -> None:
    page.open(paths[name])
    assert page.requests() == [paths[name].as_uri()]
    assert page.value("document.querySelectorAll('b').length") == 0


def test_no_other_script_may_run(browser: Page, paths: dict[str, Path], tmp_path: Path) -> None:
    """If some text did become a script, the policy of the page would stop it."""
    text = paths["measured"].read_text(encoding="utf-8")
    path = tmp_path / "attacked.html"
    path.write_text(text.replace("</main>", "</main><script>window.attacked = 1</script>"))
    browser.open(path)
    assert browser.value("window.attacked") is None
    assert "Content Security Policy" in str(browser.complaints())
