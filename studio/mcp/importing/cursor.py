"""``mcp.json`` of Cursor and of LM Studio, which has the same notation."""

from __future__ import annotations

from .common import Format, common_servers, read_object
from .found import Found, Surroundings
from .vscode import with_places


def _read(text: str, around: Surroundings) -> list[Found]:
    servers = read_object(text).get("mcpServers")
    return common_servers(servers, around, lambda value: with_places(value, around))


CURSOR = Format(
    "Cursor", lambda around: [around.home / ".cursor" / "mcp.json"], (".cursor/mcp.json",), _read
)
LM_STUDIO = Format("LM Studio", lambda around: [around.home / ".lmstudio" / "mcp.json"], (), _read)
