"""The dialect of OpenAI's Chat Completions.

- ``request``: Reads a request and the conversation in it.
- ``response``: Writes a response: chunks while it comes, or one object.
"""

from __future__ import annotations

from studio.domain.jsonvalue import JsonObject
from studio.server.contract import ApiRequest, BadRequest, ResponseInfo
from studio.server.dialects.base import Dialect

from .request import includes_usage, read_request
from .response import ChatResponse


class ChatDialect(Dialect):
    """``POST /v1/chat/completions``."""

    name = "chat"
    path = "/v1/chat/completions"

    def read_request(self, body: JsonObject) -> ApiRequest:
        return read_request(body)

    def response_writer(
        self, request: ApiRequest, info: ResponseInfo, body: JsonObject
    ) -> ChatResponse:
        return ChatResponse(info, includes_usage(body))

    def unmatched_result(self, call_id: str, message: int, block: int) -> BadRequest:
        return BadRequest(
            "Invalid parameter: messages with role 'tool' must be a response to a preceeding "
            f"message with 'tool_calls'. No such message calls {call_id}.",
            param="messages",
        )
