"""Finding tools: built in, the person's own files, installed packages (T-1)."""

from __future__ import annotations

import importlib
import linecache
import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from .definition import Tool

ENTRY_POINTS = "agent_studio.tools"
_BUILTIN = "studio.tools.builtin"


@dataclass
class Toolbox:
    """Tools by name, and what could not be loaded, one line each for the person."""

    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    problems: list[str] = field(default_factory=list[str])

    def add(self, tool: Tool, origin: str) -> None:
        """Take a tool; of two with one name the first stays, and that is reported."""
        name = tool.spec.name
        known = self.tools.get(name)
        if known is None:
            self.tools[name] = tool
        elif known is not tool:
            self.problems.append(
                f"{origin}: there is a tool “{name}” already ({_place(known)}), this is left out."
            )


def discover(builtin: bool = True, folders: Sequence[Path] = ()) -> Toolbox:
    """All tools there are: those built in, then each folder's files, then entry points.

    Runs the files, so call it in a thread. A file that cannot be loaded is
    skipped and reported with its line. Names beginning with ``_`` or ``.`` are
    not tool files. Calling it again reads changed files anew.
    """
    box = Toolbox()
    if builtin:
        package = importlib.import_module(_BUILTIN)
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
            name = f"{_BUILTIN}.{module.name}"
            _load(box, name, name, lambda name=name: importlib.import_module(name))
    for folder in folders:
        for path in _files(box, folder):
            _load(box, str(path), str(path), lambda path=path: _run_file(path))
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        origin = f"{entry.dist.name if entry.dist else 'a package'} ({entry.value})"
        _load(box, origin, "", entry.load)
    return box


def _files(box: Toolbox, folder: Path) -> list[Path]:
    try:
        return sorted(
            path for path in folder.iterdir() if path.suffix == ".py" and path.name[0] not in "_."
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        box.problems.append(f"{folder}: {error.strerror or error}")
        return []


def _load(box: Toolbox, origin: str, file: str, load: Callable[[], object]) -> None:
    try:
        found = load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a tool file may even call exit()
        box.problems.append(_problem(origin, file, error))
        return
    tools = _tools(found)
    if not tools:
        box.problems.append(f"{origin}: there is no tool in it, no function with @tool.")
    for tool in tools:
        box.add(tool, origin)


def _tools(found: object) -> list[Tool]:
    """The tools of a module, without those it merely imported; or the tool itself."""
    if isinstance(found, Tool):
        return [found]
    if not isinstance(found, ModuleType):
        return []
    here = [value for value in vars(found).values() if isinstance(value, Tool)]
    own = [tool for tool in here if tool.module in ("", found.__name__)]
    return list(dict.fromkeys(own))


def _run_file(path: Path) -> ModuleType:
    """The file as a module, made anew each time; nothing is written beside it."""
    name = f"studio_tool_{path.stem}_{sha256(str(path).encode('utf-8', 'replace')).hexdigest()[:8]}"
    linecache.checkcache(str(path))
    module = ModuleType(name)
    module.__file__ = str(path)
    code = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    previous = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses and type hints look their module up here
    try:
        exec(code, module.__dict__)
    except BaseException:
        if previous is None:
            del sys.modules[name]
        else:
            sys.modules[name] = previous
        raise
    return module


def _problem(origin: str, file: str, error: BaseException) -> str:
    line: int | None = None
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno
        text = error.msg
    else:
        text = str(error) or "no reason given"
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == file:
                line = frame.lineno
    place = f"{origin}, line {line}" if line else origin
    return f"{place}: {type(error).__name__}: {text}"


def _place(tool: Tool) -> str:
    return tool.origin or tool.module or "built in"
