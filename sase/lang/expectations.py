"""Describe what may follow at a place of a query, in terms of the language."""

from __future__ import annotations

from collections.abc import Set
from itertools import chain

from sase.lang.ast import StrategyName

# In the order of a query.
CLAUSES = ("FROM", "EVENT", "WHERE", "WITHIN", "WITH", "HAVING", "RETURN", "LIMIT")
STRATEGY_WORDS = tuple(strategy.value for strategy in StrategyName)
# The keywords of each terminal, as users write them.
KEYWORDS: dict[str, tuple[str, ...]] = {
    "_CREATE": ("CREATE",), "_STREAM": ("STREAM",), "_AS": ("AS",), "_FROM": ("FROM",),
    "_EVENT": ("EVENT", "PATTERN"), "SEQ": ("SEQ",), "SET": ("SET",), "_ANY": ("ANY",),
    "_WHERE": ("WHERE",), "_WITHIN": ("WITHIN",), "_EVENTS": ("EVENTS",), "PER": ("PER",),
    "_PARTITION": ("PARTITION",), "INCLUSIVE": ("INCLUSIVE",), "_WITH": ("WITH",),
    "_CONFIDENCE": ("CONFIDENCE",), "_HAVING": ("HAVING",), "_RETURN": ("RETURN",),
    "_LIMIT": ("LIMIT",), "STRATEGY": STRATEGY_WORDS, "_AND": ("AND",), "_OR": ("OR",),
    "NOT": ("NOT",), "_IN": ("IN",), "_BETWEEN": ("BETWEEN",), "_LIKE": ("LIKE",), "_IS": ("IS",),
    "_NULL": ("NULL",), "_TRUE": ("TRUE",), "_FALSE": ("FALSE",), "TIMESTAMP": ("TIMESTAMP",),
    "DATE": ("DATE",), "INTERVAL": ("INTERVAL",),
}  # fmt: skip
SIGNS = {
    "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`", "RSQB": "`]`", "LBRACE": "`{`", "RBRACE": "`}`",
    "COMMA": "a comma", "SEMICOLON": "`;`", "COLON": "`:`", "DOT": "`.`", "EQUALS": "`=`",
    "AT_LEAST": "`>=`", "MORE_THAN": "`>`", "MINUS": "`-`", "INTEGER": "a whole number",
    "FLOAT": "a number", "STRING": "a quoted text", "__ANON_0": "`..`",
    "$END": "the end of the query",
}  # fmt: skip

_NAMES = {"NAME", "QUOTED_NAME", "TIMESTAMP", "DATE", "INTERVAL"}
_TYPE_NAMES = {"NAME", "HYPHENATED_NAME", "QUOTED_NAME", "SEQ", "SET"}
_CONSTANTS = {
    "INTEGER", "FLOAT", "STRING", "PERCENTAGE", "COLON", "MINUS", "_TRUE", "_FALSE", "_NULL",
}  # fmt: skip
_ARITHMETIC = {"PLUS", "MINUS", "STAR", "SLASH", "PERCENT"}
_COMPARISONS = {
    "COMPARISON", "EQUALS", "AT_LEAST", "MORE_THAN", "_IN", "_BETWEEN", "_LIKE", "_IS", "NOT",
}  # fmt: skip
_QUANTIFIERS = {"PLUS", "STAR", "QMARK", "LBRACE"}
_CLAUSES = {"_FROM", "_WHERE", "_WITHIN", "_WITH", "_HAVING", "_RETURN", "_LIMIT"}

# Phrases for sets of accepted terminals: the terminals that identify the phrase, those that it
# covers, and its text. The first match is used, and what it covers is not repeated.
_PHRASES: tuple[tuple[set[str], set[str], str], ...] = (
    ({"_CREATE", "_EVENT"}, {"_CREATE", "_EVENT", "_FROM", "SEMICOLON", "$END"},
     "a query, such as  EVENT SEQ(A x, B y) WITHIN 1 hour"),
    ({"HYPHENATED_NAME", "_BANG"}, _TYPE_NAMES | {"_ANY", "NOT", "_BANG", "LPAR"},
     "a component, such as  A x  or  !(B y)"),
    ({"HYPHENATED_NAME"}, _TYPE_NAMES | {"_ANY", "LPAR"}, "the name of an event type"),
    ({"STRATEGY"}, {"STRATEGY", "NOT", "LPAR", "LSQB"} | _NAMES | _CONSTANTS,
     "a condition, such as  x.price > 10  or  [tag_id] , or a strategy"),
    ({"LPAR", "NOT", "STRING"}, {"NOT", "LPAR", "LSQB"} | _NAMES | _CONSTANTS,
     "a condition or a value, such as  x.price > 10"),
    ({"LPAR", "STRING"}, {"LPAR"} | _NAMES | _CONSTANTS,
     "a value, such as  x.price  or  10  or  'text'"),
    ({"INTEGER", "STRING"}, _CONSTANTS | _NAMES, "a literal, such as  10  or  'text'"),
    ({"COLON", "INTEGER"}, _CONSTANTS, "a number"),
    ({"QMARK", "NAME"}, _QUANTIFIERS | _NAMES, "a variable or a quantifier ( + * ? {n,m} )"),
    ({"QMARK"}, _QUANTIFIERS, "a quantifier ( + * ? {n,m} )"),
    ({"_EVENTS"}, {"_EVENTS", "INCLUSIVE"} | _NAMES, "a unit of time, or EVENTS"),
    ({"COMPARISON"}, _COMPARISONS | _ARITHMETIC | {"NAME", "DOT", "LSQB", "LPAR"},
     "a comparison ( = != < <= > >= IN BETWEEN LIKE IS )"),
    ({"PLUS", "STAR"}, _ARITHMETIC | {"NAME", "DOT", "LSQB", "LPAR"}, "an operator ( + - * / % )"),
    ({"_AND"}, {"_AND", "_OR"}, "AND or OR"),
    ({"NAME"}, _NAMES, "a name"),
)  # fmt: skip


def expected(terminals: Set[str]) -> list[str]:
    """The phrases for what may follow, most specific first."""
    left, phrases = set(terminals), []
    for telling, covered, phrase in _PHRASES:
        if telling <= left:
            phrases.append(phrase)
            left -= covered
    phrases += [SIGNS[name] for name in SIGNS if name in left - {"$END", "SEMICOLON"}]
    keywords = [name for name in KEYWORDS if name in left and name not in _CLAUSES]
    phrases += chain.from_iterable(KEYWORDS[name][:1] for name in keywords)
    clauses = [name[1:] for name in KEYWORDS if name in left & _CLAUSES]
    if clauses:
        phrases.append(" or ".join(filter(None, [", ".join(clauses[:-1]), clauses[-1]])))
    phrases += [SIGNS["$END"]] * ("$END" in left)
    return phrases
