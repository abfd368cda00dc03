"""``config.yaml`` of goose: its ``extensions`` that are servers; the others are its own parts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from studio.mcp.entries import ServerEntry, key_prefix

from .common import TALK, Format, settings_folder, table
from .found import Found, Keys, Surroundings, found_server
from .hiding import KEYCHAIN

_SERVERS = ("stdio", "sse", "streamable_http")
OWN_PART = "It is a part of goose, not a server of its own."


def _places(around: Surroundings) -> Iterator[Path]:
    if around.platform == "win32":
        yield settings_folder(around, "", "Block", "") / "goose" / "config" / "config.yaml"
        return
    own = around.environment.get("XDG_CONFIG_HOME")
    yield (Path(own) if own else around.home / ".config") / "goose" / "config.yaml"


def _read(text: str, around: Surroundings) -> list[Found]:
    extensions = table(table(_load(text)).get("extensions"))
    return [_server(str(key), table(given), around) for key, given in extensions.items()]


def _load(text: str) -> Any:
    """The value of a YAML text without aliases, so that it is no larger than it is written."""
    import yaml

    reader = cast("Any", yaml)
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in reader.parse(text, yaml.SafeLoader)):
            raise ValueError("aliases (*name) are not read")
        return reader.load(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ValueError(f"line {line}: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError("no YAML that can be read") from error


def _server(key: str, given: Any, around: Surroundings) -> Found:
    keys = Keys(given)
    name = key.strip()
    kind = keys.text("type")
    if kind and kind not in _SERVERS:
        return Found(ServerEntry(name), problem=OWN_PART)
    kept = {one: f"${{{KEYCHAIN}{key_prefix(name)}{one}}}" for one in keys.texts("env_keys")}
    entry = ServerEntry(
        name,
        keys.text("cmd"),
        tuple(keys.texts("args")),
        {**kept, **keys.pairs("envs")},
        keys.text("cwd"),
        keys.text("uri"),
        keys.pairs("headers"),
        seconds=keys.number("timeout"),
        only=frozenset(keys.texts("available_tools")),
    )
    keys.pass_over(*TALK, "display_name", "bundled")
    return found_server(keys, entry, around, kind=kind)


GOOSE = Format("goose", _places, (), _read)
