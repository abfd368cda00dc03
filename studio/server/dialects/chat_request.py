"""The reader of Chat Completions turns a request and its ``messages`` into a conversation.

Source: the types of the openai SDK 3.54. Reasoning is read from
``reasoning_content``, which OpenAI does not have: DeepSeek introduced it, and LiteLLM
and Open WebUI read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Block, Image, Message, Reasoning, Said, Text, ToolResult
from studio.domain.models import EFFORTS, Generation
from studio.server.contract import INSTRUCTION_WRAPPER, ApiRequest, join_texts

from .attachments import read_file, read_image
from .client_tools import ClientTools, parse_call, schema_of
from .fields import Fields
from .openai_common import NO_LOGPROBS, choose, refuse_services

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


class Conversation:
    """Collects the messages in order; each method raises BadRequest."""

    def __init__(self) -> None:
        self._instructions: list[str] = []
        self._messages: list[Message] = []
        self._results: list[Block] = []
        """Of the messages with results that were taken last: they are one contribution."""
        self._names: dict[str, str] = {}
        """Of the calls so far, by id."""
        self._unnamed: dict[str, list[str]] = {}
        """Ids that calls of the old form were given, by name, oldest first."""

    def told(self) -> tuple[str, tuple[Message, ...]]:
        """The instructions and the conversation; instructions alone count as a user's message."""
        self._close()
        instructions = join_texts(self._instructions)
        if instructions and not self._messages:
            return "", (_instructed(instructions),)
        return instructions, tuple(self._messages)

    def take(self, message: Fields) -> None:
        match message.needed_one_of("role", _ROLES):
            case "tool":
                call_id = message.needed("tool_call_id")
                self._answer(message, "tool_call_id", call_id)
            case "function":
                open_ = self._unnamed.get(message.needed("name"), [])
                self._answer(message, "name", open_.pop(0) if open_ else "")
            case "system" | "developer":
                self._instruct(message)
            case "user":
                self._add("user", _named(message, _content(message, "text and pictures or files")))
            case _:  # the assistant
                blocks = [*_thoughts(message), *_said(message), *self._calls(message)]
                self._add("assistant", blocks)

    def _instruct(self, message: Fields) -> None:
        text = join_texts([part.text for part in _texts(message)])
        if not text:
            return
        if self._messages or self._results:
            self._close()
            self._messages.append(_instructed(text))
        else:
            self._instructions.append(text)

    def _answer(self, message: Fields, field: str, call_id: str) -> None:
        if (name := self._names.get(call_id)) is None:
            why = f"“{message.at}” answers a call, but no such call comes before it."
            raise message.refused(field, why, "invalid_value")
        content = _content(message, "text and pictures")
        if any(not isinstance(part, Text | Image) for part in content):
            raise message.wrong("content", "text and pictures for a result")
        shown = tuple(cast("Sequence[Text | Image]", content))
        self._results.append(ToolResult(call_id, name, shown))

    def _calls(self, message: Fields) -> list[Block]:
        calls: list[Block] = []
        for call in message.objects("tool_calls"):
            if (kind := call.text("type", "function")) != "function":
                raise call.refused("type", f"Calls of type “{kind}” are not known here.")
            function = call.needed_object("function")
            calls.append(self._call(call.needed("id"), function))
        if (function := message.inner("function_call")) is not None:
            call_id = f"{message.at}.function_call"
            self._unnamed.setdefault(function.needed("name"), []).append(call_id)
            calls.append(self._call(call_id, function))
        return calls

    def _call(self, call_id: str, function: Fields) -> Block:
        self._names[call_id] = name = function.needed("name")
        return parse_call(call_id, name, function.text("arguments"))

    def _add(self, role: Literal["user", "assistant"], blocks: Sequence[Block]) -> None:
        self._close()
        if blocks:
            self._messages.append(Message(role, tuple(blocks)))

    def _close(self) -> None:
        if self._results:
            self._messages.append(Message("user", tuple(self._results)))
            self._results = []


def _instructed(text: str) -> Message:
    return Message("user", (Text(INSTRUCTION_WRAPPER.format(text=text)),))


def _named(message: Fields, said: list[Said]) -> list[Said]:
    """The same with the speaker's name, for a conversation may have several participants."""
    name = " ".join(message.text("name").split())
    if not (name and said):
        return said
    first = said[0]
    if isinstance(first, Text):
        return [Text(f"{name}: {first.text}"), *said[1:]]
    return [Text(f"{name}:"), *said]


def _thoughts(message: Fields) -> list[Block]:
    """The model's reasoning, under either field name; some clients change its type."""
    for name in ("reasoning_content", "reasoning"):
        value = message.get(name)
        if isinstance(value, str) and value.strip():
            return [Reasoning(message.text(name))]
    return []


def _said(message: Fields) -> list[Block]:
    said: list[Block] = [*_texts(message)]
    refusal = message.text("refusal")
    return [*said, Text(refusal)] if refusal.strip() else said


def _texts(message: Fields) -> list[Text]:
    parts = _content(message, "text", optional=True)
    if any(not isinstance(part, Text) for part in parts):
        raise message.wrong("content", f"text for the role {message.text('role')}")
    return cast("list[Text]", parts)


def _content(message: Fields, kinds: str, optional: bool = False) -> list[Said]:
    """Read a text or a list of parts; blank parts are left out."""
    value = message.get("content")
    if isinstance(value, str):
        parts: list[Said] = [Text(message.text("content"))]
    elif isinstance(value, list):
        parts = [_part(part) for part in message.objects("content")]
    elif value is None and optional:
        parts = []
    else:
        raise message.wrong("content", f"a text or a list of parts with {kinds}")
    return [part for part in parts if not isinstance(part, Text) or part.text.strip()]


def _part(part: Fields) -> Said:
    match part.needed("type"):
        case "text":
            return Text(part.text("text"))
        case "refusal":
            return Text(part.text("refusal"))
        case "image_url":
            if isinstance(part.get("image_url"), str):
                return read_image(part, "image_url")  # some leave the object out
            return read_image(part.needed_object("image_url"), "url")
        case "file":
            file = part.needed_object("file")
            if file.get("file_id") is not None and file.get("file_data") is None:
                why = f"“{file.place('file_id')}”: this server keeps no files."
                raise file.refused("file_id", f"{why} Send the data in “file_data”.")
            return read_file(file, "file_data", file.text("filename"))
        case "input_audio":
            raise part.refused("type", "Models get no sound here. Send it as text.")
        case kind:
            raise part.refused("type", f"Content of type “{kind}” is not known here.")


_LEAST_SEED = -(2**63)
STOPS = 4
"""Texts at which an answer ends, at most."""


def read_request(body: JsonObject) -> ApiRequest:
    """Read a request; raises BadRequest that names the field."""
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
        parallel=fields.flag("parallel_tool_calls", True),
        seed=fields.count("seed", _LEAST_SEED),
        frequency_penalty=fields.number("frequency_penalty", -2, 2),
        presence_penalty=fields.number("presence_penalty", -2, 2),
    )
    offered, generation = choose(fields, tools, generation)
    includes_usage(body)
    return ApiRequest(
        model=model,
        messages=messages,
        instructions=instructions,
        tools=offered,
        generation=generation,
        stream=fields.flag("stream", False),
        user=fields.text("user") or fields.text("safety_identifier"),
    )


def _refuse(fields: Fields) -> None:
    """Raise BadRequest for options that would change the response in ways we do not support."""
    if fields.count("n") not in (None, 1):
        raise fields.refused("n", "There is one answer for each request: “n” has to be 1.")
    if fields.flag("logprobs", False):
        raise fields.refused("logprobs", NO_LOGPROBS)
    refuse_services(fields)
    if fields.get("web_search_options") is not None:
        why = "OpenAI’s web search cannot be had here: the agent has tools of its own."
        raise fields.refused("web_search_options", why)
    if "audio" in fields.items("modalities"):
        raise fields.refused("modalities", "Answers are text here, not sound.")
    fields.flag("store", True)  # what is kept is the person's to say
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
        raise fields.refused("messages", why, "missing_required_parameter")
    return instructions, messages


def _tools(fields: Fields) -> ClientTools:
    offered = ClientTools()
    for tool in fields.objects("tools"):
        if (kind := tool.text("type", "function")) != "function":
            raise tool.refused("type", f"Tools of type “{kind}” are not known here.")
        offered.take(tool.needed_object("function"), "parameters")
    return offered


def _stop(fields: Fields) -> tuple[str, ...]:
    one = isinstance(fields.get("stop"), str)
    texts = [fields.text("stop")] if one else fields.texts("stop")
    if len(texts) > STOPS:
        raise fields.wrong("stop", f"a text or a list of up to {STOPS} texts")
    return tuple(text for text in texts if text)


def _schema(fields: Fields) -> JsonObject | None:
    wanted = fields.inner("response_format") or Fields({})
    match wanted.one_of("type", ("text", "json_object", "json_schema")):
        case "json_object":
            return {}
        case "json_schema":
            return schema_of(wanted.needed_object("json_schema"), "schema")
        case _:
            return None


def includes_usage(body: JsonObject) -> bool:
    """Whether the client wants to know at the end of the stream what was used."""
    options = Fields(body).inner("stream_options")
    return options is not None and options.flag("include_usage", False)
