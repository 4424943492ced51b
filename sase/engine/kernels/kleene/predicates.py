"""What is seldom decided and learnt of a series, as kernels that those of runs call by address.

They are large: who makes a machine puts in where they are, and has those compiled that it needs.
"""

from __future__ import annotations

import math

import numpy as np

from sase.engine.kernels.expressions import operations as do
from sase.engine.kernels.expressions.program import evaluate_tuple
from sase.engine.kernels.expressions.slow_paths import real_of, side_of
from sase.engine.kernels.jit.compiler import by_address, kernel, linked, tuple_at
from sase.engine.kernels.jit.linking import store_at
from sase.engine.kernels.jit.signatures import Ints, OutIntRows, OutInts
from sase.engine.kernels.kleene.run_nodes import (
    CHANGES,
    CHECKS,
    COUNT,
    DEVIATION,
    EVENT,
    EVENT_AT,
    EVENT_BEFORE,
    FILLS,
    HEAD,
    JUDGED,
    KNOWN_EVENT,
    LACKS,
    LEAST,
    LENGTH,
    LEVEL,
    LOOPS,
    LOW_BITS,
    LOW_MASK,
    MOST,
    NUMBERS,
    PREVIOUS,
    ROOT,
    SPREAD,
    SUM,
    PredicateArrays,
    entry,
)
from sase.engine.kernels.sentinels import NOTHING


@kernel
def store_predicates(address: int, judge: PredicateArrays) -> None:
    """Put what is read where `learn` and `decide` find it."""
    store_at(address, judge)


predicates_at = tuple_at(PredicateArrays)

# ---------------------------------------------------------------- learning


@kernel
def learn(address: int, number: int, cells: OutIntRows, node: int, place: int) -> None:
    """Let a new node know of its own event, by a change that takes more than its number."""
    judge = predicates_at(address)
    row, words = judge.tables[judge.tables[0, CHANGES] + number], cells[node]
    kind, word, column, called = row[0], HEAD + row[1], row[2], row[4]
    if kind == LACKS:
        words[word] |= judge.lacking[column, judge.columns.types[place]]
        return
    tag = int(judge.columns.tags[column, place])
    if tag == do.NULL:
        return
    value = tag, int(judge.columns.cells[column, place])
    if kind == NUMBERS:
        words[word] += 1
    elif kind == SUM:
        add(words, word, value, real_of(called, value))
    elif kind == SPREAD:
        spread(words, word, real_of(called, value))
    else:
        known = int(words[word]), int(words[word + 1])
        if known[0] == do.NULL or is_better(judge, row, known, value):
            words[word], words[word + 1] = value


@linked
def is_better(judge: PredicateArrays, change: Ints, known: do.Value, value: do.Value) -> bool:
    """Whether a value is less, or greater, than the one known; texts go by the table."""
    kind, table, address = change[0], change[3], change[4]
    if table != NOTHING:
        tables = judge.columns.tables
        known = known[0], int(tables[table, known[1]])
        value = value[0], int(tables[table, value[1]])
    return side_of(address, value, known) == (-1 if kind == LEAST else 1)


@linked
def add(words: OutInts, word: int, value: do.Value, real: float) -> None:
    """Add to a sum: how many, high and low bits of integers, whether all are, and as floats."""
    words[word] += 1
    if words[word] > 1:
        real = float(np.int64(words[word + 4]).view(np.float64)) + real
    words[word + 4] = int(np.float64(real).view(np.int64))
    if value[0] == do.INTEGER:
        words[word + 1] += value[1] >> LOW_BITS
        words[word + 2] += value[1] & LOW_MASK
    else:
        words[word + 3] = 1


@linked
def spread(words: OutInts, word: int, value: float) -> None:
    """Welford's recurrence: how many, the mean, and the squares of the distances from it."""
    words[word] += 1
    mean = float(np.int64(words[word + 1]).view(np.float64))
    squares = float(np.int64(words[word + 2]).view(np.float64))
    delta = value - mean
    mean += delta / float(words[word])
    squares += delta * (value - mean)
    words[word + 1] = int(np.float64(mean).view(np.int64))
    words[word + 2] = int(np.float64(squares).view(np.int64))


# ---------------------------------------------------------------- values


@linked
def value_of(words: OutInts, word: int, kind: int) -> do.Value:
    """What a node knows, as a value."""
    if kind in (COUNT, NUMBERS, LACKS):
        return do.INTEGER, int(words[word])
    if kind in (LEAST, MOST):
        return int(words[word]), int(words[word + 1])
    count = words[word]
    if kind == DEVIATION:
        if count < 2:
            return do.NOTHING
        squares = float(np.int64(words[word + 2]).view(np.float64))
        return do.real(math.sqrt(squares / float(count - 1)) if squares == squares else squares)
    if count == 0:
        return do.NOTHING
    if words[word + 3] == 1:
        total = float(np.int64(words[word + 4]).view(np.float64))
        return do.real(total if kind == SUM else total / float(count))
    high = words[word + 1] + (words[word + 2] >> LOW_BITS)
    if not -do.HALF_WORD <= high < do.HALF_WORD:
        return do.NOTHING
    whole = int((high << LOW_BITS) | (words[word + 2] & LOW_MASK))
    return (do.INTEGER, whole) if kind == SUM else do.real(float(whole) / float(count))


@linked
def fill(judge: PredicateArrays, cells: OutIntRows, condition: int, judged: int) -> None:
    """Put what a program reads where it reads it; NOTHING for an event that there is not."""
    rows, cursors, mask = judge.rows, judge.cursors, judge.mask
    newest = cells[cursors[0], EVENT]
    rows[0] = (newest if cursors[0] != ROOT else max(judged, 0)) & mask
    check = judge.tables[judge.tables[0, CHECKS] + condition]
    for number in range(check[3], check[4]):
        row = judge.tables[judge.tables[0, FILLS] + number]
        source, loop, word, kind, place = row[0], row[1], row[2], row[3], row[4]
        node = cursors[loop]
        if source >= EVENT_BEFORE and source != JUDGED:
            before = cells[node, PREVIOUS]
            node = before if cells[before, LEVEL] == cells[node, LEVEL] else ROOT
        if source == KNOWN_EVENT:
            event = cells[node, HEAD + word]
        elif source == JUDGED:
            event = judged
        elif source in (EVENT_AT, EVENT_BEFORE):
            event = cells[node, EVENT] if node != ROOT else NOTHING
        else:
            rows[place], rows[place + 1] = value_of(cells[node], HEAD + word, kind)
            continue
        rows[place] = NOTHING if event == NOTHING else event & mask


# ---------------------------------------------------------------- deciding


@kernel
def decide(address: int, cells: OutIntRows, condition: int, node: int, judged: int) -> bool:
    """Whether a condition holds, for every choice of an event of each series it ranges over."""
    judge = predicates_at(address)
    cursors, check = judge.cursors, judge.tables[judge.tables[0, CHECKS] + condition]
    start, begin, end = check[0], check[1], check[2]
    cursors[0] = node
    for loop in range(begin, end):
        cursors[1 + loop - begin] = last_of(judge, cells, loop, node)
        if cursors[1 + loop - begin] == NOTHING:
            return True
    while True:
        fill(judge, cells, condition, judged)
        if not evaluate_tuple(judge.program, start, judge.columns, judge.rows, judge.stack, None):
            return False
        loop = begin
        while loop < end:
            at = loop - begin + 1
            cursors[at] = within(judge, cells, loop, cells[cursors[at], PREVIOUS])
            if cursors[at] != NOTHING:
                break
            cursors[at] = last_of(judge, cells, loop, node)
            loop += 1
        if loop == end:
            return True


@linked
def last_of(judge: PredicateArrays, cells: OutIntRows, loop: int, node: int) -> int:
    """The last node over which a loop ranges, at or before a node."""
    level = entry(judge, LOOPS, loop, 0)
    while cells[node, LEVEL] > level:
        node = cells[node, PREVIOUS]
    return within(judge, cells, loop, node)


@linked
def within(judge: PredicateArrays, cells: OutIntRows, loop: int, node: int) -> int:
    """The node, if the loop ranges over it."""
    is_exempt = entry(judge, LOOPS, loop, 1) == 1 and cells[node, LENGTH] == 1
    inside = cells[node, LEVEL] == entry(judge, LOOPS, loop, 0)
    return int(node) if inside and not is_exempt else NOTHING


decide_at, learn_at = by_address(decide), by_address(learn)
