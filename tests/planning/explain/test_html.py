"""The page of an explanation as a document: whole, escaped, alone, and legible."""

from __future__ import annotations

import itertools
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from sase.planning.explain import Explanation
from sase.planning.explain.page.flow import thickness
from sase.planning.explain.value import Measured
from tests.planning.explain.pages import EXAMPLES, Q3, STATISTICS, explained

VOID = {"link", "meta", "wbr"}
MEASURED = EXAMPLES["measured"]


@dataclass
class Element:
    """An element with its content."""

    name: str
    attributes: dict[str, str | None]
    content: list[Element | str] = field(default_factory=list)

    def all(self, name: str = "", **attributes: str) -> list[Element]:
        """Those below of a name and with attributes, in order; `class_` is one of the classes."""
        return [each for each in self._below() if each._is(name, attributes)]

    def one(self, name: str = "", **attributes: str) -> Element:
        (only,) = self.all(name, **attributes)
        return only

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.content)

    def _below(self) -> Iterator[Element]:
        for each in self.content:
            if isinstance(each, Element):
                yield each
                yield from each._below()

    def _is(self, name: str, attributes: dict[str, str]) -> bool:
        return (not name or self.name == name) and all(
            value in (self.attributes.get("class") or "").split()
            if key == "class_"
            else self.attributes.get(key) == value
            for key, value in attributes.items()
        )


class Parser(HTMLParser):
    """Makes elements of a page, and insists that each one is closed, by itself."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element("", {})]
        self.feed(page)
        self.close()
        assert [each.name for each in self.open] == [""], "elements are left open"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice: {attrs}"
        element = Element(tag, dict(attrs))
        self.open[-1].content.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].content.append(data)


def parsed(explanation: Explanation) -> Element:
    return Parser(explanation.to_html()).open[0]


every_example = pytest.mark.parametrize("explanation", EXAMPLES.values(), ids=list(EXAMPLES))


@every_example
def test_the_page_is_well_formed_and_its_names_lead_somewhere(explanation: Explanation) -> None:
    page = parsed(explanation)
    ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
    assert len(set(ids)) == len(ids)
    named = {each.attributes.get("aria-labelledby") for each in page.all()} - {None}
    led = {(each.attributes["href"] or "").removeprefix("#") for each in page.all("a")}
    assert led
    assert named | led <= set(ids)
    assert f"box-{page.one('body').attributes['data-shown']}" in ids
    assert [each.text for each in page.all("h1")] == [f"Plan {explanation.recipe}"]


@every_example
def test_every_operator_is_there_from_the_bottom_up(explanation: Explanation) -> None:
    page = parsed(explanation)
    panels, boxes = page.all("section", class_="panel"), page.all("a", class_="operator")
    assert [each.one("p", class_="name").all("code")[0].text for each in panels] == [
        operator.name for operator in explanation.operators
    ]
    # The picture has the results on top.
    for operator, shown, box in zip(explanation.operators, panels, reversed(boxes), strict=True):
        assert box.attributes["href"] == f"#{shown.attributes['id']}"
        assert shown.one("h3").text == f"{operator.symbol} {operator.algorithm}"
        assert box.text.startswith(f"{operator.symbol} {operator.algorithm} ")
        items = [each.text for each in shown.all("li")]
        assert items[: len(operator.details)] == list(operator.details)
        assert set(operator.reasons) <= set(items)


@every_example
def test_the_query_is_whole_and_its_pieces_are_those_of_operators(
    explanation: Explanation,
) -> None:
    page = parsed(explanation)
    query = page.one("pre", id="query")
    assert query.text == explanation.query
    for operator in explanation.operators:
        pieces = [
            each.text
            for each in query.all("span")
            if operator.key in (each.attributes["data-operators"] or "").split()
        ]
        covered = sorted({place for part in operator.parts for place in range(*part)})
        assert "".join(pieces) == "".join(explanation.query[place] for place in covered)
        listed = page.one("section", id=f"operator-{operator.key}").all("ul", class_="parts")
        excerpts = [code.text for each in listed for code in each.all("code")]
        assert excerpts == [explanation.query[start:end] for start, end in operator.parts]


@every_example
def test_nothing_is_fetched(explanation: Explanation) -> None:
    text, page = explanation.to_html(), parsed(explanation)
    for each in page.all():
        assert not each.attributes.keys() & {"src", "srcset", "action", "style", "onclick"}
        assert (each.attributes.get("href") or "#").startswith(("#", "data:,"))
    assert not re.search(r"//\w|url\(|@import|\bimport\(|fetch\(|XMLHttp", text)
    (policy,) = (
        each.attributes["content"] or ""
        for each in page.all("meta")
        if each.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none';")
    for name in ("style", "script"):
        digest = b64encode(sha256(page.one(name).text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}';" in policy


def test_equal_explanations_make_equal_pages() -> None:
    assert explained(Q3, "basic").to_html() == EXAMPLES["nothing known"].to_html()


def test_no_text_becomes_markup() -> None:
    """Each text of an explanation in turn is one that would break a page that does not escape."""
    evil = "</script></style><b onclick=\"x\" title='y'>&amp;$title${x}"
    operator, step = MEASURED.operators[1], MEASURED.steps[2]
    hostile = replace(
        MEASURED,
        query=evil + MEASURED.query,
        recipe=evil,
        summary=evil,
        split=evil,
        statistics=replace(STATISTICS, source=evil),
        notes=(evil,),
        operators=(
            MEASURED.operators[0],
            replace(
                operator,
                symbol=evil,
                algorithm=evil,
                details=(evil,),
                reasons=(evil,),
                measured=Measured(1, 1, 1, 1, ((evil, evil), ("all", {evil: [evil]}))),
            ),
        ),
        steps=(
            replace(step, rewrite=evil, summary=evil, removed=(evil,), added=(evil,)),
            replace(step, rewrite=evil, declined=evil),
        ),
        choices=((replace(MEASURED.choices[0][0], calls=evil),),),
    )
    page = parsed(hostile)
    assert page.all("b") == []
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert page.one("pre", id="query").text == hostile.query
    assert page.one("title").text == f"Plan {evil} · SASE"
    # Title, head, query, box, details; two rewrites in two histories and the list of all; a choice.
    assert page.text.count(evil) == 1 + 6 + 1 + 3 + 8 + 3 * (4 + 2) + 1


def test_expected_and_actual_stand_side_by_side_and_the_worst_is_marked() -> None:
    page = parsed(MEASURED)
    construction = page.one("section", id="operator-SequenceConstruction")
    rows = [[cell.text for cell in row.content] for row in construction.all("tr")]
    assert rows == [
        ["", "expected", "actual", "factor"],
        ["rows in", "5,940", "41,872", "× 7.05"],
        ["rows out", "1,140", "18,231", "× 16"],
        ["time", "1.98 ms", "9.87 ms", "× 4.98"],
    ]
    assert [each.text for each in construction.all(class_="far")] == ["× 7.05", "× 16", "× 4.98"]
    marked = [each.text for each in page.all(class_="worst")]
    assert marked == ["worst estimate: × 16"] * 2  # in its box and in its details
    assert page.one("body").attributes["data-shown"] == "SequenceConstruction"
    scan = page.one("section", id="operator-SequenceScan")
    memory = [[cell.text for cell in row.content] for row in scan.all("tr")][4]
    assert memory == ["memory", "32.2 KiB", "39.2 KiB", ""], "arrays are no measure of state"
    by_level = scan.all("table")[1]
    assert [[cell.text for cell in row.content] for row in by_level.all("tr")] == [
        ["", "x", "z"],
        ["pushed", "39,872", "2,000"],
        ["most alive", "498", "18"],  # and no counters of zero
    ]
    others = scan.all("dl")[0]
    assert [each.text for each in others.content] == [
        *("most stored bytes", "40,192"),
        *("rejected events", "x.area = 3360,128"),
    ]
    assert construction.one("dd").text == "39,872, 2,000"


def test_what_is_not_known_is_not_shown() -> None:
    page = parsed(EXAMPLES["nothing known"])
    assert page.all("table") == page.all(class_="label rows") == page.all(class_="outline") == []
    assert "Nothing is known of the events" in page.one("p", class_="caption").text
    expected = parsed(EXAMPLES["expected"])
    tables = expected.all(class_="figures")
    assert [each.text for each in tables[0].all("th", scope="col")] == ["expected"]
    assert [each.text for each in expected.all("h4")].count("Expected") == len(tables)
    assert [each.text for each in expected.all(class_="rows")] == [
        "about 1,140",
        "about 1,140",
        "about 43,000",
        "about 1,000,000",
    ]


def test_times_are_compared_where_all_are_known() -> None:
    """Measured times of some operators are no shares of anything, expected ones of all are."""

    def times(explanation: Explanation) -> list[str]:
        return [each.text for each in parsed(explanation).all(class_="time")]

    assert times(MEASURED)[1] == "9.87 ms, 26 % of the time"
    scan = MEASURED.operators[0]
    assert scan.measured is not None
    untimed = replace(scan, measured=replace(scan.measured, nanoseconds=None))
    some = replace(MEASURED, operators=(untimed, *MEASURED.operators[1:]))
    assert times(some)[1] == times(EXAMPLES["expected"])[1] == "about 1.98 ms, 7 % of the time"
    none = replace(some, operators=tuple(replace(each, expected=None) for each in some.operators))
    assert times(none) == []


def test_an_arrow_that_nothing_takes_is_dashed() -> None:
    top = MEASURED.operators[-1]
    nothing = replace(top, measured=Measured(18_231, 0))
    page = parsed(replace(MEASURED, operators=(*MEASURED.operators[:-1], nothing)))
    arrows = [each.attributes["class"] for each in page.all("polygon")]
    assert arrows == ["nothing", "flowing", "flowing", "flowing"]
    assert page.all(class_="rows")[0].text == "0"


def test_an_operator_tells_its_rewrites_by_their_numbers_in_the_list_of_all() -> None:
    page = parsed(MEASURED)
    everything = page.one(class_="history").one("ol", class_="steps")
    names = [each.all("code")[0].text for each in everything.all("li") if each.all("code")]
    assert names == [step.rewrite for step in MEASURED.steps]
    for operator in MEASURED.operators:
        own = page.one("section", id=f"operator-{operator.key}").all("ol", class_="steps")
        told = [
            (int(each.attributes["value"] or 0), each.all("code")[0].text)
            for steps in own
            for each in steps.all("li")
            if "value" in each.attributes
        ]
        assert told == [
            (number, step.rewrite)
            for number, step in enumerate(MEASURED.steps, 1)
            if operator.name in step.operators and step.branch == operator.branch
        ]
    declined = [each.text for each in everything.all(class_="declined")]
    assert declined == [f"passed over: {s.declined}" for s in MEASURED.steps if s.declined]
    assert len(page.all("table", class_="choice")) == len(MEASURED.choices)


def test_widths_are_on_a_log_scale() -> None:
    widths = [thickness(10.0**power) for power in range(10)]
    steps = {round(more - less, 6) for less, more in itertools.pairwise(widths)}
    assert len(steps) == 1
    assert steps.pop() > 5
    assert thickness(0) == thickness(1) > 0
    assert thickness(1e30) == thickness(1e15)  # it stays on a telephone's screen


# Text on its ground, and shapes that tell something beside theirs (WCAG 2.2, 1.4.3 and 1.4.11).
TEXTS = [
    *itertools.product(["ink", "quiet", "accent", "warn"], ["back", "paper", "tint"]),
    *itertools.product(["gone", "come"], ["paper"]),
    ("marked", "mark"),
    ("warn", "warned"),
]
SHAPES = [("flow", "back"), ("flow", "paper"), ("outline", "back"), ("accent", "back")]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough(scheme: str) -> None:
    blocks = re.findall(r":root \{(.*?)\}", parsed(MEASURED).one("style").text, re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#\w{6});", blocks[scheme == "dark"]))
    assert f"color-scheme: {scheme};" in blocks[scheme == "dark"]
    for pairs, least in ((TEXTS, 4.5), (SHAPES, 3.0)):
        for front, ground in pairs:
            assert contrast(colours[front], colours[ground]) >= least, (front, ground)


def contrast(one: str, other: str) -> float:
    """As WCAG defines it."""
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    shares = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return sum(weight * s for weight, s in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_contrast_is_computed_as_it_should() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
