"""``server.json``: how the MCP Registry lists a server (M-23).

It may name several ways to one server: packages that a runner of their kind fetches and starts,
and addresses. Each is offered. The keys are those of the schema of 2025-12-11 in camelCase, and
those of the first versions, in snake_case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from studio.mcp.entries import ServerEntry, key_prefix

from .common import table
from .found import Found, Keys, Surroundings, found_server
from .hiding import KEYCHAIN
from .names import short_name

_RUNNERS = {
    "npm": ("npx", "-y"),
    "pypi": ("uvx",),
    "oci": ("docker", "run", "-i", "--rm"),
    "nuget": ("dnx", "--yes"),
}
"""What fetches and starts a package, by the registry that has it."""
_BEFORE_VERSION = {"npm": "@", "pypi": "==", "oci": ":", "nuget": "@"}
NO_RUNNER = "Its package is of a kind that is not known here."
A_BUNDLE = "It is a bundle: fetch the file, and import that."
SERVES_ITSELF = "Its package listens at an address: start it, and add that address."
_CAMEL = re.compile(r"(?<=[a-z])([A-Z])")
_PLACE = re.compile(r"\{([^{}]+)\}")


def is_listed(file: Mapping[str, Any]) -> bool:
    """Whether an object is such a file, or a registry's answer with one in it."""
    server = table(file.get("server")) or file
    return any(isinstance(server.get(ways), list) for ways in ("packages", "remotes"))


def read_listed(file: Mapping[str, Any], around: Surroundings) -> list[Found]:
    """The ways to the server; the first has its name, the others add how they differ."""
    server = cast("dict[str, Any]", _snake(table(file.get("server")) or dict(file)))
    name = short_name(_text(server, "name"))
    found: list[Found] = []
    for given in (*_objects(server.get("remotes")), *_objects(server.get("packages"))):
        kind = _text(given, "registry_type", "registry_name")
        transport = _text(given, "type", "transport_type")
        way = _Way(f"{name}-{kind or transport}" if found else name)
        try:
            entry = way.package(kind, given) if kind else way.remote(given)
        except ValueError as error:
            found.append(Found(ServerEntry(way.name), problem=str(error)))
        else:
            found.append(found_server(Keys({}), entry, around, kind=transport, abouts=way.abouts))
    return found


class _Way:
    """One way to a server. ``abouts`` says what the file tells of each value that is asked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.abouts: dict[str, str] = {}

    def remote(self, given: Mapping[str, Any]) -> ServerEntry:
        url = self._filled(_text(given, "url"), table(given.get("variables")))
        return ServerEntry(self.name, url=url, headers=self._pairs(given.get("headers")))

    def package(self, kind: str, given: Mapping[str, Any]) -> ServerEntry:
        """Raises ValueError, whose text says why it cannot be taken."""
        if kind == "mcpb":
            raise ValueError(A_BUNDLE)
        if kind not in _RUNNERS:
            raise ValueError(NO_RUNNER)
        if _text(table(given.get("transport")), "type") not in ("", "stdio"):
            raise ValueError(SERVES_ITSELF)
        command, *arguments = _RUNNERS[kind]
        variables = self._pairs(given.get("environment_variables"))
        if kind == "oci":  # a container has none of ours
            arguments += [word for variable in variables for word in ("-e", variable)]
        arguments += self._arguments(given.get("runtime_arguments"))
        package, version = _text(given, "identifier", "name"), _text(given, "version")
        if version and not (kind == "oci" and ":" in package.rpartition("/")[2]):
            package += _BEFORE_VERSION[kind] + version
        arguments.append(package)
        after = self._arguments(given.get("package_arguments"))
        if kind == "nuget" and after:
            arguments.append("--")
        return ServerEntry(self.name, command, (*arguments, *after), variables)

    def _pairs(self, given: object) -> dict[str, str]:
        """Variables or headers, without those that may be missing and have no value."""
        found = {
            _text(one, "name"): self._value(_text(one, "name"), one) for one in _objects(given)
        }
        return {name: value for name, value in found.items() if name and value is not None}

    def _arguments(self, given: object) -> list[str]:
        found: list[str] = []
        for one in _objects(given):
            name = _text(one, "name") if one.get("type") == "named" else ""
            value = self._value(name or _text(one, "value_hint") or "argument", one)
            if value is not None:
                found += [name, value] if name else [value]
            elif name and not one.keys() & {"format", "choices", "placeholder", "value_hint"}:
                found.append(name)  # a switch has no value
        return found

    def _value(self, name: str, given: Mapping[str, Any]) -> str | None:
        """What stands for an input; None where it may be missing and has no value."""
        variables = table(given.get("variables"))
        if (text := _text(given, "value")) and (variables or not given.get("is_secret")):
            return self._filled(text, variables)
        if given.get("is_secret") or (not _text(given, "default") and given.get("is_required")):
            return self._asked(name, given)
        return _text(given, "default") or None

    def _filled(self, text: str, variables: Mapping[str, Any]) -> str:
        """A text with the values of its variables."""

        def value(match: re.Match[str]) -> str:
            given = table(variables.get(match[1]))
            return (self._value(match[1], given) or "") if given else match[0]

        return _PLACE.sub(value, text)

    def _asked(self, name: str, given: Mapping[str, Any]) -> str:
        """A place in the keychain, whose value the person gives."""
        short = re.sub(r"[^\w.-]+", "-", name).strip("-") or "value"
        self.abouts[short] = _text(given, "description")
        return f"${{{KEYCHAIN}{key_prefix(self.name)}{short}}}"


def _text(given: Mapping[str, Any], *keys: str) -> str:
    """The text of the first of the keys that has one."""
    found = (given.get(key) for key in keys)
    return next((one.strip() for one in found if isinstance(one, str)), "")


def _objects(given: object) -> Sequence[Mapping[str, Any]]:
    listed = cast("list[Any]", given) if isinstance(given, list) else []
    return [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]


def _snake(given: Any) -> Any:
    """The same with keys as ``registry_type``; names of variables are keys that stay."""
    if isinstance(given, list):
        return [_snake(one) for one in cast("list[Any]", given)]
    if not isinstance(given, dict):
        return given
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", given).items():
        if key == "variables":
            found[key] = {name: _snake(one) for name, one in table(value).items()}
        else:
            found[_CAMEL.sub(lambda m: f"_{m[1].lower()}", key)] = _snake(value)
    return found
