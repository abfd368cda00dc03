"""Session: the SDK's session, made patient with servers that do not keep to the protocol.

One wrong tool in a list spoils no other, and one wrong part of a result spoils no other: what
cannot be read is left out and told. Imports the SDK.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, cast

import anyio.abc
import mcp_types as types
from mcp.client.session import ClientSession
from mcp.shared.dispatcher import CallOptions, OnNotify, OnNotifyIntercept, OnRequest
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from mcp_types.version import (
    HANDSHAKE_PROTOCOL_VERSIONS,
    LATEST_HANDSHAKE_VERSION,
    LATEST_MODERN_VERSION,
    MODERN_PROTOCOL_VERSIONS,
)
from pydantic import ValidationError

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text

PROBE = 2.0
"""Seconds that a server has to answer the question for its era; then the other one is tried."""
_LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
_OVER = "Connection closed"
"""How the SDK says that the connection ended."""
_LATE = "ttlMs", "cacheScope", "resultType"
"""What only the era without a handshake has in lists."""


class Dispatcher(JSONRPCDispatcher[TransportContext]):
    """Mends what a server answers, and tells when the connection is over."""

    def __init__(self, read: Any, write: Any, left_out: Callable[[str], object]) -> None:
        super().__init__(read, write)
        self.over = asyncio.Event()
        self._left_out = left_out

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        try:
            await super().run(on_request, on_notify, on_notify_intercept, task_status=task_status)
        finally:
            self.over.set()

    async def send_raw_request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        opts: CallOptions | None = None,
        *,
        _related_request_id: types.RequestId | None = None,
    ) -> dict[str, Any]:
        raw = await super().send_raw_request(
            method, params, opts, _related_request_id=_related_request_id
        )
        if method in _LISTS:
            return mended_list(method, raw, self._left_out)
        return mended_result(raw) if method == "tools/call" else raw


class Session(ClientSession):
    """The SDK's session; ``results`` checks structured content and refuses no result for it."""

    async def validate_tool_result(self, name: str, result: types.CallToolResult) -> None:
        return

    async def negotiate(self, era: str) -> None:
        """Agree on a revision. ``era``: ``handshake`` if that is known, else both are tried."""
        if era == "handshake":
            await self.initialize()
            return
        version, limit = LATEST_MODERN_VERSION, PROBE
        for _ in range(2):
            error: MCPError | None = None
            try:
                async with asyncio.timeout(limit):
                    found = types.DiscoverResult.model_validate(await self.send_discover(version))
                if any(one in found.supported_versions for one in MODERN_PROTOCOL_VERSIONS):
                    self.adopt(found)
                    return
            except MCPError as raised:
                if _is_over(raised):
                    raise
                error = raised
            except (TimeoutError, ValidationError):
                pass
            if version_of := self._other(error):
                version = version_of
                continue
            try:
                await self.initialize()
                return
            except MCPError as raised:
                # A server that starts slowly answered the question for its era too late.
                if _is_over(raised) or error is not None:
                    raise
                version, limit = self._other(raised) or version, 10 * PROBE
        raise MCPError(types.INVALID_REQUEST, "No common revision of the protocol.")

    @staticmethod
    def _other(error: MCPError | None) -> str | None:
        """The revision that both speak, out of an error that names the server's."""
        if error is None or error.code != types.UNSUPPORTED_PROTOCOL_VERSION:
            return None
        named = as_object(cast("Json", error.error.data)).get("supported")
        known = [
            one for one in MODERN_PROTOCOL_VERSIONS if isinstance(named, list) and one in named
        ]
        return known[-1] if known else None


def mended_list(method: str, raw: JsonObject, left_out: Callable[[str], object]) -> JsonObject:
    """A page of a list without what cannot be read; ``left_out`` is told each with its reason."""
    key = _LISTS[method]
    page = {name: value for name, value in raw.items() if name in (key, "nextCursor", *_LATE)}
    if not isinstance(page.get("nextCursor"), str):
        page.pop("nextCursor", None)
    for name, kind in (("ttlMs", (int, float)), ("cacheScope", str), ("resultType", str)):
        if name in page and (isinstance(page[name], bool) or not isinstance(page[name], kind)):
            del page[name]
    found = page.get(key)
    kept: list[Json] = []
    for one in found if isinstance(found, list) else []:
        mended = _mended(one) if key == "tools" else one
        if reason := _wrong(method, key, mended):
            name = as_text(as_object(one).get("name")) or as_text(as_object(one).get("uri"))
            left_out(f"{key}: “{name[:80]}” is left out: {reason}")
        else:
            kept.append(mended)
    page[key] = kept
    return page


def mended_result(raw: JsonObject) -> JsonObject:
    """A tool's result in which parts that cannot be read are replaced by words."""
    if raw.get("resultType", "complete") != "complete":
        return raw
    content = raw.get("content")
    parts = content if isinstance(content, list) else [] if content is None else [content]
    mended: list[Json] = []
    for part in parts:
        one: Json = {"type": "text", "text": part} if isinstance(part, str) else part
        if _wrong_part(one):
            kind = as_text(as_object(one).get("type")) or "unknown"
            one = {"type": "text", "text": f"[a part of the kind {kind[:40]}, which is wrong]"}
        mended.append(one)
    return {**raw, "content": mended}


def _mended(tool: Json) -> Json:
    """A tool without optional members of a wrong form."""
    if not isinstance(tool, dict):
        return tool
    forms: tuple[tuple[str, type], ...] = (
        *(("title", str), ("description", str), ("annotations", dict), ("execution", dict)),
        *(("icons", list), ("outputSchema", dict), ("_meta", dict)),
    )
    tool = {
        name: value
        for name, value in tool.items()
        if not any(name == known and not isinstance(value, form) for known, form in forms)
    }
    schema = tool.get("inputSchema")
    if schema is None or schema is True:
        tool["inputSchema"] = {"type": "object"}
    elif isinstance(schema, dict) and schema.get("type", "object") in ("object", ["object"]):
        tool["inputSchema"] = {**schema, "type": "object"}
    return tool


def _wrong(method: str, key: str, one: Json) -> str:
    """Why an entry of a list cannot be read; empty if it can."""
    page = {key: [one], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    try:
        methods.parse_server_result(method, LATEST_HANDSHAKE_VERSION, {key: [one]})
        methods.parse_server_result(method, LATEST_MODERN_VERSION, page)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"] if not isinstance(part, int))
        return f"{place.removeprefix(f'{key}.') or 'it'}: {first['msg']}."
    return ""


def _wrong_part(part: Json) -> bool:
    try:
        methods.parse_server_result("tools/call", LATEST_HANDSHAKE_VERSION, {"content": [part]})
    except ValidationError:
        return True
    return False


def _is_over(error: MCPError) -> bool:
    """Whether the connection ended; servers answer with the SDK's code for that, too."""
    return error.code == types.CONNECTION_CLOSED and error.error.message == _OVER


def is_handshake(version: str) -> bool:
    return version in HANDSHAKE_PROTOCOL_VERSIONS
