"""Pack loading: runs the Python of packs that may run in the program (X-4).

Each file in a pack's folder ``tools`` becomes a module, and the files import each other with a
dot. Compiled files are neither read nor written: what runs is what the person approved. A pack that
ships with the studio is part of it, and compiled once as the studio's own files are.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from threading import current_thread, main_thread
from types import CodeType, ModuleType
from typing import Protocol

from studio.agent.packs import LoadedPack
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.records import dataclass
from studio.tools import Tool
from studio.tools.discovery import run_file, tools_of
from studio.tools.packs.definition import Pack
from studio.tools.packs.home import NoRecords, Records

PREFIX = "studio_pack_"
"""Begins the name of a pack's package, before its id."""
MOST_SHOWN = 300
_OF_WINDOW = ("PySide6", "shiboken6", "studio.ui", "studio.packs.ui")
OF_WINDOW = (
    "{name} is of the window, and tools run where there is none, too. Import it in a module in "
    "pages that no tool imports."
)
NO_POLICY = (
    "The pack “{pack}” says who may see what is sent, and cannot be loaded, so nothing was sent. "
    "Correct it, or switch it off. {why}"
)


@dataclass(frozen=True, slots=True)
class CodePlace:
    """Where the Python of a pack is that is on; ``root`` is the pack's folder of ours.

    ``digest`` is that of all its files, which the person approved; of a pack that ships, it says
    which reading of them it is. ``data`` is the folder in which the studio keeps what is the
    pack's. ``shipped``: it is part of the program.
    """

    id: str
    root: Path
    digest: str
    records: Callable[[], Records] = NoRecords
    data: Path = Path()
    name: str = ""
    shipped: bool = False


class Told(Protocol):
    @property
    def problems(self) -> Sequence[str]: ...


class ProgramPacks:
    """Loads the packs whose Python runs in the program, once each while it is the same.

    ``places`` tells which they are, and blocks.
    """

    def __init__(
        self, places: Callable[[], Iterable[CodePlace]], others: Told | None = None
    ) -> None:
        """``others`` says why packs do not run whose Python is elsewhere."""
        self._places = places
        self._others = others
        self.unguarded: Sequence[str] = ()
        """Why nothing may be sent: packs that may have a policy were not loaded."""
        self._known: dict[str, tuple[str, LoadedPack | None, str]] = {}
        """The digest of each, what was loaded, and why nothing was."""
        self.problems: Sequence[str] = ()

    def are_on(self) -> bool:
        try:
            return any(True for _ in self._places())
        except StudioError:
            return True  # ``refresh`` says why

    def why_not(self, pack: str) -> str:
        known = self._known.get(pack)
        return known[2] if known else ""

    def refresh(self) -> Sequence[LoadedPack]:
        before, self._known = self._known, {}
        problems: list[str] = []
        unguarded: list[str] = []
        try:
            for place in self._places():
                known = before.get(place.id)
                if known is None or known[0] != place.digest:
                    known = _loaded(place)
                self._known[place.id] = known
                if known[2] and _may_have_policy(place.root):
                    unguarded.append(NO_POLICY.format(pack=place.name or place.id, why=known[2]))
        except StudioError as error:
            problems.append(str(error))
            unguarded.append(str(error))
        self.unguarded = unguarded
        for gone in before.keys() - self._known.keys():
            forget(gone)
        problems += [problem for _, _, problem in self._known.values() if problem]
        self.problems = [*problems, *(self._others.problems if self._others else ())]
        return [one for _, one, _ in self._known.values() if one is not None]


def _may_have_policy(root: Path) -> bool:
    """Whether the code of a pack names what a policy is made of; also if it cannot be read."""
    try:
        return any("RequestPolicy" in one.read_text("utf-8") for one in root.rglob("*.py"))
    except (OSError, ValueError):
        return True


def _loaded(place: CodePlace) -> tuple[str, LoadedPack | None, str]:
    try:
        code = load_code(place.id, place.root, shipped=place.shipped)
    except ConfigurationError as error:
        return place.digest, None, str(error)
    loaded = LoadedPack(
        place.id, place.root, code.pack, code.tools, place.records, place.data, place.name
    )
    return place.digest, loaded, ""


@dataclass(frozen=True, slots=True)
class PackCode:
    """What was found in the modules of a pack."""

    pack: Pack
    tools: tuple[Tool, ...]


class _SourceLoader(SourceFileLoader):
    """Compiles the source each time: a compiled file may be another program's."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        source = self.get_data(path)
        before, code = _FINDER.compiled.pop(path, (b"", None))
        if current_thread() is main_thread():
            same = code is not None and before == source
            return code if same else self.source_to_code(source, path)
        tree = ast.parse(source, path)
        _refuse_window(tree, path)
        return self.source_to_code(tree, path)


class _OfWindow(ImportError):
    """A module that a thread loads imports what is of the window."""

    def __init__(self, name: str, path: str, line: int) -> None:
        super().__init__(OF_WINDOW.format(name=name), name=name, path=path)
        self.line = line


def _refuse_window(tree: ast.Module, path: str) -> None:
    """Raise ``_OfWindow`` where there is such an import.

    A class of Qt's that a thread makes while Qt is at work ends the program now and then.
    """
    waiting: list[ast.stmt] = [*tree.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Import):
            names = [alias.name for alias in one.names]
        elif isinstance(one, ast.ImportFrom) and not one.level:
            names = [f"{one.module}.{alias.name}" for alias in one.names]
        else:
            if isinstance(one, ast.Try | ast.With | ast.ClassDef):
                waiting += one.body
            elif isinstance(one, ast.If):  # what stands below TYPE_CHECKING is not run
                waiting += one.orelse if "TYPE_CHECKING" in ast.unparse(one.test) else one.body
            continue
        for name in names:
            if any(f"{name}.".startswith(f"{room}.") for room in _OF_WINDOW):
                raise _OfWindow(name, path, one.lineno)


class _Finder:
    """Finds the modules of packs; ``folders`` are those that are loaded, by their package, and
    ``shipped`` the packages of those that are part of the program."""

    def __init__(self) -> None:
        self.folders: dict[str, Path] = {}
        self.shipped: set[str] = set()
        self.compiled: dict[str, tuple[bytes, CodeType]] = {}
        """By file: what was compiled ahead, and of which source."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        folder = self.folders.get(package)
        if folder is None:
            return None
        # Words, not paths: a pack may have a hundred modules.
        place = os.path.join(folder, *rest.split(".")) if rest else str(folder)  # noqa: PTH118
        file = f"{place}.py"
        if rest and os.path.isfile(file):  # noqa: PTH113
            kind = SourceFileLoader if package in self.shipped else _SourceLoader
            return importlib.util.spec_from_file_location(name, file, loader=kind(name, file))
        if not os.path.isdir(place):  # noqa: PTH112
            return None
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [place]
        return spec


_FINDER = _Finder()


def package_of(pack_id: str) -> str:
    """The name of a pack's package: ids have no ``_``."""
    return PREFIX + pack_id.replace("-", "_").replace(".", "__")


def load_code(pack_id: str, root: Path, *, shipped: bool = False) -> PackCode:
    """Run the files in ``tools`` of a pack's folder of ours, anew if they ran before. Blocks.

    ``shipped``: the pack is part of the program, so that its files are compiled once. Raises
    ConfigurationError, which names the file and the line.
    """
    package = package_of(pack_id)
    forget(pack_id)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)  # before the one that reads compiled files
    _FINDER.folders[package] = root
    if shipped:
        _FINDER.shipped.add(package)
    importlib.invalidate_caches()
    tools: dict[str, Tool] = {}
    packs: list[Pack] = []
    files = sorted(path for path in (root / "tools").glob("*.py") if path.name[0] not in "_.")
    for path in files:
        try:
            module = importlib.import_module(f"{package}.tools.{path.stem}")
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # it may even call exit()
            forget(pack_id)
            raise ConfigurationError(problem_of(root, path, error)) from error
        for value in vars(module).values():
            if isinstance(value, Tool) and value.module in ("", module.__name__):
                tools[value.spec.name] = value
            elif isinstance(value, Pack) and value not in packs:
                packs.append(value)
    if len(packs) > 1:
        raise ConfigurationError(f"{root / 'tools'}: there is more than one Pack in these files.")
    return PackCode(packs[0] if packs else Pack(), tuple(tools.values()))


def load_script(file: Path) -> PackCode:
    """Run one file of the person's own. Raises ConfigurationError, as ``load_code``."""
    try:
        tools = tools_of(run_file(file))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may even call exit()
        raise ConfigurationError(problem_of(file.parent, file, error)) from error
    if not tools:
        raise ConfigurationError(f"{file}: there is no tool in it, no function with @tool.")
    return PackCode(Pack(), tuple(tools))


def compile_ahead(pack_id: str) -> None:
    """Compile the modules of a pack that are not loaded yet, so that to load them takes no time.

    Call it in a thread. What cannot be compiled says so when it is loaded.
    """
    package = package_of(pack_id)
    root = _FINDER.folders.get(package)
    if root is None or package in _FINDER.shipped:
        return
    for file in root.rglob("*.py"):
        name = ".".join((package, *file.relative_to(root).with_suffix("").parts))
        if name not in sys.modules:
            with suppress(OSError, SyntaxError, ValueError, RecursionError, MemoryError):
                source = file.read_bytes()
                code = compile(source, str(file), "exec", dont_inherit=True)
                _FINDER.compiled[str(file)] = (source, code)


def load_class(pack_id: str, source: str) -> type:
    """The class of a pack that is loaded, by ``module:Class``; imports the module. Blocks.

    Raises ConfigurationError, which names the file and the line.
    """
    package = package_of(pack_id)
    root = _FINDER.folders.get(package)
    if root is None:
        raise ConfigurationError(f"The pack {pack_id} is not on.")
    module, _, name = source.partition(":")
    path = root.joinpath(*module.split(".")).with_suffix(".py")
    try:
        found = getattr(importlib.import_module(f"{package}.{module}"), name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # it may even call exit()
        raise ConfigurationError(problem_of(root, path, error)) from error
    if not isinstance(found, type):
        raise ConfigurationError(f"{path}: {name} is no class.")
    return found


def forget(pack_id: str) -> None:
    """Let the next load run all files anew; what is running goes on."""
    package = package_of(pack_id)
    root = _FINDER.folders.pop(package, None)
    for file in list(_FINDER.compiled):
        if root is not None and Path(file).is_relative_to(root):
            _FINDER.compiled.pop(file, None)
    _FINDER.shipped.discard(package)
    for name in list(sys.modules):  # other threads import meanwhile
        if name.partition(".")[0] == package:
            sys.modules.pop(name, None)


def problem_of(root: Path, path: Path, error: BaseException) -> str:
    """What code of a pack raised, with its file and line."""
    line = 0
    place = path
    if isinstance(error, _OfWindow):
        return f"{error.path}, line {error.line}: {error}"
    if isinstance(error, SyntaxError) and error.filename:
        place, line = Path(error.filename), error.lineno or 0
    trace = error.__traceback__
    while trace is not None:
        name = Path(trace.tb_frame.f_code.co_filename)
        if name.is_relative_to(root):
            place, line = name, trace.tb_lineno
        trace = trace.tb_next
    words = str(error)[:MOST_SHOWN] or "no reason given"
    return f"{place}, line {line}: {type(error).__name__}: {words}"
