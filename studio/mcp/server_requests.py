"""Server requests: what a server asks for during a call, words of the person or of a model.

Imports the SDK, as ``connection``.
"""

from __future__ import annotations

from typing import Any, cast

import mcp_types as types
from mcp.client.session import ClientRequestContext

from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject, as_text
from studio.domain.questions import Prompt, ServerQuestion
from studio.mcp.open_call import OpenCall, OpenCalls
from studio.mcp.server_log import ServerLog

LONGEST_PROMPT = 50_000
"""Characters that a server may have a model answer: a person has to read them."""
_REJECTED = -1
"""How the protocol says that the person lets no model answer."""
_STOPS = {"end": "endTurn", "max_tokens": "maxTokens"}
"""Why an answer ended, in the protocol's words."""


class ServerRequests:
    """Answers what one server asks. ``sampling``: it may ask for answers of a model (M-20)."""

    def __init__(self, server: str, calls: OpenCalls, log: ServerLog, *, sampling: bool) -> None:
        self._server, self._calls, self._log = server, calls, log
        self.sampling = sampling

    async def elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        """Asked by handshake, where nothing says for which call: the newest is meant."""
        call = self._calls.newest
        return await self.asked(call, params) if call else types.ElicitResult(action="decline")

    async def asked(self, call: OpenCall, params: types.ElicitRequestParams) -> types.ElicitResult:
        """What the person says to a form, or an address to be opened."""
        form = isinstance(params, types.ElicitRequestFormParams)
        question = ServerQuestion(
            self._server,
            params.message,
            cast("JsonObject", params.requested_schema) if form else None,
            "" if form else params.url,
        )
        answer = await self._calls.ask(call, question)
        content = cast("Any", answer.content) if answer.action == "accept" and form else None
        return types.ElicitResult(action=answer.action, content=content)

    async def sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        """Asked by handshake, as ``elicit``."""
        if (call := self._calls.newest) is None:
            return types.ErrorData(code=_REJECTED, message="User rejected sampling request")
        try:
            return await self.answered(call, params)
        except ToolFailed as error:
            self._log.note(f"{error}")
            return types.ErrorData(code=_REJECTED, message="User rejected sampling request")

    async def answered(
        self, call: OpenCall, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        """A model's answer, if the person wants it; raises ToolFailed."""
        if not self.sampling:
            raise ToolFailed(
                f"The server {self._server} wants an answer of a model. The person can allow that "
                "on its page in the settings."
            )
        prompt = _prompt_of(self._server, params)
        form: JsonObject = {"type": "object", "properties": {}}
        question = ServerQuestion(self._server, prompt.text, form, prompt=prompt)
        answer = await self._calls.ask(call, question)
        content = answer.content or {}
        model = as_text(content.get("model"))
        if answer.action != "accept" or not model:
            raise ToolFailed(
                f"The server {self._server} wanted an answer of a model, and the person did not "
                "allow it."
            )
        stop = as_text(content.get("stop"))
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(type="text", text=as_text(content.get("text"))),
            model=model,
            stop_reason=_STOPS.get(stop, stop),
        )


def _prompt_of(server: str, params: types.CreateMessageRequestParams) -> Prompt:
    """What a model would answer; raises ToolFailed for what none is asked."""
    refused = f"The server {server} wants an answer of a model to"
    if params.tools:
        raise ToolFailed(f"{refused} a request with tools, which none gets.")
    messages: list[tuple[str, str]] = []
    for message in params.messages:
        parts = message.content_as_list
        texts = [part.text for part in parts if isinstance(part, types.TextContent)]
        if len(texts) < len(parts):
            raise ToolFailed(f"{refused} something that is no text, which none gets.")
        role, text = message.role, "\n\n".join(texts)
        if messages and messages[-1][0] == role:
            text = f"{messages.pop()[1]}\n\n{text}"
        messages.append((role, text))
    if not messages or messages[0][0] != "user" or messages[-1][0] != "user":
        raise ToolFailed(f"{refused} messages of which the first or the last is no user's.")
    prompt = Prompt(
        tuple(messages),
        params.system_prompt or "",
        max(params.max_tokens, 1),
        tuple(params.stop_sequences or ()),
        params.temperature,
    )
    if len(prompt.text) > LONGEST_PROMPT:
        raise ToolFailed(f"{refused} more than {LONGEST_PROMPT:,} characters, which nobody reads.")
    return prompt
