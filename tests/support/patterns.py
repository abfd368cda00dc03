"""The regular expressions in the program's source, and inputs that are hard for each."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import studio

ROOT = Path(studio.__file__).parent
SCANS = frozenset({"search", "sub", "subn", "split", "findall", "finditer"})
"""Functions that look for a match everywhere in a text."""
_STARTS = frozenset({"match", "fullmatch"})
_LETTERS = " a.-/_0\"'`<(\n\t:,=*Z+&#;@\\é"
_WRONG = ("", "\x00", "!", "\n", "x")


@dataclass(frozen=True)
class Pattern:
    """An expression, where it is in the source, and the functions that it is used with."""

    where: str
    expression: re.Pattern[Any]
    functions: frozenset[str]

    def run(self, text: str) -> None:
        whole: Any = text.encode() if isinstance(self.expression.pattern, bytes) else text
        if self.functions & SCANS:
            for _ in self.expression.finditer(whole):
                pass
        if "fullmatch" in self.functions:
            self.expression.fullmatch(whole)
        if "match" in self.functions:
            self.expression.match(whole)


def patterns() -> list[Pattern]:
    """Every expression in the source whose text does not depend on a variable of a function."""
    found: dict[tuple[object, int, frozenset[str]], Pattern] = {}
    for file in sorted(ROOT.rglob("*.py")):
        source = file.read_text("utf-8")
        if "re." in source:
            for one in _in_file(file, ast.parse(source)):
                found[one.expression.pattern, one.expression.flags, one.functions] = one
    return list(found.values())


def _in_file(file: Path, tree: ast.Module) -> Iterator[Pattern]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    used: dict[str, set[str]] = {}
    for node in ast.walk(tree):  # a method may be handed on, so every mention counts
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            used.setdefault(node.value.id, set()).add(node.attr)
    names = {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in calls:
        function = call.func
        if not (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id == "re"
            and function.attr in {*SCANS, *_STARTS, "compile"}
        ):
            continue
        expression = _expression(file, call)
        if expression is None:
            continue
        methods = {function.attr}
        if function.attr == "compile":
            methods = used.get(names.get(id(call), ""), set())
        methods &= {*SCANS, *_STARTS}
        where = f"{file.relative_to(ROOT.parent).as_posix()}:{call.lineno}"
        yield Pattern(where, expression, frozenset(methods or {"search"}))


def _expression(file: Path, call: ast.Call) -> re.Pattern[Any] | None:
    flags = next((one.value for one in call.keywords if one.arg == "flags"), None)
    assert isinstance(call.func, ast.Attribute)
    at = {"compile": 1, "sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2)
    if flags is None and len(call.args) > at:
        flags = call.args[at]
    first = call.args[0]
    names = {node.id for node in ast.walk(first) if isinstance(node, ast.Name)}
    space: dict[str, Any] = {"re": re}
    if names - {"re"}:
        dotted = ".".join(file.relative_to(ROOT.parent).with_suffix("").parts)
        space = vars(importlib.import_module(dotted.removesuffix(".__init__")))
    try:
        text = eval(compile(ast.Expression(first), str(file), "eval"), space)
        number = eval(compile(ast.Expression(flags), str(file), "eval"), space) if flags else 0
    except NameError:  # of a variable in a function
        return None
    return text if isinstance(text, re.Pattern) else re.compile(text, number)


@dataclass(frozen=True)
class HardInput:
    """A text that repeats ``unit``."""

    before: str
    unit: str
    after: str

    def text(self, size: int) -> str:
        """The text, of about ``size`` characters."""
        return f"{self.before}{self.unit * (size // len(self.unit))}{self.after}"


def hard_inputs(pattern: Pattern) -> Iterator[HardInput]:
    """Texts that repeat what each part of the expression repeats, and do not match in the end."""
    text = pattern.expression.pattern
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    pairs: dict[tuple[str, str], None] = {("", one): None for one in " a.-/\n`<("}
    _collect(parser.parse(text, pattern.expression.flags & ~re.UNICODE), "", pairs)
    for before, body in pairs:
        for unit in filter(None, dict.fromkeys((body, before + body, before))):
            for wrong in _WRONG if unit == body else _WRONG[:2]:
                yield HardInput(before if unit == body else "", unit, wrong)


def _collect(items: Any, before: str, pairs: dict[tuple[str, str], None]) -> str:
    """Note what each part repeats and what comes before it; returns a text that the items match."""
    for code, value in items:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            low, high, body = value
            inner = _collect(body, before, pairs)
            if high > 8:
                letters = _letters(body) or [inner]
                word = next((one for one in letters if one.isalnum()), "")
                for letter in letters:
                    pairs[before, letter] = None
                    if word and not letter.isalnum():  # each of them may begin a match
                        pairs[before, word + letter] = None
                pairs[before, inner] = None
            before += inner * max(low, 1 if high > 8 else low)
        elif code is codes.SUBPATTERN:
            before += _collect(value[3], before, pairs)
        elif code is codes.ATOMIC_GROUP:
            before += _collect(value, before, pairs)
        elif code is codes.BRANCH:
            texts = [_collect(branch, before, pairs) for branch in value[1]]
            before += texts[0]
        elif code in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY, codes.CATEGORY):
            before += (_letters([(code, value)]) or ["a"])[0]
    return before


def _letters(body: Any) -> list[str]:
    """Letters that a body of one character takes, of those that other parts take as well."""
    if len(body) != 1:
        return []
    code, value = body[0]
    if code is codes.SUBPATTERN:
        return _letters(value[3])
    if code is codes.LITERAL:
        return [chr(value)]
    if code is codes.ANY:
        return list(' a.-/"<')
    if code is codes.NOT_LITERAL:
        return [one for one in _LETTERS if ord(one) != value][:8]
    if code is not codes.IN:
        return []
    negative = value[0][0] is codes.NEGATE
    taken = [one for one in _LETTERS if negative != any(_takes(part, one) for part in value)]
    listed = [chr(part[1]) for part in value if part[0] is codes.LITERAL and not negative]
    return list(dict.fromkeys([*taken[:10], *listed[:3]]))


def _takes(part: Any, letter: str) -> bool:
    code, value = part
    if code is codes.LITERAL:
        return ord(letter) == value
    if code is codes.RANGE:
        return value[0] <= ord(letter) <= value[1]
    if code is codes.CATEGORY:
        kinds = {
            codes.CATEGORY_SPACE: letter.isspace(),
            codes.CATEGORY_NOT_SPACE: not letter.isspace(),
            codes.CATEGORY_DIGIT: letter.isdigit(),
            codes.CATEGORY_NOT_DIGIT: not letter.isdigit(),
            codes.CATEGORY_WORD: letter.isalnum() or letter == "_",
            codes.CATEGORY_NOT_WORD: not (letter.isalnum() or letter == "_"),
        }
        return kinds[value]
    return False
