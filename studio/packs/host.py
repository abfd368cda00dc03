"""Pack host: runs the Python of one pack in a process of its own, and serves it as MCP (X-3).

It is started with the pack's folder of ours, or a tool file of the person's own, its id, the file
of its records and its version. It needs nothing but Python: the studio is imported from where it is
installed, its packages are not.
Progress is ``emit``, a form is ``ask``, and drafts are in the structured part of a result.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, cast

from studio.agent.packs import LoadedPack, PackHome
from studio.domain.drafts import Draft, DraftStatus, FileDraft, KindDraft
from studio.domain.errors import StudioError, ToolFailed
from studio.domain.jsonvalue import JsonObject, as_object, as_text
from studio.domain.pack_addresses import pack_of
from studio.domain.persons import Person
from studio.domain.questions import AskedQuestion
from studio.extensions.packs.loading import load_code, load_script
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import read_steps
from studio.tools import Context, Tool, Workspace
from studio.tools.packs.hosted import DRAFTS, FRAME, HIDDEN
from studio.tools.packs.kinds import LocalKind
from studio.tools.packs.persons_act import ActBook
from studio.tools.packs.sources import Source

PROTOCOL = "2025-06-18"
PATIENCE = 2.0
"""Seconds after which a call that was cancelled has to be over: nothing else ends a thread."""


class _Drafts:
    """Collects what a call drafts; the studio proposes it."""

    def __init__(self) -> None:
        self.made: list[KindDraft] = []

    def draft_of(self, path: str) -> FileDraft | None:
        return None

    def waiting(self, *, of_turn: bool) -> Sequence[FileDraft]:
        return ()

    async def propose(self, draft: Draft, *more: Draft) -> DraftStatus:
        for one in (draft, *more):
            if not isinstance(one, KindDraft):
                raise ToolFailed("A pack in a process of its own drafts only its own kinds.")
            self.made.append(one)
        return "waiting"

    async def withdraw(self, draft: Draft) -> None:
        self.made = [one for one in self.made if one.id != draft.id]


class Host:
    """Answers the messages of one studio, which come line by line."""

    def __init__(self, home: PackHome, tools: Sequence[Tool]) -> None:
        self.home = home
        self.tools = {tool.spec.name: tool for tool in tools}
        self._book = ActBook()
        desk = self._book.desk("window")
        assert desk is not None
        self._desk = desk
        self._running: dict[object, asyncio.Task[None]] = {}
        self._waiting: dict[str, asyncio.Future[JsonObject]] = {}
        self._writing = threading.Lock()

    def send(self, message: JsonObject) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
        with self._writing:
            sys.__stdout__.buffer.write(line.encode())  # type: ignore[union-attr]
            sys.__stdout__.buffer.flush()  # type: ignore[union-attr]

    def take(self, message: JsonObject) -> None:
        """A message of the studio; on the event loop's thread."""
        method, id = message.get("method"), message.get("id")
        params = as_object(message.get("params"))
        if method is None:
            future = self._waiting.pop(str(id), None)
            if future is not None and not future.done():
                future.set_result(message)
        elif method == "notifications/cancelled":
            task = self._running.get(params.get("requestId"))
            if task is not None:
                task.cancel()
                loop = asyncio.get_running_loop()
                loop.call_later(PATIENCE, _end_if_stuck, task.get_name())
        elif id is not None:
            work = self._answer(id, as_text(method), params)
            self._running[id] = asyncio.create_task(work, name=f"call {id}")

    async def _answer(self, id: object, method: str, params: JsonObject) -> None:
        try:
            result = await self._result(method, params)
            self.send({"id": cast("Any", id), "result": result})
        except KeyError:
            error: JsonObject = {"code": -32601, "message": f"There is no {method} here."}
            self.send({"id": cast("Any", id), "error": error})
        finally:
            self._running.pop(id, None)

    async def _result(self, method: str, params: JsonObject) -> JsonObject:
        match method:
            case "initialize":
                return {
                    "protocolVersion": PROTOCOL,
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": self.home.id, "version": "1"},
                }
            case "ping":
                return {}
            case "tools/list":
                made = [
                    {"name": one.spec.name, "description": one.spec.description}
                    | {"inputSchema": one.spec.schema}
                    for one in self.tools.values()
                ]
                hidden = [
                    {"name": HIDDEN + name, "description": "For the studio.", "inputSchema": ANY}
                    for name in KIND_CALLS
                ]
                return {"tools": cast("Any", [*made, *hidden])}
            case "tools/call":
                return await self._call(params)
            case _:
                raise KeyError(method)

    async def _call(self, params: JsonObject) -> JsonObject:
        name, arguments = as_text(params.get("name")), as_object(params.get("arguments"))
        frame = as_object(arguments.pop(FRAME, None))
        drafts = _Drafts()
        try:
            if name.startswith(HIDDEN):
                what = name.removeprefix(HIDDEN)
                answer = self._resolve if what == "resolve" else partial(self._kind_call, what)
                told = await asyncio.to_thread(answer, arguments, frame)
                return _said(json.dumps(told), structured=told)
            tool = self.tools.get(name)
            if tool is None:
                raise ToolFailed(f"There is no tool {name}.")
            await asyncio.to_thread(self.home.open)
            context = Context(
                Workspace(Path.cwd()),
                drafts=drafts,
                emit=self._emitter(params),
                ask_all=self._ask,
                person=_person(frame, self.home),
                subject=as_text(frame.get("subject")),
                home=self.home,
            )
            result = await tool.call(context, arguments)
        except StudioError as error:
            return _said(str(error), is_error=True)
        except Exception as error:
            return _said(f"{type(error).__name__}: {error}", is_error=True)
        made = [cast("JsonObject", asdict(one)) for one in drafts.made]
        more: JsonObject = {DRAFTS: cast("Any", made)} if made else {}
        said = _said(result.text, is_error=result.is_error, structured=more)
        own = [one for one in result.sources if pack_of(one) == self.home.id]
        links = [{"type": "resource_link", "uri": one, "name": one} for one in own]
        return {**said, "content": cast("Any", [*cast("Any", said["content"]), *links])}

    def _emitter(self, params: JsonObject) -> Any:
        token = as_object(params.get("_meta")).get("progressToken")
        count = 0

        def emit(text: str) -> None:
            nonlocal count
            count += 1
            if token is not None:
                told: JsonObject = {"progressToken": token, "progress": count, "message": text}
                self.send({"method": "notifications/progress", "params": told})

        return emit

    async def _ask(self, questions: Sequence[AskedQuestion]) -> str:
        """Ask the person with one form; raises ToolFailed if they do not answer."""
        fields: JsonObject = {}
        for number, one in enumerate(questions):
            field: JsonObject = {"type": "string", "title": one.text}
            if one.choices:
                field["enum"] = [choice.text for choice in one.choices]
            fields[f"answer{number}"] = field
        schema: JsonObject = {"type": "object", "properties": fields, "required": [*fields]}
        id = f"ask-{len(self._waiting)}-{id_of(questions)}"
        future = self._waiting[id] = asyncio.get_running_loop().create_future()
        words = "\n".join(one.text for one in questions)
        params: JsonObject = {"message": words, "requestedSchema": schema}
        self.send({"id": id, "method": "elicitation/create", "params": params})
        answer = as_object((await future).get("result"))
        if answer.get("action") != "accept":
            raise ToolFailed("The person did not answer.")
        given = as_object(answer.get("content"))
        return "\n".join(as_text(given.get(name)) for name in fields)

    def _resolve(self, arguments: JsonObject, frame: JsonObject) -> JsonObject:
        """What an address leads to; nothing where it leads nowhere (KZ-8)."""
        resolve = self.home.loaded.pack.source
        found = resolve(as_text(arguments.get("address")), self.home) if resolve else None
        return cast("JsonObject", asdict(found)) if isinstance(found, Source) else {}

    def _kind_call(self, what: str, arguments: JsonObject, frame: JsonObject) -> JsonObject:
        named = as_text(arguments.get("kind"))
        found = {f"{self.home.id}:{one.name}": one for one in self.home.loaded.pack.kinds}
        if named not in found:
            raise ToolFailed(f"There is no kind of drafts {named}.")
        kind = LocalKind(found[named], self.home)
        if what == "make":
            return cast("JsonObject", asdict(kind.make(as_object(arguments.get("fields")))))
        draft = KindDraft(**cast("Any", as_object(arguments.get("draft"))))
        if what == "conflict":
            return {"why": kind.conflict(draft)}
        if what == "edit":
            return cast("JsonObject", asdict(kind.edit(draft, as_text(arguments.get("text")))))
        if what == "settled":
            kind.settled(draft, as_text(arguments.get("reason")))
            return {"done": True}
        act = self._desk.decided(what, [draft], cast("Any", frame.get("door") or "window"))
        decision = "approve" if what == "approve" else "undo"
        with self._book.carrying_out(
            act.get(draft.id), decision, draft, _person(frame, self.home)
        ) as proof:
            (kind.approve if what == "approve" else kind.undo)(draft, proof)
        return {"done": True}


ANY: JsonObject = {"type": "object"}
KIND_CALLS = ("make", "conflict", "approve", "undo", "edit", "settled", "resolve")


def _end_if_stuck(call: str) -> None:
    """End this process where the thread of a cancelled call goes on; the studio starts another."""
    if any(one.name == call for one in threading.enumerate()):
        print("A call went on after it was cancelled, so this process ended.", file=sys.stderr)
        sys.stderr.flush()
        os._exit(75)


def id_of(value: object) -> str:
    return format(id(value), "x")


def _person(frame: JsonObject, home: PackHome) -> Person:
    if home.loaded.pack.person is not None:
        return home.person
    return Person(as_text(frame.get("person")), as_text(frame.get("name")))


def _said(text: str, *, is_error: bool = False, structured: JsonObject | None = None) -> JsonObject:
    found: JsonObject = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return {**found, "structuredContent": structured} if structured else found


def main(root: str, pack: str, records: str, version: str) -> None:
    """Serve until the studio closes the way to this process. Another ``version`` of the pack
    is another process."""
    sys.stdout = sys.stderr  # what the pack prints is no message
    folder = Path(root)
    schema = (folder / "schema").glob("*")
    steps = [one for one in schema if one.suffix.lower() in (".sql", ".py")]
    try:
        code = load_script(folder) if folder.is_file() else load_code(pack, folder)
        made = LoadedPack(
            pack,
            folder,
            code.pack,
            code.tools,
            lambda: PackRecords(Path(records), read_steps(steps, python=True), pack),
            Path(records).parent,
        )
        home = PackHome(made)
    except StudioError as error:
        raise SystemExit(str(error)) from error
    asyncio.run(_serve(Host(home, code.tools)))
    home.close()


async def _serve(host: Host) -> None:
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def read() -> None:
        for line in sys.stdin.buffer:
            try:
                message = json.loads(line)
            except ValueError:
                continue
            if message := as_object(message):
                loop.call_soon_threadsafe(host.take, message)
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=read, daemon=True).start()
    await ended.wait()
