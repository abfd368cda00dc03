"""Leaves out the docstrings of the libraries that ship: nobody reads them in a packaged program.

PyInstaller has a switch for all modules at once, which also drops every ``assert``.
"""

from __future__ import annotations

import ast
import marshal
from pathlib import Path

from trimmed import PACKAGES

HEAD = 16
"""Bytes of a compiled module before its code."""


def without_docstrings(source: str) -> ast.Module:
    """The syntax tree of a module; what is left stays in its lines."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if ast.get_docstring(node, clean=False) is None:
            continue
        docstring = node.body.pop(0)
        if not node.body and not isinstance(node, ast.Module):
            node.body.append(ast.copy_location(ast.Pass(), docstring))
    return tree


def drop_docstrings(program: Path, installed: Path) -> None:
    """Compile the modules of libraries in ``program`` again, from the source in ``installed``.

    Those of packages that were cut down are others than the installed ones, and are left.
    """
    for module in sorted(program.rglob("*.pyc")):
        inside = module.relative_to(program)
        source = installed / inside.with_suffix(".py")
        if inside.parts[0] in PACKAGES or "__pycache__" in inside.parts or not source.is_file():
            continue
        before = module.read_bytes()
        name = marshal.loads(before[HEAD:]).co_filename
        tree = without_docstrings(source.read_text("utf-8"))
        code = compile(tree, name, "exec", dont_inherit=True)
        module.unlink()  # it may be a link to the one of another package
        module.write_bytes(before[:HEAD] + marshal.dumps(code))
