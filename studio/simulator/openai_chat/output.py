"""OpenAI Chat Completions: what is refused about how the answer is to be made."""

from __future__ import annotations

from studio.simulator.json_read import Body, array, compact, obj
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from . import shared
from .shared import refuse

_MOST = 4


def top_p(view: RequestView, maker: ServerState) -> None:
    """A share is 0 to 1, and a reasoning model takes none."""
    shared.check_top_p(view)


def stops_are_texts(view: RequestView, maker: ServerState) -> None:
    """A stop text is a string, or there are up to four in a list."""
    stop = view.body.get("stop")
    if stop is None or isinstance(stop, str):
        return
    if not isinstance(stop, list) or not all(isinstance(one, str) for one in array(stop)):
        raise refuse(
            "Invalid type for 'stop': expected one of a string or array of strings.",
            "stop",
            "invalid_type",
        )
    if (count := len(array(stop))) > _MOST:
        raise refuse(
            f"Invalid 'stop': array too long. Expected an array with maximum length {_MOST}, but "
            f"got an array with length {count} instead.",
            "stop",
            "array_above_max_length",
        )


def stops_supported(view: RequestView, maker: ServerState) -> None:
    """A reasoning model takes no stop texts."""
    if view.body.get("stop") is not None and shared.reasons(view.model):
        raise refuse(
            "Unsupported parameter: 'stop' is not supported with this model.",
            "stop",
            "unsupported_parameter",
        )


def choice_known(view: RequestView, maker: ServerState) -> None:
    """What is said of calling tools is known."""
    shared.check_choice_known(view)


def choice_of_tools(view: RequestView, maker: ServerState) -> None:
    """There is something to choose from, and the named tool is among it."""
    function = obj(obj(view.body.get("tool_choice")).get("function"))
    shared.check_choice(view, function.get("name"))


def _form(view: RequestView) -> Body:
    return obj(view.body.get("response_format"))


def form_known(view: RequestView, maker: ServerState) -> None:
    """The answer's form is a known one."""
    shared.check_form_known(_form(view), "response_format")


def schema_named(view: RequestView, maker: ServerState) -> None:
    """A schema has a name."""
    schema = obj(_form(view).get("json_schema"))
    shared.check_schema_named(_form(view), schema, "response_format.json_schema")


def schema_supported(view: RequestView, maker: ServerState) -> None:
    """A schema is one of an object, and a strict one says everything."""
    shared.check_schema(_form(view), obj(_form(view).get("json_schema")), "response_format")


def json_mentioned(view: RequestView, maker: ServerState) -> None:
    """Who wants any JSON object says so in words, too."""
    said = compact(view.body.get("messages")).lower()
    if _form(view).get("type") == "json_object" and "json" not in said:
        raise refuse(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'.",
            "messages",
        )
