"""Expressions: compute values from a workflow's inputs and from the results of its steps (W-7).

They are a small part of Python's, over JSON values: names, ``.key``, ``[0]``, comparisons, ``and``,
``or``, ``not``, ``in``, ``+ - * / %`` of numbers, ``+`` of texts and lists, ``a if b else c`` and
the functions of ``FUNCTIONS``. What they say is checked when they are read: nothing that a model
wrote is ever evaluated.
"""

from __future__ import annotations

import ast
import json
import keyword
import operator
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

from studio.domain.jsonvalue import Json
from studio.domain.python_syntax import parse_python

Path: TypeAlias = tuple[str | int, ...]
"""The names and indexes of a reference: ``("steps", "plan", "outputs", "parts")``."""
ROOTS = ("inputs", "steps", "item", "key", "run", "outputs")
"""``item`` and ``key`` are those of ``for_each``, ``outputs`` those of the step itself."""
FUNCTIONS: Mapping[str, tuple[int, int]] = {
    "len": (1, 1),
    "any": (1, 1),
    "all": (1, 1),
    "default": (2, 2),
    "join": (1, 2),
    "json": (1, 1),
    "files": (1, 1),
    "rows": (1, 1),
}
"""How few and how many arguments each function takes."""
LONGEST = 2_000
"""Characters of an expression."""
LONGEST_TEXT = 1_000_000
"""Characters of a text that an expression makes."""
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_KEYWORD = re.compile(rf"\.\s*({'|'.join(keyword.kwlist)})\b")
_LARGEST = sys.float_info.max


class ExpressionError(ValueError):
    """An expression that cannot be read or evaluated; ``at`` is the offset in its text."""

    def __init__(self, words: str, at: int = 0, values: Mapping[str, str] | None = None) -> None:
        self.words, self.at, self.values = words, at, values or {}
        super().__init__(words.format(**self.values))


@dataclass(frozen=True, slots=True)
class Reference:
    """A path that an expression follows, and where it begins and ends there."""

    path: Path
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression that was read."""

    text: str
    tree: ast.expr
    references: tuple[Reference, ...]

    def evaluate(self, names: Mapping[str, Json], reads: Mapping[str, Reads] | None = None) -> Json:
        """Its value; raises ExpressionError. ``reads`` are ``files`` and ``rows``."""
        return _evaluate(self.text, self.tree, names, reads or {})


Reads: TypeAlias = Callable[[Any], list[Json]]
"""Lists the files that match a pattern, or the rows of a file."""


@dataclass(frozen=True, slots=True)
class Template:
    """A text with expressions between ``${{`` and ``}}``; each part with its offset."""

    parts: tuple[tuple[int, str | Expression], ...]

    @property
    def expressions(self) -> Iterator[tuple[int, Expression]]:
        return ((at, part) for at, part in self.parts if isinstance(part, Expression))

    def evaluate(self, names: Mapping[str, Json], reads: Mapping[str, Reads] | None = None) -> Json:
        """The text; the value itself where the template is a single expression."""
        values = [
            part.evaluate(names, reads) if isinstance(part, Expression) else part
            for _, part in self.parts
        ]
        if len(values) == 1:
            return values[0]
        return "".join(as_words(value) for value in values)


def as_words(value: Json) -> str:
    """A value as it stands in a text: JSON, but for texts."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@lru_cache(maxsize=4_096)
def parse_expression(text: str) -> Expression:
    """Read an expression; raises ExpressionError."""
    if len(text) > LONGEST:
        values = {"most": f"{LONGEST:,}"}
        raise ExpressionError("an expression is longer than {most} characters", 0, values)
    lead = len(text) - len(text.lstrip())
    try:
        tree = cast("ast.Expression", parse_python(text.strip(), "eval")).body
    except SyntaxError as error:
        if found := _KEYWORD.search(text):
            words = '“{name}” after a dot cannot be read: write ["{name}"] without the dot'
            raise ExpressionError(words, found.start(1), {"name": found[1]}) from error
        at = _offset(text, lead, error.lineno or 1, (error.offset or 1) - 1, in_bytes=False)
        raise ExpressionError("this is not an expression", at) from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("this is not an expression") from error
    try:
        references = tuple(_checked(tree, text, lead))
    except RecursionError as error:
        raise ExpressionError("this expression is nested too deeply") from error
    return Expression(text, tree, references)


def parse_template(text: str) -> Template:
    """Read a text with expressions in it; raises ExpressionError with the offset in the text."""
    parts: list[tuple[int, str | Expression]] = []
    at = 0
    while (start := text.find("${{", at)) >= 0:
        if start > at:
            parts.append((at, text[at:start]))
        inside, end = start + 3, text.find("}}", start)
        if end < 0:
            raise ExpressionError("no “}}}}” closes this expression", start)
        try:
            parts.append((inside, parse_expression(text[inside:end])))
        except ExpressionError as error:
            raise ExpressionError(error.words, inside + error.at, error.values) from error
        at = end + 2
    if text[at:] or not parts:
        parts.append((at, text[at:]))
    return Template(tuple(parts))


# What may stand in an expression

_PLAIN = (
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.Mod,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.IfExp,
    ast.List,
    ast.Load,
)


def _checked(node: ast.AST, text: str, lead: int) -> Iterator[Reference]:
    """The references in a tree; raises ExpressionError for what may not stand there."""

    def error(words: str, **values: str) -> ExpressionError:
        return ExpressionError(words, _start(node, text, lead), values)

    match node:
        case ast.Attribute() | ast.Subscript() | ast.Name():
            path, beside = _path(node)
            if not path:  # of the value of a call, or of a list
                assert not isinstance(node, ast.Name)
                beside = [node.value, *beside]
            elif path[0] in _WORDS and len(path) == 1:
                return
            elif path[0] not in ROOTS:
                words = "there is no “{name}” here. Known are {known}"
                raise error(words, name=str(path[0]), known=", ".join(ROOTS))
            else:
                yield Reference(path, _start(node, text, lead), _end(node, text, lead))
            for part in beside:
                yield from _checked(part, text, lead)
            return
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            least, most = FUNCTIONS[name]
            if node.keywords or not least <= len(node.args) <= most:
                words = "{name}() takes {count}"
                count = f"{least}" if least == most else f"{least} or {most}"
                raise error(words, name=name, count=f"{count} values")
            for part in node.args:
                yield from _checked(part, text, lead)
            return
        case ast.Call(func=func):
            name = func.id if isinstance(func, ast.Name) else "this"
            words = "there is no function {name}. Known are {known}"
            raise error(words, name=name, known=", ".join(FUNCTIONS))
        case ast.Constant(value=value) if value is None or isinstance(value, bool | str):
            return
        case ast.Constant(value=int() | float() as value) if abs(value) <= _LARGEST:
            return
        case _ if not isinstance(node, _PLAIN):
            raise error("this cannot stand in an expression")
        case _:
            for part in ast.iter_child_nodes(node):
                yield from _checked(part, text, lead)


def _path(node: ast.expr) -> tuple[Path, list[ast.expr]]:
    """The path from its root to the last known key, and the expressions used as keys beside it.

    An empty path has no name as its root.
    """
    match node:
        case ast.Name():
            return (node.id,), []
        case ast.Attribute():
            path, beside = _path(node.value)
            return ((*path, node.attr) if path and not beside else path), beside
        case ast.Subscript():
            path, beside = _path(node.value)
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str | int):
                return ((*path, node.slice.value) if path and not beside else path), beside
            return path, [*beside, node.slice]
        case _:
            return (), []


def _start(node: ast.AST, text: str, lead: int) -> int:
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    return _offset(text, lead, line, column)


def _end(node: ast.expr, text: str, lead: int) -> int:
    return _offset(text, lead, node.end_lineno or 1, node.end_col_offset or 0)


def _offset(text: str, lead: int, line: int, column: int, *, in_bytes: bool = True) -> int:
    """The offset of a line and column that Python counts in the stripped text."""
    lines = text.strip().splitlines(keepends=True)
    before = sum(len(one) for one in lines[: line - 1])
    here = lines[line - 1] if line <= len(lines) else ""
    if in_bytes:
        column = len(here.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))
    return min(lead + before + max(column, 0), len(text))


# Evaluation


class NotRead(Exception):
    """An expression needs what ``files`` or ``rows`` have not read yet, see ``file_reads``."""

    def __init__(self, function: str, argument: str) -> None:
        super().__init__(f"{function}({argument})")
        self.key = function, argument


class _MissingError(Exception):
    """A key that a value does not have; ``default`` stands in for it."""


def _evaluate(
    text: str, tree: ast.expr, names: Mapping[str, Json], reads: Mapping[str, Reads]
) -> Json:
    try:
        return _Evaluation(names, reads).of(tree)
    except _MissingError as error:
        raise ExpressionError("{reason}", 0, {"reason": str(error)}) from error
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        values = {"text": text.strip(), "reason": str(error) or type(error).__name__}
        raise ExpressionError("“{text}” cannot be computed: {reason}", 0, values) from error


class _Evaluation:
    """Walks a tree that ``_checked`` has passed; reaches keys of JSON, never Python's attributes.

    simpleeval was tried: it follows ``inputs.items`` to Python's method, ``%`` of its texts and
    powers can fill the memory, and it walks through a long list at each part of an expression.
    With all that replaced, less of it was in use than stands here.
    """

    def __init__(self, names: Mapping[str, Json], reads: Mapping[str, Reads]) -> None:
        self._names, self._reads = names, reads

    def of(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name() if node.id in _WORDS:
                return _WORDS[node.id]
            case ast.Name() if node.id in self._names:
                return self._names[node.id]
            case ast.Attribute():
                return _part(self.of(node.value), node.attr)
            case ast.Subscript():
                return _part(self.of(node.value), self.of(node.slice))
            case ast.List():
                return [self.of(one) for one in node.elts]
            case ast.BoolOp():
                return self._either(node)
            case ast.UnaryOp(op=ast.Not()):
                return not self.of(node.operand)
            case ast.UnaryOp():
                return -_number(self.of(node.operand))
            case ast.BinOp():
                return _OPERATORS[type(node.op)](self.of(node.left), self.of(node.right))
            case ast.Compare():
                return self._compare(node)
            case ast.IfExp():
                return self.of(node.body if self.of(node.test) else node.orelse)
            case ast.Call():
                return self._call(cast("ast.Name", node.func).id, node.args)
            case _:
                raise _MissingError(f"there is no “{ast.unparse(node)}” here")

    def _either(self, node: ast.BoolOp) -> Any:
        value = None
        for one in node.values:
            value = self.of(one)
            if bool(value) is isinstance(node.op, ast.Or):
                return value
        return value

    def _compare(self, node: ast.Compare) -> bool:
        left = self.of(node.left)
        for op, one in zip(node.ops, node.comparators, strict=True):
            right = self.of(one)
            if not _OPERATORS[type(op)](left, right):
                return False
            left = right
        return True

    def _call(self, name: str, arguments: list[ast.expr]) -> Any:
        if name == "default":
            try:
                value = self.of(arguments[0])
            except _MissingError:
                value = None
            return self.of(arguments[1]) if value is None else value
        function = self._reads.get(name) or _COMPUTED.get(name)
        if function is None:
            raise TypeError(f"{name}() reads files, which is not possible here")
        return function(*(self.of(one) for one in arguments))


def _part(value: Any, key: Any) -> Any:
    if isinstance(value, dict) and isinstance(key, str):
        found = cast("dict[str, Any]", value)
        if key not in found:
            known = ", ".join(found) or "nothing"
            raise _MissingError(f"there is no “{key}”, only {known}")
        return found[key]
    if isinstance(value, list) and isinstance(key, int) and not isinstance(key, bool):
        items = cast("list[Any]", value)
        if not -len(items) <= key < len(items):
            raise _MissingError(f"there is no [{key}] in a list of {len(items)}")
        return items[key]
    raise _MissingError(f"{as_words(cast('Json', value))[:60]} has no “{key}”")


def _number(value: Any) -> Any:
    if isinstance(value, int | float):
        return value
    raise TypeError("this has to be a number")


def _numbers(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: _bounded(compute(_number(left), _number(right)))


def _bounded(value: Any) -> Any:
    """A number that JSON has; raises ValueError."""
    if abs(value) <= _LARGEST:
        return value
    raise ValueError("the result is too large")


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str | list) and isinstance(right, str | list):
        if len(cast("Any", left)) + len(cast("Any", right)) > LONGEST_TEXT:
            raise ValueError("the result is too long")
        return cast("Any", left) + cast("Any", right)
    return _bounded(_number(left) + _number(right))


_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: _add,
    ast.Sub: _numbers(operator.sub),
    ast.Mult: _numbers(operator.mul),
    ast.Div: _numbers(lambda left, right: left / right),
    ast.Mod: _numbers(operator.mod),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}


def _join(values: list[Json], between: str = ", ") -> str:
    words = [as_words(value) for value in values]
    if sum(map(len, words)) + len(between) * len(words) > LONGEST_TEXT:
        raise ValueError("the result is too long")
    return between.join(words)


_COMPUTED: dict[str, Callable[..., Any]] = {
    "len": len,
    "any": any,
    "all": all,
    "join": _join,
    "json": json.loads,
}
