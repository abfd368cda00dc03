"""Names for servers that nothing names: made of the command or the address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

_PREFIX = re.compile(r"\A(?:mcp-server|server-mcp|server|mcp)-")
_SUFFIX = re.compile(r"-(?:mcp-server|server-mcp|server|mcp)\Z")
_ENDINGS = re.compile(r"\.(?:m?js|ts|py|exe|cmd)\Z")
_RUNNERS = {
    *("npx", "bunx", "uvx", "pnpm", "yarn", "dlx", "exec", "run", "uv", "tool", "docker", "x"),
    *("podman", "node", "python", "python3", "bun", "deno", "cmd", "pipx"),
}
_WITH_VALUE = {
    *("-e", "--env", "-v", "--volume", "--mount", "--network", "--name", "--from", "--with"),
    *("-p", "--package", "--python", "--directory"),
}
"""Options whose next word is a value."""


def command_name(words: Sequence[str]) -> str:
    """A name for what a command starts: “git” for mcp-server-git."""
    ahead = list(words)
    found = ahead[0] if ahead else "server"
    while ahead:
        word = ahead.pop(0)
        if word in _WITH_VALUE:
            del ahead[:1]
        elif not word.startswith("-") and _last(word) not in _RUNNERS:
            found = word
            break
    return short_name(found)


def _last(word: str) -> str:
    return _ENDINGS.sub("", re.split(r"[\\/]", word)[-1])


def short_name(package: str) -> str:
    """What is left of a package's name without its scope, version and “mcp-server”."""
    name = _ENDINGS.sub("", re.split(r"[\\/]", package)[-1])
    name = re.split(r"(?<=.)[@:]|==|\[", name)[0]
    if name in ("mcp", "server", "index", "main", "mcp-server") and "/" in package:
        name = re.split(r"[\\/]", package.strip("/"))[-2].lstrip("@")
    return _SUFFIX.sub("", _PREFIX.sub("", name.replace("_", "-"))) or package


def address_name(url: str) -> str:
    """A name for what is at an address: the last word of it that says something."""
    parts = urlsplit(url)
    words = [one for one in parts.path.split("/") if re.fullmatch(r"[A-Za-z][A-Za-z-]{1,20}", one)]
    known = [one for one in words if one.lower() not in ("mcp", "sse", "api", "http", "server")]
    if known:
        return known[-1]
    host = [one for one in (parts.hostname or "").split(".") if one not in ("www", "mcp", "api")]
    return (host[-2] if len(host) > 1 else "".join(host)) or "server"
