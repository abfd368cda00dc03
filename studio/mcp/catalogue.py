"""Catalogue: remembers what servers offer, what the person saw of it, and the names of tools.

A chat is offered what is remembered here and needs no running server until it calls a tool. A
tool that is another one than the person saw is withheld (M-15). A name that a tool once had is
never given to another one (M-16).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import cast

from studio.domain.codec import decode, encode
from studio.domain.errors import StorageError
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text
from studio.domain.ledger import canonical_json
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.files.folders import private_folder
from studio.mcp.entries import ServerEntry
from studio.mcp.lists import ServerLists, ServerTool
from studio.mcp.naming import tool_names

INSTRUCTIONS = ""
"""In the place of a tool's name: the server's instructions, which are pinned like a tool."""


def pin_of(tool: ServerTool | str) -> str:
    """Changes with all that a server says of a tool: name, words, schemas, claims (M-15)."""
    return hashlib.sha256(canonical_json(_described(tool)).encode("utf-8", "replace")).hexdigest()


def _offered(lists: ServerLists) -> dict[str, ServerTool | str]:
    """All that is pinned, by its name."""
    found: dict[str, ServerTool | str] = {tool.name: tool for tool in lists.tools}
    return {**found, INSTRUCTIONS: lists.instructions} if lists.instructions else found


def _described(tool: ServerTool | str) -> JsonObject:
    return {"instructions": tool} if isinstance(tool, str) else cast("JsonObject", encode(tool))


@dataclass(frozen=True, slots=True)
class Known:
    """What is remembered of one server.

    ``fetched`` is False while its lists were never seen. ``names`` are those that a model uses,
    by the server's own. ``changed`` has what the person saw of each tool that is another one now;
    the name of the instructions there is ``INSTRUCTIONS``.
    """

    lists: ServerLists = field(default_factory=ServerLists)
    fetched: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    changed: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    pins: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of the tools and the instructions as they are now."""

    def tool(self, name: str) -> ServerTool | None:
        return next((one for one in self.lists.tools if one.name == name), None)


NOTHING = Known()


class Catalogue:
    """What is remembered of all servers, a file each in ``folder``.

    All methods block; those that write raise StorageError.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, tuple[tuple[int, int], JsonObject, Known]] = {}

    def known(self, entry: ServerEntry) -> Known:
        """What is remembered of a server. Lists of another command count as never seen."""
        stored, known = self._read(self._path(entry))
        if stored.get("entry") == entry.digest:
            return known
        return Known(names=known.names)

    def remember(self, entry: ServerEntry, lists: ServerLists) -> Known:
        """Keep what a server offers now. What is seen for the first time counts as seen."""
        with exclusive_access(self._lock()):
            stored, known = self._read(self._path(entry))
            taken = {
                name
                for path in self._folder.glob("*.json")
                if path != self._path(entry)
                for name in as_object(self._read(path)[0].get("names")).values()
                if isinstance(name, str)
            }
            names = dict(known.names)
            new = [tool.name for tool in lists.tools if tool.name not in names]
            given = tool_names(entry.name, new, names.values(), taken)
            names |= {tool: name for name, tool in given.items()}
            seen = {**as_object(stored.get("seen"))}
            for name, now in _offered(lists).items():
                seen.setdefault(name, _described(now))
            return self._write(entry, lists, names, seen)

    def accept(self, entry: ServerEntry, shown: Mapping[str, str]) -> Known:
        """The person has seen these tools, or the instructions, with these pins.

        What has become another one since it was shown stays changed: they did not see that.
        """
        with exclusive_access(self._lock()):
            stored, known = self._read(self._path(entry))
            seen = {**as_object(stored.get("seen"))}
            for name, now in _offered(known.lists).items():
                if name in shown and known.pins[name] == shown[name]:
                    seen[name] = _described(now)
            return self._write(entry, known.lists, known.names, seen)

    def forget(self, entry: ServerEntry) -> None:
        """Forget a server that the person removed."""
        with exclusive_access(self._lock()):
            self._path(entry).unlink(missing_ok=True)

    def _lock(self) -> Path:
        return private_folder(self._folder) / "lock"

    def _path(self, entry: ServerEntry) -> Path:
        key = hashlib.sha256(f"{entry.place}\0{entry.name}".encode("utf-8", "replace"))
        return self._folder / f"{key.hexdigest()[:24]}.json"

    def _read(self, path: Path) -> tuple[JsonObject, Known]:
        try:
            found = path.stat()
        except OSError:
            return {}, NOTHING
        state = found.st_mtime_ns, found.st_size
        kept = self._known.get(path)
        if kept is None or kept[0] != state:
            try:
                stored = as_object(cast("Json", json.loads(path.read_bytes())))
                kept = state, stored, _known(stored)
            except (OSError, ValueError, TypeError, KeyError):  # damaged: as if never seen
                kept = state, dict[str, Json](), NOTHING
            self._known[path] = kept
        return kept[1], kept[2]

    def _write(
        self,
        entry: ServerEntry,
        lists: ServerLists,
        names: Mapping[str, str],
        seen: JsonObject,
    ) -> Known:
        stored: JsonObject = {
            "name": entry.name,
            "place": entry.place,
            "entry": entry.digest,
            "lists": encode(lists),
            "names": cast("Json", dict(names)),
            "seen": seen,
        }
        path = self._path(entry)
        if self._read(path)[0] != stored:
            try:
                write_atomically(path, json.dumps(stored, ensure_ascii=False).encode())
            except OSError as error:
                raise StorageError(f"{path} cannot be written: {error.strerror}.") from error
        return self._read(path)[1]


def _known(stored: JsonObject) -> Known:
    lists = cast("ServerLists", decode(ServerLists, stored.get("lists")))
    names = {tool: as_text(name) for tool, name in as_object(stored.get("names")).items()}
    seen = as_object(stored.get("seen"))
    now = {name: _described(one) for name, one in _offered(lists).items()}
    changed = {
        name: as_object(before)
        for name, before in seen.items()
        if name in now and before != now[name]
    }
    pins = {name: pin_of(one) for name, one in _offered(lists).items()}
    return Known(lists, fetched=True, names=names, changed=changed, pins=pins)
