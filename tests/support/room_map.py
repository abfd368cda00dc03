"""Compares a package with its map: the docstring that names each module beside it."""

from __future__ import annotations

import ast
import re
from pathlib import Path


def unnamed_modules(folder: Path) -> set[str]:
    """The modules and packages of a folder that the docstring of its ``__init__`` does not name."""
    told = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
    inside = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    inside |= {path.parent.name for path in folder.glob("*/__init__.py")}
    return inside - set(re.findall(r"``(\w+)``", told))
