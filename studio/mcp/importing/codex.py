"""``config.toml`` of Codex: variables are named, ``bearer_token_env_var``, and never written."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from studio.mcp.entries import ServerEntry

from .common import TALK, Format, table
from .found import NO_VALUES, Found, Keys, Surroundings, found_server


def _places(around: Surroundings) -> Iterator[Path]:
    own = around.environment.get("CODEX_HOME")
    yield (Path(own) if own else around.home / ".codex") / "config.toml"


def _read(text: str, around: Surroundings) -> list[Found]:
    try:
        file = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error)) from error
    servers = table(file.get("mcp_servers"))
    return [_server(name, given, around) for name, given in servers.items()]


def _server(name: str, given: object, around: Surroundings) -> Found:
    if not table(given):
        return Found(ServerEntry(name), problem=NO_VALUES)
    keys = Keys(table(given))
    variables = {one: f"${{{one}}}" for one in keys.texts("env_vars")}
    headers = keys.pairs("http_headers")
    headers |= {header: f"${{{name}}}" for header, name in keys.pairs("env_http_headers").items()}
    if variable := keys.text("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{variable}}}"
    entry = ServerEntry(
        name.strip(),
        keys.text("command"),
        tuple(keys.texts("args")),
        {**variables, **keys.pairs("env")},
        keys.text("cwd"),
        keys.text("url"),
        headers,
        seconds=keys.number("tool_timeout_sec"),
        off=frozenset(keys.texts("disabled_tools")),
        only=frozenset(keys.texts("enabled_tools")),
    )
    keys.pass_over(*TALK, "required", "startup_timeout_sec", "startup_timeout_ms")
    return found_server(keys, entry, around)


CODEX = Format("Codex", _places, (".codex/config.toml",), _read)
