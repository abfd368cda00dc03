"""Confinement: what a local server may reach that the person runs in the sandbox (M-18).

It has a home folder of its own, so that npx, uvx and its own programs find their caches where
they can write, and what its command and variables name. Nothing else of the person's home is
there, and without network it is no way out.

It is given this with each start. So a link is followed only where no server can have put it, and
which files are programs is what they were at the first start: it can make its data executable.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Literal

from studio.domain.jsonvalue import Json, JsonObject, as_object
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.files.folders import private_folder
from studio.mcp.entries import HOST, PACK, ServerEntry
from studio.processes.sandbox_mounts import Launch

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/proc", "/sys")))
"""What every command may read, and none may write."""
_PACKAGES = "node_modules"
_SHARED = tuple(
    map(Path, ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/run", "/dev/shm"))
)
"""Folders of the system where programs meet."""
_DEVICES = Path("/dev")
_CODE = {".py", ".js", ".mjs", ".cjs", ".ts", ".jar", ".rb", ".php", ".pl", ".sh", ".lua", ".wasm"}
_PROJECT = (
    *("package.json", "pyproject.toml", "pyvenv.cfg", "deno.json", "Cargo.toml", "go.mod", ".git"),
)
"""What the folder has to which a program belongs."""
_OWN_DATA = "PLUGIN_DATA"
"""Names the folder that the server of a pack may write."""
_OWN_RECORDS = "records.db"
"""The database of a pack's host, which makes files beside it."""
_OF_MANY = (
    *(".config", ".config/autostart", ".cache", ".local", ".local/bin", ".local/share"),
    *("Library", "Library/Application Support", "Library/LaunchAgents", "Library/Preferences"),
)
"""Folders below the home folder in which the files of many programs are, and what begins some."""
_MOST_LINKS = 40
_ELSEWHERE = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
_CACHES = {"npm_config_cache": ".npm", "UV_CACHE_DIR": ".cache/uv", "PIP_CACHE_DIR": ".cache/pip"}
_OFFLINE = {"npm_config_offline": "true", "UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}
"""So that runners take what is in their caches, and do not wait for a network."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a server may reach: ``own`` is its home folder, and each path is a real one.

    ``programs`` is what is remembered of it, from the first start on.
    """

    own: Path
    writes: tuple[Path, ...] = ()
    reads: tuple[Path, ...] = ()
    network: bool = False
    programs: JsonObject = field(default_factory=dict[str, Json], hash=False)

    def launch(self, argv: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> Launch:
        """What starts it in the sandbox; makes its home folder. Blocks."""
        private_folder(self.own)
        text = json.dumps(self.programs).encode("utf-8", "replace")
        if self.programs != _remembered(self.own):
            write_atomically(remembered_of(self.own), text)
        words = f"cd {shlex.quote(str(folder))} && exec {shlex.join(argv)}"
        shown = [*self.reads, Path(argv[0])]
        return Launch(words, self.own, environment, self.network, shown=shown, writable=self.writes)

    def environment(self, given: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
        """The variables with its own home folder in place of the person's."""
        kept = {name: text for name, text in given.items() if name not in _ELSEWHERE}
        caches = {name: str(self.own / below) for name, below in _CACHES.items()}
        offline = {} if self.network else _OFFLINE
        return {**kept, "HOME": str(self.own), **caches, **offline, **own}


def confinement_of(
    entry: ServerEntry, home: Path, own: Path, chat_folder: Path | None = None
) -> Confinement:
    """What a server may reach, by what its entry names; reads the disk.

    ``chat_folder`` is the folder of the chat where the server is told it. A folder's own server may
    change that.
    """
    home = Path(os.path.realpath(home))
    of_pack = entry.place.startswith((PACK, HOST))
    writes: dict[Path, None] = {}
    reads: dict[Path, None] = {}
    for folder in (chat_folder, entry.place if entry.of_folder else None):
        if folder is not None:
            writes[Path(os.path.realpath(folder))] = None
    if entry.folder:
        path = _followed(os.path.expanduser(entry.folder), home)  # noqa: PTH111
        # The code of a pack is what was approved.
        target = reads if entry.place.startswith(PACK) else writes
        if path is not None and not _holds(path, home):
            target[path] = None
    if data := entry.environment.get(_OWN_DATA, "") if of_pack else "":
        writes[Path(os.path.realpath(data))] = None
    for word in entry.arguments if entry.place.startswith(HOST) else ():
        if os.path.basename(word) == _OWN_RECORDS:  # noqa: PTH119
            writes[Path(os.path.realpath(os.path.dirname(word)))] = None  # noqa: PTH120
    known = _Known(own, entry.approved)
    program = dict.fromkeys(_named((entry.command,)))
    for path in (*program, *_named((*entry.arguments, *entry.environment.values()), home)):
        if _holds(path, home) or any(path.is_relative_to(one) for one in (*_SYSTEM, *writes)):
            continue
        if not (path.is_dir() or path.is_file()) or path == _DEVICES:
            continue
        if path.is_dir():
            (reads if of_pack else writes)[path] = None
        elif of_pack or path in program or (kind := known.kind(path)) == "code":
            reads[_project(path, home)] = None
        elif kind == "unclear":
            reads[path] = None
        else:  # data: what is written beside it belongs to it, such as a journal
            alone = path.parent in [home / one for one in _OF_MANY]
            writes[path if alone else _around(path, home)] = None
    network = entry.sandbox == "network"
    return Confinement(own, tuple(writes), tuple(reads), network, known.described())


class _Known:
    """Which files that a server names are code. By their names, or they were executable when it
    was first started with this command and these variables."""

    def __init__(self, own: Path, approved: str) -> None:
        found = _remembered(own)
        self._approved = approved
        self._before = found.get("approved") == approved and bool(approved)
        self._programs = {path: one is True for path, one in as_object(found.get("files")).items()}

    def kind(self, path: Path) -> Literal["code", "data", "unclear"]:
        """``unclear`` is an executable file that was not there at the first start: the server
        may have made it."""
        if path.suffix.lower() in _CODE:
            return "code"
        runs = os.access(path, os.X_OK)
        if self._before and str(path) not in self._programs:
            return "unclear" if runs else "data"
        return "code" if self._programs.setdefault(str(path), runs) else "data"

    def described(self) -> JsonObject:
        return {"approved": self._approved, "files": {**self._programs}}


def remembered_of(own: Path) -> Path:
    """The file, beside a server's home folder, with what is remembered of its programs."""
    return own.with_name(f".{own.name}.json")


def _remembered(own: Path) -> JsonObject:
    with suppress(OSError, ValueError):
        return as_object(json.loads(remembered_of(own).read_bytes()))
    return {}


def _named(texts: Iterable[str], home: Path | None = None) -> Iterator[Path]:
    """What there is of the absolute paths that words of a command and its variables name.

    With ``home`` links are followed as ``_followed`` says.
    """
    for text in texts:
        for one in dict.fromkeys((text, text.partition("=")[2])):
            name = os.path.expanduser(one)  # noqa: PTH111 - ``~x`` of nobody stays as it is
            if os.path.isabs(name) and "\0" not in name and os.path.exists(name):  # noqa: PTH110, PTH117
                real = Path(os.path.realpath(name)) if home is None else _followed(name, home)
                if real is None:
                    continue
                yield real
                folder, last = os.path.split(name)
                if (link := Path(os.path.realpath(folder), last)) != real and real.is_file():
                    yield link  # such as a program of ``node_modules/.bin``


def _followed(name: str, home: Path) -> Path | None:
    """The real path; None where a link leads elsewhere that a server may have put there.

    It may write where its data are, but never the home folder, the folders around that and the
    system. Of the other links those are followed that stay in their folder, or in their package.
    """
    left, kept, links = [*reversed(Path(name).parts)], list[Path](), 0
    at = Path(left.pop())
    while left:
        part = left.pop()
        if part == os.pardir:
            at = at.parent
            continue
        path = at / part
        if not path.is_symlink():
            at = path
            continue
        if (links := links + 1) > _MOST_LINKS:
            return None
        safe = at == home or _holds(at, home) or any(at.is_relative_to(one) for one in _SYSTEM)
        if not safe:
            kept.append(_project(path, home) if _PACKAGES in path.parts else at)
        target = path.readlink()
        left += reversed(target.parts)
        if target.is_absolute():
            at = Path(left.pop())
    return at if all(at.is_relative_to(one) for one in kept) else None


def _holds(path: Path, home: Path) -> bool:
    """Whether a folder is around the home folder, so that to show it would show too much."""
    return home != path and home.is_relative_to(path)


def _project(file: Path, home: Path) -> Path:
    """The folder of the project to which a program belongs; of none, the file's own.

    In the home folder itself, the file alone. A package of Node belongs to what has its
    ``node_modules``, with the packages that it needs.
    """
    if _PACKAGES in file.parts:
        modules = Path(*file.parts[: file.parts.index(_PACKAGES) + 1])
        above = modules.parent
        return modules if above == home or _holds(above, home) else above
    for folder in file.parents:
        if folder == home or _holds(folder, home):
            break
        if any((folder / name).exists() for name in _PROJECT):
            return folder
    return _around(file, home)


def _around(file: Path, home: Path) -> Path:
    """The folder of a file; the file alone where that has all that the person or others have."""
    folder = file.parent
    shared = folder == home or _holds(folder, home) or folder in _SHARED
    return file if shared else folder
