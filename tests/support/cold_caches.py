"""Fills caches once, before the workers start: on a fresh clone each would fill all of them.

Tests with their assertions rewritten take 10 s of CPU to compile, Hypothesis' tables of
characters another 10, and the constants that it looks for in the program 4, at night alone.
"""

from __future__ import annotations

import contextlib
import os
import sys
import types
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import spec_from_file_location
from pathlib import Path

from _pytest.assertion.rewrite import AssertionRewritingHook
from hypothesis import strategies as st
from hypothesis.configuration import storage_directory
from hypothesis.internal.constants_ast import constants_from_module

ROOT = Path(__file__).parents[2]


def fill_caches(*, constants: bool) -> None:
    """Fill what is missing, on two cores; what goes wrong here goes wrong where it is said."""
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    work = [partial(_rewrite, tests[0::2]), partial(_rewrite, tests[1::2])]
    if not storage_directory("unicode_data").path.exists():
        work += [st.text().validate]
        work += [_find_constants] if constants else []
    for child in [_start(part) for part in work]:
        os.waitpid(child, 0)


def _start(work: Callable[[], object]) -> int:
    """Work in a process of its own; its number."""
    if child := os.fork():
        return child
    try:
        with contextlib.suppress(Exception):
            work()
    finally:
        os._exit(0)


def _rewrite(tests: Sequence[Path]) -> None:
    """Have pytest compile tests as it does when they are imported, and run nothing of them."""
    hook = next(one for one in sys.meta_path if isinstance(one, AssertionRewritingHook))
    for test in tests:
        module = _module(test)
        vars(module)["__builtins__"] = {}  # it ends at its first import
        with contextlib.suppress(ImportError):
            hook.exec_module(module)


def _find_constants() -> None:
    for file in (ROOT / "studio").rglob("*.py"):
        module = _module(file)
        sys.modules[module.__name__] = module  # where its source is looked up
        constants_from_module(module)


def _module(file: Path) -> types.ModuleType:
    spec = spec_from_file_location(file.stem, file)
    module = types.ModuleType(file.stem)
    module.__spec__, module.__file__ = spec, str(file)
    return module
