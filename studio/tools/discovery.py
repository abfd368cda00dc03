"""Tool discovery: finds built-in tools, a person's tool files and installed packages (T-1)."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import linecache
import pkgutil
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import field
from hashlib import sha256
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from studio.domain.records import dataclass

from .drafts.record_store import RecordStore
from .script_head import read_head
from .sdk.definition import Tool

ENTRY_POINTS = "agent_studio.tools"
_BUILTIN = "studio.tools.builtin"


@dataclass()
class Toolbox:
    """Tools and record stores by name, and what could not be loaded, a line each."""

    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    stores: dict[str, RecordStore] = field(default_factory=dict[str, RecordStore])
    problems: list[str] = field(default_factory=list[str])

    def add(self, tool: Tool, origin: str) -> None:
        """Add a tool; of two with one name the first stays, and the other is reported."""
        name = tool.spec.name
        known = self.tools.get(name)
        if known is None:
            self.tools[name] = tool
        elif known is not tool:
            self.problems.append(
                f"{origin}: there is a tool “{name}” already ({_place(known)}), this is left out."
            )


def discover(builtin: bool = True, folders: Sequence[Path] = ()) -> Toolbox:
    """All tools, see ``ToolDiscovery``; runs their files, so call it in a thread."""
    return ToolDiscovery(folders, builtin=builtin).refresh()


@dataclass()
class _Source:
    """A file or package, its signature when it was loaded, and the tools found in it."""

    origin: str
    signature: object = "unread"
    tools: list[Tool] = field(default_factory=list[Tool])
    stores: list[RecordStore] = field(default_factory=list[RecordStore])
    problem: str = ""

    def load(self, file: str, run: Callable[[], object]) -> None:
        """Load its tools; after an error the tools from before stay, and ``problem`` is set."""
        try:
            module = run()
            found = tools_of(module)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a tool file may even call exit()
            self.problem = _problem(self.origin, file, error)
        else:
            nothing = f"{self.origin}: there is no tool in it, no function with @tool."
            self.problem = "" if found else nothing
            if found:
                self.tools, self.stores = found, _record_stores(module)
                return
        if self.tools:
            self.problem += " What it was before is still used."

    def forget(self) -> None:
        """Have nothing of it here."""
        self.tools, self.stores, self.problem = [], [], ""


class ToolDiscovery:
    """Finds tools: those built in, then each folder's files, then entry points.

    A file that cannot be loaded is skipped and reported with its line; if it worked before,
    its tools stay. Names beginning with ``_`` or ``.`` are not tool files, and those that say what
    they need (PEP 723) are not run here. What is built in or
    installed is loaded once; packages that come or go count from the next ``refresh`` on.
    """

    def __init__(self, folders: Sequence[Path] = (), *, builtin: bool = True) -> None:
        self._folders = tuple(folders)
        self._builtin = builtin
        self._built_in: list[_Source] | None = None
        self._entries: list[EntryPoint] | None = None
        self._installed: dict[str, _Source] = {}
        """By origin."""
        self._files: dict[Path, _Source] = {}
        self._box: Toolbox | None = None

    def refresh(self) -> Toolbox:
        """The tools as the files are now; the same object while nothing has changed.

        Runs files that are new or have changed, so call it in a thread.
        """
        if self._built_in is None:
            self._built_in = _built_in() if self._builtin else []
        packages_changed = self._refresh_installed()
        unreadable: list[str] = []
        paths = [path for folder in self._folders for path in tool_files(unreadable, folder)]
        changed = packages_changed or list(self._files) != paths
        files: dict[Path, _Source] = {}
        for path in paths:
            source = files[path] = self._files.get(path) or _Source(str(path))
            signature = _signature(path)
            if signature != source.signature:
                source.signature, changed = signature, True
                if read_head(path) is None:
                    source.load(str(path), lambda path=path: run_file(path))
                else:  # it runs in a process of its own
                    source.forget()
        self._files = files
        if changed or self._box is None:
            box = Toolbox(problems=unreadable)
            for source in (*self._built_in, *files.values(), *self._installed.values()):
                box.problems.extend([source.problem] if source.problem else [])
                for tool in source.tools:
                    box.add(tool, source.origin)
                for store in source.stores:
                    box.stores.setdefault(store.name, store)
            self._box = box  # only now: another thread may use it at once
        return self._box

    def _refresh_installed(self) -> bool:
        """Load what packages bring that was not loaded yet; whether that changed anything."""
        entries = _entry_points(_dated_path())
        if entries is self._entries:
            return False
        importlib.invalidate_caches()  # a module may be as new as its entry
        known, changed = self._installed, False
        installed: dict[str, _Source] = {}
        for entry in entries:
            origin = f"{entry.dist.name if entry.dist else 'a package'} ({entry.value})"
            source = installed[origin] = known.get(origin) or _Source(origin)
            if not source.tools:
                source.load("", entry.load)
                changed = True
        self._installed = installed
        self._entries = entries  # only now: another thread may look for them at once
        return changed or installed.keys() != known.keys()


def _built_in() -> list[_Source]:
    package = importlib.import_module(_BUILTIN)
    sources: list[_Source] = []
    for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
        name = f"{_BUILTIN}.{module.name}"
        sources.append(_Source(name))
        sources[-1].load(name, lambda name=name: importlib.import_module(name))
    return sources


def _dated_path() -> tuple[tuple[str, int], ...]:
    """Python's path, each folder with when a package last came to it or went."""
    dated: list[tuple[str, int]] = []
    for folder, path in _paths(tuple(sys.path)):
        try:
            dated.append((folder, path.stat().st_mtime_ns))
        except OSError:  # many a folder of the path is not there
            dated.append((folder, 0))
    return tuple(dated)


@functools.lru_cache(maxsize=1)
def _paths(places: tuple[str, ...]) -> tuple[tuple[str, Path], ...]:
    """To parse them takes longer than to look at them."""
    return tuple((one, Path(one)) for one in places)


@functools.lru_cache(maxsize=4)
def _entry_points(path: tuple[tuple[str, int], ...]) -> list[EntryPoint]:
    """Those of all packages on Python's path as it is now; reads a file of each package."""
    return sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)


def tool_files(problems: list[str], folder: Path) -> list[Path]:
    """A person's tool files in a folder; what cannot be read is added to ``problems``."""
    try:
        return sorted(
            path for path in folder.iterdir() if path.suffix == ".py" and path.name[0] not in "_."
        )
    except FileNotFoundError:
        return []
    except OSError as error:
        problems.append(f"{folder}: {error.strerror or error}")
        return []


def _signature(path: Path) -> object:
    """A value that changes when the file is written; None if the file cannot be read."""
    try:
        now = path.stat()
    except OSError:
        return None
    return now.st_mtime_ns, now.st_size, now.st_ino


def tools_of(found: object) -> list[Tool]:
    """The tools of a module, without those it merely imported; or the tool itself."""
    if isinstance(found, Tool):
        return [found]
    if not isinstance(found, ModuleType):
        return []
    here = [value for value in vars(found).values() if isinstance(value, Tool)]
    own = [tool for tool in here if tool.module in ("", found.__name__)]
    return list(dict.fromkeys(own))


def _record_stores(found: object) -> list[RecordStore]:
    """The record stores of a module, or of the module of a tool."""
    if isinstance(found, Tool):
        found = sys.modules.get(found.module)
    values = vars(found).values() if isinstance(found, ModuleType) else ()
    return [value for value in values if isinstance(value, RecordStore)]


def run_file(path: Path) -> ModuleType:
    """Run the file as a new module; nothing is written beside it."""
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
    """What went wrong and where; without ``file``, in the last frame of the package's code."""
    place, line = origin, 0
    if isinstance(error, SyntaxError) and error.filename and file in ("", error.filename):
        place = origin if file else f"{origin}, {error.filename}"
        line = error.lineno or 0
        text = error.msg
    else:
        text = str(error) or "no reason given"
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == file:
                line = frame.lineno or 0
            elif not file and not _is_import(frame.filename):
                place, line = f"{origin}, {frame.filename}", frame.lineno or 0
    where = f"{place}, line {line}" if line else place
    return f"{where}: {type(error).__name__}: {text}"


def _is_import(filename: str) -> bool:
    """Whether a frame is of the import system, or of this file."""
    imports = (importlib.__file__, importlib.metadata.__file__, __file__)
    # The backport of importlib.metadata, which other packages put in its place.
    backport = Path(filename).parent.name == "importlib_metadata"
    return filename.startswith("<") or filename in imports or backport


def _place(tool: Tool) -> str:
    return tool.origin or tool.module or "built in"
