"""Save and restore the state of a running script: of its inputs, its merges and its statements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from sase.engine.columns.arrow.saved import from_bytes, to_bytes
from sase.engine.columns.decode.quarantine import COLUMN
from sase.engine.pipeline.checkpoint import checkpoint, restored, signed, verified
from sase.engine.pipeline.limits import RunGuard, check_of
from sase.engine.scripts.matching_forms import AddedAt, JointNames, can_be_joint
from sase.engine.scripts.pipeline import ScriptPipeline
from sase.engine.scripts.plan import ScriptPlan
from sase.engine.scripts.statement import RunningStatement
from sase.engine.snapshots import codec
from sase.engine.snapshots.codec import FORMAT, migrated, release
from sase.engine.snapshots.saved_state import Saved
from sase.errors import DataError, SchemaError, SnapshotError


def script_checkpoint(pipeline: ScriptPipeline, key: bytes | None = None) -> bytes:
    """Serialize the state of a script between two calls; with a key it is signed."""
    state = {
        "format": FORMAT,
        "version": release(),
        "numbered": pipeline.numbered,
        "inputs": {_written(name): each.checkpoint() for name, each in pipeline.inputs.items()},
        "key_texts": {
            _written(name): texts.checkpoint() for name, texts in pipeline.key_texts.items()
        },
        "bad": {_written(name): to_bytes(each) for name, each in pipeline.bad_rows().items()},
        "statements": {name: _statement(name, each) for name, each in pipeline.statements.items()},
    }
    if pipeline.joint:
        state["joint"] = [
            [names, types, {n: [at.position, at.rows, at.bad] for n, at in added.items()}, drops]
            for names, types, added, drops in pipeline.joint
        ]
    return signed(codec.to_bytes(state), key)


def _written(name: str | None) -> str:
    """The name of an input in a snapshot, a blank for None: no name begins with a blank."""
    return " " if name is None else name


def _statement(name: str, statement: RunningStatement) -> dict[str, Any]:
    """The state of a statement; of a shared matching only the first one has that of the matcher."""
    merge = None if statement.merge is None else statement.merge.checkpoint()
    if statement.is_over or statement.reader != name:
        return {"matcher": None, "merge": merge, "apart": statement.apart}
    data = checkpoint(statement.matcher.pipeline)
    state = np.frombuffer(data, np.uint8)
    return {"matcher": state, "merge": merge, "apart": statement.apart}


def script_restored(
    plan: ScriptPlan, data: bytes, key: bytes | None = None, guard: RunGuard | None = None
) -> ScriptPipeline:
    """Restore a script from a state of the same plan, signed with a key if given."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SnapshotError(f"a snapshot is bytes, and this is of type {type(data).__name__}")
    saved = Saved(migrated(codec.from_bytes(verified(bytes(data), key))))
    pipeline = ScriptPipeline(plan, check=check_of(guard), joint=_joint(plan, saved))
    pipeline.numbered = saved.part("numbered").count()
    try:
        _fill(pipeline, saved, guard)
    except (SchemaError, DataError) as problem:
        raise SnapshotError(
            f"this snapshot was changed: the rows that it holds are none of this script: {problem}"
        ) from problem
    return pipeline


def _joint(plan: ScriptPlan, saved: Saved) -> list[JointNames]:
    """The names of statements that shared a matching; they are alike and over one input."""
    joint = dict(saved.members()).get("joint")
    parts = [part.parts(4) for part in ([] if joint is None else joint.parts())]
    found = [
        JointNames(tuple(names.texts()), tuple(types.texts()), _added(added), drops.flag())
        for names, types, added, drops in parts
    ]
    by_name = {each.name: each for each in plan.statements}
    every = [name for each in found for name in each.names]
    saved.check(by_name.keys() >= set(every), "no statement has such a name")
    is_once = len(every) == len({*every}) and all(each.names for each in found)
    saved.check(is_once, "a statement is there twice")
    inputs = {(each.name,) for each in plan.inputs}
    for names, types, added, _ in found:
        saved.check({*names} >= added.keys(), "one was added that is not there")
        some = [by_name[name] for name in names]
        is_one = len({each.sources for each in some}) == 1 and some[0].sources in inputs
        saved.check(is_one, "statements over other inputs are together")
        saved.check(can_be_joint([each.plan for each in some]), "other statements are together")
        known = some[0].plan.schema.type_names
        saved.check(known is None or {*known} >= {*types}, "there is no such type")
    return found


def _added(saved: Saved) -> dict[str, AddedAt]:
    """When statements were added, by their names."""
    found = dict[str, AddedAt]()
    for name, part in saved.members():
        position, rows, bad = (each.count() for each in part.parts(3))
        found[name] = AddedAt(position, rows, bad)
    return found


def _fill(pipeline: ScriptPipeline, saved: Saved, guard: RunGuard | None) -> None:
    statements = pipeline.statements
    inputs = {_written(name): each for name, each in pipeline.inputs.items()}
    key_texts = {_written(name): each for name, each in pipeline.key_texts.items()}
    _check_names("statements", statements, saved)
    _check_names("inputs", inputs, saved)
    _check_names("key_texts", key_texts, saved)
    for name, part in saved.part("key_texts").members():
        key_texts[name].restore(part)
    for name, part in saved.part("inputs").members():
        inputs[name].restore(part)
    known = {_written(name): name for name in (*pipeline.inputs, *statements)}
    bad = saved.part("bad")
    bad.check({name for name, _ in bad.members()} <= known.keys(), "bad rows are of none")
    pipeline.put_back_bad({known[name]: _bad_rows(part) for name, part in bad.members()})
    for name, part in saved.part("statements").members():
        statement = statements[name]
        if statement.merge is not None:
            statement.merge.restore(part.part("merge"))
        statement.apart = part.part("apart").text()
        state = part.part("matcher")
        if statement.reader != name:
            continue
        if state.is_none:
            statement.matcher.pipeline.state.is_finished = True
            continue
        data = state.array(None, dtype="uint8").tobytes()
        pipeline.go_on(name, partial(restored, data=data, guard=guard))


def _bad_rows(saved: Saved) -> Any:
    """A table of bad rows, with their numbers and the columns that made them bad."""
    table = from_bytes(saved)
    names = [name for name in table.column_names if name.startswith(COLUMN)]
    saved.check(bool(names), "bad rows have no columns that make them bad")
    for column, kind in ((table.column(0), pa.int64()), (table[names[0]], pa.string())):
        saved.check(column.type == kind and not column.null_count, "these are no bad rows")
    return table


def _check_names(what: str, known: Mapping[str, object], saved: Saved) -> None:
    """Refuse the snapshot of a script that has other statements, or other inputs."""
    found = {name for name, _ in saved.part(what).members()}
    if found != known.keys():
        names = ", ".join(sorted(found ^ known.keys()))[:80]
        raise SnapshotError(
            f"this is the snapshot of another script: its {what} are not the same ({names});"
            " restore it with the script that the matcher had"
        )
