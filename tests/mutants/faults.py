"""One-line faults, each of which the suite must notice."""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """The change and its place: the text is once in the file."""

    name: str
    path: str
    right: str
    wrong: str
    # The tests to run: the parts of the suite for the engine, for series alone, or for tasks on
    # Spark.
    suite: str = "engine"


STACKS, WALK = "sase/engine/kernels/scan/stacks.py", "sase/engine/kernels/scan/construction.py"
NEGATIVES, CHECKS = (
    "sase/engine/kernels/scan/negation_index.py",
    "sase/engine/kernels/expressions/checks.py",
)
CHAINS, TIGHT, IN_GAPS = (
    "sase/engine/kernels/scan/chains.py",
    "sase/engine/kernels/scan/tight_index.py",
    "sase/engine/kernels/groups/negative_sequences.py",
)
RUNTIME, MULTI = (
    "sase/engine/kernels/baselines/nfa_stack.py",
    "sase/engine/kernels/baselines/multi_stacks.py",
)
WINDOW, OPERATORS = "sase/engine/kernels/sentinels.py", "sase/engine/operators"
PHYSICAL_RUNS = "sase/planning/physical/run_algorithm.py"
JOINS = "sase/engine/kernels/scan/joins.py"
KLEENE, CONFIDENCE = "sase/engine/kernels/kleene", "sase/engine/kernels/confidence"
VALUE_CODES = "sase/engine/columns/decode/value_codes.py"
STRETCHES, STRETCH_GROUPS = f"{KLEENE}/stretches.py", f"{KLEENE}/stretch_groups.py"
EXCLUSION = "sase/planning/reasoning/value_ranges.py"
FILES = "sase/engine/sources/formats/base.py"
LINE_SCAN, LINES = f"{KLEENE}/line_scan.py", f"{KLEENE}/lines.py"
SETS, GROUPS = "sase/engine/kernels/sets", "sase/engine/kernels/groups"
RUNS = "sase/engine/kernels/runs"
EDGES, BINDING, STEP = f"{RUNS}/graph.py", f"{RUNS}/binding.py", f"{RUNS}/step.py"
ADVANCE, WRITTEN, LEADING = (
    f"{RUNS}/advance.py",
    f"{RUNS}/matches.py",
    f"{RUNS}/matches.py",
)
SET_LINES, DETECTION_ORDER = f"{SETS}/lines.py", f"{SETS}/detection_order.py"
LINE_STORE, FILTERS = f"{KLEENE}/line_store.py", f"{KLEENE}/early_filters.py"
REREADING = "sase/engine/kernels/baselines/rereading.py"
VERSIONED = "sase/engine/kernels/baselines/versioned_buffer.py"
HISTORIES = f"{RUNS}/history_counts.py"
CANDIDATES = f"{KLEENE}/candidates.py"
PREDICATES, USER = f"{KLEENE}/predicates.py", f"{KLEENE}/user_aggregates.py"
SPARK, APART, LIMIT = "sase/spark", "sase/spark/non_overlap.py", "sase/spark/tasks/limit.py"
RESULT_ORDER, TASK = f"{SPARK}/tasks/result_order.py", f"{SPARK}/tasks/task.py"
SEARCH = f"{SPARK}/tasks/search.py"
FUSED_SCAN, SCAN_KERNEL = (
    "sase/engine/pipeline/fused/scan.py",
    "sase/engine/kernels/scan/fused_scan.py",
)

ROWS = "sase/engine/kernels/scan/batch_scan.py"
SHARED = f"{KLEENE}/shared_lines.py"
UNION_ORDER, UNION = "sase/engine/kernels/scan/result_order.py", f"{OPERATORS}/branches/union.py"
DETECTION = "sase/planning/branches.py"
LAYOUT = "sase/engine/snapshots/layout.py"
MATCH_WINDOWS, SET_CHECKS = (
    "sase/engine/kernels/scan/match_windows.py",
    "sase/binding/pattern/sets.py",
)

SCRIPTS = "sase/engine/scripts"
PATTERN = "sase/planning/automaton"
GRAPH, PASSES = "sase/engine/match_graph", "sase/engine/kernels/match_graph/passes.py"
MERGE = f"{SCRIPTS}/stream_merge.py"

FAULTS = [
    Fault("window-too-short", WINDOW, "return measure - span\n", "return measure - span + 1\n"),
    Fault("window-too-long", f"{OPERATORS}/contract.py", "- (not window.inclusive)", "+ 0"),
    Fault(
        "tie-taken",
        STACKS,
        "if may_tie and is_of_tie(stacks, level, top):\n        top",
        "if False:\n        top",
    ),
    Fault(
        "tie-taken-basic",
        RUNTIME,
        "stack.tie[place] != stack.tie[walk.choice[level + 1] & mask]",
        "True",
    ),
    Fault("tight-tie-taken", CHAINS, "step[TIE] < tie and is", "step[TIE] <= tie and is"),
    Fault("tight-uncut", CHAINS, "        step[BEFORE] = EARLIEST\n", "        pass\n"),
    Fault("tight-cut-simultaneous", CHAINS, "step[CUT] < tie:", "step[CUT] <= tie:"),
    Fault("chains-from-anywhere", CHAINS, "if not chains.steps[step, BEGINS]:", "if step > 0:"),
    Fault("chains-not-cut", CHAINS, "            known[key, step, CUT] = tie\n", ""),
    Fault("chains-by-tie-at-start", STACKS, "start if level > 0 else start_measure", "start"),
    Fault("tight-from-before", TIGHT, "place] >= earliest and", "place] >= earliest - 1 and"),
    Fault("tight-out-of-window", TIGHT, "and starts[START_MEASURE, place] >= bound", ""),
    Fault("tight-position-lost", CHAINS, "(tie == other and measure > other_measure)", "False"),
    Fault("gap-from-before", IN_GAPS, "index.tie[at & mask] <= low", "index.tie[at & mask] < low"),
    Fault("gap-kept-from", IN_GAPS, "tie[found & mask] > low", "tie[found & mask] >= low"),
    Fault("gap-disagreeing", IN_GAPS, "(code != known or code == NOTHING)", "False"),
    Fault("ties-overlooked", STACKS, "    return tied\n", "    return False\n"),
    Fault("tie-of-before", STACKS, "max(stacks.ends[BEFORE_TIE, level], s", "max(0, s"),
    Fault("tie-forgotten", STACKS, "i > 0 else ends[LAST_TIE, 0]", "i > 0 else ties[i] - 1"),
    Fault("link-one-too-far", STACKS, "min(number - past, APART)", "min(number - past + 1, APART)"),
    Fault("evicted-early", STACKS, "REACH] < bound", "REACH] <= bound + 1"),
    Fault("evicted-last-level-kept", STACKS, "    tails[last] =", "    _ ="),
    Fault(
        "resume-forgets-level",
        WALK,
        "walk.at[0], walk.at[1] = number, level",
        "walk.at[0], walk.at[1] = number, FRESH",
    ),
    Fault(
        "resume-skips-final",
        WALK,
        "number, level, until = walk.at[0], walk.at[1], walk.levels",
        "number, level, until = walk.at[0] + 0 * walk.at[1], FRESH, walk.levels",
    ),
    Fault("reach-ignored", WALK, "or cell[REACH] < bound", "or cell[REACH] > bound + 1000000"),
    Fault("floor-off-by-one", WALK, "ends = cell[TIE] < cells", "ends = cell[TIE] <= cells"),
    Fault(
        "start-before-window",
        WALK,
        "cells[0, place, FLOOR] < bound",
        "cells[0, place, FLOOR] <= bound",
    ),
    Fault(
        "absence-tied",
        STACKS,
        "place = EARLIER if known[LAST] == tie else LAST",
        "place = LAST",
    ),
    Fault("null-agrees", CHECKS, "        if code == NOTHING:\n            return test\n", ""),
    Fault(
        "undeclared-disagrees",
        CHECKS,
        "            if found != UNDECLARED:\n                if found",
        "            if True:\n                if found",
    ),
    Fault(
        "null-key-kept",
        "sase/engine/blocks/key_dictionary.py",
        "known = reduce(np.logical_and, masks) if masks else None",
        "known = None",
    ),
    Fault(
        "kinds-of-keys-alike",
        "sase/engine/blocks/key_dictionary.py",
        "if has_exact_numbers(vector) and vector.tag == self._tags[place]:",
        "if has_exact_numbers(vector):",
    ),
    Fault(
        "rows-of-other-types-kept",
        "sase/engine/pipeline/pipeline.py",
        "self.at.events - self.state.evicted",
        "self.at.numbers - self.state.evicted",
    ),
    Fault(
        "undeclared-aggregate-of-a-kind",
        "sase/planning/reasoning/late_types.py",
        "case bound.Reference() | bound.Aggregate() if value.type",
        "case bound.Reference() if value.type",
    ),
    Fault(
        "order-of-unsaid-texts",
        "sase/planning/reasoning/late_types.py",
        'if operator not in ("=", "!="):',
        "if False:",
    ),
    Fault(
        "user-aggregate-of-null",
        PREDICATES,
        "if tags[tables[row, 0], place] == do.NULL:",
        "if tags[tables[row, 0], place] == do.NULL and row == first:",
    ),
    Fault(
        "user-aggregate-goes-on",
        USER,
        "        if words[at] == RAISED:\n            return False\n",
        "",
    ),
    Fault("user-aggregate-of-nothing", PREDICATES, "if words[word] != KNOWN:", "if False:"),
    Fault(
        "negative-null-forbids", NEGATIVES, "(found != code or code == NOTHING)", "found != code"
    ),
    Fault("negative-at-the-edge", NEGATIVES, "at & mask] >= bound\n", "at & mask] > bound\n"),
    Fault(
        "negative-tied",
        NEGATIVES,
        "stored.tie[after] + 1",
        "stored.tie[after]",
    ),
    Fault(
        "negative-jump",
        NEGATIVES,
        "far = jump >= tail and by[jump & mask] >= limit",
        "far = jump >= tail",
    ),
    Fault(
        "negative-dropped-early",
        NEGATIVES,
        "measure[index.sizes[1] & mask] < bound",
        "measure[index.sizes[1] & mask] <= bound + 1",
    ),
    Fault(
        "released-early",
        f"{OPERATORS}/timer_queue.py",
        'side = "left" if inclusive else "right"',
        'side = "right"',
    ),
    Fault(
        "release-order",
        f"{OPERATORS}/timer_queue.py",
        'order = np.argsort(np.concatenate(due), kind="stable")',
        'order = np.argsort(-np.concatenate(due), kind="stable")',
    ),
    Fault(
        "detected-wraps",
        f"{OPERATORS}/bindings/detection.py",
        "np.where(first > LATEST - size, LATEST, first + size)",
        "first + size",
    ),
    Fault(
        "codes-recycled-early",
        "sase/engine/kernels/scan/key_hash.py",
        "if used < horizon:",
        "if used <= horizon + 3:",
    ),
    Fault(
        "ring-not-moved",
        "sase/engine/columns/arrays.py",
        "if found is not rings or room > old_room:",
        "if found is not rings:",
    ),
    Fault(
        "last-code-unused",
        "sase/engine/blocks/key_dictionary.py",
        "not len(used) or used[-1] != NOTHING",
        "True",
    ),
    Fault(
        "another-key-taken",
        "sase/engine/kernels/scan/key_hash.py",
        "code <= mask and is_key(rows, place, table, code)",
        "code <= mask",
    ),
    Fault(
        "codes-cut-early",
        "sase/engine/kernels/scan/key_hash.py",
        "old.entries[count - 1, USED] < horizon:",
        "old.entries[count - 1, USED] <= horizon + 3:",
    ),
    Fault(
        "intersection-skipped",
        MULTI,
        "        if found:\n            return True\n",
        "        return True\n",
    ),
    Fault(
        "ranks-of-relevant-only",
        "sase/engine/blocks/builder.py",
        "block.ranks == NOTHING] &=",
        "block.ranks == -5] &=",
    ),
    Fault(
        "whole-path-takes-pieces",
        "sase/engine/pipeline/pipeline.py",
        "if self.loaded_path is not None and self.loaded_path.needs_all:",
        "if False:",
    ),
    Fault(
        "ties-across-pushes",
        "sase/engine/pipeline/pipeline.py",
        "self.at.ties -= follows",
        "self.at.ties -= 0",
    ),
    Fault(
        "rows-of-one-time-tie",
        "sase/engine/columns/loader.py",
        "self.schema.is_ordered_by_row or ",
        "",
    ),
    Fault(
        "rows-tie-across-pushes",
        "sase/engine/pipeline/pipeline.py",
        "follows = ties and self._order_key",
        "follows = self._order_key",
    ),
    Fault(
        "limit-per-block",
        f"{OPERATORS}/transformation.py",
        "self._left -= sequences.shape[1]",
        "pass",
    ),
    Fault(
        "store-too-small",
        "sase/engine/blocks/event_buffer.py",
        "needed = self.next + count - self.first",
        "needed = count",
    ),
    Fault(
        "value-not-checked",
        f"{OPERATORS}/sequence_scan.py",
        "[*node.values, *keys, *above.equivalences]",
        "[*node.values]",
    ),
    Fault(
        "late-by-the-batch",
        "sase/engine/pipeline/reorder_buffer.py",
        "np.maximum.accumulate(np.append(LEAST, ts[:-1]))",
        "np.full(len(ts), LEAST)",
    ),
    Fault(
        "released-at-the-floor",
        "sase/engine/pipeline/reorder_buffer.py",
        '"left" if self._has_ranks else "right"',
        '"right"',
    ),
    Fault(
        "sequence-ignored-between-pushes",
        "sase/engine/pipeline/reorder_buffer.py",
        "(seq < self._lowest)",
        "(seq < LEAST)",
    ),
    Fault(
        "time-waits-with-rows",
        "sase/engine/pipeline/pipeline.py",
        "if self.reorder_buffer.floor > state.watermark and",
        "if False and",
    ),
    Fault(
        "snapshot-without-ranks",
        LAYOUT,
        "if self.path is None or self.in_place:",
        "if self.path is None or self.in_place or name == 'counts':",
    ),
    Fault("size-unbound", LAYOUT, "setdefault(name, value)", "setdefault(name, None)"),
    Fault("bounds-unchecked", LAYOUT, "low=sizes.of(low), high=sizes.of(high), dtype", "dtype"),
    Fault("another-shape-restored", LAYOUT, "now.shape[n] if s", "None if s"),
    Fault("members-of-no-plan", LAYOUT, "saved.check(saved.is_none,", "saved.check(True,"),
    Fault("fused-range-too-long", SCAN_KERNEL, "code > most + 1", "code > most + 2"),
    Fault("fused-without-the-rest", SCAN_KERNEL, "range(done, size)", "range(done, done)"),
    Fault("first-before-the-floor", WALK, "cell[TIE] < floor:", "cell[TIE] < EARLIEST:"),
    Fault("bar-of-the-wrong-side", LINES, "return min(bar, pass", "return max(bar, pass"),
    Fault("bar-without-the-window", LINE_SCAN, "is_passing | int(room", "is_passing | int(-room"),
    Fault("bar-after-the-window", WINDOW, "return first + span", "return first + span + 1"),
    Fault("bar-of-lines-too-high", LINES, "LATEST - int(", "LATEST - 0 * int("),
    Fault(
        "bar-inside-too-high", LINES, "store.BAR] = known_bar(lines, key, bar)", "store.BAR] = bar"
    ),
    Fault(
        "least-value-unseen", LINE_SCAN, "max(room[VALUE + place], NONE + 1)", "room[VALUE + place]"
    ),
    Fault("bar-above-equals", LINES, "== store.ABOVE and EARLIEST", "!= store.ABOVE and EARLIEST"),
    Fault(
        "ranks-not-taken-back", LINE_SCAN, "unread(rules, lines, at,", "unread(rules, lines, count,"
    ),
    Fault("bar-where-lines-leave", LINES, "== NEXT_MATCH and rules.acc", "!= 9 and rules.acc"),
    Fault("line-in-its-old-place", LINES, "elif not stays:", "elif ahead != event.key - 9:"),
    Fault(
        "rank-counted-again",
        LINE_SCAN,
        "return why\n            apply_column",
        "lines.keys[key + store.RANK] += 1\n"
        "                    return why\n            apply_column",
    ),
    Fault("touching-orders-apart", EXCLUSION, "return 0 in left", "return 0b010 in left"),
    Fault("undeclared-proves", "sase/planning/reasoning/run_forms.py", "== frozenset()", "!= 0"),
    Fault(
        "stretch-over-a-gap",
        STRETCHES,
        "is_left = keys[key + SEEN] + 1 != rank",
        "is_left = keys[key + SEEN] < 0",
    ),
    Fault(
        "third-value-unseen",
        STRETCHES,
        "if column < stream.compared.shape[0]:",
        "if column < min(stream.compared.shape[0], 2):",
    ),
    Fault(
        "third-value-not-kept", STRETCHES, "if column < columns:", "if column < min(columns, 2):"
    ),
    Fault("stretch-of-simultaneous-events", STRETCHES, "moves &= 1 << BEGIN", "moves &= moves"),
    Fault("stretch-too-short", STRETCH_GROUPS, "if size >= rules.least[last]:", "if size > 0:"),
    Fault("stretch-left-too-early", STRETCH_GROUPS, "int(size >= rules.least[level])", "1"),
    Fault("stretch-too-long", STRETCH_GROUPS, "if size >= rules.most[last]:", "if False:"),
    Fault("stretch-stays-too-long", STRETCH_GROUPS, "int(size < rules.most[level])", "1"),
    Fault("fresh-stretch-too-old", STRETCH_GROUPS, "if is_left or start < bound:", "if is_left:"),
    Fault(
        "fresh-stretch-stays", STRETCH_GROUPS, "keys[key + FRESH], 0\n", "keys[key + FRESH], 1\n"
    ),
    Fault("oldest-of-a-group-stay", STRETCHES, "keys[group + START] < bound\n", "False\n"),
    Fault(
        "groups-joined-by-level-alone", STRETCH_GROUPS, "((begin + runs) ^ (event.rank - 1)) |", ""
    ),
    Fault(
        "groups-joined-at-other-begins",
        STRETCH_GROUPS,
        "is_alike = is_alike and cells[youngest + BEGINS + place] == begin",
        "is_alike = is_alike",
    ),
    Fault(
        "older-runs-begin-together", STRETCH_GROUPS, "(older if level < rules.sliding else 0)", "0"
    ),
    Fault("no-room-for-the-walk", STRETCH_GROUPS, "(runs + 1) * length", "runs * length"),
    Fault(
        "younger-group-begins-too-early",
        STRETCH_GROUPS,
        "groups[group + BEGINS + level] += runs - kept",
        "pass",
    ),
    Fault("zero-below-zero", LINES, "bits = 0 if bits == EARLIEST else bits", "pass"),
    Fault("negative-floats-rising", LINES, "((bits >> 63) & LATEST)", "0"),
    Fault("line-left-in-its-place", LINES, "            if stays:\n", "            if False:\n"),
    Fault(
        "enough-and-one-more",
        LINES,
        "cells[line + store.SIZE] >= enough",
        "cells[line + store.SIZE] > enough",
    ),
    Fault(
        "full-series-waits-for-none",
        STEP,
        "is_full = not can_grow(graph, members, cells, node, state)",
        "is_full = row[of.SERIES] == 0",
    ),
    Fault(
        "every-series-waits",
        STEP,
        "is_full = not can_grow(graph, members, cells, node, state)",
        "is_full = True",
    ),
    Fault("full-line-waits-for-none", LINES, "inside and may_take(rules, size)\n", "inside\n"),
    Fault("end-of-runs-forgotten", STEP, "runs.taken[key] = order", "pass"),
    Fault(
        "end-of-walks-forgotten",
        f"{KLEENE}/walk_back.py",
        "taken[key] = incoming.ties[i]",
        "pass",
    ),
    Fault("runs-end-but-those-of-now", STEP, "while runs.heads[key] != NOTHING:", "while False:"),
    Fault("ended-and-remembered", CANDIDATES, "cell[BEGINS] = cell[TAKES] = 0", "pass"),
    Fault(
        "by-time-untested",
        f"{OPERATORS}/negative_sequences.py",
        "if test not in keyed]",
        "if False]",
    ),
    Fault(
        "pruned-before-having",
        PHYSICAL_RUNS,
        "top.having is not None or ",
        "",
    ),
    Fault(
        "pruned-before-absence",
        PHYSICAL_RUNS,
        " or top.input is not self.runs",
        "",
    ),
    Fault("told-runs-ended", ADVANCE, "runs.cells[node, nodes.FIRST] <= number or", "True or"),
    Fault("told-too-far", CANDIDATES, "if cell[ORDER] <= order:", "if True:"),
    Fault(
        "told-walk-ended",
        CANDIDATES,
        "state[DEPTH], state[WAYS] = depth,",
        "state[DEPTH], state[WAYS] = 0,",
    ),
    Fault("end-of-lines-forgotten", LINE_STORE, "keys[key + TAKEN] = event.tie", "pass"),
    Fault("line-of-another-event", LINE_STORE, " and lines.homes[line] == event", "", "series"),
    Fault("told-lines-ended", LINE_SCAN, "if begin <= lasts[i] or", "if True or", "series"),
    Fault("told-lines-go-on", LINE_SCAN, "if begin <= lasts[i] or", "if False and", "series"),
    Fault(
        "discarded-where-it-holds",
        FILTERS,
        "if not holds_with_earlier(",
        "if holds_with_earlier(",
        "series",
    ),
    Fault(
        "discarded-from-afar",
        FILTERS,
        "    return True\n\n\n@linked\ndef holds_with(",
        "    return False\n\n\n@linked\ndef holds_with(",
        "series",
    ),
    Fault("first-event-goes-on", FILTERS, "further >= least - 1", "further >= least", "series"),
    Fault(
        "put-off-behind-its-event",
        REREADING,
        "push(search, node, place - 1, stop)",
        "push(search, node, place, stop)",
        "series",
    ),
    Fault(
        "first-found-is-first",
        REREADING,
        "if comes_before(cells, node, before):",
        "if False:",
        "series",
    ),
    Fault(
        "read-to-before-the-end",
        REREADING,
        "min(stop, search.state[ENDS] + 1) if",
        "min(stop, search.state[ENDS]) if",
        "series",
    ),
    Fault(
        "begun-within-the-first",
        REREADING,
        "incoming.ties[i] <= runs.taken[incoming.keys[i]]",
        "False",
    ),
    Fault(
        "own-version-alone",
        VERSIONED,
        "pointer[VERSION + 1 + level] <= version",
        "pointer[VERSION + 1 + level] == version",
        "series",
    ),
    Fault("any-version", VERSIONED, "if pointer[place] != version[place]:", "if False:", "series"),
    Fault(
        "version-left-as-it-was",
        VERSIONED,
        "VERSION + 1 + cells[before, nodes.LEVEL]] += 1",
        "VERSION + 1 + cells[before, nodes.LEVEL]] += 0",
        "series",
    ),
    Fault(
        "version-of-the-one-left",
        VERSIONED,
        "+= versions[before, LEFT]",
        "+= 0",
        "series",
    ),
    Fault("history-at-the-bound", HISTORIES, "if start < bound:", "if start <= bound:", "series"),
    Fault(
        "histories-of-one-alone",
        HISTORIES,
        "two_at, two = two, two + 1",
        "two_at, two = NOTHING, two + 1",
        "series",
    ),
    Fault(
        "history-before-the-window",
        HISTORIES,
        "if rows[middle, START] >= bound:",
        "if rows[middle, START] >= bound - 1:",
        "series",
    ),
    Fault(
        "count-without-another-digit",
        HISTORIES,
        "row[rows.shape[1] - 1] >= SMALL",
        "row[rows.shape[1] - 1] >= DIGIT",
        "series",
    ),
    Fault("all-inside", LINE_SCAN, " and lines.keys[key + store.OUTSIDE] == 0", ""),
    Fault("all-at-other-times", LINE_SCAN, " and stream.ties.shape[0] == 0", ""),
    Fault("lines-not-compared", LINES, "asks == store.NO_QUESTION:", "asks < store.PROGRAMS:"),
    Fault("lines-not-bound", LINES, "asks > store.NO_QUESTION:", "asks > store.COMPARISONS:"),
    Fault("met-not-renewed", LINES, "and rules.renews == 1", "and rules.renews == 2"),
    Fault("series-too-short", LINES, ">= rules.least", ">= rules.least - 1"),
    Fault("fused-code-too-large", SCAN_KERNEL, "beyond |= excess(key, least, bits)", "beyond |= 0"),
    Fault("fused-ties-apart", SCAN_KERNEL, "tie + ties[begin + room[PLACE, place]]", "tie + place"),
    Fault(
        "fused-out-early",
        SCAN_KERNEL,
        "evicted(stacks, bound_before(reading, sought, begin))",
        "evicted(stacks, bound_before(reading, sought, begin + length))",
    ),
    Fault("fused-past-the-room", SCAN_KERNEL, "written == out.shape[1]", "False"),
    Fault("rows-window-too-short", ROWS, "measures[row] < start", "measures[row] <= start"),
    Fault("rows-reach-of-the-last", ROWS, "level > 1 and before >= window.low:", "level > 2:"),
    Fault("rows-all-sure", ROWS, "first_in(cells, last, low, behind)", "low"),
    Fault(
        "lines-wait-again",
        SHARED,
        "rip, heads[stack - 1] = waiting, 0",
        "rip, heads[stack - 1] = waiting, waiting + 1",
    ),
    Fault(
        "rows-ties-apart", ROWS, "ties[row] != ties[begin + room[PLACE, begun]]", "begun < events"
    ),
    Fault("rows-tie-forbids", ROWS, "absences.gaps[each] == 0 else group", "True else group"),
    Fault(
        "rows-start-in-window",
        ROWS,
        "absences.floors[choice & mask] - 1",
        "absences.floors[choice & mask] - 2",
    ),
    Fault(
        "rows-walk-past-absence",
        ROWS,
        "choice < max(window.low, floor_above(stacks, absences, level))",
        "choice < window.low",
    ),
    Fault("rows-of-a-group-left", ROWS, "        length -= 1\n", "        return length\n"),
    Fault(
        "fused-and-forgotten", FUSED_SCAN, " if found.written < out.shape[1] else", " if True else"
    ),
    Fault(
        "fused-without-fitting",
        FUSED_SCAN,
        "if not self._fit_codes(events, arrays, begin):",
        "if True:",
    ),
    Fault(
        "fused-start-forgotten", FUSED_SCAN, "self._note(events, passed, done, admitted)", "pass"
    ),
    Fault(
        "group-forgotten-between-pieces",
        LIMIT,
        "has_several |= self.has_several or not _equal(self.last, last)",
        "has_several |= False",
        "spark",
    ),
    Fault(
        "nothing-looked-for-behind",
        LIMIT,
        "= self._group.has_several or self._is_tied()",
        "= False",
        "spark",
    ),
    Fault("looked-on-once", LIMIT, "= bool(of_group.all()) and not len(shows)", "= False", "spark"),
    Fault("tied-before-only", LIMIT, "in (last - 1, last + 1)", "in (last - 1,)", "spark"),
    Fault(
        "first-of-each-not-in-front",
        RESULT_ORDER,
        "HEAD].T, follows]",
        "HEAD].T, follows * 0]",
        "spark",
    ),
    Fault(
        "cut-within-a-group",
        LIMIT,
        "group.forbids_cut(following)).all()",
        "group.forbids_cut(following)).all() and False",
        "spark",
    ),
    Fault("equal-earlier-events", SEARCH, "or within is not None", "", "spark"),
    Fault(
        "less-recent-first",
        RESULT_ORDER,
        "        ~each\n",
        "        each\n",
        "spark",
    ),
    Fault(
        "ends-after-all",
        RESULT_ORDER,
        "NO_EVENT = -(2**63)",
        "NO_EVENT = 2**62",
        "spark",
    ),
    Fault("undecided-taken-apart", APART, "is_equal & ~is_new)", "is_equal & is_new)", "spark"),
    Fault("end-forgotten-between-batches", APART, "taken[0] = ended", "pass", "spark"),
    Fault(
        "end-of-the-first-taken",
        APART,
        "np.flatnonzero(keep)[-1], 2:]",
        "np.flatnonzero(keep)[0], 2:]",
        "spark",
    ),
    Fault(
        "partition-goes-on",
        APART,
        "self.last is not None and not is_new[0]",
        "self.last is not None",
        "spark",
    ),
    Fault(
        "partitions-run-together",
        RESULT_ORDER,
        'f"{len(each)}:{each}"',
        "each",
        "spark",
    ),
    Fault(
        "decimals-apart",
        RESULT_ORDER,
        "int() | float() | Decimal():",
        "int() | float():",
        "spark",
    ),
    Fault(
        "dismissed-by-the-first",
        f"{KLEENE}/early_filters.py",
        "return not all_hold(early, walk, last, OF_ONE)",
        "return not all_hold(early, walk, last, OF_EACH)",
    ),
    Fault(
        "candidates-cut",
        f"{KLEENE}/early_filters.py",
        "walk.cells[before & mask, of.MEASURE] < bound",
        "walk.cells[before & mask, of.MEASURE] <= bound",
    ),
    Fault(
        "safe-by-one",
        f"{KLEENE}/early_filters.py",
        "level, condition, kind == OF_ONE):",
        "level, condition, True):",
    ),
    Fault(
        "null-is-no-rise",
        "sase/planning/reasoning/value_ranges.py",
        "return Any((_with(condition, event), NullTest(event, negated=False)))",
        "return _with(condition, event)",
    ),
    Fault("owned-too-early", TASK, "times >= low", "times > low", "spark"),
    Fault("owned-too-late", TASK, "times <= high", "times <= high + 1", "spark"),
    Fault(
        "join-of-ties", JOINS, "linked & mask, LAST_TIE] < tie:", "linked & mask, LAST_TIE] <= tie:"
    ),
    Fault(
        "join-out-of-window",
        JOINS,
        "            if earlier[FIRST] < bound:\n",
        "            if False:\n",
    ),
    Fault(
        "join-across-absence",
        JOINS,
        "earlier[LAST_TIE] < later[FLOOR]",
        "earlier[LAST_TIE] < EARLIEST",
    ),
    Fault(
        "join-of-forbidden-start",
        JOINS,
        "earlier[FLOOR] < max(bound",
        "earlier[FLOOR] <= max(bound",
    ),
    Fault(
        "join-for-a-tied-final",
        JOINS,
        "LAST_TIE] > later[LAST_TIE]",
        "LAST_TIE] > later[LAST_TIE] + 1",
    ),
    Fault(
        "join-resumes-at-the-same",
        JOINS,
        "            at[AT] = earlier[BELOW]\n            if earlier",
        "            at[AT] -= 1\n            if earlier",
    ),
    Fault("sequences-as-joined", f"{OPERATORS}/join_tree.py", "rows[:, in_order(rows)]", "rows"),
    Fault("waiting-records-lost", f"{OPERATORS}/join_tree.py", "count - values.waiting]", "count]"),
    Fault(
        "iteration-remembers-the-last",
        BINDING,
        "cells[node, word] = cells[nodes.ROOT, word]",
        "cells[node, word] = cells[before, word]",
        "groups",
    ),
    Fault(
        "iteration-of-another-size",
        WRITTEN,
        "listed.sizes[last] = cells[node, groups.at + of.SIZE]",
        "listed.sizes[last] = cells[node, nodes.LENGTH]",
        "groups",
    ),
    Fault(
        "iterations-without-least",
        EDGES,
        "if count < edge[AT_LEAST] or",
        "if",
        "groups",
    ),
    Fault(
        "leaving-a-group-stands-in-the-way",
        STEP,
        "is_next = is_full and not (leaves and repeats)",
        "is_next = is_full",
        "groups",
    ),
    Fault(
        "passing-over-stands-in-the-way",
        STEP,
        "waits == of.ALWAYS or (",
        "waits == of.ALWAYS or edge[of.BEGINS] == 1 or (",
        "groups",
    ),
    Fault(
        "a-set-is-left-before-it-is-whole",
        EDGES,
        "return bool((cells[node, members.at + LACKS] & own[MEMBERS]) == 0)",
        "return True",
        "groups",
    ),
    Fault(
        "a-member-stands-not-in-the-way",
        EDGES,
        "return bool((cells[node, members.at + OPEN] & own[MEMBERS]) != 0)",
        "return False",
        "groups",
    ),
    Fault(
        "gaps-by-level-beside-a-set",
        "sase/engine/operators/kleene/series_negation.py",
        "matches = *self._check.arguments(bindings), bindings.events",
        "matches = *self._check.arguments(bindings), bindings.by_level().events",
        "groups",
    ),
    Fault(
        "same-match-twice",
        WRITTEN,
        "while place > 0 and cells[runs.fresh[place - 1], at] == cells[node, at]:",
        "while False:",
        "groups",
    ),
    Fault(
        "longer-iterations-first",
        STEP,
        "cells[one, at + of.SIZE] < cells[other, at + of.SIZE]",
        "cells[one, at + of.SIZE] > cells[other, at + of.SIZE]",
        "groups",
    ),
    Fault(
        "first-iteration-is-asked",
        PREDICATES,
        "cells[node, row[COUNT_AT]] > row[EXEMPT]",
        "cells[node, row[COUNT_AT]] > 0",
        "groups",
    ),
    Fault(
        "absence-of-another-iteration",
        f"{GROUPS}/iteration_checks.py",
        "given[given.shape[0] - 1] = iterations.lasts[each]",
        "given[given.shape[0] - 1] = node",
        "groups",
    ),
    Fault(
        "to-pass-over-a-group-stands-in-the-way",
        f"{PATTERN}/build.py",
        "_outer(_past(path, At.LEAVE, own.group), element + 1)",
        "_outer(replace(_past(path, At.LEAVE, own.group), waits=path.waits), element + 1)",
        "groups",
    ),
    Fault(
        "sifted-within-the-window",
        SCAN_KERNEL,
        "(before >= window_start",
        "(before > window_start",
    ),
    Fault(
        "sifted-by-the-first-level",
        SCAN_KERNEL,
        "heads[key, level * HEAD + LATEST_START] = measure\n",
        "pass\n",
    ),
    Fault(
        "pairs-end-at-the-first",
        WALK,
        "            second = below(cell, second)\n",
        "            second = -1\n",
    ),
    Fault(
        "choices-in-the-wrong-order",
        f"{OPERATORS}/branches/scan.py",
        "behind *= len(shared.choices[level])",
        "behind *= 1",
    ),
    Fault(
        "branches-merged-too-far",
        f"{OPERATORS}/branches/merge.py",
        "min(ends.values())",
        "max(ends.values())",
    ),
    Fault(
        "longer-branch-first",
        UNION_ORDER,
        "return 1 if left >= first else -1",
        "return -1 if left >= first else 1",
    ),
    Fault(
        "branch-of-earlier-events-first",
        UNION_ORDER,
        "matches.events[left] > matches",
        "matches.events[left] < matches",
    ),
    Fault("the-same-of-two-branches", UNION_ORDER, "order[place]) != 0", "order[place]) != 2"),
    Fault(
        "neighbour-left-too-soon",
        "sase/engine/kernels/scan/neighbours.py",
        "until = ends[left]\n",
        "until = ends[left] - 1\n",
    ),
    Fault(
        "rare-keys-passed-over",
        "sase/engine/kernels/scan/neighbours.py",
        "for place in range(at, min(at + STRETCH, until)):",
        "for place in range(at + 1, min(at + STRETCH, until)):",
    ),
    Fault(
        "narrowed-without-what-follows",
        "sase/engine/pipeline/fused/neighbours.py",
        "level == len(plan.positives) - 1 and not is_ended",
        "level == len(plan.positives) - 1",
    ),
    Fault(
        "member-not-awaited",
        BINDING,
        "check[0] > 0\n            and (members.awaited[condition]",
        "check[0] > 0\n            and (0 * members.awaited[condition]",
        "sets",
    ),
    Fault(
        "simultaneous-events-of-a-series",
        BINDING,
        "not (is_further and has_simultaneous(cells, node, edge[of.TARGET]))",
        "True",
        "sets",
    ),
    Fault("behind-a-set-at-once", BINDING, "edge[of.INSIDE] == 1 and not", "not", "sets"),
    Fault("stays-though-it-moved", STEP, "own = state[nodes.FRESH] > fresh", "own = False", "sets"),
    Fault(
        "by-level-and-not-by-rank",
        STEP,
        "return bool(rank < than)",
        "return bool(rank > than)",
        "sets",
    ),
    Fault(
        "shown-before-it-ends",
        WRITTEN,
        "if ended is not None and may_go_on(graph, groups, members, cells, node):",
        "if False:",
        "sets",
    ),
    Fault(
        "a-row-moves-at-once",
        SET_LINES,
        "rows[row, TIE] != tie)",
        "rows[row, TIE] >= 0)",
        "sets",
    ),
    Fault(
        "moved-rows-behind-others",
        SET_LINES,
        "own[HEAD] = first_kept if moved == NOTHING else first_moved",
        "own[HEAD] = first_moved if kept == NOTHING else first_kept",
        "sets",
    ),
    Fault(
        "least-recent-first",
        DETECTION_ORDER,
        "return bool(events[at] > events[to])",
        "return bool(events[at] < events[to])",
        "sets",
    ),
    Fault(
        "first-of-a-member-not-awaited",
        SET_CHECKS,
        "in (When.EVENT, When.FIRST)",
        "in (When.EVENT,)",
        "sets",
    ),
    Fault(
        "members-of-other-sets",
        SET_CHECKS,
        "None is not each.set_of == last.set_of",
        "each.set_of is not None",
        "sets",
    ),
    Fault(
        "whole-member-asked-early",
        SET_CHECKS,
        "(whole[-1] if whole else last)",
        "last",
        "sets",
    ),
    Fault(
        "as-known-as-others",
        f"{OPERATORS}/bindings/detection.py",
        "is_told = plan.postponed is not None or bindings.detected is not None",
        "is_told = plan.postponed is not None",
        "sets",
    ),
    Fault(
        "told-before-others-may-come",
        UNION,
        "held = (detected >= watermark.ts) | (measures >= passed)",
        "held = detected >= watermark.ts",
        "unions",
    ),
    Fault("never-the-same-match", DETECTION, "return own >= {", "return set() > {", "sets"),
    Fault(
        "waits-as-one",
        DETECTION,
        "always = is_end or waiting is Waiting.ALL",
        "always = True",
        "sets",
    ),
    Fault(
        "none-alive-that-began-at-minus-one",
        f"{OPERATORS}/sets/run_sinks.py",
        "now if oldest == NOTHING",
        "now if measure == NOTHING",
        "sets",
    ),
    Fault("window-of-any-first", MATCH_WINDOWS, "if not state & first:", "if False:", "windows"),
    Fault(
        "last-of-a-window-lost",
        MATCH_WINDOWS,
        "ends, key) > until:",
        "ends, key) >= until:",
        "windows",
    ),
    Fault(
        "edge-of-a-window-lost",
        MATCH_WINDOWS,
        "inside[row] = measure <=",
        "inside[row] = measure <",
        "windows",
    ),
    Fault(
        "nothing-behind-a-block",
        MATCH_WINDOWS,
        "elif size < fewest and behind > until:",
        "elif size < fewest:",
        "windows",
    ),
    Fault(
        "one-event-for-two-steps",
        MATCH_WINDOWS,
        "place[0] + 1, measure, steps, ends, key)",
        "place[0] + 1, EARLIEST, steps, ends, key)",
        "windows",
    ),
    Fault(
        "a-block-is-the-end",
        f"{OPERATORS}/match_window.py",
        "if self.end is not None and block.end >= self.end:",
        "if True:",
        "windows",
    ),
    Fault(
        "absences-left-out",
        f"{OPERATORS}/match_window.py",
        "np.where(inside, states, states & ~self._positive)",
        "np.where(inside, states, 0)",
        "windows",
    ),
    Fault(
        "a-window-forgotten-behind-its-block",
        f"{OPERATORS}/match_window.py",
        "if size > len(self._latest):\n",
        "if True:\n            self._latest = self._latest[:0]\n",
        "windows",
    ),
    Fault(
        "keys-of-some",
        "sase/planning/rewrites/prune_by_match_windows.py",
        "if t.value is None and t.is_declared_by(source.components))",
        "if t.value is None)",
        "windows",
    ),
    Fault(
        "the-first-may-not-be-empty",
        "sase/planning/plan/match_windows.py",
        "if any(components[level].minimum > 0 for level in element):",
        "if element:",
        "windows",
    ),
    Fault(
        "what-may-be-empty-is-waited-for",
        "sase/planning/plan/match_windows.py",
        "level in element if components[level].minimum > 0)",
        "level in element)",
        "windows",
    ),
    # ------------------------------------------------------------ scripts
    Fault(
        "merge-releases-early",
        MERGE,
        "limit == END or (rank <= first and",
        "limit == END or (True and",
        "scripts",
    ),
    Fault(
        "merge-breaks-ties", MERGE, "later[0] = first != self.last", "later[0] = True", "scripts"
    ),
    Fault(
        "merge-forgets-numbers", MERGE, "self._next = int(numbers[-1])", "self._next = 0", "scripts"
    ),
    Fault(
        "floor-too-high",
        f"{SCRIPTS}/statement.py",
        "else pipeline.state.watermark",
        "else pipeline.state.watermark + 1",
        "scripts",
    ),
    Fault(
        "composite-first",
        "sase/binding/script/streams.py",
        "key=lambda each: each.is_composite",
        "key=lambda each: not each.is_composite",
        "scripts",
    ),
    Fault(
        "finished-is-fed",
        f"{SCRIPTS}/pipeline.py",
        "            if statement.is_over:\n",
        "            if False:\n",
        "scripts",
    ),
    Fault(
        "range-ends-early",
        f"{SCRIPTS}/admission.py",
        "bisect_right(self.cuts, asked.high) - 1",
        "bisect_right(self.cuts, asked.high) - 2",
        "scripts",
    ),
    Fault(
        "range-without-its-bound",
        f"{SCRIPTS}/asking.py",
        "above=is_low != included",
        "above=is_low or included",
        "scripts",
    ),
    Fault(
        "added-knows-no-time",
        f"{SCRIPTS}/pipeline.py",
        "Fed((), self._floor(name))",
        "Fed()",
        "scripts",
    ),
    Fault(
        "codes-of-a-table-are-recycled-too-soon",
        "sase/engine/pipeline/fused/scan.py",
        "numbers = places + at.events",
        "numbers = places",
        "scripts",
    ),
    Fault(
        "events-without-a-key-are-scanned",
        "sase/engine/pipeline/fused/scan.py",
        "if codes.min() < 0:",
        "if False:",
        "scripts",
    ),
    Fault(
        "events-are-fused-though-that-is-off",
        "sase/planning/physical/drive.py",
        "return cls.of(request) if request.plan.options.fused else NOT_FUSED",
        "return cls.of(request)",
        "scripts",
    ),
    Fault(
        "codes-of-two-values-are-one",
        VALUE_CODES,
        "tail[given] = np.arange(whole, len(self))",
        "tail[given] = np.arange(whole, len(self)) // 2 * 2",
    ),
    Fault(
        "codes-of-keys-are-cut-elsewhere",
        "sase/engine/columns/events.py",
        "codes = None if self.codes is None else self.codes[cut]",
        "codes = self.codes",
    ),
    Fault(
        "whatever-comes-last-is-told-to-all",
        f"{SCRIPTS}/joint_matching.py",
        "found &= test.truth(vectors, block.types)",
        "test.truth(vectors, block.types)",
        "scripts",
    ),
    Fault(
        "last-events-that-another-asks-for-are-not-dealt-out",
        f"{SCRIPTS}/joint_matching.py",
        "asked = frozenset(some for one in each for some in one.asked or ())",
        "asked = frozenset(each[0].asked or ())",
        "scripts",
    ),
    Fault(
        "columns-of-who-is-added-are-not-read",
        f"{SCRIPTS}/pipeline.py",
        "if is_new or not {*plan.attributes} <= {*pipeline.plan.attributes}:",
        "if is_new:",
        "scripts",
    ),
    Fault(
        "added-is-told-what-was-before",
        f"{SCRIPTS}/joint_matching.py",
        "results.first >= position",
        "results.last >= position",
        "scripts",
    ),
    Fault(
        "who-was-there-is-told-what-is-new",
        f"{SCRIPTS}/joint_matching.py",
        "                told = kept\n",
        "                told = kept = kept.where(_beginning_at(views[-1].added.position))\n",
        "scripts",
    ),
    Fault(
        "attributes-keep-their-order",
        "sase/engine/blocks/event_buffer.py",
        "order = [known.index(name) for name in self.attributes]",
        "order = [*range(len(known))]",
        "scripts",
    ),
    Fault(
        "new-types-are-not-looked-for",
        "sase/engine/pipeline/warnings.py",
        "self.unseen = self._types - (other._types - other.unseen)",
        "self.unseen = {*other.unseen}",
        "scripts",
    ),
    # ------------------------------------------------------------ imprecise time
    Fault(
        "start-of-intervals-too-late",
        f"{CONFIDENCE}/placed_negatives.py",
        "return window_start(last, span), latest",
        "return window_start(last, span) + 1, latest",
    ),
    Fault(
        "simultaneous-events-forbid-in-order",
        "sase/engine/operators/imprecise/joint_sweep.py",
        "if is_inside and hits == self.events[reached]",
        "if is_inside and hits & self.events[reached]",
    ),
    Fault(
        "absence-between-intervals-too-late",
        f"{CONFIDENCE}/placed_negatives.py",
        "lower = times.lo[cells[cells[at, PREVIOUS], EVENT] & mask] + 1",
        "lower = times.lo[cells[cells[at, PREVIOUS], EVENT] & mask] + 2",
    ),
    Fault(
        "simultaneous-is-sure",
        f"{CONFIDENCE}/candidate_orders.py",
        "before < own and until < behind",
        "before <= own and until < behind",
    ),
    Fault(
        "threshold-of-walks-too-high",
        f"{CONFIDENCE}/interval_walk.py",
        "likely.least - EXACT",
        "likely.least + 0.05",
    ),
    Fault(
        "orders-of-a-sequence-are-the-same",
        f"{OPERATORS}/bindings/bindings.py",
        "np.lexsort((self.known_states, self.matches))",
        "np.lexsort((self.known_states, self.events, self.matches))",
    ),
    # ------------------------------------------------------------ groups that do not overlap
    Fault(
        "leading-runs-have-begun-too-early",
        LEADING,
        "if is_behind and cells[seen[NODE], nodes.START] >= cells[node, nodes.START]:",
        "if is_behind:",
        "groups",
    ),
    Fault(
        "leading-runs-go-on-with-what-is-simultaneous",
        LEADING,
        "or cells[runs.heads[key], nodes.TIE] >= order:",
        "or cells[runs.heads[key], nodes.TIE] > order:",
        "groups",
    ),
    Fault(
        "iterations-begin-with-the-end-of-a-match",
        ADVANCE,
        "incoming.ties[i] <= runs.taken[key]",
        "incoming.ties[i] < runs.taken[key]",
        "groups",
    ),
    Fault(
        "matches-of-groups-are-taken-untold",
        PHYSICAL_RUNS,
        "is_told |= self.runs.has_absences_in_iterations",
        "pass",
        "groups",
    ),
    # ------------------------------------------------------------ compressed sets
    Fault(
        "simultaneous-places-follow-each-other",
        PASSES,
        "        if graph.events.before[place] == place:\n            for slot",
        "        if True:\n            for slot",
        "graphs",
    ),
    Fault(
        "what-is-simultaneous-is-not-held",
        PASSES,
        "needed[1, source] = graph.events.before[place]",
        "pass",
        "graphs",
    ),
    Fault(
        "simultaneous-paths-in-ranks",
        "sase/engine/kernels/match_graph/passes.py",
        "return counts.running[place - low, source] - earlier",
        "return counts.running[place - low, source]",
        "graphs",
    ),
    Fault(
        "simultaneous-paths-uncounted",
        f"{GRAPH}/totals.py",
        "counts[slot] += sum(fresh.counts[s] for s in tied[slot])",
        "pass",
        "graphs",
    ),
    Fault(
        "cuts-as-of-earlier-events",
        f"{GRAPH}/match_set.py",
        "self.slots.tied_target_masks if is_tied else self.slots.target_masks",
        "self.slots.target_masks",
        "graphs",
    ),
    Fault(
        "iterations-in-any-order",
        f"{GRAPH}/slots.py",
        "for slot in slots], _iterations(slots)",
        "for slot in slots], []",
        "graphs",
    ),
    Fault(
        "groups-left-too-soon",
        f"{PATTERN}/build.py",
        "CountRange(group.iterations.least, None)",
        "CountRange(1, None)",
        "graphs",
    ),
    Fault(
        "iterations-of-the-first-branch",
        f"{PATTERN}/build.py",
        "for branch in group.branches:",
        "for branch in group.branches[:1]:",
        "graphs",
    ),
    Fault(
        "neighbours-of-one-iteration-or-two",
        f"{GRAPH}/slots.py",
        "later.further, later.begins, is_tied)",
        "later.further, False, is_tied)",
        "graphs",
    ),
    Fault(
        "further-events-begin",
        f"{GRAPH}/graph.py",
        "entering = stream.takes if pair.further else stream.begins",
        "entering = stream.begins",
        "graphs",
    ),
    Fault(
        "absence-from-the-earlier-event-on",
        f"{OPERATORS}/groups/graph_edges.py",
        "counts[bit][behind[earlier]]",
        "counts[bit][before[earlier]]",
        "graphs",
    ),
    Fault(
        "branches-of-iterations-never-alike",
        "sase/planning/automaton/iteration_paths.py",
        "return next(orders) == next(orders)",
        "return False",
        "graphs",
    ),
    Fault(
        "aggregate-of-another-variable",
        "sase/engine/set_results/counted_union.py",
        "own = np.flatnonzero(each.levels.slots == level)",
        "own = np.flatnonzero(each.levels.slots != level)",
        "graphs",
    ),
    Fault(
        "blocks-out-of-order",
        FILES,
        "in scanner.to_batches():",
        "in reversed([*scanner.to_batches()]):",
        "sources",
    ),
    Fault("block-lost", FILES, "for batch in batches:", "for batch in [*batches][1:]:", "sources"),
]
