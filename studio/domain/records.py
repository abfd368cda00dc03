"""Data classes whose methods are made when they are first used.

The standard library compiles up to six methods of a data class while it is defined. That was a
third of what the program does before its first request: of 300 classes a command makes instances
of a few dozen. Here comparing, hashing and showing are shared functions, and ``__init__`` is
compiled with the first instance. Otherwise such a class is what ``dataclasses.dataclass`` makes,
and ``fields``, ``replace`` and ``asdict`` know it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, field, fields
from operator import attrgetter
from reprlib import recursive_repr
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
UNHASHED = ("__hash__", None)
"""What Python adds to a class that has only ``__eq__``."""
MARKS = ("ClassVar", "InitVar", "KW_ONLY")


@dataclass_transform(field_specifiers=(field,))
def dataclass(
    *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
) -> Callable[[type[T]], type[T]]:
    """``dataclasses.dataclass`` with these of its parameters."""

    def made(defined: type[T]) -> type[T]:
        own = {name for name, value in vars(defined).items() if (name, value) != UNHASHED}
        if defined.__doc__ is None:
            defined.__doc__ = defined.__name__  # else it would become a signature, which costs
        plain = dataclasses.dataclass(
            init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
        )
        cls = _without_texts(plain, defined)
        methods: dict[str, Any] = {"__init__": _first_init(cls, frozen), "__repr__": _shown}
        if frozen:
            methods |= {"__setattr__": _refuse_setting, "__delattr__": _refuse_deleting}
        if frozen and slots:
            methods |= {"__getstate__": _state, "__setstate__": _set_state}
        if eq:
            values = _values_of([one.name for one in fields(cls) if one.compare])
            methods["__eq__"] = _equality(values)
            if frozen:
                methods["__hash__"] = _hashing(values)
        for name in methods.keys() - own:
            setattr(cls, name, methods[name])
        if eq and not frozen and "__hash__" not in own:
            cls.__hash__ = None
        return cls

    return made


def _without_texts(plain: Callable[[type], type], defined: type) -> Any:
    """Make the class while no annotation is a text: each would be searched for a ClassVar."""
    told: dict[str, Any] = vars(defined).get("__annotations__", {})
    # Without “from __future__ import annotations” Python 3.14 has them elsewhere, and no texts.
    if not told or any(word in str(text) for text in told.values() for word in MARKS):
        return plain(defined)
    defined.__annotations__ = dict.fromkeys(told, object)
    cls: Any = plain(defined)
    cls.__annotations__ = told
    for name, text in told.items():
        cls.__dataclass_fields__[name].type = text
    return cls


def _first_init(cls: type, frozen: bool) -> Callable[..., None]:
    """An ``__init__`` that puts the compiled one in its place."""

    def __init__(self: object, *args: Any, **named: Any) -> None:
        cls.__init__ = compiled = _init(cls, frozen)  # type: ignore[misc]
        compiled(self, *args, **named)

    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    known: dict[str, Any] = {"MISSING": MISSING, "put": object.__setattr__}
    taken: tuple[list[str], list[str]] = ([], [])
    lines: list[str] = []
    for one in fields(cls):
        name, default = one.name, f"_default_{one.name}"
        value = name
        if one.default_factory is not MISSING:
            known[default] = one.default_factory
            made = f"{default}()"
            value = f"{made} if {name} is MISSING else {name}" if one.init else made
        elif one.default is not MISSING:
            known[default] = one.default
            value = name if one.init else default
        elif not one.init:
            continue
        if one.init:
            has = one.default is not MISSING or one.default_factory is not MISSING
            least = default if one.default_factory is MISSING else "MISSING"
            taken[bool(one.kw_only)].append(f"{name}={least}" if has else name)
        lines.append(f"put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    named = ["*", *taken[1]] if taken[1] else []
    head = ", ".join(["self", *taken[0], *named])
    body = "\n ".join(lines or ["pass"])
    exec(f"def __init__({head}):\n {body}", known)
    known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return known["__init__"]


def _values_of(names: Sequence[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda one: ()


def _equality(values: Callable[[Any], Any]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hashing(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    return lambda self: hash(values(self))


@recursive_repr()
def _shown(self: Any) -> str:
    parts = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self) if one.repr]
    return f"{type(self).__qualname__}({', '.join(parts)})"


def _refuse_setting(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deleting(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for one, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
