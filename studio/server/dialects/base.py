"""The base class of a dialect declares what one API has to provide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from studio.domain.jsonvalue import JsonObject
from studio.server.contract import (
    ApiRequest,
    BadRequest,
    ListedModel,
    ResponseInfo,
    ResponseWriter,
)

from . import openai_common


class Dialect(ABC):
    """One API's paths, and the shapes of its requests, responses and errors.

    A dialect translates and does nothing else: it holds no state and knows no session.
    A new one gives ``name``, ``path``, ``read_request`` and ``response_writer``; whatever
    else it leaves out has the shape that OpenAI's APIs give it.
    """

    name: ClassVar[str]
    """Tells the dialects apart, also in what is stored of a request: it never changes."""
    path: ClassVar[str]
    """Where a request is sent: ``/v1/chat/completions``."""
    count_path: ClassVar[str] = ""
    """Where the tokens of a request are counted; empty for an API without that."""
    header: ClassVar[str] = ""
    """A header that only clients of this API send; tells them apart on shared paths."""
    ping: ClassVar[bytes] = b": ping\n\n"
    """What fills a pause of a stream: a comment, or the API's own event."""
    statuses: ClassVar[Mapping[int, int]] = {}
    """HTTP statuses of errors that this API numbers differently."""
    request_id_field: ClassVar[str] = ""
    """The field of an error's body that holds the number of the request."""

    @abstractmethod
    def read_request(self, body: JsonObject) -> ApiRequest:
        """Read a request; raises BadRequest that names the field."""

    def references(self, body: JsonObject) -> Sequence[str]:
        """Return the ids by which a request names items of earlier answers."""
        return ()

    def with_items(self, body: JsonObject, items: Mapping[str, JsonObject]) -> JsonObject:
        """Return a request with these items, by id, where it names them."""
        return body

    @abstractmethod
    def response_writer(
        self, request: ApiRequest, info: ResponseInfo, body: JsonObject
    ) -> ResponseWriter:
        """Return a new writer; ``body`` is the request again, for what the dialect alone reads."""

    def read_count_request(self, body: JsonObject) -> ApiRequest:
        """Read a request whose tokens are to be counted; raises BadRequest."""
        return self.read_request(body)

    def count_body(self, tokens: int) -> JsonObject:
        """Return the body that says how many tokens a request has."""
        return {"input_tokens": tokens}

    def error_body(
        self, message: str, *, status: int, code: str = "", param: str = ""
    ) -> JsonObject:
        return openai_common.error_body(message, status=status, code=code, param=param)

    def unmatched_result(self, call_id: str, message: int, block: int) -> BadRequest:
        """Return the error for a tool's result that answers no call.

        ``message`` and ``block`` are the indices of where the result stands.
        """
        return BadRequest(f"No tool call found for the result of call {call_id}.", param="messages")

    def model_body(self, model: ListedModel) -> JsonObject:
        """Return the body that describes a model. OpenAI has no ``name``; Open WebUI shows it."""
        return {
            "id": model.id,
            "object": "model",
            "created": model.created,
            "owned_by": model.owner,
            "name": model.title,
        }

    def models_body(self, models: Sequence[ListedModel]) -> JsonObject:
        """Return the body that lists models."""
        return {"object": "list", "data": [self.model_body(model) for model in models]}
