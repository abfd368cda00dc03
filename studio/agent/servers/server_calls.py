"""Server calls: makes tools of what one MCP server lists, and calls the server when they run.

What a tool is that changed since it was made is never called (M-15).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from studio.agent.attachments import attach_picture
from studio.agent.context.token_count import tool_tokens
from studio.agent.pack_hosts import drafts_of
from studio.agent.permission.invisible_characters import escape_line, visible
from studio.agent.prompts import (
    SERVER_BROKE_SCHEMA,
    SERVER_CHANGED,
    SERVER_INSTRUCTIONS,
    SERVER_TOOL,
    SERVER_TOOL_GONE,
)
from studio.agent.studios_above import studios_above
from studio.domain.errors import ConfigurationError, StorageError, ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Image
from studio.domain.pack_addresses import pack_of
from studio.domain.questions import ServerAnswer, ServerQuestion
from studio.domain.records import dataclass
from studio.domain.server_names import ABOVE, STUDIO
from studio.domain.tools import ToolSpec
from studio.files.folders import private_folder
from studio.mcp.catalogue import INSTRUCTIONS, Catalogue, Known, pin_of
from studio.mcp.entries import HOST, ServerEntry
from studio.mcp.lists import ServerLists, ServerTool
from studio.mcp.naming import pool_name, shortened
from studio.mcp.results import Blob, ServerResult, table_of
from studio.mcp.schemas import AdaptedSchema, HopelessSchema, adapt_schema
from studio.mcp.servers import Servers
from studio.tools import Context, Result, Tool
from studio.tools.packs.hosted import FRAME, HIDDEN
from studio.tools.sdk.argument_check import violations
from studio.tools.sdk.definition import Run
from studio.tools.sdk.result import size

from .questions import readable

MOST_SOURCES = 10
"""Addresses of one result that are named."""
LONGEST_CELL = 200
"""Characters of a cell of a table; the text of the result has all of it."""
_UNSAFE = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class ToolView:
    """One tool of a server, for the person.

    ``name`` is the one that models and rules use. ``withheld`` says why no agent has it. ``flags``
    say what is odd about it, ``notes`` what was changed for providers. ``before`` is what the
    person saw, if the tool is another one now (M-15).
    """

    name: str
    tool: ServerTool
    reads: bool = False
    off: bool = False
    withheld: str = ""
    flags: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    before: JsonObject | None = None
    tokens: int = 0


class ServerCalls:
    """The tools of MCP servers and their calls; see ``ServerTools``.

    ``spill`` is the folder for the files of a session's results.
    """

    def __init__(
        self, servers: Servers, catalogue: Catalogue, spill: Callable[[str], Path]
    ) -> None:
        self._servers, self._catalogue, self._spill = servers, catalogue, spill

    def tools_of(
        self, entry: ServerEntry, known: Known
    ) -> tuple[dict[str, Tool], tuple[ToolView, ...]]:
        """The tools of a server that agents have, by name, and all of them for the person."""
        tools: dict[str, Tool] = {}
        views: list[ToolView] = []
        about = "" if INSTRUCTIONS in known.changed else visible(known.lists.instructions)
        is_host = entry.place.startswith(HOST)
        for one in sorted(known.lists.tools, key=lambda tool: known.names[tool.name]):
            if is_host and one.name.startswith(HIDDEN):
                continue  # only the studio itself calls it
            view = ToolView(
                known.names[one.name],
                one,
                one.name in entry.reads,
                not entry.offers(one.name),
                before=known.changed.get(one.name),
            )
            try:
                adapted = adapt_schema(one.schema)
            except HopelessSchema as error:
                views.append(replace(view, withheld=str(error)))
                continue
            if one.only_tasks:
                view = replace(view, withheld="It only runs as a task, which is not offered.")
            elif view.before is not None:
                view = replace(view, withheld="It changed since you saw it.")
            spec = _spec(entry, view, known, adapted, about)
            views.append(replace(view, notes=adapted.notes, tokens=tool_tokens(spec)))
            if not (view.off or view.withheld):
                about = ""  # told once, with the first tool
                run = self._runner(entry, one, adapted, known.pins[one.name])
                tools[view.name] = Tool(spec, run, f"the MCP server {entry.name}")
        return tools, tuple(views)

    async def remember(self, entry: ServerEntry, lists: ServerLists) -> None:
        """Keep what a server lists now, if it can be kept."""
        with suppress(StorageError):
            await asyncio.to_thread(self._catalogue.remember, entry, lists)

    def _runner(
        self, entry: ServerEntry, tool: ServerTool, adapted: AdaptedSchema, pin: str
    ) -> Run:
        name = pool_name(entry)

        async def run(context: Context, arguments: JsonObject) -> Result:
            folder = context.workspace.origin

            def progress(done: float, total: float | None, words: str) -> None:
                share = f"{done:g} of {total:g}" if total else f"{done:g}"
                context.emit(f"{visible(words) or share}\n")

            async def ask(question: ServerQuestion) -> ServerAnswer:
                return await context.ask_form(readable(question, entry.name))

            lists = await self._servers.list(name, folder)
            now = next((one for one in lists.tools if one.name == tool.name), None)
            if now is None or pin_of(now) != pin:  # it may never run as what it is not (M-15)
                await self.remember(entry, lists)
                words = SERVER_TOOL_GONE if now is None else SERVER_CHANGED
                raise ToolFailed(words.format(name=tool.name, server=entry.name))
            found = await self._servers.call(
                name,
                tool.name,
                {**adapted.original(arguments), **_frame(entry, context)},
                folder=folder,
                progress=progress,
                seconds=entry.seconds,
                ask=ask,
                meta={ABOVE: studios_above() + 1} if lists.server == STUDIO else None,
            )
            if entry.place.startswith(HOST):
                pack = entry.place.removeprefix(HOST)
                for draft in await asyncio.to_thread(drafts_of, pack, found.structured):
                    await context.drafts.propose(draft)
            if wrong := await asyncio.to_thread(_wrong_parts, tool, found):
                words = SERVER_BROKE_SCHEMA.format(problems="; ".join(wrong))
                found = replace(found, text=f"{found.text}\n\n{words}".lstrip())
            if found.for_person:
                context.emit(f"{visible(found.for_person)}\n")
            return await self._result(entry, found, context.session_id)

        return run

    async def _result(self, entry: ServerEntry, found: ServerResult, session: str) -> Result:
        """A server's result as that of any tool (M-11)."""
        text = [found.text] if found.text else []
        pictures: list[Image] = []
        for number, one in enumerate(found.images, 1):
            try:
                pictures.append(await attach_picture(one.data, f"Picture {number}"))
            except ConfigurationError as error:
                text.append(f"[{error}]")
        for blob in found.blobs:
            text.append(await asyncio.to_thread(self._keep, blob, session))
        pack = entry.place.removeprefix(HOST) if entry.place.startswith(HOST) else ""
        uris = [link.uri for link in found.links]
        links = [one for one in uris if "://" in one or (pack and pack_of(one) == pack)]
        links = links[:MOST_SOURCES]
        return Result(
            "\n\n".join(text),
            escape_line(found.summary, 120),
            (f"{entry.name} (MCP)", *map(escape_line, links)),
            found.is_error,
            tuple(pictures),
            untrusted=True,
            table=await asyncio.to_thread(_table, found),
        )

    def _keep(self, blob: Blob, session: str) -> str:
        """Write what no model reads to a file; says where it is."""
        name = _UNSAFE.sub("_", blob.name)[-60:].lstrip(".") or "file"
        path = self._spill(session) / f"{hashlib.sha256(blob.data).hexdigest()[:12]}-{name}"
        about = f"{blob.media_type}, {size(len(blob.data))}"
        try:
            private_folder(path.parent)
            path.write_bytes(blob.data)
        except OSError as error:
            return f"[{about}, could not be kept: {error.strerror}]"
        return f"[{about}, is in {path}]"


def _wrong_parts(tool: ServerTool, found: ServerResult) -> list[str]:
    """Where structured content is other than the server said that it would be (M-11)."""
    schema = tool.output_schema
    if schema is None or found.structured is None or found.is_error:
        return []
    return [escape_line(one) for one in violations(schema, found.structured, foreign=True)]


def _table(found: ServerResult) -> tuple[tuple[str, ...], ...]:
    """The rows of a structured result, safe to show."""
    rows = () if found.is_error else table_of(found.structured)
    return tuple(tuple(escape_line(cell, LONGEST_CELL) for cell in row) for row in rows)


def _frame(entry: ServerEntry, context: Context) -> JsonObject:
    """What only the host of a pack is told: who works here, and what the chat is about."""
    if not entry.place.startswith(HOST):
        return {}
    person = context.person
    told: JsonObject = {"person": person.id, "name": person.name, "subject": context.subject}
    return {FRAME: told}


def _spec(
    entry: ServerEntry, view: ToolView, known: Known, adapted: AdaptedSchema, about: str
) -> ToolSpec:
    one = view.tool
    words = visible(shortened(one.description)) or one.title or one.name
    told = SERVER_TOOL.format(server=entry.name, words=words)
    if about:
        told = f"{told}\n{SERVER_INSTRUCTIONS.format(words=shortened(about))}"
    row = escape_line(f"{entry.name}: {one.title or one.name}", 60)
    return ToolSpec(
        view.name,
        told,
        adapted.schema,
        effect="fetch" if view.reads else "act",
        verb=row,
        done=row,
        icon="plug",
        alone=entry.alone,
        time_limit=None,
        untrusted=True,
        sends=not entry.is_cut_off,
        steady=False,
        server=entry.name,
        pin=hashlib.sha256(f"{pool_name(entry)}\0{known.pins[one.name]}".encode()).hexdigest(),
    )
