"""Each requirement that code or tests name is explained in ``docs/requirements.md``.

Of the predecessor each line there is covered by tests that name it, and what it rests on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"(?<![\w-])(?:[HLTPSGUCWMKXI]|KZ|PRE)-[1-9]\d?(?![\w-])")
EXPLAINED = re.compile(rf"^\| ({NAME.pattern}) \| .{{20,}} \|$", re.M)
ROW = re.compile(r"^\| (PRE-\d+) \| .* \(([^()]+)\)\. \|$", re.M)


def requirements() -> str:
    return (ROOT / "docs" / "requirements.md").read_text("utf-8")


def named() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in ("studio", "tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            found.update(dict.fromkeys(NAME.findall(path.read_text("utf-8")), path))
    return found


def test_every_requirement_that_is_named_is_explained() -> None:
    explained = set(EXPLAINED.findall(requirements()))
    places = named()
    assert "H-5" in places
    assert not {name: str(path) for name, path in places.items() if name not in explained}


def listed(words: str) -> Iterator[str]:
    """The names in ``H-1 to H-3, L-6``, each by itself."""
    for part in words.split(", "):
        first, _, last = part.partition(" to ")
        kind, _, number = first.partition("-")
        for one in range(int(number), int((last or first).partition("-")[2]) + 1):
            yield f"{kind}-{one}"


def covered() -> Iterator[tuple[str, str]]:
    """Each line of the predecessor with each requirement that a test names beside it."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if "PRE-" in text else ():
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            told = ast.get_docstring(node) or ""
            by_name = re.findall(r"(?<![a-z0-9])([a-z]+)(\d+)(?![a-z0-9])", node.name)
            names = {*NAME.findall(told), *(f"{kind.upper()}-{one}" for kind, one in by_name)}
            if node.name.startswith("test_"):
                rows = [one for one in names if one.startswith("PRE-")]
                yield from ((row, one) for row in rows for one in names)


def test_each_line_of_the_predecessor_is_covered_by_a_test_that_names_it() -> None:
    rows = dict(ROW.findall(requirements()))
    assert len(rows) == requirements().count("\n| PRE-") == 26
    wanted = {(row, one) for row, words in rows.items() for one in listed(words)}
    assert not sorted(wanted - set(covered()))
