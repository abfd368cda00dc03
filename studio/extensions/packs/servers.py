"""Pack servers: reads the MCP servers of a pack (``mcp.json``), as Agent Plugins 1.0.0 has them.

One that is wrong is left out and told. Nothing is filled in but ``PLUGIN_ROOT`` and
``PLUGIN_DATA``: a pack gets no variable and no secret of the person's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.jsonvalue import Json, JsonObject, as_object
from studio.mcp.entries import PACK, SERVERS, Entries, ServerEntry, parse_entry

from .manifest import MAX_BYTES, SERVER_SCHEMA, PackManifest, contained

ROOT, DATA = "PLUGIN_ROOT", "PLUGIN_DATA"
_FOREIGN_ROOT = "CLAUDE_PLUGIN_ROOT"
_FIELDS = {
    "stdio": {"type", "command", "args", "env", "cwd"},
    "streamable-http": {"type", "url", "headers"},
    "sse": {"type", "url", "headers"},
}


def pack_servers(manifest: PackManifest, data: Path) -> Entries:
    """The servers of a pack whose own files are kept in ``data``. Blocks."""
    part = manifest.parts().get("mcp")
    if part is None:
        return Entries()
    source = part.path.name
    try:
        with part.path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
        if len(text) > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES:,} bytes")
        value = cast("Json", json.loads(text.decode("utf-8-sig")))
    except (OSError, ValueError, RecursionError) as error:
        return Entries(problems=(f"{source} cannot be read: {escape_line(str(error))}.",))
    if manifest.foreign and isinstance(value, dict) and SERVERS not in value:
        value = {SERVERS: value}
    if not isinstance(value, dict) or not isinstance(value.get(SERVERS), dict):
        return Entries(problems=(f"{source}: an object with “{SERVERS}” is needed.",))
    if not manifest.foreign and (
        value.get("$schema") != SERVER_SCHEMA or set(value) != {"$schema", SERVERS}
    ):
        return Entries(
            problems=(f"{source}: “$schema” has to be {SERVER_SCHEMA}, with “{SERVERS}” alone.",)
        )
    found: dict[str, ServerEntry] = {}
    problems: list[str] = []
    known = {ROOT: str(manifest.folder), DATA: str(data)}
    if manifest.foreign:
        known |= {_FOREIGN_ROOT: known[ROOT]}
    for name, one in as_object(value.get(SERVERS)).items():
        try:
            entry = _entry(name, as_object(one), manifest, known)
        except ValueError as error:
            problems.append(f"{source}: the server “{escape_line(name, 64)}” {error}.")
        else:
            found[name] = replace(entry, place=f"{PACK}{manifest.id}")
    return Entries(found, tuple(problems))


def _entry(
    name: str, value: JsonObject, manifest: PackManifest, known: Mapping[str, str]
) -> ServerEntry:
    """Raises ValueError that goes on after the server's name."""
    kind = value.get("type")
    if not manifest.foreign:
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise ValueError("needs “type”: stdio, streamable-http or sse")
        if unknown := set(value) - _FIELDS[kind]:
            raise ValueError(f"has what its type does not have: {escape_line(', '.join(unknown))}")
    entry = parse_entry(name, value)
    if entry.url:
        _check_url(entry.url)
        lower = [one.lower() for one in entry.headers]
        if len(set(lower)) < len(lower):
            raise ValueError("has one header twice")
        return entry
    if {one.upper() for one in entry.environment} & {ROOT, DATA}:
        raise ValueError(f"sets {ROOT} or {DATA}, which only the studio does")
    root = manifest.folder
    command = entry.command
    if manifest.foreign:
        command = _filled(command, known)
    elif "/" in command or "\\" in command:
        if not command.startswith("./") or (real := contained(root / command, root)) is None:
            raise ValueError("has a command that leads out of the pack: it has to begin with ./")
        command = str(real)
    environment = {key: _filled(one, known) for key, one in entry.environment.items()}
    return replace(
        entry,
        command=command,
        arguments=tuple(_filled(one, known) for one in entry.arguments),
        environment={**environment, **known},
        folder=_folder(entry.folder, root, Path(known[DATA]), known),
    )


def _folder(cwd: str, root: Path, data: Path, known: Mapping[str, str]) -> str:
    """The folder in which a server is started; raises ValueError if it is not the pack's."""
    if not cwd:
        return str(root)
    if cwd.startswith("./") or cwd == ".":
        path, within = root / cwd, root
    elif re.match(rf"\$\{{{DATA}\}}(?:/|$)", cwd):
        path, within = Path(_filled(cwd, known)), data
    elif re.match(rf"\$\{{(?:{ROOT}|{_FOREIGN_ROOT})\}}(?:/|$)", cwd):
        path, within = Path(_filled(cwd, known)), root
    else:
        raise ValueError("has “cwd” that does not begin with ./, ${PLUGIN_ROOT} or ${PLUGIN_DATA}")
    if contained(path, within.resolve()) is None:
        raise ValueError("has “cwd” that leads out of the pack")
    return str(path)


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.username or parts.password or parts.fragment:
        raise ValueError("has a url with a name, a password or a fragment")
    host = parts.hostname or ""
    try:
        loopback = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if parts.scheme != "https" and not loopback:
        raise ValueError("has a url that is no https:// address")


def _filled(text: str, known: Mapping[str, str]) -> str:
    """The text with the pack's folders in it; what was filled in is not looked at again."""
    names = "|".join(known)
    return re.sub(rf"\$\{{({names})\}}", lambda match: known[match[1]], text)
