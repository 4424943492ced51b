"""Functions of other languages, and the replacement of each, for messages."""

from __future__ import annotations

_BEFORE = "; compute other values before, as a column"
# Functions of other languages, in lower case, and their replacements.
_FAMILIAR = (
    (
        "trunc truncate log10 log2 sin cos tan cbrt",
        f"numbers have  + - * / % , abs, round, floor, ceil, sqrt, power, ln and exp{_BEFORE}",
    ),
    ("ceiling", "the least whole number from a number on is  ceil(x.a)"),
    ("log", "the natural logarithm is  ln(x.a)"),
    ("pow", "a power is  power(x.a, 2)"),
    ("mod", "the remainder is written  x.a % 2"),
    (
        "ltrim rtrim left right reverse lpad rpad repeat initcap position instr",
        "texts have  lower, upper, length, trim, concat, substring, replace, split_part and"
        f" regexp_extract{_BEFORE}",
    ),
    ("substr", "a part of a text is  substring(x.a, 2, 3)"),
    ("split", "the second part of a text is  split_part(x.a, ',', 2)"),
    ("startswith", "write  starts_with(x.a, 'abc')"),
    ("endswith", "write  ends_with(x.a, 'abc')"),
    ("regexp_like regexp matches", "write  regexp_matches(x.a, '^a+$')"),
    (
        "regexp_replace",
        "there are  regexp_matches(x.a, 'ab+')  and  regexp_extract(x.a, 'a(b+)', 1)",
    ),
    ("char_length", "the length of a text is  length(x.a)"),
    ("ifnull nvl isnull", "in place of NULL a value is  coalesce(x.a, 0)"),
    (
        "iif decode choose",
        "a value that depends on conditions is  CASE WHEN x.a > 3 THEN 1 ELSE 0 END",
    ),
    (
        "now current_timestamp current_date today getdate",
        "a query has no clock: give the time as a parameter, as in  x.ts > :now",
    ),
    ("datediff date_diff timestampdiff age", "times are subtracted:  y.ts - x.ts > 5 minutes"),
    (
        "extract date_part strftime",
        "parts of a time are  year(x.ts), month, day, hour, minute, second, weekday, week  and"
        f" quarter{_BEFORE}",
    ),
    ("dayofweek", "the day of the week is  weekday(x.ts) , 1 for Monday"),
    (
        "cast convert try_cast to_timestamp to_date to_number int float str",
        "a value has the type of its column; a time is written  TIMESTAMP '2026-01-01 12:00:00'",
    ),
    (
        "lag lead prev previous next",
        "in a series the event before is  a[i-1].x ; other events are components of their own",
    ),
    ("mean average", "of a series there is  avg(a[].x)"),
    ("median", "it is an item of RETURN by itself:  RETURN median(a[].p) AS middle"),
    (
        "variance var var_samp percentile quantile mode",
        "of a series there are  avg, sum, min, max, count, first, last  and  stddev",
    ),
)
INSTEAD = {name: hint for names, hint in _FAMILIAR for name in names.split()}
