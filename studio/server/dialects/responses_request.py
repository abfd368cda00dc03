"""The reader of the Responses API turns a request and its ``input`` into a conversation.

See https://platform.openai.com/docs/api-reference/responses and
https://openresponses.org/specification.

A user's message, a picture, an earlier answer, a call and its output are items
of one list there. Here they are messages: what a model said and called
belongs together, and so do the outputs that answer it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias, cast

from studio.domain.jsonvalue import Json, JsonObject, as_objects
from studio.domain.messages import Block, File, Image, Message, Said, Text, ToolCall, ToolResult
from studio.domain.models import EFFORTS, Effort, Generation
from studio.domain.tools import TEXT_INPUT
from studio.providers.media import text_of_file
from studio.server.contract import INSTRUCTION_WRAPPER, WORKFLOW, ApiRequest, join_texts

from .attachments import read_file, read_image
from .client_tools import ClientName, ClientTools, parse_call, schema_of
from .fields import Fields
from .openai_common import NO_LOGPROBS, choose, refuse_services

_Side: TypeAlias = Literal["user", "assistant", "results"]

_ROLES = ("user", "assistant", "system", "developer")
_TEXTS = {"input_text": "text", "output_text": "text", "text": "text", "refusal": "refusal"}
"""Parts that are words, and the field with the words."""
_REASONING = "rs_"
"""The ids of reasoning begin so: the native history has it."""
_NO_ITEM = (
    "Item with id '{id}' not found. Items are known for as long as the chat of their answer is "
    "kept here, unless it had “store” off. Send the item itself."
)


class ResponsesInput:
    """Collects the items in order; each method raises BadRequest.

    ``earlier``: they continue a stored response, in which calls may be open.
    """

    def __init__(self, earlier: bool) -> None:
        self._instructions: list[str] = []
        self._sides: list[tuple[_Side, list[Block]]] = []
        self._earlier = earlier
        self._names: dict[str, str] = {}
        """Of the calls so far, by id."""

    def told(self) -> tuple[str, tuple[Message, ...]]:
        """The instructions and the conversation; instructions alone count as a user's message."""
        instructions = join_texts(self._instructions)
        if instructions and not self._sides:
            return "", (Message("user", (_instructed(instructions),)),)
        return instructions, tuple(
            Message("assistant" if side == "assistant" else "user", tuple(blocks))
            for side, blocks in self._sides
        )

    def take(self, item: Fields) -> None:
        kind = item.text("type")
        if not kind:  # the short form of a message, and that of a reference
            kind = "message" if item.get("role") is not None else "item_reference"
        match kind:
            case "message":
                self._message(item)
            case "function_call" | "custom_tool_call":
                self._call(item, custom=kind == "custom_tool_call")
            case "function_call_output" | "custom_tool_call_output":
                self._output(item)
            case "reasoning":
                pass  # the native history has it
            case "additional_tools":
                pass  # they are read with the others
            case "item_reference":
                if not (name := item.needed("id")).startswith(_REASONING):
                    raise item.refused("id", _NO_ITEM.format(id=name[:100]), "item_not_found")
            case _:
                raise item.refused("type", f"Items of type “{kind}” are not known here.")

    def _message(self, item: Fields) -> None:
        role = item.one_of("role", _ROLES)
        said = _content(item, "content")
        match role:
            case "user":
                if said:
                    self._sides.append(("user", [*said]))
            case "assistant":
                self._add("assistant", _words(item, said))
            case "system" | "developer":
                self._instruct(_words(item, said))
            case _:
                item.needed("role")

    def _instruct(self, words: Sequence[Text]) -> None:
        text = join_texts([part.text for part in words])
        if text and not self._sides and not self._earlier:
            self._instructions.append(text)
        elif text:
            self._sides.append(("user", [_instructed(text)]))

    def _call(self, item: Fields, *, custom: bool) -> None:
        call_id = item.needed("call_id")
        name = ClientName(item.needed("name"), item.text("namespace")).joined
        self._names[call_id] = name
        if custom:
            call = ToolCall(call_id, name, {TEXT_INPUT: item.text("input")})
        else:
            call = parse_call(call_id, name, item.text("arguments"))
        self._add("assistant", [call])

    def _output(self, item: Fields) -> None:
        """Take the output of a call; a call of an earlier response is looked up later."""
        call_id = item.needed("call_id")
        name = self._names.get(call_id, "")
        if not name and not self._earlier:
            why = f"“{item.at}” is the output of call {call_id}, but no such call comes before it."
            raise item.refused("call_id", why, "invalid_value")
        content = [_shown(item, part) for part in _content(item, "output")]
        self._add("results", [ToolResult(call_id, name, tuple(content))])

    def _add(self, side: _Side, blocks: Sequence[Block]) -> None:
        """Add blocks; consecutive ones of a side become one message."""
        if blocks and self._sides and self._sides[-1][0] == side:
            self._sides[-1][1].extend(blocks)
        elif blocks:
            self._sides.append((side, [*blocks]))


def _instructed(text: str) -> Text:
    return Text(INSTRUCTION_WRAPPER.format(text=text))


def _content(item: Fields, name: str) -> list[Said]:
    """Read a text or a list of parts; blank parts are left out."""
    value = item.get(name)
    if value is None:
        raise item.wrong(name, "a text or a list of parts")
    if isinstance(value, str):
        text = item.text(name)
        return [Text(text)] if text.strip() else []
    parts = [_part(part) for part in item.objects(name)]
    return [part for part in parts if not isinstance(part, Text) or part.text.strip()]


def _part(part: Fields) -> Said:
    kind = part.needed("type")
    if (field := _TEXTS.get(kind)) is not None:
        return Text(part.text(field))
    match kind:
        case "input_image":
            _send_the_data(part, ("file_id",), "image_url")
            return read_image(part, "image_url")
        case "input_file":
            _send_the_data(part, ("file_id", "file_url"), "file_data")
            return read_file(part, "file_data", part.text("filename"))
        case _:
            raise part.refused("type", f"Content of type “{kind}” is not known here.")


def _send_the_data(part: Fields, elsewhere: Sequence[str], here: str) -> None:
    for name in elsewhere:
        if part.get(name) is not None and part.get(here) is None:
            why = f"“{part.place(name)}”: this server fetches and keeps no files."
            raise part.refused(name, f"{why} Send the data in “{here}”.")


def _words(item: Fields, said: Sequence[Said]) -> list[Text]:
    if any(not isinstance(part, Text) for part in said):
        raise item.wrong("content", f"text for the role {item.text('role')}")
    return [part for part in cast("Sequence[Text]", said)]


def _shown(item: Fields, part: Said) -> Text | Image:
    """Read a part of a tool's output: text, a picture, or a file whose text can be read."""
    if not isinstance(part, File):
        return part
    if (text := text_of_file(part)) is None:
        raise item.wrong("output", "text, pictures and text files")
    return Text(text)


_HOSTED = (
    "apply_patch",
    "code_interpreter",
    "computer",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
)
"""What the types of such tools begin with; a date may follow."""


def references(body: JsonObject) -> list[str]:
    """The ids by which ``input`` names items of earlier answers; reasoning needs no look-up."""
    ids = [str(item.get("id")) for item in as_objects(body.get("input")) if _is_reference(item)]
    return [one for one in dict.fromkeys(ids) if not one.startswith(_REASONING)]


def with_items(body: JsonObject, items: Mapping[str, JsonObject]) -> JsonObject:
    """The same request with items where ``input`` names them, each once."""
    given = body["input"]
    assert isinstance(given, list)
    left, whole = dict(items), list[Json]()
    for item in given:
        name = str(item.get("id")) if isinstance(item, dict) and _is_reference(item) else ""
        if name not in items:
            whole.append(item)
        elif name in left:
            whole.append(left.pop(name))
    return {**body, "input": whole}


def _is_reference(item: JsonObject) -> bool:
    kind = item.get("type")
    return kind == "item_reference" or (kind is None and item.get("role") is None)


_TRUNCATIONS = ("disabled", "auto")
_LOGPROBS = "message.output_text.logprobs"
_NOT_HERE = {
    "conversation": "Go on from an answer with “previous_response_id” instead.",
    "prompt": "Stored prompts live at OpenAI. Send the text in “input” and “instructions”.",
}


def read_request(body: JsonObject) -> ApiRequest:
    """Read a request; raises BadRequest that names the field."""
    fields = Fields(body)
    model = fields.needed("model")
    background = fields.flag("background", False)
    if background and not model.strip().startswith(WORKFLOW):
        why = "Only workflows run in the background here. Leave it out, or stream the answer."
        raise fields.refused("background", why)
    _refuse(fields)
    previous = fields.text("previous_response_id")
    instructions, messages = _conversation(fields, earlier=bool(previous))
    generation = Generation(
        output_limit=fields.count("max_output_tokens"),
        effort=_effort(fields),
        temperature=fields.number("temperature", 0, 2),
        top_p=fields.number("top_p", 0, 1),
        schema=_schema(fields),
        parallel=fields.flag("parallel_tool_calls", True),
        calls=fields.count("max_tool_calls"),
    )
    tools, generation = choose(fields, _tools(fields), generation)
    return ApiRequest(
        model,
        messages,
        instructions=join_texts([fields.text("instructions"), instructions]),
        tools=tools,
        generation=generation,
        stream=fields.flag("stream", False),
        previous=previous,
        user=fields.text("safety_identifier") or fields.text("user"),
        stored=fields.flag("store", True) or background,
        background=background,
    )


def _refuse(fields: Fields) -> None:
    """Raise BadRequest for options that change a request's meaning and are not supported.

    Fields that only tune OpenAI's own service are ignored.
    """
    for name, instead in _NOT_HERE.items():
        if fields.get(name) is not None:
            raise fields.refused(name, f"“{name}” is not known here. {instead}")
    refuse_services(fields)
    for name in ("prompt_cache_key", "service_tier"):
        fields.text(name)
    fields.one_of("truncation", _TRUNCATIONS)
    for index, one in enumerate(fields.items("include")):
        if not isinstance(one, str):
            raise fields.wrong(f"include[{index}]", "a text")
        if one == _LOGPROBS:
            raise fields.refused(f"include[{index}]", NO_LOGPROBS)
    metadata = fields.inner("metadata") or Fields({})
    for name, value in metadata.values.items():
        if not isinstance(value, str):
            raise metadata.wrong(name, "a text")


def _conversation(fields: Fields, *, earlier: bool) -> tuple[str, tuple[Message, ...]]:
    """Read the instructions and the conversation in ``input``."""
    items = ResponsesInput(earlier)
    value = fields.get("input")
    if isinstance(value, str):
        items.take(Fields({"role": "user", "content": value}))
    elif isinstance(value, list | None):
        for item in fields.objects("input"):
            items.take(item)
    else:
        raise fields.wrong("input", "a text or a list of items")
    instructions, messages = items.told()
    if not messages:
        why = "“input” is missing or says nothing."
        raise fields.refused("input", why, "missing_required_parameter")
    return instructions, messages


def _effort(fields: Fields) -> Effort | None:
    reasoning = fields.inner("reasoning")
    if reasoning is None:
        return None
    reasoning.one_of("summary", ("auto", "concise", "detailed"))
    return reasoning.one_of("effort", EFFORTS)


def _schema(fields: Fields) -> JsonObject | None:
    text = fields.inner("text") or Fields({})
    text.one_of("verbosity", ("low", "medium", "high"))
    kind = text.inner("format")
    if kind is None:
        return None
    match kind.needed_one_of("type", ("text", "json_object", "json_schema")):
        case "text":
            return None
        case "json_object":
            return {}
        case "json_schema":
            kind.needed("name")
            kind.text("description")
            kind.flag("strict", False)
            return schema_of(kind, "schema")


def is_hosted(kind: str) -> bool:
    """Whether tools of this type have to do with OpenAI's service alone."""
    return kind.startswith(_HOSTED)


def client_names(body: JsonObject) -> dict[str, ClientName]:
    """The client's own names of tools that its model knows by another or as functions."""
    names = [
        ClientName(tool.text("name"), namespace, custom=tool.get("type") == "custom")
        for tool, namespace in _each_tool(Fields(body))
        if namespace or tool.get("type") == "custom"
    ]
    return {name.joined: name for name in names}


def _each_tool(fields: Fields) -> Iterator[tuple[Fields, str]]:
    """The client's tools, each with its namespace.

    Codex has them among the items of the input for models that it knows. Those that OpenAI
    runs, or that its models know without a description, are left out: a model here cannot call
    them, and clients offer them unasked.
    """
    for tool in (*fields.objects("tools"), *_additional_tools(fields)):
        kind = tool.needed("type")
        if kind == "namespace":
            tool.text("description")
            for inner in tool.objects("tools"):
                yield inner, tool.needed("name")
        elif not is_hosted(kind):
            yield tool, ""


def _additional_tools(fields: Fields) -> list[Fields]:
    if not isinstance(fields.get("input"), list):
        return []
    items = (item for item in fields.objects("input") if item.get("type") == "additional_tools")
    return [tool for item in items for tool in item.objects("tools")]


def _tools(fields: Fields) -> ClientTools:
    offered = ClientTools()
    for tool, namespace in _each_tool(fields):
        match kind := tool.needed("type"):
            case "function":
                tool.flag("strict", True)
                offered.take(tool, "parameters", namespace)
            case "custom":
                offered.take_custom(tool, namespace)
            case _:
                why = f"Tools of type “{kind}” are not known here. Send yours as type “function”."
                raise tool.refused("type", why)
    return offered
