"""Compares a package with its map: the docstring that names each module beside it."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def unnamed_modules(folder: Path) -> set[str]:
    """The modules and packages of a folder that the docstring of its ``__init__`` does not name."""
    return _modules(folder) - set(re.findall(r"``(\w+)``", _map(folder)))


def lines_of_none(folder: Path) -> set[str]:
    """The names that lines of the map begin with and no module of the folder has."""
    return set(re.findall(r"^- ``(\w+)``:", _map(folder), re.M)) - _modules(folder)


def _map(folder: Path) -> str:
    return ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""


def _modules(folder: Path) -> set[str]:
    inside = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    return inside | {path.parent.name for path in folder.glob("*/__init__.py")}
