"""The dialect of Anthropic's Messages.

- ``request``: Reads a request and the conversation in it.
- ``response``: Writes a response: events while it comes, or one object.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import ClassVar

from studio.domain.jsonvalue import Json, JsonObject
from studio.server.contract import ApiRequest, BadRequest, ListedModel, ResponseInfo
from studio.server.dialects.base import Dialect

from .request import read_request, shows_thinking
from .response import MessagesResponse, error_body


class MessagesDialect(Dialect):
    """``POST /v1/messages``."""

    name = "messages"
    path = "/v1/messages"
    count_path = "/v1/messages/count_tokens"
    header = "anthropic-version"
    ping = b'event: ping\ndata: {"type": "ping"}\n\n'
    statuses: ClassVar[Mapping[int, int]] = {503: 529}
    request_id_field = "request_id"

    def read_request(self, body: JsonObject) -> ApiRequest:
        return read_request(body)

    def read_count_request(self, body: JsonObject) -> ApiRequest:
        """Read a request without ``max_tokens``, since nothing is written."""
        return read_request({**body, "max_tokens": 1})

    def response_writer(
        self, request: ApiRequest, info: ResponseInfo, body: JsonObject
    ) -> MessagesResponse:
        return MessagesResponse(info, shows_thinking(body))

    def error_body(
        self, message: str, *, status: int, code: str = "", param: str = ""
    ) -> JsonObject:
        return error_body(message, status, code)

    def unmatched_result(self, call_id: str, message: int, block: int) -> BadRequest:
        return BadRequest(
            f"messages.{message}.content.{block}: unexpected `tool_use_id` found in "
            f"`tool_result` blocks: {call_id}. Each `tool_result` block must have a "
            "corresponding `tool_use` block in the previous message.",
            param=f"messages.{message}.content.{block}",
        )

    def model_body(self, model: ListedModel) -> JsonObject:
        created = datetime.fromtimestamp(model.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "type": "model",
            "id": model.id,
            "display_name": model.title,
            "created_at": created,
        }

    def models_body(self, models: Sequence[ListedModel]) -> JsonObject:
        data: list[Json] = [self.model_body(model) for model in models]
        ids = [model.id for model in models]
        return {
            "data": data,
            "has_more": False,
            "first_id": ids[0] if ids else None,
            "last_id": ids[-1] if ids else None,
        }
