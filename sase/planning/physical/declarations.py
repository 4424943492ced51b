"""The types of a plan, and the attributes that each type declares."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sase.binding import Schema
from sase.binding.bound import (
    BoundComponent,
    Comparison,
    Condition,
    EquivalenceTest,
    Part,
    Reference,
)
from sase.binding.schema import OTHERS


class TypeDeclarations:
    """The types of a schema and those that components name; all others are unknown."""

    def __init__(self, schema: Schema, components: Iterable[BoundComponent] = ()) -> None:
        self.schema = schema
        mentioned = (name for each in components for name in each.types or ())
        self.names = tuple(dict.fromkeys([*(schema.type_names or ()), *mentioned]))
        self._is_typed = any(t.attributes is not None for t in schema.types or ())

    def declares(self, type_name: str | None, attribute: str) -> bool:
        """Return whether a type declares an attribute; None is an unknown type."""
        schema = self.schema
        if not self._is_typed or attribute in schema.roles:
            return True
        if type_name is None or type_name not in (schema.type_names or ()):
            return schema.has_others and schema.declares(OTHERS, attribute)
        return schema.declares(type_name, attribute)

    def is_common(self, attribute: str) -> bool:
        """Return whether every type declares an attribute, unknown types included."""
        return all(self.declares(name, attribute) for name in [*self.names, None])

    def unknown_types_lack(self, attribute: str) -> bool:
        """Return whether unknown types do not declare an attribute."""
        return not self.declares(None, attribute)

    def values(
        self, test: EquivalenceTest, components: Iterable[BoundComponent]
    ) -> Iterator[tuple[int, Condition]]:
        """The conditions for `[a = 'v']`, each with the number of its component."""
        assert test.value is not None
        for component in components:
            names = self.schema.type_names if component.types is None else component.types
            undeclared = frozenset(
                name for name in names or () if not self.declares(name, test.attribute)
            )
            if undeclared and undeclared == frozenset(names or ()):
                continue
            read = Reference(test.type, component.index, Part.EVENT, test.attribute, undeclared)
            yield component.index, Comparison("=", read, test.value)
