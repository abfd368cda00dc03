"""The map in ``studio/__init__.py`` is the thing that is checked."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import studio

PACKAGE = Path(studio.__file__).parent
FREE = {"__init__", "__main__"}  # the front door may call anyone
QT = {"PySide6", "shiboken6", "qasync"}


def floors() -> dict[str, int]:
    rows = re.findall(r"^ {4}(\d) {2}((?:\w+ {1,2})*\w+)(?: {3,}|$)", studio.__doc__ or "", re.M)
    return {room: int(floor) for floor, rooms in rows for room in rooms.split()}


def imports(path: Path) -> list[str]:
    """Every absolute module name imported anywhere in a file, also inside functions."""
    here = ("studio", *path.relative_to(PACKAGE).with_suffix("").parts)
    package = here[:-1]
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
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
            if parts[0] in QT and room != "ui":
                wrong.append(f"{path}: {name}: only ui may know Qt")
            if parts[0] != "studio" or len(parts) < 2 or parts[1] == room:
                continue
            if parts[1] in plan and plan[parts[1]] >= plan[room]:
                wrong.append(f"{path}: {name}: {room} is on floor {plan[room]}")
    assert not wrong, "\n".join(wrong)
