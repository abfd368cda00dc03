"""Manifest: reads what a pack says of itself, and finds what it brings (X-1).

A pack is an Agent Plugin 1.0.0 (``plugin.json``, ``skills/``, ``mcp.json``) with one folder of
ours, named by ``NAMESPACE``. A plugin of Claude Code is read too; what of it has no effect here is
told. Nothing outside of the pack's folder belongs to it, and one bad entry spoils no other.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from studio import __version__
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json, JsonObject, as_object
from studio.domain.records import dataclass
from studio.tools.packs.window import PageEntry, PaletteEntry

from .window import palette_lines, window_pages

NAMESPACE = "org.agent-studio"
"""Our folder in a pack, and our key among the ``extensions`` of its manifest."""
MANIFEST = "plugin.json"
FOREIGN = Path(".claude-plugin") / MANIFEST
SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
SERVER_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
MAX_BYTES = 200_000
MOST_FILES = 5_000
"""Files of a pack."""
LONGEST_TEXT = 1_000

PartName: TypeAlias = Literal[
    "skills",
    "commands",
    "agents",
    "workflows",
    "mcp",
    "hooks",
    "tools",
    "schema",
    "pages",
    "data",
]
PARTS: tuple[PartName, ...] = get_args(PartName)
WORDS: dict[PartName, str] = {"mcp": "servers", "schema": "tables"}
"""What people call parts whose names are those of files."""
_PLACES: dict[PartName, str] = {
    "skills": "skills",
    "mcp": "mcp.json",
    "hooks": f"{NAMESPACE}/hooks.json",
    **{
        name: f"{NAMESPACE}/{name}"
        for name in ("commands", "agents", "workflows", "tools", "schema", "pages", "data")
    },
}
_FOREIGN_PLACES: dict[PartName, str] = {
    "skills": "skills",
    "commands": "commands",
    "agents": "agents",
    "mcp": ".mcp.json",
    "hooks": "hooks/hooks.json",
}
_ENDINGS: dict[PartName, tuple[str, ...]] = {
    "commands": (".md",),
    "agents": (".md",),
    "workflows": (".md",),
    "tools": (".py",),
    "schema": (".sql", ".py"),
    "pages": (".yaml", ".py"),
}
"""What the files of a part are called; those with another ending belong to no list."""
_ONE_FILE = {"mcp", "hooks"}
_DEEP = {"commands", "tools", "data"}
"""Parts whose folders may have folders."""
_HIDDEN = {"agents", "workflows"}
"""Parts whose files count also if their names begin with a dot."""
_KNOWN = {
    *("$schema", "name", "version", "description", "author", "homepage", "repository", "license"),
    *("keywords", "extensions"),
}
_OURS = {"title", "icon", "least_studio", "language", "python", "wants", "pages", "palette"}
_WANTS = {"folders", "hosts", "keychain"}
_FOREIGN_PATHS = {"commands", "agents", "skills", "hooks", "mcpServers"}
"""Keys of Claude Code's manifest that name further files."""
_ID = re.compile(r"(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?")
"""Names that no file of Windows can have."""
_TAKEN = {"code", "packs.json"}
"""Names of the studio's own beside the folders in which packs keep their data."""


class PackError(ConfigurationError):
    """A pack cannot be read, fetched or installed; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What a pack would like to reach: told to the person, and granted to nobody by that."""

    folders: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    keychain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What a pack brings of one kind: a folder or a file, and all files that count in it."""

    name: PartName
    path: Path
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PackManifest:
    """What a pack says of itself. ``name`` is for people; ``python`` are requirements of its tools.

    ``icon`` is a name of lucide.dev.

    ``pages`` are those by widgets, which are shown of a pack that runs in the program, as the lines
    of the ``palette`` are.

    ``foreign``: it is a plugin of Claude Code. ``problems`` are sentences about what was left out.
    """

    id: str
    name: str
    folder: Path
    version: str = ""
    least_studio: str = ""
    language: str = ""
    description: str = ""
    author: str = ""
    python: tuple[str, ...] = ()
    wants: Wants = field(default_factory=Wants)
    pages: tuple[PageEntry, ...] = ()
    palette: tuple[PaletteEntry, ...] = ()
    icon: str = "package"
    foreign: bool = False
    found: Mapping[PartName, Part] = field(default_factory=dict[PartName, Part], hash=False)
    problems: tuple[str, ...] = ()

    def parts(self) -> Mapping[PartName, Part]:
        """What it brings, in the order of ``PARTS``; a kind that it lacks is not among them."""
        return self.found

    @property
    def root(self) -> Path:
        """The folder of ours in it."""
        return self.folder / NAMESPACE


def read_manifest(folder: Path) -> PackManifest:
    """Read the pack in a folder. Raises PackError with a sentence. Blocks."""
    folder = folder.resolve()
    foreign = not os.path.lexists(folder / MANIFEST)
    path = folder / (FOREIGN if foreign else MANIFEST)
    if foreign and not os.path.lexists(path):
        raise PackError(f"{folder} is no pack: it has no {MANIFEST}.")
    value = _manifest_object(path, folder)
    problems: list[str] = []
    if not foreign and value.get("$schema") != SCHEMA:
        raise PackError(
            f"{path}: “$schema” has to be {SCHEMA}. Packs of another version are not known here."
        )
    id = _text(value, "name", path)
    if not _ID.fullmatch(id) or _RESERVED.fullmatch(id):
        raise PackError(
            f"{path}: “name” has to be 1 to 64 of a-z, 0-9, - and ., with a letter or digit at "
            "both ends."
        )
    if id in _TAKEN:
        raise PackError(f"{path}: no pack can be called {id}: the studio uses that name itself.")
    if foreign:
        problems += _foreign_omissions(value)
        ours: JsonObject = {}
    else:
        if unknown := sorted(set(value) - _KNOWN):
            problems.append(f"Without effect in {MANIFEST}: {_shown(', '.join(unknown))}.")
        for key in ("homepage", "repository", "license"):
            _text(value, key, path)
        _texts(value, "keywords", path)
        ours = _ours(value, problems)
    wants = _object(ours, "wants", path)
    if unknown := sorted({*(set(ours) - _OURS), *(set(wants) - _WANTS)}):
        problems.append(
            f"Without effect under {NAMESPACE} in {MANIFEST}: {_shown(', '.join(unknown))}."
        )
    least = _text(ours, "least_studio", path)
    if least and _version(least) > _version(__version__):
        raise PackError(
            f"{_shown(id)} needs Agent Studio {_shown(least)}; this is {__version__}. "
            "Update the program first."
        )
    found = dict(_parts(folder, foreign, problems))
    return PackManifest(
        id,
        _text(ours, "title", path) or id,
        folder,
        version=_text(value, "version", path),
        least_studio=least,
        language=_text(ours, "language", path),
        description=_text(value, "description", path),
        author=_author(value, path, foreign=foreign),
        python=_texts(ours, "python", path),
        wants=Wants(
            _texts(wants, "folders", path),
            _texts(wants, "hosts", path),
            _texts(wants, "keychain", path),
        ),
        pages=window_pages(ours, problems),
        palette=palette_lines(ours, problems),
        icon=_text(ours, "icon", path) or "package",
        foreign=foreign,
        found=found,
        problems=tuple(problems),
    )


def _manifest_object(path: Path, folder: Path) -> JsonObject:
    if contained(path, folder) is None:
        raise PackError(f"{path}: a link leads out of the pack.")
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise PackError(f"{path} is larger than {MAX_BYTES:,} bytes.")
        value = json.loads(data.decode("utf-8-sig"))
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (ValueError, RecursionError) as error:
        raise PackError(f"{path} is no JSON: {_shown(str(error))}.") from error
    if not isinstance(value, dict):
        raise PackError(f"{path}: an object is needed.")
    return cast("JsonObject", value)


def _ours(value: JsonObject, problems: list[str]) -> JsonObject:
    """What the manifest says under our name."""
    extensions = value.get("extensions", {})
    if not isinstance(extensions, dict):
        problems.append(f"“extensions” in {MANIFEST} is no object, and was left out.")
        return {}
    found = extensions.get(NAMESPACE, {})
    if not isinstance(found, dict):
        problems.append(f"{NAMESPACE} in {MANIFEST} is no object, and was left out.")
        return {}
    return found


def _foreign_omissions(value: JsonObject) -> Iterator[str]:
    """What of a plugin of Claude Code has no effect here."""
    known = _KNOWN | {"author"}
    for key in sorted(set(value) - known):
        if key in _FOREIGN_PATHS:
            yield (
                f"“{key}” in {FOREIGN.as_posix()} is not read: only the usual places are, such as "
                f"{_FOREIGN_PLACES['mcp' if key == 'mcpServers' else cast('PartName', key)]}."
            )
        else:
            yield f"Without effect in {FOREIGN.as_posix()}: {_shown(key)}."


def _parts(folder: Path, foreign: bool, problems: list[str]) -> Iterator[tuple[PartName, Part]]:
    places = _FOREIGN_PLACES if foreign else _PLACES
    for name in PARTS:
        if (place := places.get(name)) is None:
            continue
        path = folder / place
        if not os.path.lexists(path):
            continue
        if contained(path, folder) is None:
            problems.append(f"{place}: a link leads out of the pack, so it was left out.")
        elif name in _ONE_FILE:
            if path.is_file():
                yield name, Part(name, path, (path,))
            else:
                problems.append(f"{place} is no file, and was left out.")
        elif not path.is_dir():
            problems.append(f"{place} is no folder, and was left out.")
        else:
            if files := tuple(_files(name, path, folder, problems)):
                yield name, Part(name, path, files)


def _files(name: PartName, place: Path, folder: Path, problems: list[str]) -> Iterator[Path]:
    """The files of a part that count, in order."""
    if name == "skills":
        for one in _inside(place, folder, problems):
            skill = place / one.name / "SKILL.md"
            if one.is_dir() and os.path.lexists(skill) and _kept(skill, folder, problems):
                yield skill
        return
    ending = _ENDINGS.get(name)
    ahead = [place]
    while ahead:
        above = ahead.pop(0)
        for one in _inside(above, folder, problems, hidden=name in _HIDDEN):
            if one.is_dir():
                if name in _DEEP and not one.is_symlink():
                    ahead.append(above / one.name)
            elif one.is_file():
                file = above / one.name
                if ending is None or file.suffix.lower() in ending:
                    yield file


def _inside(
    place: Path, folder: Path, problems: list[str], *, hidden: bool = False
) -> Iterator[os.DirEntry[str]]:
    """What is in a folder of the pack, by name, but for links that lead out of it."""
    try:
        with os.scandir(place) as entries:
            found = sorted(entries, key=lambda one: one.name)
    except OSError as error:
        problems.append(f"{_below(place, folder)}: {error.strerror or error}.")
        return
    for one in found:
        if one.name.startswith(".") and not hidden:
            continue
        # A file that is no link is where its folder is. A folder may be a junction of Windows.
        if (one.is_symlink() or one.is_dir()) and not _kept(place / one.name, folder, problems):
            continue
        yield one


def _kept(path: Path, folder: Path, problems: list[str]) -> bool:
    if contained(path, folder) is None:
        problems.append(
            f"{_below(path, folder)}: a link leads out of the pack, so it was left out."
        )
        return False
    return True


def _below(path: Path, folder: Path) -> str:
    return _shown(path.relative_to(folder).as_posix())


def contained(path: Path, folder: Path) -> Path | None:
    """Where a path really is; None if that is not in the folder. ``folder`` is resolved."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):  # links in a circle
        return None
    return real if real.is_relative_to(folder) else None


def _shown(text: str) -> str:
    """A stranger's words in one visible line."""
    return escape_line(text, LONGEST_TEXT)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", text)[:3])


def _text(value: JsonObject, key: str, path: Path) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise PackError(f"{path}: “{key}” has to be a text.")
    return _shown(found.strip())


def _texts(value: JsonObject, key: str, path: Path) -> tuple[str, ...]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise PackError(f"{path}: “{key}” has to be a list of texts.")
    return tuple(_shown(one) for one in cast("list[str]", found))


def _object(value: JsonObject, key: str, path: Path) -> JsonObject:
    found = value.get(key, {})
    if not isinstance(found, dict):
        raise PackError(f"{path}: “{key}” has to be an object.")
    return found


def _author(value: JsonObject, path: Path, *, foreign: bool) -> str:
    found: Json = value.get("author", {})
    if isinstance(found, str) and foreign:
        return _shown(found)
    if not isinstance(found, dict) or not all(
        key in ("name", "email", "url") and isinstance(one, str) for key, one in found.items()
    ):
        raise PackError(f"{path}: “author” has to be an object of name, email and url.")
    return _shown(str(as_object(found).get("name", "")))
