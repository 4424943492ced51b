"""The report: a page for the browser with all pictures in it, and a page of Markdown."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from experiments.core import results
from experiments.core.experiment import Experiment, Finding, Reason, Verdict
from experiments.core.plotting import pictures
from experiments.core.results import MEASURED, Results, Row

HOLDS = {True: "holds", False: "DOES NOT HOLD", None: "not measured"}
STYLE = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")
SIZES = {
    "full": "",
    "quick": "A quick run: small streams and few runs, which show that all of it works. Its times"
    " and what holds are no results.",
    "tiny": "The smallest size, by which tests see that all of it runs. Its times mean nothing.",
}
# The figures decide which findings hold, and which reason explains one that does not.
REASON = "the reason, by the same figures"
UNKNOWN = "these figures show no reason"
OVERVIEW = (
    "Each section says when and on what it was measured. Behind each finding are the measured"
    " figures and the limit that they are compared with, tolerance included."
)
HEADER = ("x", "way", "matches", "ms", "CPU ms", "M events/s", "MB grown")
# Columns about the measurement itself, which older results do not have.
RUN = ("load", "attempts")


class Section(NamedTuple):
    """An experiment, its measurements, its pictures, and which of the expected findings hold."""

    experiment: Experiment
    results: Results
    pictures: list[str]
    verdicts: list[tuple[Finding, Verdict]]

    def reasons(self, finding: Finding, verdict: Verdict) -> list[tuple[Reason, Verdict]]:
        """Why a finding does not hold, as far as its figures say so."""
        return [] if verdict.holds is not False else finding.reasons(self.results)


def sections(experiments: Iterable[Experiment], folder: Path) -> Iterator[Section]:
    """Those experiments that were run."""
    for experiment in experiments:
        found = results.read(folder / f"{experiment.name}.csv")
        if found.rows:
            verdicts = [(finding, finding.check(found)) for finding in experiment.findings]
            yield Section(experiment, found, pictures(experiment, found), verdicts)


def write(experiments: Iterable[Experiment], folder: Path) -> list[Path]:
    """The report of the results in a folder, written there."""
    all_of_it = list(sections(experiments, folder))
    if not all_of_it:
        raise SystemExit(f"there are no results in {folder}: run some experiments before")
    for section in all_of_it:
        for number, picture in enumerate(section.pictures):
            name = f"{section.experiment.name}-{number + 1}.svg"
            (folder / name).write_text(f"{picture}\n", encoding="utf-8")
    page, text = folder / "report.html", folder / "report.md"
    page.write_text(_page(all_of_it), encoding="utf-8")
    text.write_text(markdown(all_of_it), encoding="utf-8")
    return [page, text]


def commits(all_of_it: list[Section]) -> str:
    """The one commit of all sections, or each commit with its experiments."""
    names: dict[str, list[str]] = {}
    for section in all_of_it:
        for commit in dict.fromkeys(row["commit"] for row in section.results.rows):
            names.setdefault(commit, []).append(section.experiment.name)
    if len(names) == 1:
        return f"One commit: {next(iter(names))}."
    told = "; ".join(f"{commit} ({', '.join(of_it)})" for commit, of_it in names.items())
    return f"{len(names)} commits: {told}."


def places(rows: Sequence[Row]) -> list[str]:
    """The time and place of a measurement: each different machine, versions and commit."""
    names = ("machine", "versions", "commit", "size")
    days = sorted({row["measured_at"][:10] for row in rows})
    told = list(dict.fromkeys(tuple(row[name] for name in names) for row in rows))
    notes = [SIZES[size] for size in dict.fromkeys(size for *_, size in told) if SIZES[size]]
    when = " to ".join(sorted({days[0], days[-1]}))
    where = (f"{machine}; {versions}; {_commit(commit)}" for machine, versions, commit, _ in told)
    return [*notes, f"Measured {when} on {' and on '.join(where)}."]


def _commit(commit: str) -> str:
    """A commit, and whether there were changes beside it."""
    clean = commit.removesuffix("-dirty")
    return f"commit {clean}" + (", with changes that no commit has" if clean != commit else "")


def summary(all_of_it: list[Section]) -> str:
    """How many findings hold."""
    verdicts = [verdict for section in all_of_it for _, verdict in section.verdicts]
    counts = {name: sum(v.holds is key for v in verdicts) for key, name in HOLDS.items()}
    return ", ".join(f"{count} {name.lower()}" for name, count in counts.items() if count)


# ---------------------------------------------------------------- tables


def _rows(section: Section) -> Iterator[list[str]]:
    panels = section.results.panels()
    rows = section.results.rows
    shown = [*section.experiment.shown, *(each for each in RUN if any(each in row for row in rows))]
    yield [*(["panel"] if panels != [""] else []), *HEADER, *shown]
    for row in section.results.rows:
        first = [row["panel"]] if panels != [""] else []
        yield [*first, *_cells(row), *(_figure(row.get(name)) for name in shown)]


def _cells(row: Row) -> Iterator[str]:
    yield _figure(row["x"])
    yield row["way"]
    if row["status"] != MEASURED:
        yield f"{row['status']}: {row['note']}"
        yield from [""] * (len(HEADER) - 3)
        return
    yield (
        _figure(row["matches"])
        if row.get("matches", "") != ""
        else f"10^{row['log10_matches']:.1f}"
    )
    median, low, high = (1000 * row[name] for name in ("wall_s", "wall_low_s", "wall_high_s"))
    yield f"{median:.4g} ({low:.4g}–{high:.4g})"
    yield f"{1000 * row['cpu_s']:.4g}"
    yield f"{row['events_per_s'] / 1e6:.3g}"
    yield f"{row['grown_bytes'] / 1e6:.3g}"


def _figure(value: object) -> str:
    match value:
        case None:
            return ""
        case int() if value >= 10**15:
            return f"{value // 10 ** (len(str(value)) - 3) / 100:.2f}e{len(str(value)) - 1}"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}"
    return str(value)


# ---------------------------------------------------------------- Markdown


def markdown(all_of_it: list[Section]) -> str:
    """The page of Markdown."""
    lines = ["# Experiments", "", OVERVIEW, "", commits(all_of_it), ""]
    lines += [f"Of what should hold: {summary(all_of_it)}.", ""]
    lines += [
        f"- [{each.experiment.title}](#{each.experiment.name}): {_told(each)}" for each in all_of_it
    ]
    for section in all_of_it:
        lines += ["", *_markdown_of(section)]
    return "\n".join(lines) + "\n"


def _why(section: Section, finding: Finding, verdict: Verdict) -> str:
    reasons = section.reasons(finding, verdict)
    told = " ".join(f"{reason.said} ({judged.figures})" for reason, judged in reasons)
    return f"{REASON}: {told}" if told else UNKNOWN


def _told(section: Section) -> str:
    return ", ".join(HOLDS[verdict.holds] for _, verdict in section.verdicts) or "measured"


def _markdown_of(section: Section) -> Iterator[str]:
    experiment = section.experiment
    yield f'<a id="{experiment.name}"></a>\n\n## {experiment.title}\n'
    yield f"{experiment.source}: {experiment.said}\n"
    yield " ".join(places(section.results.rows)) + "\n"
    for number in range(len(section.pictures)):
        yield f"![{experiment.title}]({experiment.name}-{number + 1}.svg)\n"
    for finding, verdict in section.verdicts:
        yield f"- {finding.said}: **{HOLDS[verdict.holds]}** ({verdict.figures})"
        if verdict.holds is False:
            yield f"  - {_why(section, finding, verdict)}"
    header, *rows = _rows(section)
    yield f"\n<details><summary>{len(rows)} rows</summary>\n"
    yield f"| {' | '.join(header)} |\n|{' --- |' * len(header)}"
    yield "\n".join(f"| {' | '.join(row)} |" for row in rows)
    yield "\n</details>"


# ---------------------------------------------------------------- HTML


def _page(all_of_it: list[Section]) -> str:
    contents = "".join(
        f'<li><a href="#{each.experiment.name}">{html.escape(each.experiment.title)}</a>:'
        f" {_told(each).lower()}</li>"
        for each in all_of_it
    )
    body = "".join(_article(section) for section in all_of_it)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Experiments</title>'
        f"<style>{STYLE}</style></head>\n<body><h1>Experiments</h1><p>{OVERVIEW}</p>"
        f"<p>{html.escape(commits(all_of_it))}</p>"
        f"<p>Of what should hold: {summary(all_of_it)}.</p><ol>{contents}</ol>\n"
        f"{body}</body></html>\n"
    )


def _article(section: Section) -> str:
    experiment = section.experiment
    verdicts = "".join(_verdict(section, *each) for each in section.verdicts)
    header, *rows = ([html.escape(cell) for cell in row] for row in _rows(section))
    table = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return (
        f'<article id="{experiment.name}"><h2>{html.escape(experiment.title)}</h2>'
        f"<p><b>{html.escape(experiment.source)}</b>: {html.escape(experiment.said)}</p>"
        f"<p>{html.escape(' '.join(places(section.results.rows)))}</p>"
        f"{''.join(f'<figure>{picture}</figure>' for picture in section.pictures)}"
        f"<ul>{verdicts}</ul><details><summary>{len(rows)} rows</summary><table><tr>"
        f"{''.join(f'<th>{cell}</th>' for cell in header)}</tr>{table}</table></details>"
        "</article>\n"
    )


def _verdict(section: Section, finding: Finding, verdict: Verdict) -> str:
    kind = {True: "yes", False: "no", None: "open"}[verdict.holds]
    told = html.escape(_why(section, finding, verdict))
    why = f"<br>{told}" if verdict.holds is False else ""
    return (
        f'<li>{html.escape(finding.said)}: <b class="{kind}">{HOLDS[verdict.holds].lower()}</b>'
        f" ({html.escape(verdict.figures)}){why}</li>"
    )
