"""OpenAI Chat Completions: what is refused."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

from studio.simulator import media
from studio.simulator.json_read import Body, array, obj, objs, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import Check, RequestRefused, appended, enforce, word_set
from studio.simulator.state import ServerState

from . import output as answers
from . import shared

_ROLES = ("system", "developer", "user", "assistant", "tool")
_PARTS = ("text", "image_url", "input_audio", "file", "refusal")
_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_UNASKED = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
    "with 'tool_calls'."
)
_EMPTY = "empty array. Expected an array with minimum length 1, but got an empty array instead."
_PARAMETERS = word_set(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs "
    "max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls "
    "prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)


def check(view: RequestView, maker: ServerState) -> None:
    """Raises Refused for the first rule the request breaks."""
    enforce(RULES, HOUSE, view, maker)


def _refuse(rule: str, message: str, param: str, code: str | None = None) -> RequestRefused:
    return RequestRefused(rule, message, param=param, code=code)


def _messages(view: RequestView) -> list[Body]:
    return objs(view.body.get("messages"))


def _parts(view: RequestView) -> Iterator[tuple[int, str, int, Body]]:
    """Each content part with its message's index and role, and its own index."""
    for index, message in enumerate(_messages(view)):
        for number, part in enumerate(objs(message.get("content"))):
            yield index, text(message.get("role")), number, part


def _calls(view: RequestView) -> Iterator[tuple[str, Body]]:
    """Each call in the history with its place."""
    for index, message in enumerate(_messages(view)):
        for number, call in enumerate(objs(message.get("tool_calls"))):
            yield f"messages[{index}].tool_calls[{number}]", call


def some_messages(view: RequestView, maker: ServerState) -> None:
    """There is something to answer."""
    if not _messages(view):
        raise _refuse("empty", f"Invalid 'messages': {_EMPTY}", "messages", "empty_array")


def roles(view: RequestView, maker: ServerState) -> None:
    """Messages have roles that the API knows."""
    for index, message in enumerate(_messages(view)):
        if (role := message.get("role")) not in _ROLES:
            raise _refuse(
                "role",
                f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', "
                "'function', 'tool', and 'developer'.",
                f"messages[{index}].role",
                "invalid_value",
            )


def calls_not_empty(view: RequestView, maker: ServerState) -> None:
    """A list of calls has calls."""
    for index, message in enumerate(_messages(view)):
        if message.get("tool_calls") is not None and not objs(message["tool_calls"]):
            place = f"messages[{index}].tool_calls"
            raise _refuse("empty", f"Invalid '{place}': {_EMPTY}", place, "empty_array")


def content_given(view: RequestView, maker: ServerState) -> None:
    """Only the assistant may say nothing, and only while it calls or refuses."""
    for index, message in enumerate(_messages(view)):
        other = message.get("tool_calls") is not None or message.get("refusal")
        if message.get("content") is None and not (message.get("role") == "assistant" and other):
            raise _refuse(
                "empty",
                "Invalid value for 'content': expected a string, got null.",
                f"messages.[{index}].content",
            )


def content_not_empty(view: RequestView, maker: ServerState) -> None:
    """A list of parts has parts."""
    for index, message in enumerate(_messages(view)):
        if message.get("content") == []:
            place = f"messages[{index}].content"
            raise _refuse("empty", f"Invalid '{place}': {_EMPTY}", place, "empty_array")


def arguments_are_text(view: RequestView, maker: ServerState) -> None:
    """A call's arguments travel as a string."""
    for place, call in _calls(view):
        if not isinstance(obj(call.get("function")).get("arguments"), str):
            place = f"{place}.function.arguments"
            raise _refuse(
                "content",
                f"Invalid type for '{place}': expected a string, but got an object instead.",
                place,
                "invalid_type",
            )


def calls_well_named(view: RequestView, maker: ServerState) -> None:
    """Calls in the history have plain names."""
    for place, call in _calls(view):
        if not _NAME.fullmatch(text(obj(call.get("function")).get("name"))):
            place = f"{place}.function.name"
            raise _refuse(
                "content",
                f"Invalid '{place}': string does not match pattern. Expected a string that "
                "matches the pattern '^[a-zA-Z0-9_-]+$'.",
                place,
                "invalid_value",
            )


def ids_short(view: RequestView, maker: ServerState) -> None:
    """A call's id has at most 40 characters."""
    for place, call in _calls(view):
        if (size := len(text(call.get("id")))) > 40:
            raise _refuse(
                "content",
                f"Invalid '{place}.id': string too long. Expected a string with maximum length "
                f"40, but got a string with length {size} instead.",
                f"{place}.id",
                "string_above_max_length",
            )


def known_parts(view: RequestView, maker: ServerState) -> None:
    """Parts have types that the API knows."""
    for index, _, _, part in _parts(view):
        if part.get("type") not in _PARTS:
            raise _wrong_part(index)


def tools_say_text(view: RequestView, maker: ServerState) -> None:
    """A result holds text only."""
    for index, role, _, part in _parts(view):
        if role != "tool" or part.get("type") == "text":
            continue
        if part.get("type") == "image_url":
            raise _refuse(
                "content",
                f"Invalid 'messages[{index}]'. Image URLs are only allowed for messages with role "
                f"'user', but this message with role '{role}' contains an image URL.",
                f"messages[{index}]",
                "invalid_value",
            )
        raise _wrong_part(index)


def only_users_show(view: RequestView, maker: ServerState) -> None:
    """Nobody but the user shows pictures, sounds and files."""
    for index, role, _, part in _parts(view):
        if role in ("system", "developer", "assistant") and part.get("type") not in (
            "text",
            "refusal",
        ):
            raise _wrong_part(index)


def _wrong_part(index: int) -> RequestRefused:
    return _refuse(
        "content",
        f"Invalid 'messages[{index}]'. Content blocks are expected to be either text or "
        "image_url type.",
        f"messages[{index}]",
        "invalid_value",
    )


def pictures(view: RequestView, maker: ServerState) -> None:
    """A picture is a URL, or a ``data:`` URL of a format that can be read."""
    for index, _, number, part in _parts(view):
        if part.get("type") == "image_url":
            url = text(obj(part.get("image_url")).get("url"))
            if found := shared.bad_picture(url):
                message, code = found
                place = f"messages[{index}].content[{number}].image_url.url"
                raise _refuse("media", message.format(place), place, code)


def files(view: RequestView, maker: ServerState) -> None:
    """A file is known by its id, or comes with a name and readable data."""
    for index, _, number, part in _parts(view):
        file = obj(part.get("file"))
        if part.get("type") != "file" or file.get("file_id"):
            continue
        place = f"messages[{index}].content[{number}].file"
        if not file.get("filename"):
            raise _refuse(
                "media",
                f"Missing required parameter: '{place}.filename'.",
                f"{place}.filename",
                "missing_required_parameter",
            )
        if media.data_url(text(file.get("file_data")))[1] is None:
            raise _refuse(
                "media",
                f"Invalid '{place}.file_data'. Expected a base64-encoded data URL.",
                f"{place}.file_data",
                "invalid_value",
            )


def tools_named(view: RequestView, maker: ServerState) -> None:
    """A tool's name is plain."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        function = obj(tool.get("function"))
        if tool.get("type") == "function" and not _NAME.fullmatch(text(function.get("name"))):
            place = f"tools[{index}].function.name"
            raise _refuse(
                "tools",
                f"Invalid '{place}': string does not match pattern. Expected a string that "
                "matches the pattern '^[a-zA-Z0-9_-]+$'.",
                place,
                "invalid_value",
            )


def effort(view: RequestView, maker: ServerState) -> None:
    """The effort is a known level, for a model that reasons."""
    shared.check_effort(view, view.body.get("reasoning_effort"), "reasoning_effort")


def temperature(view: RequestView, maker: ServerState) -> None:
    """The temperature is 0 to 2, and a reasoning model takes none but its own."""
    shared.check_temperature(
        view,
        "Unsupported value: 'temperature' does not support {} with this model. Only the default "
        "(1) value is supported.",
    )


def limit_named(view: RequestView, maker: ServerState) -> None:
    """A reasoning model's limit has the newer name."""
    if view.body.get("max_tokens") is not None and shared.reasons(view.model):
        raise _refuse(
            "parameter",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )


_Open: TypeAlias = "OrderedDict[str, None]"
"""The ids of calls without a result yet, in order; thousands are taken from its front."""


def _answers(view: RequestView) -> Iterator[tuple[int, Body, list[str], _Open]]:
    """Each message with the ids asked for by the calls before it, and those still open."""
    asked: list[str] = []
    open_: _Open = OrderedDict()
    for index, message in enumerate(_messages(view)):
        yield index, message, asked, open_
        if message.get("role") == "tool":
            open_.pop(text(message.get("tool_call_id")), None)
        else:
            calls = objs(message.get("tool_calls")) if message.get("role") == "assistant" else []
            asked = [text(call.get("id")) for call in calls]
            open_ = OrderedDict.fromkeys(asked)
    yield len(_messages(view)), {}, asked, open_


def answered_calls(view: RequestView, maker: ServerState) -> None:
    """Every call has its tool message before any other message."""
    for index, message, _, open_ in _answers(view):
        if open_ and message.get("role") != "tool":
            raise _refuse(
                "pairing",
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(open_)}",
                f"messages.[{index if message else index - 1}].role",
            )


def asked_results(view: RequestView, maker: ServerState) -> None:
    """Tool messages follow calls."""
    for index, message, asked, _ in _answers(view):
        if message.get("role") == "tool" and not asked:
            raise _refuse("pairing", _UNASKED, f"messages.[{index}].role")


def own_results(view: RequestView, maker: ServerState) -> None:
    """A tool message belongs to one of the calls just before, that nobody answered yet."""
    for index, message, asked, open_ in _answers(view):
        id_ = text(message.get("tool_call_id"))
        if message.get("role") == "tool" and asked and id_ not in open_:
            raise _refuse(
                "pairing",
                f"Invalid parameter: 'tool_call_id' of '{id_}' not found in 'tool_calls' of "
                "previous message.",
                f"messages.[{index}].tool_call_id",
            )


def results_in_order(view: RequestView, maker: ServerState) -> None:
    """House rule: results come in the order of their calls."""
    for _, message, _, open_ in _answers(view):
        first = next(iter(open_), None)
        if message.get("role") == "tool" and text(message.get("tool_call_id")) != first:
            raise _refuse("house", "house rule: results come in call order", "messages")


def one_message_a_turn(view: RequestView, maker: ServerState) -> None:
    """House rule: no two messages of one side in a row."""
    found = [text(message.get("role")) for message in _messages(view)]
    for role, following in pairwise(found):
        if role == following and role in ("user", "assistant"):
            raise _refuse("house", f"house rule: consecutive {role} messages", "messages")


def known_parameters(view: RequestView, maker: ServerState) -> None:
    """House rule: nothing is sent that the API has no name for."""
    for key in view.body:
        if key not in _PARAMETERS:
            raise _refuse(
                "house", f"Unrecognized request argument supplied: {key}", key, "unknown_parameter"
            )


def content_is_text_or_parts(view: RequestView, maker: ServerState) -> None:
    """What is said is a string or a list."""
    for index, message in enumerate(_messages(view)):
        content = message.get("content")
        if content is not None and not isinstance(content, str) and content != array(content):
            raise _refuse(
                "content",
                f"Invalid type for 'messages[{index}].content': expected one of a string or array "
                "of objects, but got an object instead.",
                f"messages[{index}].content",
                "invalid_type",
            )


RULES: tuple[Check, ...] = (
    some_messages,
    roles,
    calls_not_empty,
    content_given,
    content_is_text_or_parts,
    content_not_empty,
    arguments_are_text,
    calls_well_named,
    ids_short,
    known_parts,
    tools_say_text,
    only_users_show,
    pictures,
    files,
    tools_named,
    effort,
    temperature,
    limit_named,
    answers.top_p,
    answers.stops_are_texts,
    answers.stops_supported,
    answers.choice_known,
    answers.choice_of_tools,
    answers.form_known,
    answers.schema_named,
    answers.schema_supported,
    answers.json_mentioned,
    own_results,
    answered_calls,
    asked_results,
)
HOUSE: tuple[Check, ...] = (known_parameters, one_message_a_turn, results_in_order, appended)
