"""OpenAI's Chat Completions: ``POST /v1/chat/completions``.

Source: the types of the openai SDK 3.54. Thoughts travel in
``reasoning_content``, which OpenAI has not: DeepSeek began with it, and LiteLLM
and Open WebUI read it.
"""

from __future__ import annotations

import json
from typing import Literal, TypeAlias

from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import Message
from studio.domain.models import EFFORTS, Generation, Usage
from studio.providers.wire import mended

from .chat_messages import Conversation
from .fields import Fields
from .offered import Offered, choose, schema_of, written
from .openai_errors import error_body
from .wire import (
    About,
    Asked,
    BadRequest,
    Call,
    Outcome,
    Part,
    Progress,
    Thoughts,
    Words,
    event,
)

STOPS = 4
"""Texts at which an answer ends, at most."""
DONE = event("[DONE]")

_Format: TypeAlias = Literal["text", "json_object", "json_schema"]
_FORMATS: tuple[_Format, ...] = ("text", "json_object", "json_schema")
_FINISHES: dict[str, str] = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refused": "content_filter",
    "limit": "length",
}


class Chat:
    """The dialect; see ``wire.Dialect``."""

    def asked(self, body: JsonObject) -> Asked:
        fields = Fields(body)
        model = fields.needed("model")
        _refuse(fields)
        instructions, messages = _conversation(fields)
        tools = _tools(fields)
        generation = Generation(
            output_limit=fields.count("max_completion_tokens") or fields.count("max_tokens"),
            effort=fields.one_of("reasoning_effort", EFFORTS),
            temperature=fields.number("temperature", 0, 2),
            top_p=fields.number("top_p", 0, 1),
            stop=_stop(fields),
            schema=_schema(fields),
        )
        offered, generation = choose(fields, tools, generation)
        _with_usage(fields)
        return Asked(
            model=model,
            messages=messages,
            instructions=instructions,
            tools=offered,
            generation=generation,
            stream=fields.flag("stream", False),
            keep=fields.flag("store", True),
            user=fields.text("user") or fields.text("safety_identifier"),
        )

    def speak(self, asked: Asked, about: About, body: JsonObject) -> Completion:
        return Completion(about, _with_usage(Fields(body)))

    def error(self, message: str, *, status: int, code: str = "", param: str = "") -> JsonObject:
        return error_body(message, status=status, code=code, param=param)


class Completion:
    """One answer; see ``wire.Spoken``. ``with_usage``: the last chunk says what was used."""

    def __init__(self, about: About, with_usage: bool) -> None:
        self._about = about
        self._with_usage = with_usage
        self._begun = False
        self._words: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[Json] = []
        self._refusal: str | None = None
        self._outcome = Outcome("end")

    def frames(self, part: Part) -> bytes:
        if isinstance(part, Outcome) and part.stop == "error":
            error = error_body(mended(part.detail), status=part.status, code=part.code)
            return _event(error) + DONE
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

    def _deltas(self, part: Part) -> list[JsonObject]:
        match part:
            case Words(text):
                return self._more("content", self._words, text)
            case Thoughts(text):
                return self._more("reasoning_content", self._thoughts, text)
            case Progress(text):
                unfinished = self._thoughts and not self._thoughts[-1].endswith("\n")
                before = "\n" if unfinished else ""
                return self._more("reasoning_content", self._thoughts, f"{before}{text}\n")
            case Call(call):
                return self._call(call.id, call.name, mended(written(call)))
            case Outcome():
                self._outcome = part
                if part.stop != "refused" or not part.detail:
                    return []
                self._refusal = mended(part.detail)
                return [{"refusal": self._refusal}]

    def _more(self, name: str, texts: list[str], text: str) -> list[JsonObject]:
        if not text:
            return []
        texts.append(whole := mended(text))
        return [{name: whole}]

    def _call(self, call_id: str, name: str, arguments: str) -> list[JsonObject]:
        """The name first, then the arguments: clients show a call as soon as it has a name."""
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
            last += _event({**self._head("chat.completion.chunk"), "choices": [], "usage": used})
        return last + DONE

    def _chunk(self, delta: JsonObject, finish: str | None = None) -> bytes:
        choice: JsonObject = {"index": 0, "delta": delta, "finish_reason": finish}
        chunk: JsonObject = {**self._head("chat.completion.chunk"), "choices": [choice]}
        if self._with_usage:
            chunk["usage"] = None
        return _event(chunk)

    def _head(self, kind: str) -> JsonObject:
        about = self._about
        return {
            "id": f"chatcmpl-{about.number}",
            "object": kind,
            "created": about.created,
            "model": about.model,
        }


def _refuse(fields: Fields) -> None:
    """What would be another answer than the client expects."""
    if fields.count("n") not in (None, 1):
        raise fields.refused("n", "There is one answer for each request: “n” has to be 1.")
    if fields.flag("logprobs", False):
        raise fields.refused("logprobs", "“logprobs” cannot be had here.")
    if "audio" in fields.items("modalities"):
        raise fields.refused("modalities", "Answers are text here, not sound.")
    for name, instead in (("functions", "tools"), ("function_call", "tool_choice")):
        if fields.get(name) is not None:
            raise fields.refused(name, f"“{name}” is no longer known. Send “{instead}”.")


def _conversation(fields: Fields) -> tuple[str, tuple[Message, ...]]:
    conversation = Conversation()
    for message in fields.objects("messages"):
        conversation.take(message)
    instructions, messages = conversation.told()
    if not messages:
        why = "“messages” is missing or says nothing."
        raise BadRequest(why, param="messages", code="missing_required_parameter")
    return instructions, messages


def _tools(fields: Fields) -> Offered:
    offered = Offered()
    for tool in fields.objects("tools"):
        if (kind := tool.text("type", "function")) != "function":
            raise tool.refused("type", f"Tools of type “{kind}” are not known here.")
        function = tool.inner("function")
        if function is None:
            raise tool.wrong("function", "an object")
        offered.take(function, "parameters")
    return offered


def _stop(fields: Fields) -> tuple[str, ...]:
    one = isinstance(fields.get("stop"), str)
    texts = [fields.text("stop")] if one else fields.texts("stop")
    if len(texts) > STOPS:
        raise fields.wrong("stop", f"a text or a list of up to {STOPS} texts")
    return tuple(text for text in texts if text)


def _schema(fields: Fields) -> JsonObject | None:
    wanted = fields.inner("response_format")
    match wanted and wanted.one_of("type", _FORMATS):
        case "json_object":
            return {}
        case "json_schema":
            assert wanted is not None
            described = wanted.inner("json_schema")
            if described is None:
                raise wanted.wrong("json_schema", "an object")
            return schema_of(described, "schema")
        case _:
            return None


def _with_usage(fields: Fields) -> bool:
    options = fields.inner("stream_options")
    return options is not None and options.flag("include_usage", False)


def _usage(usage: Usage) -> JsonObject:
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def _event(chunk: JsonObject) -> bytes:
    """In ASCII: some clients take the line separators of Unicode for the end of a line."""
    return event(json.dumps(chunk, separators=(",", ":")))
