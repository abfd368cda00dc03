"""What was read of one server: its entry, its secrets, what it lacks, what was left out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any, cast

from studio.domain.records import dataclass
from studio.mcp.entries import LONGEST_NAME, ServerEntry, Transport, key_prefix

from .hiding import KEYCHAIN, REFERENCE, Hiding

NOT_STARTED = "It names neither a command nor an address."
WEBSOCKET = "It is reached over a WebSocket, which MCP does not have."
NO_NAME = "It has no name that can be shown."
LONG_NAME = f"Its name has more than {LONGEST_NAME} characters."
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
LONGEST_CALL = 3600.0
"""Seconds of a call, at most."""
NO_VALUES = "It is no list of keys and values."


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a file is read in: the home folder, the project's folder, the variables."""

    home: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    platform: str = "linux"
    """As ``sys.platform``."""
    folder: Path | None = None
    bundles: Path = Path("bundles")
    """Where what came in bundles is unpacked, one folder each."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A value that the server needs and that is nowhere.

    ``key`` is the name in the keychain under which it is looked for; it is empty for a variable
    of the environment. ``about`` is what the file says of it.
    """

    name: str
    key: str = ""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """One server of a file. ``problem`` says why it cannot be taken."""

    entry: ServerEntry
    secrets: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What goes to the keychain, by the names there."""
    missing: tuple[Missing, ...] = ()
    omitted: tuple[str, ...] = ()
    """Keys of the file that have no counterpart here."""
    problem: str = ""
    bundle: Path | None = None
    """The zip file that the server is in; taking it unpacks that into ``folder``."""
    folder: Path | None = None

    def named(self, name: str) -> Found:
        """The same under another name, in the keychain too."""
        if name == self.entry.name:
            return self
        old, new = key_prefix(self.entry.name), key_prefix(name)

        def moved(text: str) -> str:
            return text.replace(f"${{{KEYCHAIN}{old}", f"${{{KEYCHAIN}{new}")

        entry = self.entry
        entry = replace(
            entry,
            name=name,
            arguments=tuple(map(moved, entry.arguments)),
            environment={key: moved(value) for key, value in entry.environment.items()},
            url=moved(entry.url),
            headers={key: moved(value) for key, value in entry.headers.items()},
        )
        missing = (replace(one, key=one.key.replace(old, new, 1)) for one in self.missing)
        secrets = {key.replace(old, new, 1): value for key, value in self.secrets.items()}
        return replace(self, entry=entry, secrets=secrets, missing=tuple(missing))


class Keys:
    """The keys of one server in a file: those that were read, and those that are left."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = dict(given)
        self.omitted: list[str] = []

    def text(self, *keys: str) -> str:
        """The text of the first of the keys that is there."""
        found = ""
        for key in keys:
            value = self._given.pop(key, None)
            if isinstance(value, str):
                found = found or value.strip()
            elif value is not None:
                self.omitted.append(key)
        return found

    def texts(self, *keys: str) -> list[str]:
        """A list of texts; numbers count as such."""
        found: list[str] = []
        for key in keys:
            value = self._given.pop(key, None)
            if isinstance(value, list) and all(map(_is_plain, cast("list[Any]", value))):
                found += [_plain(one) for one in cast("list[Any]", value)]
            elif value is not None:
                self.omitted.append(key)
        return found

    def pairs(self, *keys: str) -> dict[str, str]:
        """A table of texts. What is null has no value: it is asked for."""
        found: dict[str, str] = {}
        for key in keys:
            value = self._given.pop(key, None)
            if not isinstance(value, dict):
                if value is not None:
                    self.omitted.append(key)
                continue
            for name, one in cast("dict[str, Any]", value).items():
                if one is None or _is_plain(one):
                    found[str(name)] = f"${{{name}}}" if one is None else _plain(one)
                else:
                    self.omitted.append(f"{key}.{name}")
        return found

    def number(self, key: str) -> float:
        """A number that is not negative, or 0."""
        value = self._given.pop(key, None)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9:
            return float(value)
        if value is not None:
            self.omitted.append(key)
        return 0.0

    def table(self, key: str) -> Mapping[str, Any]:
        value = self._given.get(key)
        if not isinstance(value, dict):
            return {}
        del self._given[key]
        return cast("dict[str, Any]", value)

    def pass_over(self, *keys: str) -> None:
        """Keys that say nothing about how the server is started or reached."""
        for key in keys:
            self._given.pop(key, None)

    @property
    def left(self) -> tuple[str, ...]:
        """What was not understood, in the order of the file."""
        return tuple(dict.fromkeys([*self.omitted, *self._given]))


def found_server(
    keys: Keys,
    entry: ServerEntry,
    around: Surroundings,
    *,
    kind: str = "",
    abouts: Mapping[str, str] | None = None,
) -> Found:
    """A server whose entry has the file's own values: hides its secrets and looks what it lacks.

    ``kind`` is the word of the file for how the server is reached; ``abouts`` says what a secret
    that the file asks for is, by its name.
    """
    entry = _with_own_secrets(entry)
    transport, problem = _transport(kind, entry)
    if not entry.command and not entry.url:
        problem = problem or NOT_STARTED
    if not entry.name or not entry.name.isprintable():
        problem = NO_NAME
    elif len(entry.name) > LONGEST_NAME:
        problem = LONG_NAME
    command, arguments = _command(entry)
    hiding = Hiding(entry.name, around.environment)
    entry = replace(
        entry,
        command=command,
        arguments=hiding.arguments(arguments),
        environment={k: hiding.variable(k, v) for k, v in entry.environment.items()},
        folder=_folder(entry.folder, around),
        url=hiding.address(entry.url),
        headers={k: hiding.variable(k, v) for k, v in entry.headers.items()},
        transport=transport,
        seconds=min(entry.seconds, LONGEST_CALL) or 60.0,
    )
    missing = tuple(_missing(entry, hiding.secrets, around.environment, abouts or {}))
    return Found(entry, hiding.secrets, missing, keys.left, problem)


def _with_own_secrets(entry: ServerEntry) -> ServerEntry:
    """The entry without references to the secrets of others: its own are asked for instead.

    A file comes from strangers, who could have another server's token sent to theirs.
    """
    prefix = key_prefix(entry.name)

    def own(text: str) -> str:
        return REFERENCE.sub(replaced, text)

    def replaced(match: re.Match[str]) -> str:
        name = match[1].removeprefix(KEYCHAIN)
        if not match[1].startswith(KEYCHAIN) or name.startswith(prefix):
            return match[0]
        return f"${{{KEYCHAIN}{prefix}{name.rpartition('/')[2] or 'secret'}}}"

    return replace(
        entry,
        command=own(entry.command),
        arguments=tuple(map(own, entry.arguments)),
        environment=translated(entry.environment, own),
        folder=own(entry.folder),
        url=own(entry.url),
        headers=translated(entry.headers, own),
    )


def _transport(kind: str, entry: ServerEntry) -> tuple[Transport, str]:
    word = re.sub(r"[-_ ]", "", kind).lower()
    if word in ("ws", "websocket"):
        return "http", WEBSOCKET
    if entry.url and not entry.command:
        return ("sse" if word == "sse" else "http"), ""
    return "stdio", ""


def _command(entry: ServerEntry) -> tuple[str, Sequence[str]]:
    """The command and its arguments; some write them into one text."""
    if entry.arguments or " " not in entry.command or Path(entry.command).exists():
        return entry.command, entry.arguments
    try:
        first, *rest = shlex.split(entry.command)
    except ValueError:
        return entry.command, ()
    return first, rest


def _folder(folder: str, around: Surroundings) -> str:
    if not folder or "${" in folder:
        return folder
    if folder == "~" or folder.startswith(("~/", "~\\")):
        return str(around.home / folder[2:])
    return str(around.folder / folder) if around.folder is not None else folder


def _missing(
    entry: ServerEntry,
    secrets: Mapping[str, str],
    environment: Mapping[str, str],
    abouts: Mapping[str, str],
) -> Collection[Missing]:
    texts = (entry.command, *entry.arguments, entry.folder, entry.url)
    found: dict[str, Missing] = {}
    for text in (*texts, *entry.environment.values(), *entry.headers.values()):
        for reference in REFERENCE.finditer(text):
            name, default, _ = reference[1].partition(":-")
            if name.startswith(KEYCHAIN):
                key = name.removeprefix(KEYCHAIN)
                if key not in secrets:
                    short = key.rpartition("/")[2]
                    found[name] = Missing(short, key, abouts.get(short, ""))
            elif not default and _VARIABLE.fullmatch(name) and not environment.get(name):
                found[name] = Missing(name)
    return found.values()


def translated(values: Mapping[str, str], change: Callable[[str], str]) -> dict[str, str]:
    """A table whose values are changed to our notation."""
    return {name: change(value) for name, value in values.items()}


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
