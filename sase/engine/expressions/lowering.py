"""Compile bound conditions and values to programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sase.base.limits import heed
from sase.base.time_zones import changes
from sase.binding.bound import (
    Aggregate,
    All,
    Any,
    Between,
    Comparison,
    Condition,
    ConditionValue,
    Constant,
    EventValues,
    Expression,
    Like,
    MatchConfidence,
    Membership,
    NullTest,
    Operation,
    Placeholder,
    Predicate,
    Reference,
    Truth,
)
from sase.binding.conditions.parts import references
from sase.binding.types import BOOLEAN as BOOLEAN_TYPE
from sase.binding.types import INTEGER as INTEGER_TYPE
from sase.binding.values.functions import FUNCTIONS, part_number
from sase.cached_property import cached_property
from sase.engine.expressions.layout import (
    LoweringError,
    Need,
    ProgramLayout,
    columns_needed,
    constant,
    is_text,
    is_time,
    literal,
)
from sase.engine.expressions.strings import BY_RANK, RANK, Table
from sase.engine.kernels.expressions.functions import LOCAL
from sase.engine.kernels.expressions.operations import EXACT, INTEGER, Op
from sase.engine.kernels.expressions.program import (
    ADDRESS,
    ARGUMENTS,
    RAISED_AT,
    RAISED_WORDS,
    WORD,
    Program,
    Stack,
)
from sase.engine.kernels.expressions.slow_paths import Called, address_for, called
from sase.engine.kernels.jit.signatures import frozen

ACCEPTED = {"<": 0b001, "=": 0b010, "<=": 0b011, ">": 0b100, "!=": 0b101, ">=": 0b110}
ARITHMETIC = {
    "+": Op.ADD, "-": Op.SUBTRACT, "*": Op.MULTIPLY, "/": Op.DIVIDE, "%": Op.REMAINDER,
}  # fmt: skip
TIME_ARITHMETIC = {"+": Op.TIME_ADD, "-": Op.TIME_SUBTRACT}


@dataclass(frozen=True, eq=False)
class Lowered:
    """A program's code, the columns that it reads, and the stack depth that it needs.

    The code has a `Called` in place of each address. `arithmetic` are the operations that may
    overflow int64, by their place in the code.
    """

    code: NDArray[np.int64]
    columns: tuple[Need, ...]
    depth: int
    arithmetic: Mapping[int, Operation]

    @cached_property
    def program(self) -> Program:
        """The program with addresses, which compiles the called kernels on demand."""
        code = self.code.copy()
        for what in map(Called, set(self.code[:, ADDRESS].tolist())):
            code[self.code[:, ADDRESS] == what, ADDRESS] = address_for(what)
        return Program(frozen(code))


def make_stack(depth: int, aggregates: int = 0) -> Stack:
    """A stack of a depth, with overflow notes for some user-defined aggregates."""
    notes = np.zeros(RAISED_AT + RAISED_WORDS * aggregates, np.int64)
    return Stack(np.zeros((depth, 2), np.int64), notes)


def lower(term: Condition | Expression, layout: ProgramLayout) -> Lowered:
    """Compile a condition, or a value, which stays on the stack."""
    writer = _Assembler(layout)
    writer.term(term)
    return writer.finished(columns_needed([term]))


def lower_counted(
    groups: Sequence[Sequence[Condition]], layout: ProgramLayout
) -> tuple[Lowered, list[int]]:
    """Compile groups of conjuncts to one program; a false conjunct ends at its own END."""
    writer, starts, number = _Assembler(layout), [], 0
    for group in groups:
        starts.append(len(writer.code))
        writer.numbered(group, number)
        number += len(group)
    return writer.finished(columns_needed(each for group in groups for each in group)), starts


def lower_terms(
    terms: Sequence[tuple[Condition | Expression, ProgramLayout]],
) -> tuple[Lowered, list[int]]:
    """Compile conditions and values with their own layouts to one program; return the starts."""
    if not terms:
        return _nothing(), []
    writer, starts = _Assembler(terms[0][1]), []
    for term, layout in terms:
        writer.layout, writer.height = layout, 0
        starts.append(len(writer.code))
        writer.term(term)
        writer.write(Op.END)
    return writer.finished(columns_needed(term for term, _ in terms)), starts


@cache
def _nothing() -> Lowered:
    """The empty program, which most plans use."""
    return _Assembler(ProgramLayout({})).finished(())


def _number_of(option: Expression) -> Expression:
    """An option as kernels take it: the number of a part of a time."""
    if isinstance(option, Constant) and isinstance(option.value, str):
        return Constant(INTEGER_TYPE, part_number(option.value))
    return option


def _level(value: Expression) -> int:
    """The most functions, one of the other, that made a text."""
    if not isinstance(value, Operation):
        return 0
    function = FUNCTIONS.get(value.name)
    levels = max((_level(each) for each in value.operands), default=0)
    return levels + (function is not None and function.makes_text)


@dataclass
class _Assembler:
    """Assembles code; jumps and the bounds of lists are patched once known."""

    layout: ProgramLayout
    code: list[list[int]] = field(default_factory=list)
    lists: list[tuple[int, int, list[list[int]]]] = field(default_factory=list)
    arithmetic: dict[int, Operation] = field(default_factory=dict)
    height: int = 0
    depth: int = 1

    def finished(self, columns: tuple[Need, ...]) -> Lowered:
        """The program, with lists after the code."""
        self.write(Op.END)
        for place, argument, rows in self.lists:
            self.code[place][argument] = len(self.code)
            self.code += rows
            if argument < ARGUMENTS:
                self.code[place][argument + 1] = len(self.code)
        width = 1 + ADDRESS
        table = np.array([row + [0] * (width - len(row)) for row in self.code], np.int64)
        return Lowered(table, columns, self.depth, self.arithmetic)

    def write(
        self, operation: Op, *arguments: int, taken: int = 0, put: int = 0, mixes: bool = False
    ) -> int:
        """Append an operation that pops `taken` and pushes `put` values; return its place."""
        padding = [0] * (ARGUMENTS - len(arguments))
        calls = called(operation, mixes=mixes)
        self.code.append([int(operation), *map(int, arguments), *padding, int(calls)])
        self.height += put - taken
        self.depth = max(self.depth, self.height)
        return len(self.code) - 1

    def jumps_here(self, places: list[int]) -> None:
        """Patch jumps to the next operation."""
        for place in places:
            self.code[place][1] = len(self.code)

    def term(self, term: Condition | Expression) -> None:
        """Compile a condition or a value."""
        if isinstance(term, Predicate):
            self.condition(term)
        else:
            self.value(term)

    # ------------------------------------------------------------ conditions

    def condition(self, condition: Condition) -> None:
        """Compile a condition."""
        heed()
        if isinstance(condition, All | Any):
            leave = Op.JUMP_IF_FALSE if isinstance(condition, All) else Op.JUMP_IF_TRUE
            jumps = []
            for operand in condition.operands:
                self.condition(operand)
                jumps.append(self.write(leave))
            self.jumps_here(jumps)
        else:
            undeclared = {r: None for r in references(condition) if self.layout.lacks(r)}
            jumps = [self.undeclared(reference) for reference in undeclared]
            self.atom(condition)
            self.jumps_here(jumps)

    def numbered(self, conditions: Sequence[Condition], first: int) -> None:
        """Compile a conjunction; the first false condition leads to an END of its own."""
        *others, last = conditions
        leaves = []
        for condition in others:
            self.condition(condition)
            leaves.append(self.write(Op.JUMP_IF_FALSE))
        self.condition(last)
        self.write(Op.END, first + len(leaves))
        for number, leave in enumerate(leaves, first):
            self.jumps_here([leave])
            self.write(Op.END, number)

    def undeclared(self, reference: Reference | Aggregate) -> int:
        """Rule 1: an attribute that the event's type does not declare makes the atom true."""
        layout = self.layout
        if isinstance(reference, Aggregate):
            return self.write(Op.LACKING, 0, layout.flag(reference))
        codes = [layout.type_codes.get(name) for name in sorted(reference.undeclared_by or ())]
        if (reference.component, reference.attribute) in layout.lacking:
            codes.extend(layout.unlisted)
        most = max([*layout.unlisted, *layout.type_codes.values()])
        words = [[0] for _ in range(most // WORD + 1)]
        for code in codes:
            if code is not None:
                words[code // WORD][0] |= 1 << code % WORD
        place = self.write(Op.UNDECLARED, 0, layout.row(reference))
        self.lists.append((place, 3, words))
        return place

    def atom(self, condition: Condition) -> None:
        """Compile an atom with declared attributes."""
        match condition:
            case Truth(value=value):
                self.write(Op.TRUTH, value)
            case Comparison(operator=operator, left=left, right=right):
                ranked = operator not in ("=", "!=") and is_text(left, right)
                self.values((left, right), ranked)
                mixes = self.layout.may_mix(left, right)
                self.write(Op.COMPARE, ACCEPTED[operator], taken=2, mixes=mixes)
            case Between(operand=operand, low=low, high=high, negated=negated):
                self.values((operand, low, high), is_text(operand, low, high))
                mixes = self.layout.may_mix(operand, low, high)
                self.write(Op.BETWEEN, not negated, taken=3, mixes=mixes)
            case Membership():
                self.membership(condition)
            case Like():
                self.like(condition)
            case NullTest(operand=operand, negated=negated):
                self.value(operand)
                self.write(Op.IS_NULL, not negated, taken=1)

    def membership(self, condition: Membership) -> None:
        """Compile IN; the constants are a sorted list after the code."""
        self.value(condition.operand)
        mixes = self.layout.may_mix(condition.operand, *condition.values)
        place = self.write(Op.IN, not condition.negated, taken=1, mixes=mixes)
        known = [c for c in condition.values if literal(c) is not None and isinstance(c, Constant)]
        if not is_text(*known):
            known.sort(key=lambda each: each.value)  # type: ignore[arg-type, return-value]
        rows = [list(constant(each, self.layout.interner)) for each in known]
        if is_text(*known):
            rows.sort()  # by code
        self.lists.append((place, 2, rows))

    def like(self, condition: Like) -> None:
        """Compile LIKE: a table has the result for each text."""
        self.value(condition.operand)
        pattern = literal(condition.pattern)
        if isinstance(pattern, str):
            self.look_up(Table("like", (pattern,)))
            self.write(Op.HOLDS, not condition.negated, taken=1)
        else:
            self.write(Op.CONSTANT, put=1)  # NULL
            self.write(Op.COMPARE, ACCEPTED["="], taken=2)

    # ------------------------------------------------------------ values

    def values(self, operands: tuple[Expression, ...], ranked: bool) -> None:
        """Compile several values, texts as ranks if `ranked`."""
        for operand in operands:
            self.value(operand)
            if ranked:
                self.look_up(RANK)

    def value(self, value: Expression) -> None:
        """Compile a value."""
        match value:
            case Constant():
                self.write(Op.CONSTANT, *constant(value, self.layout.interner), put=1)
            case Reference():
                self.reference(value)
            case Operation():
                self.operation(value)
            case ConditionValue():
                self.condition_value(value)
            case Placeholder():
                literal(value)
            case EventValues():  # results take them from the events
                self.write(Op.CONSTANT, put=1)  # NULL
            case MatchConfidence():
                self.write(Op.VALUE, self.layout.confidence(), put=1)
            case Aggregate():
                event = self.layout.single(value)
                if event is None:
                    self.write(Op.VALUE, self.layout.value(value), put=1)
                else:
                    self.reference(event)

    def reference(self, reference: Reference) -> None:
        """Compile an attribute of an event; NULL if no type declares it."""
        place = self.layout.places.get((reference.component, reference.attribute))
        if place is not None:
            may_lack = self.layout.may_lack_event(reference)
            cell = Op.CELL_IF_ANY if may_lack else Op.CELL
            self.write(cell, self.layout.row(reference), place, put=1)
        elif reference.undeclared_by:
            self.write(Op.CONSTANT, put=1)
        else:
            raise LoweringError(f"there is no column for `{reference.attribute}`")

    def operation(self, operation: Operation) -> None:
        """Compile an operator."""
        name, operands = operation.name, operation.operands
        if name in ARITHMETIC:
            self.values(operands, ranked=False)
            table = TIME_ARITHMETIC if is_time(*operands) else ARITHMETIC
            self.calculate(table[name], operation, taken=2)
        elif name == "neg":
            self.negative(operation)
        else:
            self.function(operation)

    def function(self, call: Operation) -> None:
        """Compile a function by the table of functions."""
        function, operands = FUNCTIONS[call.name], call.operands
        if function.operation is None:
            self.function_of_text(call)
        elif function.is_of_zone:
            self.in_zone(call)
        elif function.is_conditional:
            self.case(operands)
        elif function.is_choice:
            self.choice(Op[function.operation], operands)
        elif call.name == "abs":
            self.value(operands[0])
            self.calculate(Op.TIME_ABSOLUTE if is_time(*operands) else Op.ABSOLUTE, call)
        else:
            values, options = function.values_of(operands), function.options_of(operands)
            self.values((*values, *map(_number_of, options)), ranked=False)
            constants = [each.default for each in function.options[len(options) :]]
            constants += [] if function.constant is None else [function.constant]
            for each in constants:
                self.write(Op.CONSTANT, INTEGER, each, put=1)
            self.calculate(Op[function.operation], call, len(operands) + len(constants))

    def function_of_text(self, call: Operation) -> None:
        """Compile a function of one text and literals: a table has the result for each text."""
        function, operands = FUNCTIONS[call.name], call.operands
        known = (Constant, Placeholder)
        own = next((p for p, each in enumerate(operands) if not isinstance(each, known)), 0)
        literals = {
            place: literal(each)
            for place, each in enumerate(operands)
            if place != own and isinstance(each, known)
        }
        if not function.skips_null and None in literals.values():
            self.write(Op.CONSTANT, put=1)  # NULL
            return
        kept = {place: each for place, each in literals.items() if each is not None}
        before = sum(place < own for place in kept)
        self.value(operands[own])
        level = _level(operands[own]) if function.makes_text else None
        self.look_up(Table(call.name, tuple(kept.values()), before, level))
        if function.skips_null:
            without = Constant(call.type, function.value(*kept.values()))
            self.write(Op.CONSTANT, *constant(without, self.layout.interner), put=1)
            self.write(Op.COALESCE, taken=2, put=1)

    def negative(self, operation: Operation) -> None:
        """Compile unary minus: zero minus an interval, or the product with −1, which keeps -0.0."""
        if is_time(operation):
            self.write(Op.CONSTANT, EXACT, 0, put=1)
            self.value(operation.operands[0])
            self.calculate(Op.TIME_SUBTRACT, operation, taken=2)
        else:
            self.value(operation.operands[0])
            self.write(Op.CONSTANT, INTEGER, -1, put=1)
            self.calculate(Op.MULTIPLY, operation, taken=2)

    def calculate(self, operator: Op, operation: Operation, taken: int = 1) -> None:
        """Compile arithmetic; an overflow is noted with an event that it reads."""
        row = self.layout.row_of_arithmetic(operation)
        mixes = self.layout.may_mix(operation, *operation.operands)
        place = self.write(operator, 0, row, taken=taken, put=1, mixes=mixes)
        self.arithmetic[place] = operation

    def choice(self, operator: Op, operands: tuple[Expression, ...]) -> None:
        """Compile the choice of a value, two at a time; texts are compared by rank."""
        ranked = operator is not Op.COALESCE and is_text(*operands)
        self.values(operands[:1], ranked)
        for operand in operands[1:]:
            self.values((operand,), ranked)
            self.write(operator, taken=2, put=1, mixes=self.layout.may_mix(*operands))
        if ranked:
            self.look_up(BY_RANK)

    def in_zone(self, call: Operation) -> None:
        """Compile the time that clocks of a zone show, or the begin of a part of it."""
        *unit, zone, value = call.operands
        known = [
            literal(each) for each in (*unit, zone) if isinstance(each, Constant | Placeholder)
        ]
        if None in known:
            self.write(Op.CONSTANT, put=1)  # NULL
            return
        self.value(value)
        part = part_number(str(known[0])) if unit else LOCAL
        place = self.write(Op.IN_ZONE, part, taken=1, put=1)
        self.lists.append((place, 2, [list(each) for each in changes(str(known[-1]))]))
        self.arithmetic[place] = call

    def condition_value(self, value: ConditionValue) -> None:
        """Compile the truth of a condition as a value."""
        truths = (Constant(BOOLEAN_TYPE, each) for each in (True, False))
        self.case((value, *truths))

    def case(self, operands: Sequence[Expression]) -> None:
        """Compile the choice by conditions: only the chosen value is computed."""
        *pairs, otherwise = operands
        ends = []
        for condition, value in zip(pairs[::2], pairs[1::2], strict=True):
            if isinstance(condition, ConditionValue):
                self.condition(condition.condition)
            else:
                assert isinstance(condition, Constant)
                self.write(Op.TRUTH, condition.value is True)
            skip = self.write(Op.JUMP_IF_FALSE)
            self.value(value)
            self.write(Op.TRUTH, True)
            ends.append(self.write(Op.JUMP_IF_TRUE))
            self.height -= 1  # of these values one is on the stack in the end
            self.jumps_here([skip])
        self.value(otherwise)
        self.jumps_here(ends)

    def look_up(self, table: Table) -> None:
        """Replace a code by its entry in a table."""
        self.write(Op.LOOKUP, self.layout.interner.table(table), taken=1, put=1)
