"""The dialect of OpenAI's Chat Completions; writes chunks while a response comes, or one object."""

from __future__ import annotations

from studio.domain.jsonvalue import Json, JsonObject, repair_surrogates
from studio.domain.models import Usage
from studio.server.contract import (
    ApiRequest,
    BadRequest,
    Outcome,
    ProgressPart,
    ReasoningPart,
    ResponseInfo,
    ResponsePart,
    TextPart,
    ToolCallPart,
    sse_event,
)

from .base import Dialect
from .chat_request import includes_usage, read_request
from .client_tools import arguments_text
from .openai_common import DONE, error_body

_FINISHES: dict[str, str] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refused": "content_filter",
    "limit": "length",
}


class ChatResponse:
    """Writes one response. ``with_usage``: the last chunk says what was used."""

    def __init__(self, about: ResponseInfo, with_usage: bool) -> None:
        self._about = about
        self._with_usage = with_usage
        self._begun = False
        self._words: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Json] = []
        self._refusal: str | None = None
        self._outcome = Outcome("end")

    def take(self, part: ResponsePart) -> None:
        self._deltas(part)

    def frames(self, part: ResponsePart) -> bytes:
        if isinstance(part, Outcome) and part.stop == "error":
            error = error_body(repair_surrogates(part.detail), status=part.status, code=part.code)
            return sse_event(error) + DONE
        deltas = self._deltas(part)
        if not self._begun:
            deltas.insert(0, {"role": "assistant", "content": ""})
            self._begun = True
        frames = b"".join(self._chunk(delta) for delta in deltas)
        return frames + self._end(part) if isinstance(part, Outcome) else frames

    def body(self) -> JsonObject:
        message: JsonObject = {
            "role": "assistant",
            "content": "".join(self._words) or (None if self._calls else ""),
            "refusal": self._refusal,
        }
        if self._thoughts:
            message["reasoning_content"] = "".join(self._thoughts)
        if self._calls:
            message["tool_calls"] = self._calls
        finish = _FINISHES[self._outcome.stop]
        choice: JsonObject = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": finish,
        }
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": _usage(self._outcome.usage),
        }

    def _deltas(self, part: ResponsePart) -> list[JsonObject]:
        match part:
            case TextPart(text):
                return self._more("content", self._words, text)
            case ReasoningPart(text):
                return self._more("reasoning_content", self._thoughts, text)
            case ProgressPart(text):
                unfinished = self._thoughts and not self._thoughts[-1].endswith("\n")
                before = "\n" if unfinished else ""
                return self._more("reasoning_content", self._thoughts, f"{before}{text}\n")
            case ToolCallPart(call):
                return self._call(call.id, call.name, repair_surrogates(arguments_text(call)))
            case Outcome():
                self._outcome = part
                if part.stop != "refused" or not part.detail:
                    return []
                self._refusal = repair_surrogates(part.detail)
                return [{"refusal": self._refusal}]

    def _more(self, name: str, texts: list[str], text: str) -> list[JsonObject]:
        if not text:
            return []
        texts.append(whole := repair_surrogates(text))
        return [{name: whole}]

    def _call(self, call_id: str, name: str, arguments: str) -> list[JsonObject]:
        """Write the name first, then the arguments: clients show a call once it has a name."""
        index = len(self._calls)
        head: JsonObject = {"id": call_id, "type": "function"}
        self._calls.append({**head, "function": {"name": name, "arguments": arguments}})
        begin: JsonObject = {"index": index, **head, "function": {"name": name, "arguments": ""}}
        rest: JsonObject = {"index": index, "function": {"arguments": arguments}}
        return [{"tool_calls": [begin]}, {"tool_calls": [rest]}]

    def _end(self, outcome: Outcome) -> bytes:
        last = self._chunk({}, _FINISHES[outcome.stop])
        if self._with_usage:
            used = _usage(outcome.usage)
            last += sse_event({**self._head("chat.completion.chunk"), "choices": [], "usage": used})
        return last + DONE

    def _chunk(self, delta: JsonObject, finish: str | None = None) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk: JsonObject = {**self._head("chat.completion.chunk"), "choices": [choice]}
        if self._with_usage:
            chunk["usage"] = None
        return sse_event(chunk)

    def _head(self, kind: str) -> JsonObject:
        about = self._about
        return {
            "id": f"chatcmpl-{about.number}",
            "object": kind,
            "created": about.created,
            "model": about.model,
        }


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


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


DIALECT = ChatDialect()
