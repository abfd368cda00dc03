"""OpenAI Chat Completions: checks calls, and that tool messages answer them.

Holds the table of all checks of Chat Completions, in the order in which they run.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import TypeAlias

from studio.simulator.json_read import Body, obj, objs, text
from studio.simulator.request_checks import Check, appended, one_message_a_turn, plain_schemas
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from . import message_checks, parameter_checks
from .parameter_checks import empty_array, not_plain, refuse, wrong_type

_UNASKED = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message "
    "with 'tool_calls'."
)
_Open: TypeAlias = "OrderedDict[str, None]"
"""The ids of calls without a result yet, in order; thousands are taken from its front."""


def _answers(view: RequestView) -> Iterator[tuple[int, Body, list[str], _Open]]:
    """Each message with the ids asked for by the calls before it, and those still open."""
    asked: list[str] = []
    open_: _Open = OrderedDict()
    for index, message in enumerate(message_checks.messages(view)):
        yield index, message, asked, open_
        if message.get("role") == "tool":
            open_.pop(text(message.get("tool_call_id")), None)
        else:
            calls = objs(message.get("tool_calls")) if message.get("role") == "assistant" else []
            asked = [text(call.get("id")) for call in calls]
            open_ = OrderedDict.fromkeys(asked)
    yield len(message_checks.messages(view)), {}, asked, open_


def answered_calls(view: RequestView, state: ServerState) -> None:
    """Every call has its tool message before any other message."""
    for index, message, _, open_ in _answers(view):
        if open_ and message.get("role") != "tool":
            raise refuse(
                "pairing",
                "An assistant message with 'tool_calls' must be followed by tool messages "
                "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                f"response messages: {', '.join(open_)}",
                f"messages.[{index if message else index - 1}].role",
            )


def asked_results(view: RequestView, state: ServerState) -> None:
    """Tool messages follow calls."""
    for index, message, asked, _ in _answers(view):
        if message.get("role") == "tool" and not asked:
            raise refuse("pairing", _UNASKED, f"messages.[{index}].role")


def own_results(view: RequestView, state: ServerState) -> None:
    """A tool message belongs to one of the calls just before, that nobody answered yet."""
    for index, message, asked, open_ in _answers(view):
        id_ = text(message.get("tool_call_id"))
        if message.get("role") == "tool" and asked and id_ not in open_:
            raise refuse(
                "pairing",
                f"Invalid parameter: 'tool_call_id' of '{id_}' not found in 'tool_calls' of "
                "previous message.",
                f"messages.[{index}].tool_call_id",
            )


def results_in_order(view: RequestView, state: ServerState) -> None:
    """House rule: results come in the order of their calls."""
    for _, message, _, open_ in _answers(view):
        first = next(iter(open_), None)
        if message.get("role") == "tool" and text(message.get("tool_call_id")) != first:
            raise refuse("house", "house rule: results come in call order", "messages")


def _calls(view: RequestView) -> Iterator[tuple[str, Body]]:
    """Each call in the history with its place."""
    for index, message in enumerate(message_checks.messages(view)):
        for number, call in enumerate(objs(message.get("tool_calls"))):
            yield f"messages[{index}].tool_calls[{number}]", call


def calls_not_empty(view: RequestView, state: ServerState) -> None:
    """A list of calls has calls."""
    for index, message in enumerate(message_checks.messages(view)):
        if message.get("tool_calls") is not None and not objs(message["tool_calls"]):
            raise empty_array(f"messages[{index}].tool_calls")


def arguments_are_text(view: RequestView, state: ServerState) -> None:
    """A call's arguments travel as a string."""
    for place, call in _calls(view):
        if not isinstance(obj(call.get("function")).get("arguments"), str):
            expected = "a string, but got an object instead"
            raise wrong_type("content", f"{place}.function.arguments", expected)


def calls_well_named(view: RequestView, state: ServerState) -> None:
    """Calls in the history have plain names."""
    for place, call in _calls(view):
        if not parameter_checks.TOOL_NAME.fullmatch(text(obj(call.get("function")).get("name"))):
            raise not_plain("content", f"{place}.function.name")


def ids_short(view: RequestView, state: ServerState) -> None:
    """A call's id has at most 40 characters."""
    for place, call in _calls(view):
        if (size := len(text(call.get("id")))) > 40:
            raise refuse(
                "content",
                f"Invalid '{place}.id': string too long. Expected a string with maximum length "
                f"40, but got a string with length {size} instead.",
                f"{place}.id",
                "string_above_max_length",
            )


RULES: tuple[Check, ...] = (
    message_checks.some_messages,
    message_checks.roles,
    calls_not_empty,
    message_checks.content_given,
    message_checks.content_is_text_or_parts,
    message_checks.content_not_empty,
    arguments_are_text,
    calls_well_named,
    ids_short,
    message_checks.known_parts,
    message_checks.tools_say_text,
    message_checks.only_users_show,
    message_checks.pictures,
    message_checks.files,
    parameter_checks.tools_named,
    parameter_checks.effort,
    parameter_checks.temperature,
    parameter_checks.limit_named,
    parameter_checks.top_p,
    parameter_checks.stops_are_texts,
    parameter_checks.stops_supported,
    parameter_checks.choice_known,
    parameter_checks.choice_of_tools,
    parameter_checks.form_known,
    parameter_checks.schema_named,
    parameter_checks.schema_supported,
    parameter_checks.json_mentioned,
    own_results,
    answered_calls,
    asked_results,
)
HOUSE: tuple[Check, ...] = (
    parameter_checks.known_parameters,
    plain_schemas,
    one_message_a_turn,
    results_in_order,
    appended,
)
