"""Forms of other languages and APIs that have another syntax here, each with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from lark import Token

from sase.errors import Diagnostic
from sase.lang.printer import RESERVED
from sase.lang.scene import Scene, in_pattern, open_bracket, token_span
from sase.source import Span

# ---------------------------------------------------------------- phrases


@dataclass(frozen=True)
class Phrase:
    """A regular expression of words, and the remedy, which may use its groups.

    It is matched at the error, at the three tokens before, and at the function with the open
    bracket. `is_in_pattern` requires that the place is inside the brackets of a pattern.
    """

    words: str
    name: str
    hint: str
    is_in_pattern: bool = False


_LIKE = "write  x.a LIKE '%abc%' , in which  %  is any text and  _  any character"
_SEQ = "a sequence is written  SEQ(A x, B y) ; other events may lie between them"
_MATCH = 'all matches are found; for those that do not overlap ask for  output="non_overlap"'
_ROWS = "each match is one result, and RETURN x.a, y.b names its columns"
_FIRST = "take the first results with  LIMIT 10"
_BEFORE = "compute it before, as a column"
_BEGINS = r"(?:(?<=event\s)|(?<=pattern\s))"
_TEXT = r"""(?:'(?P<one>[^']*)'|"(?P<two>[^"]*)")"""

PHRASES = (
    Phrase(r"(?:not\s+)?(?:regexp|rlike|glob|matches)\b|similar\s+to\b|!?~\*?(?=\s*')",
           "regular expression", "write  regexp_matches(x.a, 'ab+')  or  x.a LIKE '%ab%'"),
    Phrase(r"(?:not\s+)?(?:contains|starts_?with|ends_?with)\b", "{here}", _LIKE),
    Phrase(r"escape(?=\s*')", "ESCAPE", r"a backslash escapes in LIKE:  x.a LIKE '10\%'"),
    Phrase(r"extract(?=\s*\()", "EXTRACT", "times have  + , -  and comparisons;"
           " compute other values before, as a column"),
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
           "an event that must not occur is a negated component:  SEQ(A x, !(B y), C z)"),
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
    Phrase(r"not\s+exists\b", "NOT EXISTS", "an event that must not occur is written  !(B y)",
           True),
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


# ---------------------------------------------------------------- habits

# Tokens before the error that a form may include.
REACH = 12


def _anywhere(_: Scene) -> bool:
    return True


def _in_condition(scene: Scene) -> bool:
    return "_AND" in scene.accepted and open_bracket(scene.before) is None


def _outside_pattern(scene: Scene) -> bool:
    return not in_pattern(scene)


def _behind_variable(scene: Scene) -> bool:
    return in_pattern(scene) and "QMARK" not in scene.accepted


def _in_component(scene: Scene) -> bool:
    """Whether a variable ends a component of EVENT, at the error or behind a quantifier."""
    is_later = {"where", "having", "return"} & {token.lower() for token in scene.before}
    is_keyword = RESERVED & {word.lower() for word in (*scene.before[-2:], scene.found)}
    rest = re.compile(r"[+*?]\s*[^\W\d]\w*\s*[\[,)]|[^\W\d]\w*\s*[,)]")
    is_whole = rest.match(scene.source.text, scene.span.start) is not None
    return is_whole and not is_later and not is_keyword


def _behind_component(scene: Scene) -> bool:
    return "_WHERE" in scene.accepted and open_bracket(scene.before) is None


def _at_type(scene: Scene) -> bool:
    return "HYPHENATED_NAME" in scene.accepted


def _behind_inner_sequence(scene: Scene) -> bool:
    return scene.accepted == {"PLUS", "STAR", "QMARK", "LBRACE"}


def _in_test(scene: Scene) -> bool:
    """Whether only more of an equivalence test may follow, and no AND."""
    return scene.found != "&" or "_AND" not in scene.accepted


def _at_name(scene: Scene) -> bool:
    """Whether a name is the only text that fits, and not an index."""
    return "NAME" in scene.accepted and "INTEGER" not in scene.accepted


def _in_script(scene: Scene) -> bool:
    return scene.entry == "script"


def _in_bare_condition(scene: Scene) -> bool:
    return scene.entry != "script"


@dataclass(frozen=True)
class Habit:
    """A form of another language: the tokens before the error, the text there, and the remedy.

    `before` is matched at the end of the tokens, joined by blanks; texts may use its named groups,
    and `here`. `back` moves the caret to an earlier token.
    """

    before: str
    here: str
    message: str
    hint: str
    where: Callable[[Scene], bool] = _anywhere
    back: int = 0

    def __call__(self, scene: Scene) -> Diagnostic | None:
        """The diagnostic, if the form occurs."""
        if not scene.found or not re.fullmatch(self.here, scene.found, re.IGNORECASE):
            return None
        tail = " ".join(scene.before[-REACH:])
        found = re.search(rf"(?:^|(?<=\s))(?:{self.before})\Z", tail, re.IGNORECASE)
        if found is None or not self.where(scene):
            return None
        words = {"here": scene.found, **found.groupdict()}
        span = token_span(scene.before[-self.back]) if self.back else None
        return scene.error(
            "unexpected", self.message.format(**words), self.hint.format(**words), span=span
        )


NAME = r"(?:[^\W\d]\w*|`[^`]+`)"
# Two words in place of a type.
BLANKS = r"(?:,|(?:seq|set|!) \() (?P<one>[^\W\d]\w*) (?P<two>(?!as\b)[^\W\d]\w*)"
STRATEGY = r"\w+_(?:contiguity|match|maximal)(?: \( [^)]* \))?"

# Tried in this order if a text does not parse.
HABITS = (
    Habit("", "select", "a query begins with EVENT, not with SELECT",
          "EVENT SEQ(A x, B y) WHERE x.id = y.id WITHIN 1 hour RETURN x.id", _in_script),
    Habit(f"event(?: {NAME})?", r".*", "this is a condition by itself, and not a query",
          "write only the condition after WHERE, such as  price > 10", _in_bare_condition),
    Habit(r".*", r"[’”]", "a text does not begin with {here}",
          "write  \'text\' , or  ‘text’  with the quotes the other way round"),
    Habit(r".*", "->", "there is no  ->  in a pattern",
          "a sequence is written  SEQ(A x, B y)", in_pattern),
    Habit(r".*", "->", "an attribute is not written with  ->", "write  x.a"),
    Habit(BLANKS, r"[+*?]", "the quantifier comes after the type, not after the variable",
          "write  {one}{here} {two}[] , or  `{one} {two}`{here}  if the type has a blank",
          _in_component),
    Habit(BLANKS, NAME,
          "a component is a type and a variable, and here are three names",
          "a type with blanks is in backquotes:  `{one} {two}` ; else a comma is missing",
          _in_component),
    Habit(f"(?P<type>\\S+) (?P<name>{NAME})", r"[+*?]",
          "the quantifier comes after the type, not after the variable",
          "write  {type}{here} {name}[]", _behind_variable),
    Habit(f"(?P<type>\\S+) (?P<name>{NAME})", r"\{",
          "the quantifier comes after the type, not after the variable",
          "write  {type}{{2,5}} {name}[]", _behind_variable),
    Habit("(?:event|pattern) (?P<first>.*)", ",", "several components stand in SEQ(…)",
          "write  EVENT SEQ({first}, …)", _behind_component),
    Habit(r"(?:event|pattern) \( [^()]*", r"[+*]", "a pattern lists types with variables in SEQ",
          "write  EVENT SEQ(A a, B+ b[]) WHERE a.v > 1"),
    Habit(r"(?:event|pattern) \( [^()]*", ",", "SEQ is missing before the bracket",
          "write  EVENT SEQ(A x, B y)"),
    Habit("(?:seq|set)", r"[^(,)]*", "the components are listed in brackets",
          "write  SEQ(A x, B y)"),
    Habit(r"\)", r".*", "a SEQ among other components has a quantifier",
          "list its components without it; a repeated part is written  SEQ(B b, C c)+ g[]",
          _behind_inner_sequence),
    Habit(f"{NAME} as", NAME, "a variable follows its event type directly",
          "leave out the AS:  A {here}", in_pattern, back=1),
    Habit(f"{STRATEGY}", r"and|or|∧|∨|&&|,", "the conditions of a strategy stand in braces",
          "write  skip_till_next_match {{ x.a > 1 AND y.b > 2 }}"),
    Habit(f"{STRATEGY}", r"(?!where|within|with|having|return|limit)[^\W\d]\w*|\[|not",
          "the conditions of a strategy stand in braces",
          "write  skip_till_next_match {{ x.a > 1 AND y.b > 2 }}"),
    Habit(r"(?<!\. )case", NAME, "CASE is followed by WHEN",
          "write  CASE WHEN x.a = 1 THEN 'one' ELSE 'other' END", _outside_pattern, back=1),
    Habit(r"case when (?:(?!end\b).)*", r";|\)|,|as|within|with|having|return|limit",
          "CASE is closed by END",
          "write  CASE WHEN x.a = 1 THEN 'one' ELSE 'other' END"),
    Habit(r"is(?: not)?", r"[^)]*", "IS tests for NULL only",
          "write  IS NULL  or  IS NOT NULL ; values are compared with  =  and  !="),
    Habit("not", "null", "a value is tested for NULL with IS", "write  x.a IS NOT NULL"),
    Habit("in", r"[^(]*", "IN is followed by a list of literals in brackets",
          "write  x.a IN (1, 2)"),
    Habit("i?like", r".*", "LIKE is followed by a pattern in quotes, or by a parameter",
          "write  x.a LIKE \'abc%\'"),
    Habit(r"limit \d+", "offset", "there is no OFFSET", "take the first results with  LIMIT 10"),
    Habit("limit", r"[^;]*", "LIMIT is followed by a whole number, or by a parameter",
          "write  LIMIT 10"),
    Habit(r"limit \d+", r"\.\d*", "LIMIT is followed by a whole number, or by a parameter",
          "write  LIMIT 10"),
    Habit("within", r"[\"']", "a window is a number with a unit, and no text",
          "write  WITHIN 20 minutes"),
    Habit("within", r"[^\W\d]\w*", "the number of a window comes before its unit",
          "write  WITHIN 5 hours"),
    Habit(r"within \S+ \w+", "per", "PER PARTITION counts events, not time",
          "write  WITHIN 100 EVENTS PER PARTITION"),
    Habit("return", r"\*", "RETURN lists the columns of the result",
          "leave RETURN out: then all attributes of all events come out"),
    Habit(f"(?P<name>{NAME})", ":", "the type comes before the variable",
          "write  TYPE {name}", in_pattern),
    Habit(r"[(,]|event|pattern", r"\d\w*", "a name does not begin with a digit",
          "write it in backquotes:  `{here}`", _at_type),
    Habit(r".*", "[\"']", "the name of a type has no quotes",
          "write it as it is, or in backquotes if it is no word:  `7`", _at_type),
    Habit(r"\}", r"and|or|∧|∨|&&|,", "all conditions of a strategy stand inside its braces",
          "write  skip_till_next_match {{ x.a > 1 AND y.b > 2 }}"),
    Habit(r"between (?P<low>\S+(?: \. \S+)?)", ",", "the bounds of BETWEEN are joined by AND",
          "write  BETWEEN {low} AND …"),
    Habit("(?P<first>order|group)", "by", "there is no {first} BY",
          "results come in the order in which they are detected; group them where you use them",
          back=1),
    Habit(r".*", "order|group", "there is no {here} BY",
          "results come in the order in which they are detected; group them where you use them"),
    Habit(r"(?P<number>[\d.]+)", r"\.\d*", "`{number}{here}` is not a number",
          "write  1.5 , or a text in quotes"),
    Habit(f"return (?P<type>{NAME}) \\( .*", "as", "every attribute of an `{type}` needs its AS",
          "write  RETURN {type}(x.a AS a, y.b AS b)"),
    Habit(f"\\[ (?:.* , )?(?P<name>{NAME})", r"[<>!≠≤≥]=?|<>", "an equivalence test fixes a value"
          " with  =  and knows no other comparison",
          "write a condition for each event:  x.{name} {here} … AND y.{name} {here} …"),
    Habit(rf"(?:\[ (?:.* , )?|{NAME} \. ){NAME}", r"[#$&@?\\]",
          "`{here}` is no part of a name without backquotes",
          "write a name with blanks or signs in backquotes, such as  `order no. #`", _in_test),
    Habit(r"(?!(?:where|having|and|or|not) )[^\W\d]\w* \( \[", r"[\"'\d].*",
          "a list in brackets is no value",
          "one of several values is  x.a IN ('one', 'two') ; a value of a list is "
          " list_contains(x.tags, 'one')"),
    Habit(r"(?:.* )?(?:\[|\.|\[ .* ,)", '"', "double quotes are for text, and this is a name",
          "write the name in backquotes, such as  `order no. #`", _at_name),
    Habit(r".*", ",", "conditions are not separated by commas", "join them with AND or OR",
          _in_condition),
)  # fmt: skip
