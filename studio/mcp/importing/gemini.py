"""``settings.json`` of the Gemini CLI: ``httpUrl`` is today's transport, ``url`` the older one."""

from __future__ import annotations

import re
from dataclasses import replace

from .common import Format, common_server, read_object, table
from .found import Found, Keys, Surroundings

_BARE = re.compile(r"\$(?=[A-Za-z_])(\w+)")


def _read(text: str, around: Surroundings) -> list[Found]:
    return [
        _server(str(name), given, around)
        for name, given in table(read_object(text).get("mcpServers")).items()
    ]


def _server(name: str, given: object, around: Surroundings) -> Found:
    keys = dict(table(given))
    if not keys.get("httpUrl") and keys.get("url"):
        keys.setdefault("type", "sse")
    off = frozenset(Keys({"off": keys.pop("excludeTools", None)}).texts("off"))
    only = frozenset(Keys({"only": keys.pop("includeTools", None)}).texts("only"))
    found = common_server(name, keys or given, around, _with_braces, url=("httpUrl", "url"))
    return replace(found, entry=replace(found.entry, off=off, only=only))


def _with_braces(text: str) -> str:
    """``${VAR}`` for ``$VAR``."""
    return _BARE.sub(r"${\1}", text)


GEMINI = Format(
    "Gemini CLI",
    lambda around: [around.home / ".gemini" / "settings.json"],
    (".gemini/settings.json",),
    _read,
)
