"""List reader: asks a server, page by page, what it offers, and makes plain values of it.

Imports the SDK, as ``connection``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import TypeVar, cast

import mcp_types as types

from studio.domain.jsonvalue import JsonObject
from studio.mcp.lists import ServerLists, ServerPrompt, ServerResource, ServerTool
from studio.mcp.session import Session

PAGES, MOST = 100, 2_000
"""Pages of a list, and what is on them, that are read."""
MOST_ICON = 32_000
"""Characters of the address of a server's icon; its picture is in it."""
_LEFT_OUT = 50
"""Problems of lists that are kept."""

Page = TypeVar("Page", bound=types.PaginatedResult)
Item = TypeVar("Item")


class ListReader:
    """Reads the lists of one server, and notes what of them is left out."""

    def __init__(self) -> None:
        self._problems: list[str] = []

    async def fetch(self, session: Session) -> ServerLists:
        """Ask for all lists that the server has; raises what the SDK raises."""
        self._problems = []
        can = session.server_capabilities or types.ServerCapabilities()
        tools: list[types.Tool] = []
        prompts: list[types.Prompt] = []
        resources: list[types.Resource] = []
        templates: list[types.ResourceTemplate] = []
        seconds = 0.0
        if can.tools is not None:
            async for page in self._pages("tools", session.list_tools):
                seconds = page.ttl_ms / 1000
                if self._is_full("tools", tools, page.tools):
                    break
        if can.prompts is not None:
            async for page in self._pages("prompts", session.list_prompts):
                if self._is_full("prompts", prompts, page.prompts):
                    break
        if can.resources is not None:
            async for page in self._pages("resources", session.list_resources):
                if self._is_full("resources", resources, page.resources):
                    break
            async for page in self._pages("templates", session.list_resource_templates):
                if self._is_full("templates", templates, page.resource_templates):
                    break
        about = session.server_info
        return ServerLists(
            tuple(_tool(one) for one in tools),
            tuple(_prompt(one) for one in prompts),
            tuple(_resource(one.uri, one, one.size) for one in resources),
            tuple(_resource(one.uri_template, one) for one in templates),
            session.instructions or "",
            session.protocol_version or "",
            about.name if about else "",
            about.version if about else "",
            tuple(self._problems),
            seconds,
            _icon(one.src for one in (about.icons or ())) if about else "",
        )

    def _is_full(self, what: str, found: list[Item], more: list[Item]) -> bool:
        """Add ``more`` to what was found, up to ``MOST``; whether no more is wanted."""
        found += more
        if len(found) > MOST:
            self.leave_out(f"{what}: {len(found) - MOST} beyond {MOST} are left out")
            del found[MOST:]
        return len(found) == MOST

    async def _pages(self, what: str, fetch: Callable[..., Awaitable[Page]]) -> AsyncIterator[Page]:
        cursor: str | None = None
        for _ in range(PAGES):
            page = await fetch(params=types.PaginatedRequestParams(cursor=cursor))
            yield page
            cursor = page.next_cursor
            if not cursor:
                return
        self.leave_out(f"{what}: what is beyond {PAGES} pages is left out")

    def leave_out(self, problem: str) -> None:
        """Note what cannot be offered, and why."""
        if problem not in self._problems and len(self._problems) < _LEFT_OUT:
            self._problems.append(problem)


def _icon(addresses: Iterable[str]) -> str:
    """The first that is a small picture by itself: no program, as SVG may be, and no address."""
    kinds = tuple(f"data:image/{kind};base64," for kind in ("png", "jpeg", "webp"))
    return next((a for a in addresses if a.startswith(kinds) and len(a) <= MOST_ICON), "")


def _tool(one: types.Tool) -> ServerTool:
    claims = one.annotations
    return ServerTool(
        one.name,
        one.title or (claims.title if claims else None) or "",
        one.description or "",
        cast("JsonObject", one.input_schema),
        cast("JsonObject | None", one.output_schema),
        cast("JsonObject", claims.model_dump(by_alias=True, exclude_none=True)) if claims else {},
        one.execution is not None and one.execution.task_support == "required",
    )


def _prompt(one: types.Prompt) -> ServerPrompt:
    return ServerPrompt(
        one.name,
        one.title or "",
        one.description or "",
        tuple(
            cast("JsonObject", argument.model_dump(by_alias=True, exclude_none=True))
            for argument in one.arguments or ()
        ),
    )


def _resource(
    uri: str, one: types.Resource | types.ResourceTemplate, size: int | None = None
) -> ServerResource:
    return ServerResource(
        uri, one.name, one.title or "", one.description or "", one.mime_type or "", size
    )
