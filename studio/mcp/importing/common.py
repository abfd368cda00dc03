"""What a server looks like in most of the files: ``mcpServers`` in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, cast

from studio.domain.records import dataclass
from studio.mcp.entries import ServerEntry
from studio.mcp.jsonc import read_jsonc

from .found import NO_VALUES, Found, Keys, Surroundings, found_server, translated

Change: TypeAlias = Callable[[str], str]
"""Changes a text of the file to our notation of variables."""
TALK = ("name", "description", "title", "icon", "enabled", "disabled", "$schema", "version")
"""Keys that change nothing in how a server is started or reached. All are off here at first."""
MILLISECONDS = 0.001


@dataclass(frozen=True, slots=True)
class Format:
    """The files of one program. ``places`` are those of the person, ``project`` those of a folder.

    ``read`` raises ValueError, whose text goes on after the file's name.
    """

    title: str
    places: Callable[[Surroundings], Iterable[Path]]
    project: tuple[str, ...]
    read: Callable[[str, Surroundings], list[Found]]


def read_object(text: str) -> dict[str, Any]:
    """The object that a JSON file with comments is; ValueError says what is wrong."""
    found = read_jsonc(text)
    if not isinstance(found, dict):
        raise ValueError("no object in braces")
    return cast("dict[str, Any]", found)


def table(value: object) -> Mapping[str, Any]:
    """The value itself where it is a table, else an empty one."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def common_servers(
    servers: object,
    around: Surroundings,
    change: Change = str,
    *,
    url: tuple[str, ...] = ("url", "serverUrl"),
) -> list[Found]:
    """The servers of a table whose keys are ``command``, ``args``, ``env``, ``url``, ``headers``.

    ``url`` are the keys that may have the address.
    """
    return [
        common_server(str(name), given, around, change, url=url)
        for name, given in table(servers).items()
    ]


def common_server(
    name: str,
    given: object,
    around: Surroundings,
    change: Change = str,
    *,
    url: tuple[str, ...] = ("url", "serverUrl"),
    abouts: Mapping[str, str] | None = None,
) -> Found:
    """One server of such a table."""
    if not isinstance(given, dict):
        return Found(ServerEntry(name), problem=NO_VALUES)
    keys = Keys(cast("dict[str, Any]", given))
    entry = ServerEntry(
        name.strip(),
        change(keys.text("command")),
        tuple(change(one) for one in keys.texts("args")),
        translated(keys.pairs("env"), change),
        change(keys.text("cwd")),
        change(keys.text(*url)),
        translated(keys.pairs("headers"), change),
        seconds=keys.number("timeout") * MILLISECONDS,
    )
    kind = keys.text("type", "transport")
    keys.pass_over(*TALK)
    return found_server(keys, entry, around, kind=kind, abouts=abouts)


def settings_folder(around: Surroundings, mac: str, windows: str, other: str) -> Path:
    """Where a program keeps its settings: below the home folder, or what the system says."""
    if around.platform == "darwin":
        return around.home / "Library" / "Application Support" / mac
    if around.platform == "win32":
        return Path(around.environment.get("APPDATA") or around.home / "AppData/Roaming") / windows
    return Path(around.environment.get("XDG_CONFIG_HOME") or around.home / ".config") / other
