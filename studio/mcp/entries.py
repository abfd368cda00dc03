"""Server entries: reads and writes which MCP servers there are, and what the person said of each.

``mcp.json`` has the form that most programs share, so that a snippet of a server's documentation
can be pasted. What the person decides (whether a server is on, what was approved, which tools only
read) is in another file: nothing that is pasted or that comes with a folder decides that.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from studio.domain.errors import ConfigurationError, StorageError
from studio.domain.jsonvalue import Json, JsonObject, as_object
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.mcp.jsonc import read_jsonc, with_member

Transport: TypeAlias = Literal["stdio", "http", "sse"]
Starts: TypeAlias = Literal["call", "program"]
"""When a server starts: with the first call of one of its tools, or with the program."""
Sandboxing: TypeAlias = Literal["", "offline", "network"]
"""Whether a local server runs in the sandbox, there without or with a network (M-18)."""
Resolve: TypeAlias = Callable[[str], Awaitable[str]]
"""Returns the secret that the keychain has under a name; empty for none."""

SERVERS = "mcpServers"
PACK = "pack:"
"""How the place of a server begins that a pack brings; the pack's id follows."""
HOST = "host:"
"""How the place of a server begins that is the host of a pack; the pack's id follows."""
EDITOR = "editor:"
"""How the place of a server begins that an editor brings to its chat; the folder follows."""
LONGEST_NAME = 64
MAX_BYTES = 1_000_000
_TRANSPORTS: dict[str, Transport] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamablehttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_OAUTH = "clientId", "clientSecret", "scopes", "callbackPort"
INCLUDED = "includeTools"
"""The key of the tools that an entry names as all that it offers."""
_PLACE = re.compile(r"\$\{(?:(keychain):([^}\s]+)|([A-Za-z_]\w*)(?::-([^}]*))?)\}")


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """One server: what starts it or where it is, and what the person said of it.

    ``folder`` is its own working folder. ``seconds`` is the time of a call. ``alone``: one call
    at a time. ``by_folder``: one process for each folder. ``handshake``: it is spoken to in the
    era of the handshake, whatever else it speaks (M-1). ``oauth`` is how this program is known
    where the person signs in: ``clientId``, ``clientSecret``, ``scopes``, ``callbackPort``.
    ``reads`` are the tools that the person marks as reading, ``off`` those that are switched off,
    by the server's own names. Where ``only`` names some, all others are off, too. ``sampling``:
    the person lets it ask for answers of the chat's model (M-20). ``sandbox`` is how the person
    confines a local one. ``approved`` is
    the digest that the person saw. ``place`` is the folder, the pack or the editor that brings the
    server; empty for the person's own. ``chat`` is the session that an editor brought it to, which
    has it alone.
    """

    name: str
    command: str = ""
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    folder: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    transport: Transport = "stdio"
    on: bool = False
    starts: Starts = "call"
    seconds: float = 60.0
    alone: bool = False
    by_folder: bool = False
    oauth: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    reads: frozenset[str] = frozenset()
    off: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    handshake: bool = False
    approved: str = ""
    place: str = ""
    chat: str = ""
    sampling: bool = False
    sandbox: Sandboxing = ""

    @property
    def digest(self) -> str:
        """Changes with all that the person approves: what runs, or the address (M-12).

        Values count as they are written, since a variable such as ``NODE_OPTIONS`` can run code.
        """
        if self.transport == "stdio":
            parts: list[object] = [self.command, self.arguments, self.folder]
            parts.append(sorted(self.environment.items()))
        else:
            parts = [self.transport, self.url, sorted(self.headers.items())]
            if self.oauth:
                parts.append(sorted(self.oauth.items()))
        return hashlib.sha256(json.dumps(parts).encode("utf-8", "replace")).hexdigest()

    @property
    def runs(self) -> bool:
        """Whether it may run: it is on, and the person saw what it is now."""
        return self.on and self.approved == self.digest

    def offers(self, tool: str) -> bool:
        """Whether agents may have a tool, by the server's own name for it (M-14)."""
        return tool not in self.off and (not self.only or tool in self.only)

    def with_tools(self, tools: Iterable[str], *, off: bool) -> ServerEntry:
        """The same with these tools switched off, or on."""
        named = frozenset(tools)
        only = self.only | named if self.only and not off else self.only
        return replace(self, off=self.off | named if off else self.off - named, only=only)

    @property
    def of_folder(self) -> bool:
        """Whether a folder brings it."""
        return bool(self.place) and not self.place.startswith((PACK, HOST, EDITOR))

    @property
    def shown(self) -> str:
        """What runs, in one line: the command as it would be typed, or the address."""
        return shlex.join((self.command, *self.arguments)) if self.command else self.url

    @property
    def is_cut_off(self) -> bool:
        """Whether it runs here, and has no way out (M-18)."""
        return bool(self.command) and self.sandbox == "offline"

    @property
    def may_sign_in(self) -> bool:
        """Whether a person can sign in to it: it is at an address, and no key is in its headers."""
        return bool(self.url) and "authorization" not in map(str.lower, self.headers)


@dataclass(frozen=True, slots=True)
class Entries:
    """Servers by their names; ``problems`` are sentences about entries that are refused.

    ``broken``: nothing of the text could be parsed.
    """

    by_name: Mapping[str, ServerEntry] = field(default_factory=dict[str, ServerEntry])
    problems: tuple[str, ...] = ()
    broken: bool = False


def parse_entries(text: str, source: str, place: str = "") -> Entries:
    """The servers of a text in the common form. One wrong entry spoils no other."""
    try:
        found = read_jsonc(text)
    except ValueError as error:
        return Entries(problems=(f"{source}, {error}.",), broken=True)
    if not isinstance(found, dict) or not isinstance(found.get(SERVERS, {}), dict):
        problem = f"{source}: an object with “{SERVERS}” is needed."
        return Entries(problems=(problem,), broken=True)
    entries: dict[str, ServerEntry] = {}
    problems: list[str] = []
    for name, value in as_object(found.get(SERVERS)).items():
        try:
            entries[name] = replace(parse_entry(name, value), place=place)
        except ValueError as error:
            shown = name if name.isprintable() else repr(name)
            problems.append(f"{source}: the server “{shown[:LONGEST_NAME]}” {error}.")
    return Entries(entries, tuple(problems))


def parse_entry(name: str, value: Json) -> ServerEntry:
    """One entry of the common form; raises ValueError that goes on after the server's name."""
    if not name.strip() or name != name.strip() or not name.isprintable():
        raise ValueError("has no name that can be shown")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"has a name of more than {LONGEST_NAME} characters")
    if not isinstance(value, dict):
        raise ValueError("is no object")
    command, url = _text(value, "command"), _text(value, "url")
    if bool(command) == bool(url):
        raise ValueError("needs either a command or a url")
    kind = _text(value, "type").lower() or ("stdio" if command else "http")
    transport = _TRANSPORTS.get(kind)
    if transport is None or (transport == "stdio") != bool(command):
        known = "stdio" if command else "http or sse"
        raise ValueError(
            f"has the type “{kind}”; with {'a command' if command else 'a url'}, {known}"
        )
    if url and not re.match(r"https?://[^\s/]|\$\{", url):
        raise ValueError(f"has the url “{url}”, which does not begin with http:// or https://")
    seconds = value.get("seconds", 60.0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= 3600:
        raise ValueError("has “seconds” that are no number from 1 to 3600")
    starts = _text(value, "starts") or "call"
    if starts not in get_args(Starts):
        raise ValueError(f"has “starts” that is none of {', '.join(get_args(Starts))}")
    return ServerEntry(
        name,
        command,
        _texts(value, "args"),
        _pairs(value, "env"),
        _text(value, "cwd"),
        url,
        _pairs(value, "headers"),
        transport,
        starts=cast("Starts", starts),
        seconds=float(seconds),
        alone=value.get("alone") is True,
        by_folder=value.get("by_folder") is True,
        oauth=_oauth(value) if url else {},
        only=frozenset(_texts(value, INCLUDED)),
        handshake=value.get("handshake") is True,
    )


def _oauth(value: JsonObject) -> dict[str, str]:
    found = _pairs(value, "oauth")
    port = found.get("callbackPort", "1")
    if not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("has in “oauth” a callbackPort that is no port")
    return {name: one for name, one in found.items() if name in _OAUTH}


def _text(value: JsonObject, key: str) -> str:
    found = value.get(key)
    if found is None:
        return ""
    if not isinstance(found, str) or "\0" in found:
        raise ValueError(f"has “{key}” that is no text")
    return found


def _texts(value: JsonObject, key: str) -> tuple[str, ...]:
    found = value.get(key) or []
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise ValueError(f"has “{key}” that is no list of texts")
    return tuple(cast("list[str]", found))


def _pairs(value: JsonObject, key: str) -> dict[str, str]:
    found = value.get(key) or {}
    if not isinstance(found, dict):
        raise ValueError(f"has “{key}” that is no object")
    pairs: dict[str, str] = {}
    for name, one in found.items():
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise ValueError(f"has in “{key}” a value of {name} that is no text")
        pairs[name] = str(one)
    return pairs


def key_prefix(server: str) -> str:
    """How the names of a server's secrets in the keychain begin."""
    plain = re.sub(r"[^\w.@-]+", "-", server).strip("-")
    if plain != server:  # two servers must not have one name there
        plain = f"{plain}-{hashlib.sha256(server.encode()).hexdigest()[:6]}".lstrip("-")
    return f"mcp/{plain}/"


def described(entry: ServerEntry) -> JsonObject:
    """The entry in the common form, without what is as usual."""
    plain = ServerEntry(entry.name)
    found: JsonObject = {}
    if entry.command:
        found["command"] = entry.command
        if entry.arguments:
            found["args"] = [*entry.arguments]
        if entry.environment:
            found["env"] = {**entry.environment}
        if entry.folder:
            found["cwd"] = entry.folder
    else:
        found["type"], found["url"] = entry.transport, entry.url
        if entry.headers:
            found["headers"] = {**entry.headers}
        if entry.oauth:
            found["oauth"] = {**entry.oauth}
    for name in ("starts", "seconds", "alone", "by_folder", "handshake"):
        if getattr(entry, name) != getattr(plain, name):
            found[name] = getattr(entry, name)
    if entry.only:
        found[INCLUDED] = [*sorted(entry.only)]
    return found


_WRITTEN = frozenset(
    ("command", "args", "env", "cwd", "type", "url", "headers", "starts", "seconds", "alone")
) | {"by_folder", "handshake", "oauth", INCLUDED}


class EntriesFile:
    """The person's servers in ``path``, and what the person said of servers in ``consents``.

    All methods block, and raise StorageError where a file cannot be read or written.
    """

    def __init__(self, path: Path, consents: Path) -> None:
        self.path = path
        self._consents = consents
        self._read: tuple[str, Entries] | None = None
        self._agreed: tuple[str, JsonObject] | None = None

    def read(self) -> Entries:
        """The person's servers as the files are now.

        While the file cannot be read or parsed, as when it is half saved, they are those of the
        last time that it could, with the problem.
        """
        try:
            text = _content(self.path)
        except StorageError as error:
            if self._read is None:
                raise
            return self.agreed(replace(self._read[1], problems=(str(error),)))
        if self._read is None or self._read[0] != text:
            found = parse_entries(text, str(self.path)) if text.strip() else Entries()
            if found.broken and self._read is not None:
                return self.agreed(replace(self._read[1], problems=found.problems))
            self._read = text, found
        return self.agreed(self._read[1])

    def agreed(self, entries: Entries) -> Entries:
        """Servers, also a folder's, with what the person said of each."""
        known = self._known()
        return replace(
            entries,
            by_name={
                name: _with_consent(entry, as_object(as_object(known.get(entry.place)).get(name)))
                for name, entry in entries.by_name.items()
            },
        )

    def put(self, entry: ServerEntry) -> None:
        """Add a server or replace the one of this name; keys that are not ours stay."""
        parse_entry(entry.name, described(entry))
        if not entry.place:
            with exclusive_access(self.path):
                before = as_object(as_object(self._object().get(SERVERS)).get(entry.name))
                kept = {name: value for name, value in before.items() if name not in _WRITTEN}
                self._write({**described(entry), **kept}, entry.name)
        self.agree(entry)

    def agree(self, entry: ServerEntry) -> None:
        """Keep what the person said of a server: on, approved, and the marks of its tools."""
        said: JsonObject = {
            "on": entry.on,
            "approved": entry.approved,
            "reads": [*sorted(entry.reads)],
            "off": [*sorted(entry.off)],
            "sampling": entry.sampling,
            "sandbox": entry.sandbox,
        }
        self._say(entry.place, entry.name, said)

    def remove(self, name: str) -> None:
        """Forget a server and what was said of it; raises ConfigurationError if there is none."""
        with exclusive_access(self.path):
            if name not in as_object(self._object().get(SERVERS)):
                raise ConfigurationError(f"There is no server {name}.")
            self._write(None, name)
        self._say("", name, None)

    def _object(self) -> JsonObject:
        text = _content(self.path)
        try:
            return as_object(read_jsonc(text)) if text.strip() else {}
        except ValueError as error:
            raise StorageError(
                f"{self.path}, {error}. Mend it first; nothing was written."
            ) from error

    def _write(self, value: JsonObject | None, name: str) -> None:
        try:
            text = with_member(_content(self.path), (SERVERS, name), value)
        except ValueError as error:
            raise StorageError(
                f"{self.path}, {error}. Mend it first; nothing was written."
            ) from error
        _save(self.path, text)

    def _known(self) -> JsonObject:
        text = _content(self._consents)
        if self._agreed is None or self._agreed[0] != text:
            try:
                found = as_object(json.loads(text)) if text.strip() else {}
            except ValueError:
                found = {}  # then nothing is approved
            self._agreed = text, found
        return self._agreed[1]

    def _say(self, place: str, name: str, said: JsonObject | None) -> None:
        with exclusive_access(self._consents):
            known = {**self._known()}
            of_place = {**as_object(known.get(place))}
            of_place.pop(name, None)
            if said is not None:
                of_place[name] = said
            known[place] = of_place
            _save(self._consents, json.dumps(known, indent=2, ensure_ascii=False) + "\n")


def _with_consent(entry: ServerEntry, said: JsonObject) -> ServerEntry:
    approved = said.get("approved")
    return replace(
        entry,
        on=said.get("on") is True,
        approved=approved if isinstance(approved, str) else "",
        reads=_names(said.get("reads")),
        off=_names(said.get("off")),
        sampling=said.get("sampling") is True,
        sandbox=_sandboxing(said.get("sandbox")),
    )


def _sandboxing(value: Json) -> Sandboxing:
    return next((one for one in get_args(Sandboxing) if one == value), "")


def _names(value: Json) -> frozenset[str]:
    return (
        frozenset(one for one in value if isinstance(one, str))
        if isinstance(value, list)
        else frozenset()
    )


def _content(path: Path) -> str:
    """A file's text; empty if there is none."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > MAX_BYTES:
        raise StorageError(f"{path} is larger than {MAX_BYTES:,} bytes.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StorageError(f"{path} is no UTF-8 text.") from error


def _save(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror}.") from error


async def resolve_entry(
    entry: ServerEntry, resolve: Resolve, variables: Mapping[str, str]
) -> ServerEntry:
    """The entry with secrets and variables in place of ``${keychain:NAME}``, ``${VAR}`` and
    ``${VAR:-otherwise}``.

    Raises ConfigurationError for what is missing: it never becomes an empty text. A pack's server
    and its host are as they are: packs fill in nothing of the person's.
    """
    if entry.place.startswith((PACK, HOST)):
        return entry

    async def filled(text: str) -> str:
        parts: list[str] = []
        at = 0
        for match in _PLACE.finditer(text):
            parts += [text[at : match.start()], await value_of(match)]
            at = match.end()
        return "".join((*parts, text[at:]))

    async def value_of(match: re.Match[str]) -> str:
        if match[1]:
            if not _may_have(entry, match[2]):
                raise ConfigurationError(
                    f"The server {entry.name} may not have the secret {match[2]}: servers of a "
                    "folder have none, and no server has one of another."
                )
            if secret := await resolve(match[2]):
                return secret
            raise ConfigurationError(
                f"The keychain has no {match[2]}, which the server {entry.name} needs."
            )
        if match[3] in variables:
            return variables[match[3]]
        if match[4] is not None:
            return match[4]
        raise ConfigurationError(
            f"The variable {match[3]}, which the server {entry.name} needs, is not set."
        )

    async def pairs(values: Mapping[str, str]) -> dict[str, str]:
        return {name: await filled(value) for name, value in values.items()}

    return replace(
        entry,
        command=await filled(entry.command),
        arguments=tuple([await filled(one) for one in entry.arguments]),
        environment=await pairs(entry.environment),
        folder=await filled(entry.folder),
        url=await filled(entry.url),
        headers=await pairs(entry.headers),
        oauth=await pairs(entry.oauth),
    )


def with_variables(entry: ServerEntry, variables: Mapping[str, str]) -> ServerEntry:
    """What runs as ``resolve_entry`` fills it in, without secrets; what is missing stays."""
    if entry.place.startswith((PACK, HOST)):
        return entry

    def value_of(match: re.Match[str]) -> str:
        return match[0] if match[1] else variables.get(match[3], match[4] or match[0])

    def filled(text: str) -> str:
        return _PLACE.sub(value_of, text)

    return replace(
        entry,
        command=filled(entry.command),
        arguments=tuple(map(filled, entry.arguments)),
        environment={name: filled(value) for name, value in entry.environment.items()},
        folder=filled(entry.folder),
    )


def _may_have(entry: ServerEntry, secret: str) -> bool:
    """Whether a server may have a secret: a folder's has none, and none has another server's."""
    if entry.place:
        return False
    return not secret.startswith("mcp/") or secret.startswith(key_prefix(entry.name))


def keychain_names(entry: ServerEntry) -> list[str]:
    """The names of secrets in the keychain that an entry refers to."""
    return list(dict.fromkeys(match[2] for match in _places(entry) if match[1]))


def variable_names(entry: ServerEntry) -> list[str]:
    """The variables of the surroundings that an entry needs: it says nothing in their place."""
    needed = (match[3] for match in _places(entry) if match[3] and match[4] is None)
    return list(dict.fromkeys(needed))


def _places(entry: ServerEntry) -> list[re.Match[str]]:
    texts: list[Any] = [entry.command, *entry.arguments, entry.folder, entry.url]
    texts += [*entry.environment.values(), *entry.headers.values(), *entry.oauth.values()]
    return [match for text in texts for match in _PLACE.finditer(text)]
