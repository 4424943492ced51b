"""Bind the EVENT clause: components, their variables, and the types they admit."""

from __future__ import annotations

from collections.abc import Iterator

from sase.binding.bound import BoundComponent
from sase.binding.folding import INT64_MAX
from sase.binding.scope import Scope
from sase.lang import ast
from sase.nearest import did_you_mean
from sase.source import Span

_LEVEL_3: dict[type[ast.Node], str] = {
    ast.Group: "a pattern in brackets as a component",
    ast.SetOf: "SET",
    ast.Alternatives: "OR between patterns",
}


# Each is a bit of what an event may be; a bit more says that it counts whatever it is.
MOST_COMPONENTS = 62
# Codes of types have 16 bits; all that neither the query nor the schema names share one more.
MOST_TYPES = 2**15 - 2


def bind_pattern(pattern: ast.Pattern, scope: Scope) -> tuple[BoundComponent, ...] | None:
    """The components in order, or None where the pattern uses what is not supported yet."""
    parts: tuple[ast.Node, ...] = pattern.parts if isinstance(pattern, ast.Sequence) else (pattern,)
    supported = True
    for part in parts:
        supported &= _is_supported(part, scope)
    if not supported:
        return None
    written = [part for part in parts if isinstance(part, ast.Component)]
    if len(written) > MOST_COMPONENTS:
        _refuse_too_many(written, scope)
        return None
    components = tuple(_component(part, place, scope) for place, part in enumerate(written))
    _check_types(pattern.span, components, scope)
    _check_variables(written, components, scope)
    _check_positive(pattern.span, components, scope)
    return components


def _refuse_too_many(written: list[ast.Component], scope: Scope) -> None:
    first, last = written[MOST_COMPONENTS].span, written[-1].span
    scope.problems.error(
        "too-many-components",
        f"a pattern has at most {MOST_COMPONENTS} components, and this has {len(written):,}",
        Span(first.start, last.end),
        "bind what repeats as a series, such as  A{70} a[]",
    )


def _check_types(span: Span, components: tuple[BoundComponent, ...], scope: Scope) -> None:
    named = (name for component in components for name in component.types or ())
    count = len({*(scope.schema.type_names or ()), *named})
    if count > MOST_TYPES:
        scope.problems.error(
            "too-many-types",
            f"the schema and the query name {count:,} types, and there can be {MOST_TYPES:,}",
            span,
            "tell events apart by a condition, such as  x.kind IN ('a', 'b')",
        )


def _is_supported(part: ast.Node, scope: Scope) -> bool:
    if isinstance(part, ast.Component):
        return True
    scope.problems.error(
        "not-supported-yet",
        f"{_LEVEL_3[type(part)]} is not supported yet",
        part.span,
        "today a pattern is one component, or SEQ(…) of components",
    )
    return False


def _component(part: ast.Component, index: int, scope: Scope) -> BoundComponent:
    quantifier = part.quantifier
    types = tuple(_types(part.test, scope))
    is_any = isinstance(part.test, ast.AnyTest)
    label = "ANY" if is_any else types[0]
    component = BoundComponent(
        index,
        part.variable.text if part.variable else f"{label}_{index + 1}",
        named=part.variable is not None,
        types=types or None,
        is_any=is_any,
        negated=part.negated,
        minimum=quantifier.minimum if quantifier else 1,
        maximum=quantifier.maximum if quantifier else 1,
        is_series=quantifier is not None and quantifier.symbol != "?",
        span=part.span,
    )
    if quantifier:
        _check_quantifier(part, quantifier, scope)
    return component


def _types(test: ast.TypeTest | ast.AnyTest, scope: Scope) -> Iterator[str]:
    known = scope.schema.type_names
    for name in [test.name] if isinstance(test, ast.TypeTest) else test.names:
        yield name.text
        if known is not None and name.text not in known:
            scope.problems.error(
                "unknown-type",
                f"there is no event type `{name.text}`",
                name.span,
                *(did_you_mean(name.text, known) or (_listed("the types are", known),)),
            )


def _listed(lead: str, names: tuple[str, ...] | list[str], most: int = 12) -> str:
    shown = ", ".join(names[:most]) + (", …" if len(names) > most else "")
    return f"{lead} {shown}" if names else "none is known"


def _check_quantifier(part: ast.Component, quantifier: ast.Quantifier, scope: Scope) -> None:
    error = scope.problems.error
    maximum = quantifier.maximum
    if part.negated:
        error(
            "negative-series",
            "a negative component stands for the absence of one event: it takes no + * ? or {n}",
            quantifier.span,
            "leave the quantifier out: no event of the kind may occur, so neither may several",
        )
    elif max(quantifier.minimum, maximum or 0) > INT64_MAX:
        error(
            "integer-out-of-range",
            f"no stream has so many events: the greatest bound is {INT64_MAX}",
            quantifier.span,
            "leave the upper bound out for any number:  {1,}",
        )
    elif maximum == 0:
        error(
            "empty-series",
            "a component that may take no event at all can match nothing",
            quantifier.span,
            "write  {1}  or more, or forbid the events with  !(…)",
        )
    elif maximum is not None and maximum < quantifier.minimum:
        error(
            "empty-series",
            f"no series has at least {quantifier.minimum} and at most {maximum} events",
            quantifier.span,
            f"write  {{{maximum},{quantifier.minimum}}}",
        )


def _check_variables(
    written: list[ast.Component], components: tuple[BoundComponent, ...], scope: Scope
) -> None:
    seen: set[str] = set()
    for part, component in zip(written, components, strict=True):
        if part.variable is None:
            continue
        if component.variable in seen:
            scope.problems.error(
                "duplicate-variable",
                f"there is already a component called `{component.variable}`",
                part.variable.span,
                "give each component a variable of its own",
            )
        seen.add(component.variable)


def _check_positive(span: Span, components: tuple[BoundComponent, ...], scope: Scope) -> None:
    if any(not component.negated and component.minimum > 0 for component in components):
        return
    scope.problems.error(
        "nothing-positive",
        "a pattern needs an event that must occur: every component here is negative or optional",
        span,
        "add a component, such as  A x , or make one of them take at least one event",
    )
