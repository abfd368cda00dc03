"""OpenAI Responses: checks parameters, items and content parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from studio.simulator.json_read import Body, array, compact, obj, objs, text
from studio.simulator.openai_chat import parameter_checks as shared
from studio.simulator.openai_chat.parameter_checks import refuse
from studio.simulator.request_checks import word_set
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

_PREFIX = {
    "message": "msg",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "reasoning": "rs",
    "web_search_call": "ws",
}
_ITEMS = (
    *_PREFIX,
    "function_call_output",
    "custom_tool_call_output",
    "item_reference",
    "compaction",
    "additional_tools",
    "program",
)
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_NAMED = ("function", "function_call", "custom", "custom_tool_call")
_CUSTOM = ("type", "name", "description", "format", "allowed_callers", "async", "defer_loading")
_BEFORE_CUSTOM = re.compile(r"gpt-[34]|chatgpt-4|o\d")
_USERS = ("input_text", "input_image", "input_file", "input_audio")
_ASSISTANTS = ("output_text", "refusal")
_PARAMETERS = word_set(
    "access_programs background background_options context_management conversation include input "
    "instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls "
    "previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning safety_identifier service_tier store stream stream_options temperature text "
    "tool_choice tools top_logprobs top_p truncation user"
)


def rows(view: RequestView) -> list[Body]:
    """The input's items; none where the input is a string."""
    return objs(view.body.get("input"))


def no_earlier_response(view: RequestView, state: ServerState) -> None:
    """Nothing is kept here that a request could go on from."""
    if earlier := view.body.get("previous_response_id"):
        raise refuse(
            "echo",
            f"Previous response with id '{earlier}' not found.",
            "previous_response_id",
            "previous_response_not_found",
        )


def limit_in_range(view: RequestView, state: ServerState) -> None:
    """A reply may hold at least 16 tokens."""
    limit = view.body.get("max_output_tokens")
    if isinstance(limit, int) and limit < 16:
        raise refuse(
            "limit",
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, "
            f"but got {limit} instead.",
            "max_output_tokens",
            "integer_below_min_value",
        )


def no_stops(view: RequestView, state: ServerState) -> None:
    """There are no stop texts here."""
    if "stop" in view.body:
        raise refuse("parameter", "Unknown parameter: 'stop'.", "stop", "unknown_parameter")


def json_mentioned(view: RequestView, state: ServerState) -> None:
    """A request for any JSON object mentions JSON in a message, too."""
    said = compact(view.body.get("input")).lower()
    _, form, _ = shared.answer_form(view)
    if form.get("type") == "json_object" and "json" not in said:
        raise refuse(
            "parameter",
            "Response input messages must contain the word 'json' in some form to use "
            "'text.format' of type 'json_object'.",
        )


def tools_named(view: RequestView, state: ServerState) -> None:
    """A tool has its name at the top, unlike on Chat Completions."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if tool.get("type") in ("function", "custom") and not tool.get("name"):
            raise shared.missing("tools", f"tools[{index}].name")


def custom_tools(view: RequestView, state: ServerState) -> None:
    """A custom tool has no schema, but a format; only GPT-5 and later models have them."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if tool.get("type") != "custom":
            continue
        if _BEFORE_CUSTOM.match(view.model):  # not seen on the wire in these words
            raise refuse(
                "tools", f"Custom tools are not supported with {view.model}.", f"tools[{index}]"
            )
        for name in tool:
            if name not in _CUSTOM:
                raise refuse(
                    "tools",
                    f"Unknown parameter: 'tools[{index}].{name}'.",
                    f"tools[{index}].{name}",
                    "unknown_parameter",
                )
        form, place = obj(tool.get("format")), f"tools[{index}].format"
        if "format" in tool and form.get("type") not in ("text", "grammar"):
            raise shared.unknown_value("tools", form.get("type"), ("text", "grammar"), place)
        if form.get("type") == "grammar":
            if form.get("syntax") not in ("lark", "regex"):
                raise shared.unknown_value(
                    "tools", form.get("syntax"), ("lark", "regex"), f"{place}.syntax"
                )
            if not text(form.get("definition")):
                raise shared.missing("tools", f"{place}.definition")


def tools_well_named(view: RequestView, state: ServerState) -> None:
    """Tools and calls in the history have plain names that are not too long."""
    named = [(f"tools[{n}]", tool) for n, tool in enumerate(objs(view.body.get("tools")))]
    named += [(f"input[{n}]", row) for n, row in enumerate(rows(view))]
    for place, body in named:
        if body.get("type") in _NAMED and body.get("name"):
            shared.check_name(text(body["name"]), f"{place}.name")


def some_input(view: RequestView, state: ServerState) -> None:
    """There is something to answer."""
    if not isinstance(view.body.get("input"), str) and not rows(view):
        raise shared.missing("empty", "input")


def known_items(view: RequestView, state: ServerState) -> None:
    """Items have types that the API knows, or that the simulator's own faults made up."""
    for index, row in enumerate(rows(view)):
        kind = text(row.get("type")) or "message"
        served = kind.endswith(("_call", "_output")) or kind.startswith(("mcp_", "surprise"))
        if kind not in _ITEMS and not served:
            raise refuse(
                "content",
                f"Invalid value: '{kind}'. Supported values are: 'message', 'reasoning', "
                "'function_call', 'function_call_output', and others.",
                f"input[{index}]",
                "invalid_value",
            )


def id_prefixes(view: RequestView, state: ServerState) -> None:
    """An id begins with its item's kind."""
    for index, row in enumerate(rows(view)):
        id_, prefix = row.get("id"), _PREFIX.get(text(row.get("type")) or "message")
        if isinstance(id_, str) and prefix is not None and not id_.startswith(prefix):
            raise refuse(
                "id",
                f"Invalid 'input[{index}].id': '{id_}'. Expected an ID that begins with "
                f"'{prefix}'.",
                f"input[{index}].id",
                "invalid_value",
            )


def unique_ids(view: RequestView, state: ServerState) -> None:
    """No item comes twice."""
    seen: set[str] = set()
    for row in rows(view):
        if (id_ := text(row.get("id"))) in seen:
            raise refuse(
                "id",
                f"Duplicate item found with id {id_}. Remove duplicate items from your input "
                "and try again.",
            )
        seen |= {id_} - {""}


def strings(view: RequestView, state: ServerState) -> None:
    """Arguments are a string, outputs a string or a list of parts."""
    for index, row in enumerate(rows(view)):
        kind = text(row.get("type"))
        name = {"function_call": "arguments", "custom_tool_call": "input"}.get(kind, "")
        name = "output" if kind in _OUTPUTS else name
        value: Any = row.get(name)
        lists = kind in _OUTPUTS and isinstance(value, list)
        if name and not isinstance(value, str) and not lists:
            expected = f"a string, but got {_kind(value)} instead"
            raise shared.wrong_type("content", f"input[{index}].{name}", expected)


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "an object" if isinstance(value, dict) else "an array"


def _parts(view: RequestView) -> Iterator[tuple[str, str, Body]]:
    """Each content part of a message or an output, with its place and whose it is."""
    for index, row in enumerate(rows(view)):
        kind = row.get("type", "message")
        if kind == "message":
            for number, part in enumerate(objs(row.get("content"))):
                yield f"input[{index}].content[{number}]", text(row.get("role")), part
        elif kind in _OUTPUTS:
            for number, part in enumerate(objs(array(row.get("output")))):
                yield f"input[{index}].output[{number}]", "output", part


def parts_by_role(view: RequestView, state: ServerState) -> None:
    """What goes in and what came out have parts of their own."""
    for place, role, part in _parts(view):
        known = _ASSISTANTS if role == "assistant" else _USERS
        if role != "output" and part.get("type") not in known:
            raise shared.unknown_value("content", part.get("type"), known, place)


def output_parts(view: RequestView, state: ServerState) -> None:
    """An output holds text, pictures and files."""
    for place, role, part in _parts(view):
        if role == "output" and part.get("type") not in _USERS[:3]:
            raise shared.unknown_value("content", part.get("type"), _USERS[:3], place)


def pictures(view: RequestView, state: ServerState) -> None:
    """A picture is a URL, or a ``data:`` URL of a format that can be read."""
    for place, _, part in _parts(view):
        if part.get("type") == "input_image" and not part.get("file_id"):
            shared.check_picture(text(part.get("image_url")), f"{place}.image_url", place)


def files(view: RequestView, state: ServerState) -> None:
    """A file is known by its id or address, or comes with a name and readable data."""
    for place, _, part in _parts(view):
        if part.get("type") != "input_file" or part.get("file_id") or part.get("file_url"):
            continue
        shared.check_file(
            part,
            place,
            "a base64-encoded data URL with a media type (e.g. 'data:application/pdf;base64,…')",
        )


def known_parameters(view: RequestView, state: ServerState) -> None:
    """House rule: nothing is sent that the API has no name for."""
    for key in view.body:
        if key not in _PARAMETERS:
            raise refuse("house", f"Unknown parameter: '{key}'.", key, "unknown_parameter")


def phases_kept(view: RequestView, state: ServerState) -> None:
    """House rule: a message of the model keeps its phase."""
    for index, row in enumerate(rows(view)):
        own = row.get("type") == "message" and row.get("role") == "assistant" and row.get("id")
        if own and row.get("phase") not in ("commentary", "final_answer"):
            raise refuse("house", "house rule: the phase was left out", f"input[{index}].phase")


def one_message_a_turn(view: RequestView, state: ServerState) -> None:
    """House rule: no two messages of the user's in a row."""
    found = [
        text(row.get("role")) if row.get("type", "message") == "message" else ""
        for row in rows(view)
    ]
    if ("user", "user") in pairwise(found):
        raise refuse("house", "house rule: consecutive user messages")
