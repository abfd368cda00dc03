"""Calls: those of MCP clients, with their progress, questions and ends (M-25).

A call's work is a task of its own. In the era of the handshake its questions are requests to the
client; in the one without, the call ends with the question, and the client calls again with the
answer. Imports the official SDK.
"""

from __future__ import annotations

import asyncio
import uuid
from functools import partial
from typing import Any, cast

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import Scope

from studio import __version__
from studio.agent.studios_above import asked_by_studios
from studio.domain.aio import BackgroundTasks
from studio.domain.jsonvalue import JsonObject
from studio.domain.questions import ServerAnswer
from studio.domain.records import dataclass
from studio.domain.server_names import ABOVE, STUDIO

from .forms import Form
from .studio_tools import TOOLS, StudioTools, ToolAnswer

BEAT = 10.0
"""Seconds after which a client is told again that its call is worked on."""
PATIENCE = 600.0
"""Seconds that a client's person has to answer a form."""
MOST_CALLS = 32
"""Calls that are worked on at once. It also ends a circle of programs that ask each other."""
_QUESTION = "question"
_ABOUT = (
    "The agents and workflows of Agent Studio, a program in which a person works with AI agents. "
    "list_agents says which there are."
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A form that waits for its answer."""

    form: Form
    answer: asyncio.Future[ServerAnswer]


class OpenCall:
    """One call that is worked on. ``forms``: its client has a person who fills in forms."""

    def __init__(self, tool: str, *, forms: bool) -> None:
        self.id = uuid.uuid4().hex
        self.tool = tool
        self.forms = forms
        self.news: asyncio.Queue[str | _Asked | None] = asyncio.Queue()
        """Steps, questions, and None when the work has ended."""
        self.asked: _Asked | None = None
        """The question that the client was given, and answers with its next call."""
        self.request: Any = None
        """The HTTP request that waits for it, None on standard streams."""
        self.one_form = asyncio.Lock()
        self.line = ""
        self.told = 0
        self.work: asyncio.Task[ToolAnswer]

    def tell(self, line: str) -> None:
        self.news.put_nowait(line)

    async def ask(self, form: Form) -> ServerAnswer:
        """Have the client's person fill in a form; ``cancel`` where nobody does in time.

        A client that was given it and never called again has gone: its call ends.
        """
        asked = _Asked(form, asyncio.get_running_loop().create_future())
        self.news.put_nowait(asked)
        try:
            async with asyncio.timeout(PATIENCE):
                return await asked.answer
        except TimeoutError:
            if self.asked is asked:
                self.work.cancel()
            return ServerAnswer("cancel")


class Calls:
    """Answers the requests of clients (the SDK's ``Server``)."""

    def __init__(self, tools: StudioTools) -> None:
        self._tools = tools
        self._tasks = BackgroundTasks()
        self._open: dict[str, OpenCall] = {}
        """Calls that are worked on, by their ids, which nobody guesses; the oldest comes first."""
        self.server: Server[dict[str, Any]] = Server(
            STUDIO,
            title="Agent Studio",
            version=__version__,
            instructions=_ABOUT,
            on_list_tools=self._list,
            on_call_tool=self._call,
        )

    async def close(self) -> None:
        """Stop all calls, and return when they have ended."""
        await self._tasks.aclose()

    def end_request(self, request_scope: Scope) -> None:
        """Stop the call that an HTTP request waited for: nobody hears its answer any more.

        A call whose question went out with the end of the request is gone on with by another.
        """
        for call in self._open.values():
            waits = call.request is not None and call.request.scope is request_scope
            if waits and call.asked is None:
                call.work.cancel()

    async def _list(
        self, context: ServerRequestContext[dict[str, Any]], params: Any
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[types.Tool.model_validate(one) for one in TOOLS])

    async def _call(
        self, context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        call = self._begun(context, params)
        try:
            return await self._until_end(context, call)
        except BaseException:  # the client cancelled it, or has gone
            call.work.cancel()
            raise

    def _begun(
        self, context: ServerRequestContext[dict[str, Any]], params: types.CallToolRequestParams
    ) -> OpenCall:
        """A new call, or the one that is gone on with; raises MCPError."""
        if params.request_state is not None:
            call = self._open.get(params.request_state)
            if call is None or call.tool != params.name or call.asked is None:
                raise MCPError(types.INVALID_PARAMS, "This call is over. Call anew.")
            _answer(call.asked, (params.input_responses or {}).get(_QUESTION))
            call.asked, call.request = None, context.request
            return call
        if all(one["name"] != params.name for one in TOOLS):
            raise MCPError(types.INVALID_PARAMS, f"There is no tool {params.name[:100]}.")
        self._make_room()
        call = OpenCall(params.name, forms=_has_forms(context))
        call.request = context.request
        arguments = cast("JsonObject", params.arguments or {})
        ask = call.ask if call.forms else None
        with asked_by_studios(_above(params)):
            call.work = self._tasks.start(self._tools.call(params.name, arguments, call.tell, ask))
        self._open[call.id] = call
        call.work.add_done_callback(lambda _: self._over(call))
        return call

    def _make_room(self) -> None:
        """Raise MCPError where too much is worked on; a call that waits for a form goes first."""
        if len(self._open) < MOST_CALLS:
            return
        for call in self._open.values():
            if call.asked is not None:
                del self._open[call.id]
                call.work.cancel()
                return
        raise MCPError(
            types.INTERNAL_ERROR,
            f"{MOST_CALLS} calls are worked on already. Call again when one has ended.",
        )

    def _over(self, call: OpenCall) -> None:
        call.news.put_nowait(None)
        self._open.pop(call.id, None)

    async def _until_end(
        self, context: ServerRequestContext[dict[str, Any]], call: OpenCall
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Tell the steps of a call until it ends, or has a question that ends the request."""
        while True:
            try:
                async with asyncio.timeout(BEAT):
                    news = await call.news.get()
            except TimeoutError:
                news = call.line
            match news:
                case None:
                    return _result(call.work.result())
                case str():
                    call.line, call.told = news, call.told + 1
                    await context.session.report_progress(call.told, None, news or None)
                case _Asked() if news.answer.done():  # nobody answered in time
                    pass
                case _Asked() if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    call.asked = news
                    return types.InputRequiredResult(
                        input_requests={_QUESTION: types.ElicitRequest(params=_params(news.form))},
                        request_state=call.id,
                    )
                case _Asked():
                    # Its steps are told meanwhile, and its end where nobody answers.
                    asking = self._tasks.start(self._elicit(context, call, news))
                    news.answer.add_done_callback(partial(_end, asking))

    async def _elicit(
        self, context: ServerRequestContext[dict[str, Any]], call: OpenCall, asked: _Asked
    ) -> None:
        """Have the client show a form; one after the other."""
        schema = cast("dict[str, Any]", asked.form.schema)
        async with call.one_form:
            try:
                found = await context.session.elicit_form(
                    asked.form.message, schema, context.request_id
                )
            except (MCPError, ValueError):  # it cannot, or answers what is none
                found = None
            _answer(asked, found)


def _end(asking: asyncio.Task[None], answer: asyncio.Future[ServerAnswer]) -> None:
    asking.cancel()


def _answer(asked: _Asked, found: object) -> None:
    if asked.answer.done():
        return
    if isinstance(found, types.ElicitResult):
        content = cast("JsonObject | None", found.content)
        asked.answer.set_result(ServerAnswer(found.action, content))
    else:
        asked.answer.set_result(ServerAnswer("cancel"))


def _above(params: types.CallToolRequestParams) -> int:
    """How many studios are above, as the client says."""
    told = cast("dict[str, object]", params.meta or {}).get(ABOVE)
    return told if isinstance(told, int) else 0


def _has_forms(context: ServerRequestContext[dict[str, Any]]) -> bool:
    can = context.session.client_capabilities
    asks = can.elicitation if can is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def _params(form: Form) -> types.ElicitRequestFormParams:
    schema = cast("dict[str, Any]", form.schema)
    return types.ElicitRequestFormParams(message=form.message, requested_schema=schema)


def _result(answer: ToolAnswer) -> types.CallToolResult:
    texts = filter(None, (answer.text, answer.more))
    content = [types.TextContent(type="text", text=text) for text in texts]
    return types.CallToolResult(
        content=[*content], structured_content=answer.structured, is_error=answer.is_error
    )
