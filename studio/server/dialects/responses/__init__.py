"""The dialect of OpenAI's Responses, and of the open specification made from it.

- ``request``: Reads a request and the conversation in its items.
- ``response``: Writes a response: events while it comes, or one object; a stored one too.
"""

from __future__ import annotations

from studio.domain.jsonvalue import JsonObject
from studio.server.contract import ApiRequest, BadRequest, ResponseInfo
from studio.server.dialects.base import Dialect

from .request import read_request
from .response import ResponsesResponse, echoed_settings


class ResponsesDialect(Dialect):
    """``POST /v1/responses``."""

    name = "responses"
    path = "/v1/responses"
    count_path = "/v1/responses/input_tokens"

    def read_request(self, body: JsonObject) -> ApiRequest:
        return read_request(body)

    def response_writer(
        self, request: ApiRequest, info: ResponseInfo, body: JsonObject
    ) -> ResponsesResponse:
        return ResponsesResponse(echoed_settings(body), info)

    def count_body(self, tokens: int) -> JsonObject:
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def unmatched_result(self, call_id: str, message: int, block: int) -> BadRequest:
        return BadRequest(
            f"No tool call found for function call output with call_id {call_id}.", param="input"
        )
