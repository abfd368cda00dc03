"""Server facts: what a person approves of an MCP server, escaped and without secrets (M-12)."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_invisible
from studio.domain.codec import encode
from studio.domain.redaction import holds_secret, redact
from studio.domain.secret_names import names_secret
from studio.mcp.confinement import Confinement
from studio.mcp.entries import EDITOR, PACK, ServerEntry

from .server_calls import ToolView
from .server_tools import ServerView

DOTS = "•••••"
_REFERENCE = re.compile(r"(\$\{[^{}]*\})")
_SCHEME = re.compile(r"(?i)\s*(?:bearer|basic|token)\s+|\s*")


def shown_server(view: ServerView, may: Confinement | None = None) -> list[str]:
    """What the person says yes to (M-12), and what has changed since they did (M-15).

    ``may`` is what one on this computer may reach in the sandbox.
    """
    entry = view.entry
    lines = [f"{'Command' if entry.command else 'Address'}: {shown_start(entry)}"]
    if entry.folder:
        lines.append(f"Folder: {shown_text(entry.folder)}")
    if pairs := {**entry.environment, **entry.headers}:
        lines.append(f"{'Variables' if entry.command else 'Headers'}: {shown_pairs(pairs)}")
    lines += shown_reach(entry, may) if entry.command else []
    if entry.place and not entry.place.startswith(EDITOR):
        kind = "pack" if entry.place.startswith(PACK) else "folder"
        lines.append(f"It comes with the {kind} {shown_text(entry.place.removeprefix(PACK))}.")
    for one in view.tools:
        if one.before is not None:
            lines += [f"{one.tool.name} changed:", *shown_difference(one), *shown_flags(one)]
    if "" in view.changed:
        lines.append(f"What it says of all its tools is now: {view.known.lists.instructions}")
    return lines


WITH_RIGHTS = (
    "It runs with your rights: it may read and change what you may, and reach the network."
)
OFFLINE = (
    "It runs in the sandbox, without network: nothing that it is told can leave this computer."
)
ONLINE = "It runs in the sandbox, with network: what agents send to it can leave this computer."
HOME = "Of your home folder it sees where programs are installed, and a folder of its own."


def shown_reach(entry: ServerEntry, may: Confinement | None = None) -> list[str]:
    """What a server on this computer may reach, in sentences; with ``may`` all of it (M-18)."""
    if not entry.sandbox:
        return [WITH_RIGHTS]
    lines = [ONLINE if entry.sandbox == "network" else OFFLINE, HOME]
    if may is not None and may.writes:
        lines.append(f"It may change what is in: {_paths(may.writes)}")
    if may is not None and may.reads:
        lines.append(f"It may read what is in: {_paths(may.reads)}")
    return lines


def _paths(paths: Iterable[Path]) -> str:
    return ", ".join(shown_text(str(one)) for one in paths)


def shown_flags(view: ToolView) -> list[str]:
    return [f"! {view.tool.name}: {flag}" for flag in view.flags]


def shown_difference(view: ToolView) -> list[str]:
    """What the person saw of a tool beside what it is now, line by line."""
    before, now = (
        json.dumps(one, indent=1, ensure_ascii=False, sort_keys=True).splitlines()
        for one in (view.before, encode(view.tool))
    )
    lines = difflib.unified_diff(before, now, lineterm="", n=0)
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def shown_start(entry: ServerEntry) -> str:
    """The command as it would be typed, or the address.

    A secret of the keychain is shown by its name.
    """
    return shown_text(entry.shown)


def shown_pairs(pairs: Mapping[str, str]) -> str:
    """Variables or headers with their values; dots stand for values that are secret."""
    return ", ".join(f"{shown_text(name)}={_value(name, text)}" for name, text in pairs.items())


def shown_text(text: str) -> str:
    """A text in one line, with all that is not plainly visible escaped."""
    return escape_invisible(text).replace("\n", "\\n").replace("\t", "\\t")


def _value(name: str, text: str) -> str:
    return "".join(_piece(name, one) for one in _REFERENCE.split(text))


def _piece(name: str, text: str) -> str:
    """Part of a value: a reference with its name, or text between references."""
    if _REFERENCE.fullmatch(text):
        variable, sign, default = text[2:-1].partition(":-")
        if sign and (names_secret(variable) or _secret(name, default)):
            return shown_text(f"${{{variable}:-{DOTS if default else ''}}}")
        return shown_text(text)
    scheme = _SCHEME.match(text)
    head = scheme[0] if scheme else ""
    rest = text[len(head) :]
    return shown_text(head) + (DOTS if rest and _secret(name, text) else shown_text(rest))


def _secret(name: str, text: str) -> bool:
    return names_secret(name) or holds_secret(text) or redact(text) != text


__all__ = [
    "shown_difference",
    "shown_flags",
    "shown_pairs",
    "shown_reach",
    "shown_server",
    "shown_start",
    "shown_text",
]
