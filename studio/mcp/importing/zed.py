"""``settings.json`` of Zed: ``context_servers``; those of its extensions are started by Zed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from studio.mcp.entries import ServerEntry

from .common import Format, common_server, read_object, settings_folder, table
from .found import Found, Surroundings

EXTENSION = "An extension of Zed brings it, and Zed alone knows how to start it."


def _places(around: Surroundings) -> Iterator[Path]:
    if around.platform == "darwin":
        yield around.home / ".config" / "zed" / "settings.json"
    else:
        yield settings_folder(around, "", "Zed", "zed") / "settings.json"


def _read(text: str, around: Surroundings) -> list[Found]:
    servers = table(read_object(text).get("context_servers"))
    return [_server(name, given, around) for name, given in servers.items()]


def _server(name: str, given: object, around: Surroundings) -> Found:
    keys = dict(table(given))
    source = keys.pop("source", None)
    if isinstance(keys.get("command"), dict):  # as older versions wrote it
        older = dict(table(keys.pop("command")))
        keys |= {"command": older.pop("path", None), **older}
    if not keys.get("command") and not keys.get("url") and (source == "extension" or keys):
        return Found(ServerEntry(name.strip()), problem=EXTENSION)
    if keys.get("settings") in ({}, None):
        keys.pop("settings", None)
    seconds = keys.pop("timeout", None)  # in seconds, where others have milliseconds
    found = common_server(name, keys or given, around)
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > 0:
        found = replace(found, entry=replace(found.entry, seconds=min(float(seconds), 3600.0)))
    return found


ZED = Format("Zed", _places, (".zed/settings.json",), _read)
