"""The files of Claude Desktop and Claude Code, and ``.mcp.json``, which a folder brings.

Claude Code's own file has the person's servers and, for each folder, those that are only for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .common import Format, common_servers, read_object, settings_folder, table
from .found import Found, Surroundings


def _desktop_places(around: Surroundings) -> Iterator[Path]:
    yield settings_folder(around, "Claude", "Claude", "Claude") / "claude_desktop_config.json"


def _code_places(around: Surroundings) -> Iterator[Path]:
    own = around.environment.get("CLAUDE_CONFIG_DIR")
    yield Path(own) / ".claude.json" if own else around.home / ".claude.json"


def _read(text: str, around: Surroundings) -> list[Found]:
    return common_servers(read_object(text).get("mcpServers"), around)


def _read_code(text: str, around: Surroundings) -> list[Found]:
    file = read_object(text)
    found = common_servers(file.get("mcpServers"), around)
    for project in table(file.get("projects")).values():
        found += common_servers(table(project).get("mcpServers"), around)
    return found


def _read_project(text: str, around: Surroundings) -> list[Found]:
    file = read_object(text)
    return common_servers(file.get("mcpServers", file), around)


DESKTOP = Format("Claude Desktop", _desktop_places, (), _read)
CODE = Format("Claude Code", _code_places, (), _read_code)
PROJECT = Format("Claude Code", lambda _: (), (".mcp.json",), _read_project)
