"""Forms of other languages that have another syntax here, each with a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from sase.errors import Diagnostic
from sase.lang.scene import Scene, in_pattern, open_bracket, token_span

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


def _behind_component(scene: Scene) -> bool:
    return "_WHERE" in scene.accepted and open_bracket(scene.before) is None


def _at_component(scene: Scene) -> bool:
    return "_BANG" in scene.accepted


def _behind_inner_sequence(scene: Scene) -> bool:
    return scene.accepted == {"PLUS", "STAR", "QMARK", "LBRACE"}


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
STRATEGY = r"\w+_(?:contiguity|match|maximal)(?: \( [^)]* \))?"

# Tried in this order if a text does not parse.
HABITS = (
    Habit("", "select", "a query begins with EVENT, not with SELECT",
          "EVENT SEQ(A x, B y) WHERE x.id = y.id WITHIN 1 hour RETURN x.id", _in_script),
    Habit(f"event(?: {NAME})?", r".*", "this is a condition by itself, and not a query",
          "write what stands after WHERE, such as  price > 10", _in_bare_condition),
    Habit(r".*", r"[’”]", "a text does not begin with {here}",
          "write  \'text\' , or  ‘text’  with the quotes the other way round"),
    Habit(r".*", "->", "there is no  ->  in a pattern",
          "a sequence is written  SEQ(A x, B y)", in_pattern),
    Habit(r".*", "->", "an attribute is not written with  ->", "write  x.a"),
    Habit(f"(?P<type>\\S+) (?P<name>{NAME})", r"[+*?{{]",
          "the quantifier stands behind the type, not behind the variable",
          "write  {type}{here} {name}[]", _behind_variable),
    Habit("(?:event|pattern) (?P<first>.*)", ",", "several components stand in SEQ(…)",
          "write  EVENT SEQ({first}, …)", _behind_component),
    Habit(r"(?:event|pattern) \( [^()]*", r"[+*]", "a pattern lists types with variables in SEQ",
          "write  EVENT SEQ(A a, B+ b[]) WHERE a.v > 1"),
    Habit(r"(?:event|pattern) \( [^()]*", ",", "SEQ is missing before the bracket",
          "write  EVENT SEQ(A x, B y)"),
    Habit("(?:seq|set)", r"[^(,)]*", "the components are listed in brackets",
          "write  SEQ(A x, B y)"),
    Habit(r"\)", r".*", "a SEQ among other components has a quantifier",
          "list its components without it; what repeats is written  SEQ(B b, C c)+ g[]",
          _behind_inner_sequence),
    Habit(f"{NAME} as", NAME, "a variable follows its event type directly",
          "leave out the AS:  A {here}", in_pattern, back=1),
    Habit(f"{STRATEGY}", r"and|or|∧|∨|&&|,", "the conditions of a strategy stand in braces",
          "write  skip_till_next_match {{ x.a > 1 AND y.b > 2 }}"),
    Habit(f"{STRATEGY}", r"(?!where|within|with|having|return|limit)[^\W\d]\w*|\[|not",
          "the conditions of a strategy stand in braces",
          "write  skip_till_next_match {{ x.a > 1 AND y.b > 2 }}"),
    Habit(r"(?<!\. )case", NAME, "there is no CASE",
          "as a condition write  x.a > 1 AND x.b = 2 OR x.a <= 1 AND x.b = 3 ; what else depends on"
          " conditions is computed before, as a column", _outside_pattern, back=1),
    Habit(r"is(?: not)?", r"[^)]*", "IS tests for NULL only",
          "write  IS NULL  or  IS NOT NULL ; values are compared with  =  and  !="),
    Habit("not", "null", "a value is tested for NULL with IS", "write  x.a IS NOT NULL"),
    Habit("in", r"[^(]*", "IN is followed by a list of literals in brackets",
          "write  x.a IN (1, 2)"),
    Habit("like", r".*", "LIKE is followed by a pattern in quotes, or by a parameter",
          "write  x.a LIKE \'abc%\'"),
    Habit(r"limit \d+", "offset", "there is no OFFSET", "take the first results with  LIMIT 10"),
    Habit("limit", r"[^;]*", "LIMIT is followed by a whole number, or by a parameter",
          "write  LIMIT 10"),
    Habit(r"limit \d+", r"\.\d*", "LIMIT is followed by a whole number, or by a parameter",
          "write  LIMIT 10"),
    Habit("within", r"[\"']", "a window is a number with a unit, and no text",
          "write  WITHIN 20 minutes"),
    Habit("within", r"[^\W\d]\w*", "the number of a window stands before its unit",
          "write  WITHIN 5 hours"),
    Habit(r"within \S+ \w+", "per", "PER PARTITION counts events, not time",
          "write  WITHIN 100 EVENTS PER PARTITION"),
    Habit("return", r"\*", "RETURN lists the columns of the result",
          "leave RETURN out: then all attributes of all events come out"),
    Habit(f"(?P<name>{NAME})", ":", "the type stands before the variable",
          "write  TYPE {name}", in_pattern),
    Habit(r"[(,]|event|pattern", r"\d\w*", "a name does not begin with a digit",
          "write it in backquotes:  `{here}`", _at_component),
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
    Habit(f"\\[ (?:.* , )?{NAME}", r"\.", "an equivalence test names an attribute alone, since all"
          " events are meant", "write  [id] , or for two of them  x.id = y.id"),
    Habit(f"\\[ (?:.* , )?(?P<name>{NAME})", r"[<>!≠≤≥]=?|<>", "an equivalence test fixes a value"
          " with  =  and knows no other comparison",
          "write a condition for each event:  x.{name} {here} … AND y.{name} {here} …"),
    Habit(f"\\. {NAME}", r"\.", "an attribute is written with one dot: its variable and its name",
          "write  x.a ; a name that holds a dot stands in backquotes:  x.`a.b`"),
    Habit(r".*", ",", "conditions are not separated by commas", "join them with AND or OR",
          _in_condition),
)  # fmt: skip
