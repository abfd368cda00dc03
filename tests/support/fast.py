"""Which tests are fast: those that need no Qt, no process and no socket.

The rule reads the sources: a test is fast unless a name that it uses, directly
or through its fixtures and helpers, leads to one of ``SLOW``. A test that is
fast by its names and starts something after all fails.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from studio.domain.python_syntax import parse_python

SUPPORT = Path(__file__).parent
QT = ("PySide6", "pytestqt", "qasync", "shiboken6", "studio.ui")
SDKS = ("acp", "anthropic", "google.genai", "mcp", "openai")
"""A file that imports one of these, which take a second, has no fast test."""
SLOW = (
    *QT,
    "http.client",
    "http.server",
    "hypothesis.given",
    "hypothesis.stateful",
    "jeepney",
    "multiprocessing",
    "socket",
    "studio.app",
    "studio.cli.drafts_edit",
    "studio.processes.keeper",
    "studio.processes.sandbox",
    "studio.processes.shell_command",
    "studio.providers.local_model",
    "studio.providers.model_files.downloads",
    "studio.simulator.HubSimulator",
    "studio.simulator.Simulator",
    "studio.simulator.serve",
    "studio.storage.config.key_command",
    "studio.tools.builtin.run",
    "studio.tools.builtin.search",
    "studio.tools.memory.nearness",
    "studio.tools.workspace.grep",
    "studio.workflows.cluster.lines.connect",
    "subprocess",
    "support.cpu_cost",
    "support.provider_calls.fails",
    "support.sample_files.noise",
    "urllib.request",
)
"""What needs one of the three, or takes its time: properties and measurements."""
STARTERS = {
    "create_subprocess_exec",
    "create_subprocess_shell",
    "mkfifo",
    "open_connection",
    "qapp",
    "qtbot",
    "start_server",
}
"""Attributes and fixtures that need one of the three."""
EVENTS = {
    "os.exec": "a process",
    "os.fork": "a process",
    "os.posix_spawn": "a process",
    "subprocess.Popen": "a process",
    "socket.bind": "a socket",
    "socket.connect": "a socket",
    "socket.getaddrinfo": "a socket",
}
"""Python's audit events, and what they stand for."""


@dataclass
class _Source:
    """What a file binds and uses at its top."""

    imports: dict[str, str] = field(default_factory=dict)
    uses: dict[str, set[str]] = field(default_factory=dict)
    always: set[str] = field(default_factory=set)
    """What every test of the file uses: ``pytestmark``, fixtures that nobody names."""


def is_fast(file: Path, test: str) -> bool:
    """Whether a test of this file needs no Qt, no process and no socket."""
    names = (test, *_read(file).always)
    return not _is_heavy(file) and not any(_is_slow(file, name) for name in names)


@functools.cache
def has_fast(file: Path) -> bool:
    """Whether this file has a fast test."""
    tests = (name for name in _read(file).uses if name.startswith("test_"))
    return not _is_heavy(file) and any(not _is_slow(file, test) for test in tests)


@functools.cache
def _is_heavy(file: Path) -> bool:
    return any(_is_below(name, (*QT, *SDKS)) for name in _read(file).imports.values())


@functools.cache
def _is_slow(file: Path, name: str) -> bool:
    """Whether a name leads to one of ``SLOW``, by whatever way."""
    seen = {(file, name)}
    ways = [(file, name)]
    while ways:
        file, name = ways.pop()
        origin = _read(file).imports.get(name)
        if name in STARTERS or (origin is not None and _is_below(origin, SLOW)):
            return True
        for way in _next(file, name, origin):
            if way not in seen:
                seen.add(way)
                ways.append(way)
    return False


def _next(file: Path, name: str, origin: str | None) -> Iterator[tuple[Path, str]]:
    if origin is None:
        yield from ((file, one) for one in _read(file).uses.get(name, ()))
    elif origin.startswith("support."):
        _, module, *names = origin.split(".")
        shared = SUPPORT / f"{module}.py"
        yield from ((shared, one) for one in names or _read(shared).uses)


def _is_below(name: str, tops: tuple[str, ...]) -> bool:
    return any(name == top or name.startswith(f"{top}.") for top in tops)


@functools.cache
def _read(file: Path) -> _Source:
    source = _Source()
    for node in cast("ast.Module", parse_python(file.read_text("utf-8"))).body:
        used = _used(node, source.imports)
        match node:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                source.uses[name] = used
                if any("autouse" in ast.unparse(one) for one in node.decorator_list):
                    source.always.add(name)
            case ast.Assign(targets=targets):
                for name in {n for one in targets for n in _used(one, {})}:
                    source.uses[name] = source.uses.get(name, set()) | used
                    if name == "pytestmark":
                        source.always |= _used(node.value, {}, strings=True)
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
                source.uses[name] = used
            case _:
                pass
    return source


def _used(node: ast.AST, imports: dict[str, str], *, strings: bool = False) -> set[str]:
    """The names in a statement; ``imports`` gets what it imports."""
    found: set[str] = set()
    for one in ast.walk(node):
        match one:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.Constant(value=str(text)) if strings or "fixture" in text:
                found.add(text)
            case ast.Import(names=names):
                imports |= {(n.asname or n.name).partition(".")[0]: n.name for n in names}
            case ast.ImportFrom(module=str(module), names=names):
                imports |= {n.asname or n.name: f"{module}.{n.name}" for n in names}
            case _:
                pass
    return found


_seen: list[str] | None = None
_hooked = False


@contextmanager
def nothing_is_started() -> Iterator[list[str]]:
    """What is started within the block, in words; a fast test starts nothing."""
    global _seen, _hooked  # an audit hook stays for good
    if not _hooked:
        sys.addaudithook(_hear)
        _hooked = True
    _seen = found = []
    try:
        yield found
    finally:
        _seen = None


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _seen is None:
        return
    if kind := EVENTS.get(event):
        _seen.append(f"{kind} ({event} {arguments!r:.80})")
    elif event == "import" and str(arguments[0]).startswith("PySide6"):
        _seen.append(f"Qt (import {arguments[0]})")
