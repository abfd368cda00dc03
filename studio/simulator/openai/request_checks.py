"""OpenAI Responses: checks parameters, items and content parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from studio.simulator.json_read import Body, array, compact, obj, objs, text
from studio.simulator.openai_chat import parameter_checks as shared
from studio.simulator.request_checks import RequestRefused, data_url, word_set
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

_PREFIX = {
    "message": "msg",
    "function_call": "fc",
    "reasoning": "rs",
    "web_search_call": "ws",
}
_ITEMS = (
    *_PREFIX,
    "function_call_output",
    "item_reference",
    "compaction",
    "additional_tools",
    "program",
)
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_USERS = ("input_text", "input_image", "input_file", "input_audio")
_ASSISTANTS = ("output_text", "refusal")
_PARAMETERS = word_set(
    "access_programs background background_options context_management conversation include input "
    "instructions max_output_tokens max_tool_calls metadata model moderation parallel_tool_calls "
    "previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning safety_identifier service_tier store stream stream_options temperature text "
    "tool_choice tools top_logprobs top_p truncation user"
)


def refuse(
    rule: str, message: str, param: str = "input", code: str | None = None
) -> RequestRefused:
    """A refusal in OpenAI's form."""
    return RequestRefused(rule, message, param=param, code=code)


def rows(view: RequestView) -> list[Body]:
    """The input's items; none where the input is a string."""
    return objs(view.body.get("input"))


def _missing(name: str, rule: str = "empty") -> RequestRefused:
    return refuse(
        rule, f"Missing required parameter: '{name}'.", name, "missing_required_parameter"
    )


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


def effort(view: RequestView, state: ServerState) -> None:
    """The effort is a known level, for a model that reasons."""
    level = obj(view.body.get("reasoning")).get("effort")
    shared.check_effort(view, level, "reasoning.effort")


def temperature(view: RequestView, state: ServerState) -> None:
    """The temperature is 0 to 2, and a reasoning model takes none."""
    shared.check_temperature(
        view, "Unsupported parameter: 'temperature' is not supported with this model."
    )


def no_stops(view: RequestView, state: ServerState) -> None:
    """There are no stop texts here."""
    if "stop" in view.body:
        raise refuse("parameter", "Unknown parameter: 'stop'.", "stop", "unknown_parameter")


def choice_of_tools(view: RequestView, state: ServerState) -> None:
    """There is something to choose from, and the named tool is among it."""
    shared.check_choice(view, obj(view.body.get("tool_choice")).get("name"))


def _form(view: RequestView) -> Body:
    return obj(obj(view.body.get("text")).get("format"))


def form_known(view: RequestView, state: ServerState) -> None:
    """The answer's form is a known one."""
    shared.check_form_known(_form(view), "text.format")


def schema_named(view: RequestView, state: ServerState) -> None:
    """A schema has a name."""
    shared.check_schema_named(_form(view), _form(view), "text.format")


def schema_supported(view: RequestView, state: ServerState) -> None:
    """A schema is one of an object, and a strict one says everything."""
    shared.check_schema(_form(view), _form(view), "text.format.schema")


def json_mentioned(view: RequestView, state: ServerState) -> None:
    """A request for any JSON object mentions JSON in a message, too."""
    said = view.body.get("input")
    if _form(view).get("type") == "json_object" and "json" not in compact(said).lower():
        raise refuse(
            "parameter",
            "Response input messages must contain the word 'json' in some form to use "
            "'text.format' of type 'json_object'.",
        )


def tools_named(view: RequestView, state: ServerState) -> None:
    """A tool has its name at the top, unlike on Chat Completions."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if tool.get("type") == "function" and not tool.get("name"):
            raise _missing(f"tools[{index}].name", "tools")


def tools_well_named(view: RequestView, state: ServerState) -> None:
    """Tools and calls in the history have plain names."""
    named = [(f"tools[{n}]", tool) for n, tool in enumerate(objs(view.body.get("tools")))]
    named += [(f"input[{n}]", row) for n, row in enumerate(rows(view))]
    for place, body in named:
        plain = body.get("type") in ("function", "function_call") and bool(body.get("name"))
        if plain and not _NAME.fullmatch(text(body["name"])):
            raise refuse(
                "tools",
                f"Invalid '{place}.name': string does not match pattern. Expected a string that "
                "matches the pattern '^[a-zA-Z0-9_-]+$'.",
                f"{place}.name",
                "invalid_value",
            )


def some_input(view: RequestView, state: ServerState) -> None:
    """There is something to answer."""
    if not isinstance(view.body.get("input"), str) and not rows(view):
        raise _missing("input")


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
        name = {"function_call": "arguments", "function_call_output": "output"}.get(kind, "")
        value: Any = row.get(name)
        lists = kind == "function_call_output" and isinstance(value, list)
        if name and not isinstance(value, str) and not lists:
            raise refuse(
                "content",
                f"Invalid type for 'input[{index}].{name}': expected a string, but got "
                f"{_kind(value)} instead.",
                f"input[{index}].{name}",
                "invalid_type",
            )


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
        elif kind == "function_call_output":
            for number, part in enumerate(objs(array(row.get("output")))):
                yield f"input[{index}].output[{number}]", "output", part


def parts_by_role(view: RequestView, state: ServerState) -> None:
    """What goes in and what came out have parts of their own."""
    for place, role, part in _parts(view):
        known = _ASSISTANTS if role == "assistant" else _USERS
        if role != "output" and part.get("type") not in known:
            names = [f"'{name}'" for name in known]
            listed = (
                " and ".join(names)
                if len(names) == 2
                else f"{', '.join(names[:-1])}, and {names[-1]}"
            )
            raise refuse(
                "content",
                f"Invalid value: '{part.get('type')}'. Supported values are: {listed}.",
                place,
                "invalid_value",
            )


def output_parts(view: RequestView, state: ServerState) -> None:
    """An output holds text, pictures and files."""
    for place, role, part in _parts(view):
        if role == "output" and part.get("type") not in _USERS[:3]:
            raise refuse(
                "content",
                f"Invalid value: '{part.get('type')}'. Supported values are: 'input_text', "
                "'input_image', and 'input_file'.",
                place,
                "invalid_value",
            )


def pictures(view: RequestView, state: ServerState) -> None:
    """A picture is a URL, or a ``data:`` URL of a format that can be read."""
    for place, _, part in _parts(view):
        if part.get("type") != "input_image" or part.get("file_id"):
            continue
        if found := shared.bad_picture(text(part.get("image_url"))):
            message, code = found
            raise refuse("media", message.format(f"{place}.image_url"), place, code)


def files(view: RequestView, state: ServerState) -> None:
    """A file is known by its id or address, or comes with a name and readable data."""
    for place, _, part in _parts(view):
        if part.get("type") != "input_file" or part.get("file_id") or part.get("file_url"):
            continue
        if not part.get("filename"):
            raise _missing(f"{place}.filename", "media")
        if data_url(text(part.get("file_data")))[1] is None:
            raise refuse(
                "media",
                f"Invalid '{place}.file_data'. Expected a base64-encoded data URL with a media "
                "type (e.g. 'data:application/pdf;base64,…').",
                f"{place}.file_data",
                "invalid_value",
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
