"""Symbols: finds what a source text defines, and where it uses a name (C-18).

Python is read with its own parser, other languages with tree-sitter. Everything blocks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from copy import copy
from dataclasses import field, replace
from typing import Literal, TypeAlias

from studio.domain.python_syntax import parse_python
from studio.domain.records import dataclass

LONGEST = 500_000
"""Characters of a text that is parsed; no other thread runs while Python's parser does."""
WIDTH = 200
"""Characters of a signature that are shown."""
PYTHON = (".py", ".pyi", ".pyw")

Kind: TypeAlias = Literal["class", "function", "value"]
_Definition: TypeAlias = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_DEFINES = re.compile(r"([ \t]*)((?:async[ \t]+)?def|class)[ \t]+(\w+)")
_IMPORTS = re.compile(r"\s*(?:import|from)\b")


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. ``name`` begins with the names around it, ``depth`` counts these.

    ``first`` and ``last`` are its lines, from 1.
    """

    name: str
    kind: Kind
    signature: str
    first: int
    last: int
    depth: int


@dataclass(slots=True)
class Symbols:
    """What a text defines, in its order. ``problem`` says why it was not read as a whole.

    ``uses`` are the lines that use the name which was looked for.
    """

    found: list[Symbol] = field(default_factory=list[Symbol])
    problem: str = ""
    uses: list[int] = field(default_factory=list[int])

    def around(self, line: int) -> str:
        """The name of the innermost class or function with this line; "" if there is none."""
        around = [one for one in self.found if one.kind != "value" and one.first <= line]
        return next((one.name for one in reversed(around) if line <= one.last), "")


def lines_of(text: str) -> list[str]:
    """The lines of a text, as a parser counts them."""
    return text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n")


def python_symbols(text: str, wanted: str = "") -> Symbols:
    """The classes and functions of a Python text.

    With a name ``wanted`` also the values of modules and classes, and the uses of that name.
    Of a text that cannot be parsed its lines with ``class`` and ``def`` are taken.
    """
    problem = "it is too long to be parsed"
    if len(text) <= LONGEST:
        try:
            tree = parse_python(text.removeprefix("\ufeff"))
            return Symbols(list(_defined(tree, wanted)), "", _used(tree, wanted))
        except SyntaxError as error:
            problem = f"line {error.lineno}: {error.msg}"
        except (ValueError, RecursionError, MemoryError, OverflowError) as error:
            problem = str(error) or "it is nested too deeply"
    return _by_line(text, wanted, problem)


def _defined(tree: ast.AST, wanted: str) -> Iterator[Symbol]:
    left: list[tuple[ast.AST, tuple[str, ...], bool]] = [(tree, (), False)]
    while left:
        node, above, local = left.pop()
        if isinstance(node, _Definition):
            above = (*above, node.name)
            local = not isinstance(node, ast.ClassDef)
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            last = node.end_lineno or node.lineno
            kind = "function" if local else "class"
            yield Symbol(".".join(above), kind, _signature(node), first, last, len(above) - 1)
        elif wanted and not local and isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in (one.id for one in targets if isinstance(one, ast.Name)):
                at = node.lineno, node.end_lineno or node.lineno
                whole = ".".join((*above, name))
                yield Symbol(whole, "value", _cut(_unparsed(node) or name), *at, len(above))
        inside = [
            (child, above, local)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
        ]
        left += reversed(inside)


def _signature(node: _Definition) -> str:
    marks = [f"@{_unparsed(one).partition('(')[0]}" for one in node.decorator_list]
    stub = copy(node)
    stub.body, stub.decorator_list = [ast.Pass()], []
    head = _unparsed(stub).rpartition(":\n")[0]
    keyword = "class" if isinstance(node, ast.ClassDef) else "def"
    return _cut(" ".join([*marks, head or f"{keyword} {node.name}"]))


def _unparsed(node: ast.AST) -> str:
    try:
        return ast.unparse(node)
    except (RecursionError, ValueError):
        return ""


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[:WIDTH]} …"


def _used(tree: ast.AST, wanted: str) -> list[int]:
    if not wanted:
        return []
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == wanted and isinstance(node.ctx, ast.Load):
            found.add(node.lineno)
        elif isinstance(node, ast.Attribute) and node.attr == wanted:
            found.add(node.end_lineno or node.lineno)
    return sorted(found)


def _by_line(text: str, wanted: str, problem: str) -> Symbols:
    """What the lines of a text define, by their indentation."""
    symbols = Symbols(problem=problem)
    open_: list[tuple[int, int]] = []
    """Those that go on: their indentation, and their place in ``symbols.found``."""
    word = re.compile(rf"\b{re.escape(wanted)}\b") if wanted else None

    def close(indent: int, last: int) -> None:
        while open_ and open_[-1][0] >= indent:
            at = open_.pop()[1]
            symbols.found[at] = replace(symbols.found[at], last=last)

    number = 0
    for number, line in enumerate(lines_of(text), 1):
        if match := _DEFINES.match(line):
            close(indent := len(match[1].expandtabs()), number - 1)
            name = match[3]
            whole = f"{symbols.found[open_[-1][1]].name}.{name}" if open_ else name
            kind = "class" if match[2] == "class" else "function"
            signature = _cut(line.rstrip().removesuffix(":"))
            symbols.found.append(Symbol(whole, kind, signature, number, number, len(open_)))
            open_.append((indent, len(symbols.found) - 1))
            if name == wanted:
                continue
        if word is not None and word.search(line) and not _IMPORTS.match(line):
            symbols.uses.append(number)
    close(0, number)
    return symbols
