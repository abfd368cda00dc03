"""Studio tools: what a program that speaks MCP can have done here (M-25).

An agent's answer and a workflow's run are those of the other clients of the server: in the
same folder, within the same rules, kept as chats in the same way.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import aclosing
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.permission.invisible_characters import escape_line
from studio.agent.studios_above import studios_above
from studio.domain.agents import Agent
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Message, Text
from studio.domain.questions import ServerAnswer
from studio.domain.records import dataclass
from studio.domain.run_events import RunQuestion
from studio.domain.workflows import Input
from studio.server.client_runs import AskRun
from studio.server.contract import (
    WORKFLOW,
    ApiRequest,
    BadRequest,
    Outcome,
    ProgressPart,
    ResponsePart,
    TextPart,
    TurnRef,
)
from studio.server.errors import INTERNAL, error_from_exception
from studio.server.model_names import AGENT, PLAIN
from studio.server.responder import Responder

from .forms import AskClient, Form, FormQuestions, filled_in, has_window, run_answer, run_form

MOST_ASKED = 2
"""How deep studios ask each other: this one refuses as the one after so many."""
TOO_DEEP = (
    "This studio was asked by a studio that was itself asked by one. That is as deep as it goes. "
    "Do it with your own tools."
)
GO_ON = "To go on in this chat, call ask_agent with the chat {chat}."
_ABOUT = (
    "Answers may take minutes. The agent works in a folder of its own, reads there as it needs, "
    "and its person is asked about everything else."
)
TOOLS: tuple[JsonObject, ...] = (
    {
        "name": "list_agents",
        "title": "List agents",
        "description": "List the agents that can be asked, and the workflows that can be run.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
    },
    {
        "name": "ask_agent",
        "title": "Ask an agent",
        "description": f"Give an agent of Agent Studio a task, and get its answer. {_ABOUT}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "message": {"type": "string", "description": "The task, with all it needs"},
                "agent": {
                    "type": "string",
                    "description": "One of list_agents; without, the person's usual one",
                },
                "chat": {
                    "type": "string",
                    "description": "Go on after this answer of before: what it named as its chat",
                },
            },
            "required": ["message"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": False, "openWorldHint": True},
    },
    {
        "name": "run_workflow",
        "title": "Run a workflow",
        "description": f"Run a workflow of Agent Studio, and get what it comes to. {_ABOUT}",
        "inputSchema": {
            "type": "object",
            "properties": {
                "workflow": {"type": "string", "description": "One of list_agents"},
                "inputs": {"type": "object", "description": "Its inputs, as list_agents has them"},
            },
            "required": ["workflow"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": False, "openWorldHint": True},
    },
)


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a call came to. ``more`` is for the model, and no part of the answer."""

    text: str
    more: str = ""
    structured: JsonObject | None = None
    is_error: bool = False


class StudioTools:
    """Does what the tools say."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._responder = Responder(engine, folder)

    async def call(
        self,
        name: str,
        arguments: JsonObject,
        tell: Callable[[str], object],
        ask: AskClient | None,
    ) -> ToolAnswer:
        """Do a call to its end. ``tell`` is called with each step, ``ask`` for each form.

        Without ``ask`` the client has nobody who fills in forms. What goes wrong is an answer,
        too. Cancelling it stops the turn or the run.
        """
        try:
            await self._engine.refresh_settings()  # its limits may have changed
            match name:
                case "list_agents":
                    _known(arguments, ())
                    return await self._list()
                case "ask_agent":
                    return await self._ask_agent(arguments, tell, ask)
                case _:
                    return await self._run_workflow(arguments, tell, ask)
        except BadRequest as error:
            return ToolAnswer(str(error), is_error=True)
        except Exception as error:
            return ToolAnswer(error_from_exception(error).message, is_error=True)

    async def clear_up(self) -> None:
        await self._responder.lookup.clear_up()

    async def close(self) -> None:
        await self._responder.runs.close()

    async def _list(self) -> ToolAnswer:
        found = await self._agents()
        agents: list[Json] = [
            {"name": one.name, "description": one.description} for one in found.values()
        ]
        workflows: list[Json] = [
            {
                "name": name,
                "title": one.name,
                "description": one.description,
                "inputs": [_input(given) for given in one.inputs],
            }
            for name, one in (await self._responder.runs.workflows()).items()
        ]
        found_all: JsonObject = {"agents": agents, "workflows": workflows}
        return ToolAnswer(json.dumps(found_all, ensure_ascii=False, indent=1), "", found_all)

    async def _ask_agent(
        self, arguments: JsonObject, tell: Callable[[str], object], ask: AskClient | None
    ) -> ToolAnswer:
        _known(arguments, ("message", "agent", "chat"))
        message = _text_of(arguments, "message", needed=True)
        if studios_above() >= MOST_ASKED:
            return ToolAnswer(TOO_DEEP, is_error=True)
        name = await self._agent(_text_of(arguments, "agent"))
        request = ApiRequest(
            f"{AGENT}{name}",
            (Message("user", (Text(message),)),),
            previous=_text_of(arguments, "chat"),
        )
        places: list[TurnRef] = []
        asks = ask or _nobody
        parts = self._responder.answer(
            request,
            "mcp",
            places.append,
            lambda engine, session: FormQuestions(engine, session, asks),
        )
        text, end = await _told(parts, tell)
        chat = places[0].number if places and self._engine.settings.values.server_keep else ""
        more = GO_ON.format(chat=chat) if chat and end.stop != "error" else ""
        structured: JsonObject = {"answer": text, "chat": chat, "end": end.stop}
        return _answer(text, end, more, structured)

    async def _agents(self) -> dict[str, Agent]:
        """The agents that can be asked, by their names in small letters."""
        found = (await self._engine.agents(self._folder)).by_name
        return {name.casefold(): found[name] for name in sorted(found) if name != PLAIN}

    async def _agent(self, asked: str) -> str:
        """The name of the agent that answers; raises BadRequest for one that is not listed."""
        if not asked:  # a stranger's does not pass for the usual one
            return (await self._engine.choose(folder=self._folder)).agent
        agents = await self._agents()
        if (agent := agents.get(asked.casefold())) is None:
            known = ", ".join(one.name for one in agents.values())
            raise BadRequest(f"There is no agent “{escape_line(asked, 100)}”. Known are {known}.")
        return agent.name

    async def _run_workflow(
        self, arguments: JsonObject, tell: Callable[[str], object], ask: AskClient | None
    ) -> ToolAnswer:
        _known(arguments, ("workflow", "inputs"))
        name, inputs = _text_of(arguments, "workflow", needed=True), arguments.get("inputs", {})
        if not isinstance(inputs, dict):
            raise BadRequest("“inputs” is an object.")
        if studios_above() >= MOST_ASKED:
            return ToolAnswer(TOO_DEEP, is_error=True)
        places: list[TurnRef] = []
        said = Message("user", (Text(json.dumps(inputs, ensure_ascii=False)),))
        request = ApiRequest(f"{WORKFLOW}{name.removeprefix(WORKFLOW)}", (said,))
        # With a window the run waits for its person, who sees it there.
        if ask is None or await has_window(self._engine):
            parts = self._responder.runs.answer(request, places.append)
        else:
            parts = self._responder.runs.answer(request, places.append, _asking_run(ask))
        text, end = await _told(parts, tell)
        run = places[0].session_id if places else ""
        structured: JsonObject = {"answer": text, "run": run, "end": end.stop}
        return _answer(text, end, "", structured)


def _asking_run(ask: AskClient) -> AskRun:
    async def asked(question: RunQuestion) -> Json:
        form = run_form(question)
        if form is None:
            return None
        filled = ask(form) if question.server is None else filled_in(form, ask)
        return run_answer(question, await filled)

    return asked


async def _nobody(form: Form) -> ServerAnswer:
    return ServerAnswer("cancel")


async def _told(
    parts: AsyncGenerator[ResponsePart, None], tell: Callable[[str], object]
) -> tuple[str, Outcome]:
    """The words of an answer and its end; its steps are told on the way."""
    words: list[str] = []
    end = Outcome("error", detail=INTERNAL)
    async with aclosing(parts):
        async for part in parts:
            match part:
                case TextPart():
                    words.append(part.text)
                case ProgressPart():
                    tell(part.text)
                case Outcome():
                    end = part
                case _:
                    pass
    return "".join(words), end


def _answer(text: str, end: Outcome, more: str, structured: JsonObject) -> ToolAnswer:
    failed = end.stop in ("error", "refused", "limit")
    if end.detail and end.detail not in text:
        text = f"{text}\n\n{end.detail}".strip()
    return ToolAnswer(text, more, structured, failed)


def _input(given: Input) -> JsonObject:
    found: JsonObject = {
        "name": given.name,
        "type": given.type,
        "description": given.description,
        "required": given.required,
    }
    if given.default is not None:
        found["default"] = given.default
    if given.choices:
        found["choices"] = [*given.choices]
    return found


def _known(arguments: JsonObject, names: Collection[str]) -> None:
    if unknown := arguments.keys() - {*names}:
        shown = escape_line(min(unknown), 100)
        raise BadRequest(f"“{shown}” is not known. Known are: {', '.join(names) or 'none'}.")


def _text_of(arguments: JsonObject, name: str, *, needed: bool = False) -> str:
    value = arguments.get(name, "")
    if not isinstance(value, str):
        raise BadRequest(f"“{name}” is a text.")
    if needed and not value.strip():
        raise BadRequest(f"“{name}” is missing.")
    return value.strip() if name != "message" else value
