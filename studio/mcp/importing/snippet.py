"""Reads what a person pastes: JSON of a README, a command, an address.

JSON is that of any program whose file is read here, with its braces or without, also one server
by itself, or the ``server.json`` of a registry. A command is one that starts a server, or one that
adds it to another program, such as ``claude mcp add``.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from studio.mcp.entries import ServerEntry

from . import codex, goose, registry, zed
from .common import common_server, common_servers, read_object, table
from .found import Found, Keys, Surroundings, found_server
from .names import address_name, command_name
from .vscode import read_servers, with_places

NOTHING = "no server is in it, neither its JSON nor its command or address"
_FENCE = re.compile(r"\A\s*```[\w-]*[ \t]*\n(.*?)\n?\s*```\s*\Z", re.S)
_SETTING = re.compile(r"[A-Za-z_]\w*=.*", re.S)
_ADDRESS = re.compile(r"https?://\S+")
_ADDERS = (("claude", "mcp", "add"), ("codex", "mcp", "add"), ("gemini", "mcp", "add"))


def read_snippet(text: str, around: Surroundings) -> list[Found]:
    """The servers of a pasted text; ValueError says what is missing or wrong."""
    text = text.strip().removeprefix("\ufeff")
    if fenced := _FENCE.match(text):
        text = fenced[1].strip()
    if text.startswith(("{", '"', "//", "/*")):
        found = _read_json(text, around)
    elif re.search(r"^\s*\[mcp_servers[.\]]", text, re.M):
        found = codex.CODEX.read(text, around)
    elif re.search(r"^extensions\s*:", text, re.M):
        found = goose.GOOSE.read(text, around)
    elif _ADDRESS.fullmatch(text):
        found = [address_server(text, around)]
    else:
        found = [_read_command(text, around)]
    if not found:
        raise ValueError(NOTHING)
    return found


def _read_json(text: str, around: Surroundings) -> list[Found]:
    if not text.startswith("{"):  # members of an object that the README shows without its braces
        text = f"{{{text.rstrip().removesuffix(',')}\n}}"
    file = read_object(text)

    def change(value: str) -> str:
        return with_places(value, around)

    if "mcpServers" in file:
        return common_servers(file["mcpServers"], around, change)
    if registry.is_listed(file):
        return registry.read_listed(file, around)
    if "context_servers" in file:
        return zed.ZED.read(text, around)
    inner = table(file.get("mcp"))
    if "servers" in file or "servers" in inner:
        return read_servers(file if "servers" in file else inner, around)
    if isinstance(file.get("command"), str) or _address_of(file):
        name = file.get("name")
        given = name if isinstance(name, str) and name.strip() else _name_of(file)
        return [common_server(given, file, around, change)]
    if file and all(_is_server(one) for one in file.values()):
        return common_servers(file, around, change)
    return []


def _is_server(value: object) -> bool:
    keys = table(value)
    return isinstance(keys.get("command"), str) or bool(_address_of(keys))


def _address_of(keys: Any) -> str:
    found = (keys.get(key) for key in ("url", "serverUrl", "httpUrl"))
    return next((one for one in found if isinstance(one, str) and one), "")


def _name_of(keys: dict[str, Any]) -> str:
    if address := _address_of(keys):
        return address_name(address)
    arguments = Keys({"args": keys.get("args")}).texts("args")
    return command_name([*str(keys.get("command") or "").split(), *arguments])


def _read_command(text: str, around: Surroundings) -> Found:
    line = re.sub(r"\\\r?\n", " ", text).removeprefix("$ ")
    if "\n" in line.strip():
        raise ValueError(NOTHING)
    try:
        words = shlex.split(line, posix=around.platform != "win32" or "\\" not in line)
        words = [re.sub(r"\A~(?=/|\Z)", lambda _: str(around.home), one) for one in words]
    except ValueError as error:
        raise ValueError(f"a quotation mark too few ({error})") from error
    if tuple(words[:3]) in _ADDERS:
        return _added(words[3:], around)
    variables: dict[str, str] = {}
    while words and _SETTING.fullmatch(words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    if not words or not re.match(r"[\w./~\\]", words[0]):
        raise ValueError(NOTHING)
    return command_server(command_name(words), words, around, variables)


def _added(words: Sequence[str], around: Surroundings) -> Found:
    """What ``claude mcp add`` and the same of Codex and Gemini would add."""
    variables: dict[str, str] = {}
    headers: dict[str, str] = {}
    kind, plain, ahead = "", list[str](), list(words)
    while ahead:
        word = ahead.pop(0)
        option, sign, value = word.partition("=")
        if word == "--":
            plain += ahead
            break
        if len(plain) > 1 or not word.startswith("-"):
            plain.append(word)
            continue
        if not sign:
            value = ahead.pop(0) if ahead else ""
        if option in ("-e", "--env"):
            name, _, said = value.partition("=")
            variables[name] = said
        elif option in ("-H", "--header"):
            name, _, said = value.partition(":")
            headers[name.strip()] = said.strip()
        elif option in ("-t", "--transport"):
            kind = value
        elif option == "--url":
            plain.append(value)
    if len(plain) < 2:
        raise ValueError(NOTHING)
    if _ADDRESS.fullmatch(plain[1]):
        return address_server(plain[1], around, plain[0], headers, kind)
    return command_server(plain[0], plain[1:], around, variables)


def command_server(
    name: str, words: Sequence[str], around: Surroundings, variables: dict[str, str]
) -> Found:
    """A server that a command starts."""
    entry = ServerEntry(name, words[0], tuple(words[1:]), variables)
    return found_server(Keys({}), entry, around)


def address_server(
    url: str,
    around: Surroundings,
    name: str = "",
    headers: dict[str, str] | None = None,
    kind: str = "",
) -> Found:
    """A server at a web address."""
    kind = kind or ("sse" if urlsplit(url).path.rstrip("/").endswith("/sse") else "http")
    entry = ServerEntry(name or address_name(url), url=url, headers=headers or {})
    return found_server(Keys({}), entry, around, kind=kind)
