"""The map in ``studio/__init__.py`` is the thing that is checked."""

from __future__ import annotations

import ast
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import studio
from support.room_map import lines_of_none, unnamed_modules

PACKAGE = Path(studio.__file__).parent
FREE = {"__init__", "__main__"}  # the front door may call anyone
QT = {"PySide6", "shiboken6", "qasync"}


def floors() -> dict[str, int]:
    rows = re.findall(r"^ {4}(\d) {2}((?:\w+ {1,2})*\w+)(?: {3,}|$)", studio.__doc__ or "", re.M)
    return {room: int(floor) for floor, rooms in rows for room in rooms.split()}


def import_statements(path: Path) -> Iterator[ast.Import | ast.ImportFrom]:
    """Those of a file, also inside functions; expressions hold none and are not looked at."""
    ahead: list[ast.AST] = [ast.parse(path.read_text("utf-8"))]
    while ahead:
        node = ahead.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, ())
            ahead += inner if isinstance(inner, list) else ()


@functools.cache
def imports(path: Path) -> list[str]:
    """Every absolute module name imported anywhere in a file, also inside functions."""
    here = ("studio", *path.relative_to(PACKAGE).with_suffix("").parts)
    package = here[:-1]
    found: list[str] = []
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join([*base, *([node.module] if node.module else [])])
            found += [f"{stem}.{name.name}" for name in node.names]
    return found


def test_every_room_is_on_the_map() -> None:
    rooms = {p.stem if p.suffix else p.name for p in PACKAGE.iterdir() if p.name != "__pycache__"}
    assert rooms - FREE - {"py", "resources"} == set(floors())


def test_imports_go_down_only() -> None:
    plan = floors()
    wrong: list[str] = []
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in FREE:
            continue
        for name in imports(path):
            parts = name.split(".")
            if parts[0] in QT and room != "ui" and path != PACKAGE / "packs" / "ui.py":
                wrong.append(f"{path}: {name}: only ui may know Qt")
            if parts[0] != "studio" or len(parts) < 2 or parts[1] == room:
                continue
            if parts[1] in plan and plan[parts[1]] >= plan[room]:
                wrong.append(f"{path}: {name}: {room} is on floor {plan[room]}")
    assert not wrong, "\n".join(wrong)


def test_the_code_of_packs_imports_one_facade() -> None:
    """KZ-2: packs that ship, and those of the tests; the window's part only in pages."""
    places = [PACKAGE.parent / "packs", Path(__file__).parent / "support" / "packs"]
    files = [path for place in places for path in place.rglob("*.py")]
    assert files
    wrong = [
        f"{path}: {node.module}"
        for path in files
        for node in import_statements(path)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").split(".")[0] == "studio"
        and node.module != "studio.packs"
        and (node.module, path.parent.name) != ("studio.packs.ui", "pages")
    ]
    wrong += [
        f"{path}: {name.name}"
        for path in files
        for node in import_statements(path)
        if isinstance(node, ast.Import)
        for name in node.names
        if name.name.split(".")[0] == "studio"
    ]
    assert not wrong, "\n".join(wrong)


def modules() -> dict[str, Path]:
    """Every module of the package, by its full name; a package goes by its own."""
    return {
        ".".join(("studio", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
            ".__init__"
        ): path
        for path in PACKAGE.rglob("*.py")
    }


def neighbours() -> dict[str, set[str]]:
    """The modules that each module imports, also under ``TYPE_CHECKING`` and inside functions.

    ``from . import x`` is an import of the module ``x`` if there is one, and of
    the package that holds the name ``x`` if not.
    """
    known = modules()
    found: dict[str, set[str]] = {}
    for module, path in known.items():
        names = imports(path)
        owners = {name if name in known else name.rpartition(".")[0] for name in names}
        found[module] = (owners & known.keys()) - {module}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules in which each reaches every other."""
    reach: dict[str, set[str]] = {}
    for start in graph:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            for there in graph[ahead.pop()] - seen:
                seen.add(there)
                ahead.append(there)
        reach[start] = seen
    groups = {
        frozenset(other for other in reach[module] if module in reach[other])
        for module in graph
        if module in reach[module]
    }
    return sorted(sorted(group) for group in groups)


def test_circles_are_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str](), "e": {"a", "d"}}
    assert circles(graph) == [["b", "c"]]
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}}) == [["a", "b", "c"]]


def test_no_import_circle_inside_a_room() -> None:
    found = circles(neighbours())
    assert not found, "\n".join(" <-> ".join(circle) for circle in found)


MAPPED = sorted(
    path.parent.relative_to(PACKAGE).as_posix()
    for path in PACKAGE.rglob("__init__.py")
    if path.parent != PACKAGE
)


@pytest.mark.parametrize("room", MAPPED)
def test_a_rooms_map_names_every_module_in_it_and_no_other(room: str) -> None:
    assert not unnamed_modules(PACKAGE / room)
    assert not lines_of_none(PACKAGE / room)


def test_tests_share_through_support_only() -> None:
    """A test file is imported by nobody; what several need is in ``tests/support``."""
    tests = Path(__file__).parent
    folders = {path.name for path in tests.iterdir() if path.is_dir()} - {"support"}
    wrong: list[str] = []
    for path in tests.rglob("*.py"):
        for node in import_statements(path):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names = [f"{node.module}.{one.name}" for one in node.names]
            for name in names:
                parts = name.split(".")
                if any(part.startswith("test_") for part in parts) or "tests" in parts[:1]:
                    wrong.append(f"{path}: {name}: move it to support")
                elif path.parent.name == "support" and parts[0] in folders - {"acp", "docs", "mcp"}:
                    wrong.append(f"{path}: {name}: support imports no test")
    assert not wrong, "\n".join(wrong)


def test_pyright_is_strict_outside_the_window() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))
    strict = set(project["tool"]["pyright"]["strict"])
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"ui"}
    assert not {f"studio/{room}" for room in rooms} - strict
    assert "studio/*.py" in strict
