"""The equations among the counters of a run."""

from __future__ import annotations

from typing import Any

from sase.planning.plan.nodes import SequenceConstruction, find


def check_account(plan: Any, matches: Any) -> None:
    """Each event that enters comes out, or is counted under the reason that rejected it."""
    (name, first), *filters = matches.report.counters
    if name == "MatchWindow":
        check_windows(first)
        (name, next_one), *filters = filters
        assert next_one.get("events", next_one.get("admitted")) == first["out"]
        first = next_one
    if name == "RunEvaluation":
        below = check_runs(first)
    else:
        (_, construction), *filters = filters
        below = check_sequences(plan, matches, first, construction)
    for name, counted in filters:
        assert counted["in"] == below, name
        below = counted["out"]
        assert counted["in"] - below == turned_away(counted), name
    assert below == len(matches)


def check_sequences(
    plan: Any, matches: Any, scan: dict[str, Any], construction: dict[str, Any]
) -> int:
    check_scan(scan)
    if "most_joined" in construction:
        check_joins(construction)
    else:
        check_construction(construction, find(plan.operators, SequenceConstruction).negations)
    if matches.report.is_complete and "pushed" in scan:
        assert construction["walks"] == scan["pushed"][-1]
    return int(construction["sequences"])


def check_runs(counted: dict[str, Any]) -> int:
    assert counted["most_bytes"] > 0
    if "runs" in counted:
        assert counted["alive"] + counted["expired"] <= counted["runs"]
        assert counted["alive"] <= counted["most_alive"] <= counted["runs"]
        assert counted["initiated"] <= counted["runs"]
        merged = counted.get("merged", 0)
        assert counted.get("merged_alive", 0) <= merged
        born = counted["initiated"] + counted["split"] - merged
        assert counted["alive"] + counted["expired"] <= born <= counted["runs"]
    elif "pairs" in counted and "walks" in counted:  # through events that lie between joined ones
        assert counted["records"] <= counted["pairs"]
        assert counted["walks"] <= counted["instances"]
        assert counted["failed"] <= counted["bound"]
    elif "pairs" in counted:
        assert counted["matches"] <= counted["records"] <= counted["pairs"]
    elif "candidates" in counted:
        assert counted["candidates"] <= counted["events"]
    else:
        assert counted["alive"] <= counted["instances"] <= counted["events"]
        assert counted["walks"] <= counted["instances"]
        assert counted["failed"] <= counted["bound"]
        if counted["bound"]:
            # Bindings without room in a full chunk are bound once more.
            assert counted["bound"] - counted["failed"] >= counted["matches"]
    return int(counted["matches"])


def check_windows(counted: dict[str, Any]) -> None:
    assert counted["out"] <= counted["events"]
    dropped = counted["not_first"] + counted["incomplete"] + counted["too_small"]
    # Each event with a key begins a window; an event that only a negative component takes has none.
    assert counted["windows"] + dropped <= counted["events"] - counted["keyless"]


def turned_away(counted: dict[str, Any]) -> int:
    if "hit" in counted:
        hits, probed = pair(counted, "hit", "probed")
        assert all(hit <= asked for hit, asked in zip(hits, probed, strict=True))
        assert counted["waiting"] <= counted["most_waiting"]
        return sum(counted["hit"]) + int(counted["waiting"])
    others = (int(counted.get(name, 0)) for name in ("overlapping", "beyond_limit"))
    return sum(counted["rejected"].values()) + sum(others)


def check_scan(scan: dict[str, Any]) -> None:
    assert scan["most_bytes"] > 0
    if "cells" in scan:
        return
    for level in range(len(scan["pushed"])):
        pushed, evicted, alive, most = (
            scan[name][level] for name in ("pushed", "evicted", "alive", "most_alive")
        )
        assert pushed - evicted == alive
        assert most <= pushed
        if "filtered" in scan:  # leaf buffers take the events in order
            assert scan.get("forbidden", scan["filtered"])[level] <= scan["filtered"][level]


def check_joins(counted: dict[str, Any]) -> None:
    """Of the pairs that joins try some pass; conditions reject no more than the others."""
    visited, passed = counted["visited"], counted["passed"]
    assert visited[-1] == passed[-1] == counted["walks"]
    assert all(0 <= let <= tried for tried, let in zip(visited, passed, strict=True))
    assert sum(passed) + sum(counted["rejected"].values()) <= sum(visited)
    assert counted["sequences"] <= max(passed[:-1], default=0)
    assert all(most <= let for most, let in zip(counted["most_joined"], passed, strict=True))


def check_construction(counted: dict[str, Any], negations: Any) -> None:
    visited, passed, unfit, ended = pair(counted, "visited", "passed", "unfit", "ended")
    assert sum(visited) == sum(passed) + sum(unfit) + sum(counted["rejected"].values())
    assert visited[-1] == counted["walks"]
    assert passed[0] == counted["sequences"] + counted.get("beyond_limit", 0)
    forbidden = counted.get("forbidden", [0] * len(ended))
    assert min([*passed, *unfit, *ended, *forbidden]) >= 0
    assert [*passed[1:], 0] == [sum(each) for each in zip(ended, forbidden, strict=True)]
    if "forbidden" in counted:  # active instance stacks hold nothing that could be unfit otherwise
        assert sum(forbidden) == 0 or negations
        assert sum(unfit) == 0 or any(each.before == 0 for each in negations)


def pair(counted: dict[str, Any], *names: str) -> list[list[int]]:
    return [counted[name] for name in names]
