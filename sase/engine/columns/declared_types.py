"""Event types as callers declare them: names, attributes, or conditions that define them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sase.errors import SchemaError

Types = str | Sequence[str] | Mapping[str, Sequence[str] | str | None] | None


@dataclass(frozen=True)
class Declaration:
    """The type column if there is one, and each type's attributes or condition."""

    type: str | None
    attributes: Mapping[str, Sequence[str] | None] = field(default_factory=dict)
    definitions: tuple[tuple[str, str], ...] = ()

    @property
    def is_wide(self) -> bool:
        """Whether some type declares all columns of the table."""
        return not self.attributes or None in self.attributes.values()


def declaration(types: Types, type: str | None) -> Declaration:
    """Combine the arguments `types` and `type`."""
    if isinstance(types, Mapping):
        texts = {name: text for name, text in types.items() if isinstance(text, str)}
        if texts and len(texts) == len(types):
            return Declaration(None, definitions=tuple(texts.items()))
        lists = {name: listed for name, listed in types.items() if not isinstance(listed, str)}
        if texts:
            raise SchemaError(
                f"types: `{next(iter(texts))}` is defined by a condition and `{next(iter(lists))}`"
                " is not: define all types by conditions, or none"
            )
    else:
        lists = dict.fromkeys([types] if isinstance(types, str) else types or ())
    if type is None and len(lists) != 1:
        raise SchemaError(
            "without a type column all events have one type, or conditions define them:"
            ' say  types=["Name"]  or  types={"Name": "condition", …}'
        )
    return Declaration(type, lists)
