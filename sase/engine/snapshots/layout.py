"""Declare the state of an object: its saved values, the checks of restored ones, and its memory.

The `layout` of a class has the members of the state by name, in the order in which they are read.
Each is a field with the sizes and bounds of its values. `Declared` saves and restores by it, and
refuses values that do not fit their field. Conditions between values are checked by the class, in
`_take`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from operator import attrgetter
from types import SimpleNamespace
from typing import Any, ClassVar, TypeAlias

from sase.engine.snapshots.saved_state import LEAST, MOST, MOST_COUNTED, LiveEvents, Saved

# A number, or a name. `.path` is an attribute of the owner, `live.path` one of the live events.
# Other names are bound to the size of the array in which they first occur. SAME is the size of the
# array that is replaced, None is any.
Size: TypeAlias = "int | str | None"
SAME = "="


class Sizes:
    """The values of sizes while a state is read."""

    def __init__(self, owner: object, live: LiveEvents) -> None:
        self.owner, self._live = owner, live
        self._bound: dict[str, int] = {}

    def of(self, size: Size) -> Any:
        """The value of a size, None if any is valid."""
        if not isinstance(size, str):
            return size
        source, dot, path = size.partition(".")
        if not dot:
            return self._bound.get(size)
        return attrgetter(path)(self._live if source else self.owner)

    def bind(self, names: Iterable[Size], values: Iterable[int]) -> None:
        """Bind names to sizes, except names that are bound already."""
        for name, value in zip(names, values, strict=True):
            if isinstance(name, str):
                self._bound.setdefault(name, value)

    def inner(self) -> Sizes:
        """Sizes without bound names, for one of several rows."""
        return Sizes(self.owner, self._live)


@dataclass(frozen=True)
class StateField:
    """A member of a state: how it is saved, and how it is read, given the owner's present value.

    The path leads from the owner to its attribute; the default is `_name`. If it is None, the owner
    encodes the value, or has no such member. A value restored `in_place` is not replaced. The text
    is compared with that of other versions.
    """

    read: Callable[[Saved, Any, Sizes], Any]
    save: Callable[[Any], Any] = lambda value: value
    nbytes: Callable[[Any], int] = lambda _: 0
    in_place: bool = False
    path: str | None = ""
    text: str = ""

    def value(self, owner: object, name: str) -> Any:
        """The value that an owner has."""
        path = self.path or f"_{name}"
        return attrgetter(path)(owner) if "." in path else getattr(owner, path)

    def put(self, owner: object, name: str, value: Any) -> None:
        """Replace the value of an owner, or the member of a named tuple in it."""
        if self.path is None or self.in_place:
            return
        first, _, rest = (self.path or f"_{name}").partition(".")
        if rest:
            value = getattr(owner, first)._replace(**{rest: value})
        setattr(owner, first, value)


def kind(make: Callable[..., StateField]) -> Callable[..., StateField]:
    """Make a function return fields with a path and with the text of its call."""

    @wraps(make)
    def made(*arguments: Any, path: str | None = "", **named: Any) -> StateField:
        texts = [*map(_text, arguments), *(f"{n}={_text(each)}" for n, each in named.items())]
        field, text = make(*arguments, **named), f"{make.__name__}({', '.join(texts)})"
        return replace(field, path=path, text=text)

    return made


def _text(argument: Any) -> str:
    if isinstance(argument, StateField):
        return argument.text
    return argument.__name__ if callable(argument) else repr(argument)


# ---------------------------------------------------------------- kinds of fields


@kind
def Number(low: Size = LEAST, high: Size = MOST) -> StateField:
    """A number between bounds, both included."""
    return StateField(lambda saved, _, sizes: saved.number(sizes.of(low), sizes.of(high)), int)


@kind
def Count() -> StateField:
    """A number of things."""
    return Number(0, MOST_COUNTED)


@kind
def Text() -> StateField:
    """A text."""
    return StateField(lambda saved, *_: saved.text())


@kind
def Texts(into: Callable[[list[str]], Any] = list) -> StateField:
    """Distinct texts."""
    return StateField(lambda saved, *_: into(saved.texts()), sorted if into is set else list)


@kind
def Array(
    *shape: Size,
    low: Size = LEAST,
    high: Size = MOST,
    ring: int | None = None,
    dtype: str = "int64",
) -> StateField:
    """An array of a shape, with values between bounds; an axis may be a power of two."""

    def read(saved: Saved, now: Any, sizes: Sizes) -> Any:
        wanted = [now.shape[n] if s == SAME else sizes.of(s) for n, s in enumerate(shape)]
        found = saved.array(*wanted, low=sizes.of(low), high=sizes.of(high), dtype=dtype)
        sizes.bind(shape, found.shape)
        if ring is not None:
            room = found.shape[ring]
            saved.check(room > 0 and room & (room - 1) == 0, f"{room} places are no power of two")
        return found

    return StateField(read, nbytes=_nbytes)


@kind
def Own() -> StateField:
    """An object with a state of its own, which is restored in place."""
    return StateField(lambda saved, now, _: now.restore(saved), _checkpoint, _nbytes, in_place=True)


@kind
def Each(field: StateField) -> StateField:
    """A list with as many values as the present one."""

    def read(saved: Saved, now: Any, sizes: Sizes) -> Any:
        pairs = zip(saved.parts(len(now)), now, strict=True)
        return [field.read(part, value, sizes) for part, value in pairs]

    return StateField(
        read,
        lambda values: [field.save(each) for each in values],
        lambda values: sum(field.nbytes(each) for each in values),
        in_place=field.in_place,
    )


@kind
def Row(*fields: StateField, into: Callable[..., Any] | None = None) -> StateField:
    """A tuple; its first values are saved."""

    def read(saved: Saved, _: object, sizes: Sizes) -> Any:
        pairs = zip(fields, saved.parts(len(fields)), strict=True)
        found = [field.read(part, None, sizes) for field, part in pairs]
        return tuple(found) if into is None else into(*found)

    return StateField(
        read, lambda row: [f.save(each) for f, each in zip(fields, row, strict=False)]
    )


@kind
def Many(field: StateField, into: Callable[[Any], Any] = list) -> StateField:
    """Any number of values, such as rows, or the items of a dict."""
    return StateField(
        lambda saved, _, sizes: into(
            field.read(part, None, sizes.inner()) for part in saved.parts()
        ),
        lambda values: [
            field.save(each) for each in (values.items() if isinstance(values, dict) else values)
        ],
    )


def Blocks(last: Size = "live.last") -> StateField:
    """For each block with an open window, its last measure and its first event."""
    return Many(Row(Number(), Number("live.first", last)), deque)


@kind
def Record(**fields: StateField) -> StateField:
    """Members of a named tuple or a dict, if they are present; None has none."""

    def own(value: Any) -> dict[str, Any]:
        known = value._asdict() if hasattr(value, "_asdict") else value or {}
        return {name: known[name] for name in fields if name in known}

    def read(saved: Saved, now: Any, sizes: Sizes) -> Any:
        parts = {name: (saved.part(name), value) for name, value in own(now).items()}
        found = {name: fields[name].read(*both, sizes) for name, both in parts.items()}
        if isinstance(now, dict):
            return SimpleNamespace(**found)
        return None if now is None else now._replace(**found)

    return StateField(
        read,
        lambda value: {n: fields[n].save(each) for n, each in own(value).items()},
        lambda value: sum(fields[n].nbytes(each) for n, each in own(value).items()),
    )


@kind
def Nullable(field: StateField) -> StateField:
    """A value, or None."""
    return replace(
        field,
        read=lambda saved, *_: None if saved.is_none else field.read(saved, *_),
        save=lambda value: None if value is None else field.save(value),
    )


@kind
def IfThere(field: StateField) -> StateField:
    """A value that only some plans have; otherwise None."""

    def read(saved: Saved, now: Any, sizes: Sizes) -> Any:
        if now is not None:
            return field.read(saved, now, sizes)
        saved.check(saved.is_none, "the plan has no such state")
        return None

    return replace(
        field,
        read=read,
        save=lambda value: None if value is None else field.save(value),
    )


@kind
def By(method: str) -> StateField:
    """A value that the owner encodes, and a method of it decodes."""
    return StateField(lambda saved, _, sizes: getattr(sizes.owner, method)(saved))


def _nbytes(value: Any) -> int:
    return 0 if value is None else int(value.nbytes)


def _checkpoint(value: Any) -> Any:
    return value.checkpoint()


# ---------------------------------------------------------------- declared objects


class Declared:
    """An object with a state that its layout declares; the state includes that of its parts."""

    layout: ClassVar[dict[str, StateField]]

    def checkpoint(self) -> dict[str, Any]:
        """The state as arrays and plain values."""
        found = {name: field.save(value) for name, field, value in self._state_members()}
        for part in self._owned():
            found |= part.checkpoint()
        return found

    def restore(self, saved: Saved) -> None:
        """Restore a saved state; each value is checked when it is read."""
        values, sizes = SimpleNamespace(), Sizes(self, saved.live)
        for name, field, now in self._state_members():
            setattr(values, name, field.read(saved.part(name), now, sizes))
        self._take(saved, values)
        for part in self._owned():
            part.restore(saved)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays."""
        own = sum(field.nbytes(value) for _, field, value in self._state_members())
        return own + sum(part.nbytes for part in self._owned())

    def _owned(self) -> Sequence[Declared]:
        """Objects with a state of their own, which are restored after their owner."""
        return ()

    def _state_members(self) -> Iterator[tuple[str, StateField, Any]]:
        encoded = self._encoded()
        for name, field in self.layout.items():
            if name in encoded:
                yield name, field, encoded[name]
            elif field.path is not None:
                yield name, field, field.value(self, name)

    def _encoded(self) -> dict[str, Any]:
        """The values that are saved in another form, by name."""
        return {}

    def _take(self, saved: Saved, values: Any) -> None:
        """Check conditions between values, and set the attributes."""
        for name, value in vars(values).items():
            self.layout[name].put(self, name, value)
