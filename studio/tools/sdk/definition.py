"""Tool definition: ``@tool`` makes a function a tool that a model can call (T-1).

Converts type hints to a JSON schema, and checked JSON values to the types of the hints.
Schemas from pydantic were tried and rejected: importing it and making the models of 14 tools
took some 170 ms at the start, and this module takes less than 1 ms; its schemas need a rewrite
for models (titles, references), and ``argument_check`` would be needed all the same.
"""

from __future__ import annotations

import asyncio
import collections.abc
import dataclasses
import inspect
import json
import re
import types
from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from functools import cached_property
from typing import (
    Any,
    Literal,
    NotRequired,
    Required,
    TypeAlias,
    TypedDict,
    Union,
    Unpack,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
    overload,
)

from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.records import dataclass
from studio.domain.tools import Effect, ToolSpec
from studio.processes.daemon_thread import in_daemon_thread

from .argument_check import check
from .context import Context
from .result import Result

_PLAIN: dict[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable)
_MAPS = (dict, collections.abc.Mapping)


def schema_of(hint: Any, *, optional: bool = False) -> JsonObject:
    """The JSON schema of a hint; TypeError for one that JSON has no form for.

    ``optional`` says that the value has a default: ``X | None`` is then plain
    ``X``, because leaving it out says None, and small models do better so.
    """
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if hint is Any or hint is object:
        return {}
    origin: Any = get_origin(hint)
    arguments = get_args(hint)
    if origin is Literal:
        return _literal(arguments)
    if origin in (Union, types.UnionType):
        kinds = [kind for kind in arguments if kind is not type(None)]
        if len(kinds) < len(arguments) and not optional:
            kinds.append(type(None))
        if len(kinds) == 1:
            return schema_of(kinds[0])
        return {"anyOf": [schema_of(kind) for kind in kinds]}
    if (origin or hint) in _LISTS:
        if not arguments:
            return {"type": "array", "items": {}}
        if origin is tuple and arguments[1:] != (...,):
            raise TypeError(f"{hint} has no JSON schema; use list[...] or tuple[X, ...].")
        return {"type": "array", "items": schema_of(arguments[0])}
    if (origin or hint) in _MAPS:
        if len(arguments) == 2 and arguments[1] is not Any:
            return {"type": "object", "additionalProperties": schema_of(arguments[1])}
        return {"type": "object"}
    if dataclasses.is_dataclass(hint) or is_typeddict(hint):
        return _record(hint)
    raise TypeError(f"{hint!r} has no JSON schema.")


def _literal(values: tuple[Any, ...]) -> JsonObject:
    kinds = {_PLAIN.get(type(value), "") for value in values}
    schema: JsonObject = {"enum": list(values)}
    if len(kinds) == 1 and "" not in kinds:
        schema = {"type": kinds.pop(), **schema}
    return schema


def _record(hint: Any) -> JsonObject:
    hints = get_type_hints(hint)
    if is_typeddict(hint):
        # __required_keys__ does not know those whose hint is a text (PEP 563).
        full = get_type_hints(hint, include_extras=True)
        marks = {name: get_origin(one) for name, one in full.items()}
        required = [
            name
            for name in hints
            if marks[name] is Required
            or (name in hint.__required_keys__ and marks[name] is not NotRequired)
        ]
    else:
        required = [
            field.name
            for field in dataclasses.fields(hint)
            if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        ]
    schema: JsonObject = {
        "type": "object",
        "properties": {
            name: schema_of(kind, optional=name not in required) for name, kind in hints.items()
        },
        "additionalProperties": False,
    }
    if required:
        schema["required"] = list[Json](required)
    return schema


def build(hint: Any, value: Any) -> Any:
    """Convert a checked JSON value to the hint's type: a dataclass, tuple or set."""
    if value is None:
        return None
    origin: Any = get_origin(hint) or hint
    arguments = get_args(hint)
    if origin in (Union, types.UnionType):
        fitting = [kind for kind in arguments if kind is not type(None)]
        return build(fitting[0], value) if len(fitting) == 1 else value
    if isinstance(value, list):
        item = arguments[0] if arguments else Any
        items = [build(item, one) for one in cast("list[Any]", value)]
        return cast("Any", origin)(items) if origin in (tuple, set, frozenset) else items
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            hints = get_type_hints(hint)
            return hint(**{name: build(hints[name], one) for name, one in fields.items()})
        return fields
    if hint is float and isinstance(value, int):
        return float(value)
    return value


Function: TypeAlias = Callable[..., Any]
Run: TypeAlias = Callable[[Context, JsonObject], Awaitable[object]]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, eq=False)
class Tool:
    """A tool: its description for a model, and the function that runs it.

    Tools from elsewhere (a server, a workflow) are made with their own ``spec`` and ``run``.
    ``origin`` names the file or package. ``spare`` are parameters that a model with a small
    window is not told of; it gets their defaults.
    """

    spec: ToolSpec
    run: Run
    origin: str = ""
    module: str = ""
    spare: frozenset[str] = frozenset()
    waits: bool = False
    """Whether another agent does its work, which has limits of its own."""

    @cached_property
    def built_in(self) -> bool:
        """Whether it comes with the program, not from the person's folder or a package."""
        return self.module.startswith("studio.tools.")

    @cached_property
    def told(self) -> ToolSpec:
        """The description for a model.

        What goes without saying is left out of the schema of a function, and checked all the
        same. Schemas from elsewhere are sent as they are.
        """
        return replace(self.spec, schema=_told(self.spec.schema)) if self.module else self.spec

    @cached_property
    def brief(self) -> ToolSpec:
        """The description for a model with a small window."""
        if not self.spare:
            return self.told
        properties = cast("JsonObject", self.told.schema["properties"])
        kept = {name: one for name, one in properties.items() if name not in self.spare}
        return replace(self.told, schema={**self.told.schema, "properties": kept})

    @cached_property
    def patterns(self) -> bool:
        """Whether checking arguments runs regular expressions of the schema."""
        return '"pattern' in json.dumps(self.spec.schema)

    def check(self, arguments: JsonObject) -> JsonObject:
        """The arguments, corrected and with defaults.

        Raises ToolFailed that names each field and what was expected (L-5).
        """
        return check(self.spec, arguments)

    async def call(self, context: Context, arguments: JsonObject) -> Result:
        """Check the arguments and run; raises ToolFailed whatever the tool raised.

        The caller enforces ``spec.time_limit``. Cancelling stops a coroutine at once; a
        plain function goes on in its thread.
        """
        good = self.check(arguments)
        try:
            return Result.of(await self.run(context, good))
        except ToolFailed:
            raise
        except (Exception, SystemExit) as error:  # a tool must not end the program (L-5)
            raise ToolFailed(_said(self.spec.name, error)) from error


def _said(name: str, error: BaseException) -> str:
    try:
        text = str(error).strip()
    except Exception:  # an exception's own __str__ may raise
        text = ""
    kind = type(error).__name__
    return f"{name} failed: {kind}: {text}" if text else f"{name} failed: {kind}."


class ToolOptions(TypedDict, total=False):
    """What ``@tool`` may say of a tool, see ``ToolSpec``."""

    effect: Effect
    target: str
    verb: str
    done: str
    icon: str
    alone: bool
    time_limit: float | None
    untrusted: bool
    sends: bool
    steady: bool
    text_form: JsonObject
    acts_with: str
    proposes: bool
    vendor_type: str


@overload
def tool(function: Function, /) -> Tool: ...
@overload
def tool(
    *,
    name: str = "",
    spare: Collection[str] = (),
    waits: bool = False,
    **options: Unpack[ToolOptions],
) -> Callable[[Function], Tool]: ...
def tool(
    function: Function | None = None,
    /,
    *,
    name: str = "",
    spare: Collection[str] = (),
    waits: bool = False,
    **options: Unpack[ToolOptions],
) -> Tool | Callable[[Function], Tool]:
    """Make a tool of a function; see ``ToolSpec`` and ``Tool`` for the meaning of the options.

    A coroutine function runs on the event loop, any other in a thread. The
    name is the function's, without an underscore at its end. Raises TypeError
    if a hint, the docstring or the target is missing, for an unknown option, and if what is
    spare is no optional parameter.
    """
    if unknown := options.keys() - ToolOptions.__annotations__.keys():
        raise TypeError(f"tool() has no option {', '.join(sorted(unknown))}")

    def make(function: Function) -> Tool:
        own = name or function.__name__.rstrip("_")
        if not _NAME.fullmatch(own):
            raise TypeError(f"“{own}” is no name for a tool: use letters, digits, _ and -.")
        injected, hints = _parameters(function, own)
        description, about = read_docstring(function, own, set(hints))
        spec = ToolSpec(own, description, _schema(function, own, hints, about), **options)
        if spec.target and spec.target not in hints:
            raise TypeError(f"{own} has no parameter “{spec.target}” to be its target.")
        needed = cast("list[str]", spec.schema.get("required", []))
        if wrong := sorted(name for name in spare if name not in hints or name in needed):
            raise TypeError(f"{own}: “{wrong[0]}” is no optional parameter, so it is not spare.")
        verb = spec.verb or own.replace("_", " ").capitalize()
        spec = replace(spec, verb=verb, done=spec.done or verb)
        code = getattr(inspect.unwrap(function), "__code__", None)
        return Tool(
            spec,
            _runner(function, injected, hints),
            origin=code.co_filename if code else "",
            module=function.__module__,
            spare=frozenset(spare),
            waits=waits,
        )

    return make if function is None else make(function)


def _parameters(function: Function, name: str) -> tuple[str | None, dict[str, Any]]:
    """The parameter that takes the context, and the hints of all others."""
    try:
        hints = get_type_hints(function)
    except NameError as error:
        raise TypeError(f"{name}: a type hint cannot be read: {error}") from error
    injected: str | None = None
    found: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"{name}: *{parameter.name} cannot be described to a model.")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{name}: {parameter.name} must be usable by name.")
        if parameter.name not in hints:
            raise TypeError(f"{name}: {parameter.name} has no type hint.")
        if hints[parameter.name] is Context:
            injected = parameter.name
        else:
            found[parameter.name] = hints[parameter.name]
    return injected, found


def read_docstring(documented: object, name: str, names: set[str]) -> tuple[str, dict[str, str]]:
    """The first paragraph, and the text of each ``name: text`` line; TypeError if there is none."""
    doc = inspect.cleandoc(documented.__doc__ or "")
    if not doc:
        raise TypeError(f"{name} has no docstring; its first paragraph tells a model what it does.")
    about: dict[str, str] = {}
    description: list[str] = []
    current: str | None = None
    first = True
    for line in doc.splitlines():
        key, colon, rest = line.partition(":")
        if colon and key in names and rest[:1].strip() == "":
            current, first = key, False
            about[key] = rest.strip()
        elif not line.strip():
            current, first = None, first and not description
        elif current is not None:
            about[current] = f"{about[current]} {line.strip()}".strip()
        elif first:
            description.append(line.strip())
    return " ".join(description), about


def _schema(
    function: Function, name: str, hints: dict[str, Any], about: dict[str, str]
) -> JsonObject:
    properties: JsonObject = {}
    required: list[Any] = []
    for key, parameter in inspect.signature(function).parameters.items():
        if key not in hints:
            continue
        optional = parameter.default is not parameter.empty
        try:
            one = schema_of(hints[key], optional=optional)
        except TypeError as error:
            raise TypeError(f"{name}: {key}: {error}") from error
        if key in about:
            one["description"] = about[key]
        if not optional:
            required.append(key)
        elif isinstance(parameter.default, str | int | float | bool):
            one["default"] = parameter.default
        properties[key] = one
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def _told(schema: JsonObject) -> JsonObject:
    """A function's schema without what a model expects anyway: that no other names are known, and
    that what it leaves out is false, 0 or empty."""
    found: JsonObject = {}
    for key, value in schema.items():
        if (key == "additionalProperties" and value is False) or (key == "default" and not value):
            continue
        if key == "properties":
            inner = cast("dict[str, JsonObject]", value)
            found[key] = {name: _told(one) for name, one in inner.items()}
        elif key == "anyOf":
            found[key] = [_told(one) for one in cast("list[JsonObject]", value)]
        elif isinstance(value, dict):  # of the items of a list, or the values of a record
            found[key] = _told(value)
        else:
            found[key] = value
    return found


def _runner(function: Function, injected: str | None, hints: dict[str, Any]) -> Run:
    def built(context: Context, arguments: JsonObject) -> dict[str, Any]:
        values = {key: build(hints[key], value) for key, value in arguments.items()}
        return values if injected is None else {injected: context, **values}

    if inspect.iscoroutinefunction(function):

        async def run(context: Context, arguments: JsonObject) -> object:
            return await cast("Awaitable[object]", function(**built(context, arguments)))

    else:

        async def run(context: Context, arguments: JsonObject) -> object:
            loop = asyncio.get_running_loop()

            def emit(text: str) -> None:
                loop.call_soon_threadsafe(context.emit, text)

            values = built(replace(context, emit=emit), arguments)
            try:
                return await in_daemon_thread(lambda: function(**values))
            finally:
                await asyncio.sleep(0)  # what it shows comes before it ends; 3.14 may end at once

    return run
