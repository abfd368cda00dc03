"""Language server: one that runs, which is shown texts and asked what is wrong with them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects
from studio.processes.command_streams import BegunCommand

from .connection import Connection, ServerGone
from .known_servers import language_of

SETTLES = 0.15
"""Seconds in which a server that tells by itself may say more of a text than it did first."""
_PULL = "textDocument/diagnostic"
_GRAVE = 2
"""The least grave finding that is told: 1 is an error, 2 a warning, the rest are hints."""
_SAYS = {1: "error", 2: "warning"}
_CHANGED, _CREATED, _DELETED = 2, 1, 3
_CAPABILITIES: JsonObject = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "diagnostics": {"refreshSupport": True},
    },
    "textDocument": {
        "synchronization": {"dynamicRegistration": False},
        "publishDiagnostics": {"versionSupport": True},
        "diagnostic": {"dynamicRegistration": True},
    },
}


class LanguageServer:
    """A server for a folder, which is at ``root`` for it. Belongs to one event loop.

    ``lost`` is called when it is of no use any more, and has to end what is left of it.
    """

    def __init__(
        self, command: BegunCommand, root: Path, lost: Callable[[LanguageServer], object]
    ) -> None:
        self._root = root
        self._lost = lost
        self._texts: dict[str, tuple[int, str]] = {}
        """The version and text of each file that it was shown, by its relative path."""
        self._told: dict[str, tuple[int | None, JsonObject]] = {}
        """What it said last of a file by itself, and of which version."""
        self._news = asyncio.Event()
        self._pulls = set[str]()
        """Under which names it offers to be asked; where there is none, it tells by itself."""
        self._version = 0
        self._connection = Connection(command, self._heard, self._asked)
        self.ready = False
        self.busy = False
        """Whether it owes an answer: who asks now would only wait as long again."""
        self.used = time.monotonic()
        """When it was asked last."""

    @property
    def running(self) -> bool:
        return self._connection.open

    async def begin(self) -> None:
        """Shake hands. Raises ServerGone, or LookupError if it refuses."""
        uri = self._root.as_uri()
        answer = await self._connection.ask(
            "initialize",
            {
                "processId": None,  # in a sandbox it would not find this one, and end
                "clientInfo": {"name": "agent-studio"},
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": self._root.name}],
                "capabilities": _CAPABILITIES,
            },
        )
        found = as_object(as_object(answer).get("capabilities"))
        if found.get("diagnosticProvider") not in (None, False):
            self._pulls.add("")
        self._connection.tell("initialized", {})
        self.ready = True

    def show(self, texts: Mapping[str, str]) -> None:
        """Have it know these texts of files, and of all others what is on the disk."""
        for name in [one for one in self._texts if one not in texts]:
            del self._texts[name]
            self._told.pop(name, None)
            self._tell("didClose", {"textDocument": {"uri": self._uri(name)}})
        for name, text in texts.items():
            self._show(name, text)

    def changed(self, before: Mapping[str, int], now: Mapping[str, int]) -> None:
        """Tell it of files that changed on the disk: their times, by name."""
        kinds = {
            **{name: _DELETED for name in before.keys() - now.keys()},
            **{name: _CREATED for name in now.keys() - before.keys()},
            **{name: _CHANGED for name in now if before.get(name, now[name]) != now[name]},
        }
        if kinds:
            changes: list[Json] = [{"uri": self._uri(n), "type": k} for n, k in kinds.items()]
            self._connection.tell("workspace/didChangeWatchedFiles", {"changes": changes})

    async def findings(self, name: str) -> list[str]:
        """What is wrong with a text that it was shown, a line for each, the gravest first.

        Raises ServerGone, or LookupError if it refuses.
        """
        self.used = time.monotonic()
        found = await self._pushed(name)
        if self._pulls:  # which some offer only after a while
            found = await self._pulled(name)
        told = [(self._severity(one), one) for one in found]
        told = [(severity, one) for severity, one in told if severity <= _GRAVE]
        told.sort(key=lambda pair: (pair[0], _line(pair[1])))
        return [_finding(name, severity, one) for severity, one in told]

    async def end(self) -> None:
        """End it with all that it started; it is asked to first, and not waited for long."""
        if self.running and self.ready and not self.busy:
            with suppress(ServerGone, LookupError, TimeoutError):
                async with asyncio.timeout(0.5):
                    await self._connection.ask("shutdown", None)
                self._connection.tell("exit", {})
        await self._connection.end()

    async def _pulled(self, name: str) -> list[JsonObject]:
        document: JsonObject = {"textDocument": {"uri": self._uri(name)}}
        self.busy = True
        answer = self._connection.ask(_PULL, document)
        answer.add_done_callback(self._free)
        return as_objects(as_object(await asyncio.shield(answer)).get("items"))

    async def _pushed(self, name: str) -> list[JsonObject]:
        version = self._texts[name][0]
        self.busy = True
        while not (self._pulls or self._is_told(name, version)):
            if not self.running:
                raise ServerGone
            self._news.clear()
            await self._news.wait()
        if self._pulls:
            self._free()
            return []
        await asyncio.sleep(SETTLES)
        return as_objects(self._told[name][1].get("diagnostics"))

    def _is_told(self, name: str, version: int) -> bool:
        told = self._told.get(name)
        return told is not None and told[0] in (None, version)

    def _show(self, name: str, text: str) -> None:
        known = self._texts.get(name)
        if known is not None and known[1] == text:
            return
        self._version += 1
        self._texts[name] = (self._version, text)
        self._told.pop(name, None)
        document: JsonObject = {"uri": self._uri(name), "version": self._version}
        if known is None:
            whole: JsonObject = {**document, "languageId": language_of(name), "text": text}
            self._tell("didOpen", {"textDocument": whole})
        else:
            self._tell("didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def _tell(self, method: str, params: JsonObject) -> None:
        self._connection.tell(f"textDocument/{method}", params)

    def _uri(self, name: str) -> str:
        return (self._root / name).as_uri()

    @staticmethod
    def _severity(found: JsonObject) -> int:
        severity = found.get("severity")
        return severity if isinstance(severity, int) else 1

    def _heard(self, method: str, params: JsonObject) -> None:
        self._news.set()
        if not method:
            self._lost(self)
        if method != "textDocument/publishDiagnostics":
            return
        uri, version = params.get("uri"), params.get("version")
        for name in self._texts:
            if _same(uri, self._uri(name)):
                self._told[name] = (version if isinstance(version, int) else None, params)
        if not self._pulls:
            self._free()

    def _free(self, answer: asyncio.Future[Json] | None = None) -> None:
        self.busy = False

    def _asked(self, method: str, params: JsonObject) -> Json:
        if method == "workspace/configuration":
            return [None for _ in as_objects(params.get("items"))]
        if method == "workspace/workspaceFolders":
            return [{"uri": self._root.as_uri(), "name": self._root.name}]
        if method == "workspace/applyEdit":
            return {"applied": False}
        if method == "client/registerCapability":
            for one in as_objects(params.get("registrations")):
                if one.get("method") == _PULL:
                    self._pulls.add(str(one.get("id")))
            self._news.set()
            return None
        if method == "client/unregisterCapability":
            for one in as_objects(params.get("unregisterations")):  # it is spelt so
                self._pulls.discard(str(one.get("id")))
            return None
        if method in (
            "window/workDoneProgress/create",
            "window/showMessageRequest",
            "workspace/diagnostic/refresh",
        ):
            return None
        raise LookupError(method)


def _same(found: Json, uri: str) -> bool:
    """Servers differ in which letters of a path they quote, and how Windows' drives begin."""
    return isinstance(found, str) and unquote(found).lower() == unquote(uri).lower()


def _line(found: JsonObject) -> int:
    start = as_object(as_object(found.get("range")).get("start"))
    line = start.get("line")
    return line + 1 if isinstance(line, int) else 0


def _finding(name: str, severity: int, found: JsonObject) -> str:
    message = " ".join(str(found.get("message", "")).split())
    code = found.get("code")
    about = f" [{code}]" if isinstance(code, str | int) else ""
    return f"{name}:{_line(found)}: {_SAYS[severity]}: {message}{about}"
