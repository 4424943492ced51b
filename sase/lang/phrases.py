"""Clauses and operators of SQL, MATCH_RECOGNIZE and pattern APIs, with their equivalents here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from lark import Token

from sase.errors import Diagnostic
from sase.lang.scene import Scene, in_pattern, open_bracket, token_span
from sase.source import Span


@dataclass(frozen=True)
class Phrase:
    """A regular expression of words, and the remedy, which may use its groups.

    It is matched at the error, at the three tokens before, and at the function whose bracket is
    open. `is_in_pattern` requires that the place is inside the brackets of a pattern.
    """

    words: str
    name: str
    hint: str
    is_in_pattern: bool = False


_LIKE = "write  x.a LIKE '%abc%' , in which  %  is any text and  _  any character"
_SEQ = "a sequence is written  SEQ(A x, B y) ; other events may lie between them"
_MATCH = 'all matches are found; for those that do not overlap ask for  output="non_overlap"'
_ROWS = "each match is one result, and  RETURN x.a, y.b  says what it shows"
_FIRST = "take the first results with  LIMIT 10"
_BEFORE = "compute it before, as a column"
_BEGINS = r"(?:(?<=event\s)|(?<=pattern\s))"
_TEXT = r"""(?:'(?P<one>[^']*)'|"(?P<two>[^"]*)")"""

PHRASES = (
    Phrase(r"(?:not\s+)?ilike\b", "ILIKE", "write  lower(x.a) LIKE 'abc%'"),
    Phrase(r"(?:not\s+)?(?:regexp|rlike|glob|matches)\b|similar\s+to\b|!?~\*?(?=\s*')",
           "regular expression", _LIKE),
    Phrase(r"(?:not\s+)?(?:contains|starts_?with|ends_?with)\b", "{here}", _LIKE),
    Phrase(r"escape(?=\s*')", "ESCAPE", r"a backslash escapes in LIKE:  x.a LIKE '10\%'"),
    Phrase(r"extract(?=\s*\()", "EXTRACT", "times have  + , -  and comparisons;"
           " compute what else is needed before, as a column"),
    Phrase(r"(?:try_)?cast(?=\s*\()|::\s*\w+", "CAST", "give the column its type in the schema, or"
           " cast it before; integers and floats are compared as they are"),
    Phrase(r"distinct\b(?!\s+from\b)", "DISTINCT",
           "each match is found once; results that are equal are dropped where they are used"),
    Phrase(r"is\s+(?:not\s+)?distinct\s+from\b", "IS DISTINCT FROM",
           "write  x.a != y.a OR x.a IS NULL OR y.a IS NULL"),
    Phrase(rf"interval\s*(?:{_TEXT}|(?P<three>\d+))(?:\s*(?P<unit>(?!within\b)[^\W\d]+))?",
           "INTERVAL", "write the number and its unit alone:  {one}{two}{three} {unit}"),
    Phrase(r"count\s*\(\s*\*\s*\)", "count(*)",
           "count the events of a series:  count(b[])  , which is  b.len"),
    Phrase(r"partition\s+by\b", "PARTITION BY",
           "that all events agree on an attribute is an equivalence test:  WHERE [id]"),
    Phrase(r"after\s+match\b|skip\s+(?:past|to)\b", "AFTER MATCH SKIP", _MATCH),
    Phrase(r"(?:one\s+row|all\s+rows)\s+per\s+match\b", "ROWS PER MATCH", _ROWS),
    Phrase(r"measures(?=\s+\w)", "MEASURES", "the columns of the result are listed at the end: "
           " RETURN x.a AS a"),
    Phrase(r"define(?=\s+\w+\s+as\b)", "DEFINE", "the conditions of all variables stand in WHERE: "
           " WHERE x.a > 1 AND y.b > x.a"),
    Phrase(r"subset(?=\s+\w+\s*=)", "SUBSET", "name each variable in the condition"),
    Phrase(r"window(?=\s+\w|\s*\()", "WINDOW", "write  WITHIN 5 minutes"),
    Phrase(r"(?:(?:left|right|inner|outer|cross|asof)\s+)*join\b", "JOIN",
           "events that belong together are components:  SEQ(A x, B y) WHERE x.id = y.id"),
    Phrase(r"(?:for\s+\w+\s+)?as\s+of\b", "AS OF",
           "compare the time of events:  WHERE x.ts <= '2024-01-31'"),
    Phrase(r"offset(?=\s+\d)", "OFFSET", _FIRST),
    Phrase(r"fetch\s+(?:first|next)\b|top(?=\s+\d)", "{here}", _FIRST),
    Phrase(r"(?:not\s+)?exists(?=\s*\()", "EXISTS",
           "what must not occur is a negated component:  SEQ(A x, !(B y), C z)"),
    Phrase(r"mod(?=\s+\w)", "MOD", "write  x.a % 2"),
    Phrase(r"xor(?=\s+\w)", "XOR", "write  (a OR b) AND NOT (a AND b)"),
    Phrase(r"\^|\*\*", "power", _BEFORE),
    Phrase(r"(?:union|intersect|except)\b(?=\s+(?:all\s+)?(?:event|select))", "{here}",
           "put a  ;  between two queries, or  OR  between two patterns"),
    Phrase(r"(?:strictly\s+)?followed\s*by(?:\s*any)?\b|then(?=\s+[^\W\d]\w*\s+\w)", "{here}",
           _SEQ),
    Phrase(r"next(?=\s+[^\W\d]\w*\s+\w)", "NEXT", "events that follow one another directly are"
           " written  SEQ(A x, B y) WHERE strict_contiguity"),
    Phrase(r"(?:permute|all)(?=\s*\()", "{here}", "in any order is  SET(A x, B y)"),
    Phrase(rf"{_BEGINS}and(?=\s*\()", "AND before a list", "in any order is  SET(A x, B y)"),
    Phrase(rf"{_BEGINS}or(?=\s*\()", "OR before a list", "alternatives are written  (A x OR B y)"),
    Phrase(r"every(?=\s+[^\W\d]\w*\s)", "EVERY",
           "leave it out: a match begins at every event that fits"),
    Phrase(r"not\s+exists\b", "NOT EXISTS", "what must not occur is written  !(B y)", True),
    Phrase(r"(?<=[+*?}])\?", "reluctant quantifier", "leave the  ?  out: a strategy says which"
           " events a match takes, such as  WHERE skip_till_next_match"),
)  # fmt: skip


def foreign_phrase(scene: Scene) -> Diagnostic | None:
    """Words of another language at the error, or shortly before if they parsed as names."""
    bracket, text = open_bracket(scene.before), scene.source.text
    is_in_pattern = bracket is not None and in_pattern(scene)
    for start in _starts(scene, bracket):
        for phrase in PHRASES:
            found = re.compile(phrase.words, re.IGNORECASE).match(text, start)
            if found is not None and phrase.is_in_pattern is is_in_pattern:
                return _diagnosed(phrase, found, scene)
    return None


def _starts(scene: Scene, bracket: Token | None) -> Iterator[int]:
    """Places where a phrase may begin: the error, tokens before, the open function."""
    yield scene.span.start
    behind = list(pairwise(["", *scene.before]))
    near = behind[-3:]
    if bracket is not None:
        place = next(n for n, token in enumerate(scene.before) if token is bracket)
        near += behind[max(place - 2, 0) : place]
    for before, token in near:
        if before not in (".", ":") and isinstance(token, Token) and token[0].isalpha():
            yield token_span(token).start


def _diagnosed(phrase: Phrase, found: re.Match[str], scene: Scene) -> Diagnostic:
    words = {name: value or "" for name, value in found.groupdict().items()}
    words["here"] = re.sub(r"\W+$", "", found[0]).upper()
    return scene.error(
        "unexpected",
        f"there is no {phrase.name.format(**words)}",
        phrase.hint.format(**words).rstrip(),
        span=Span(*found.span()),
    )
