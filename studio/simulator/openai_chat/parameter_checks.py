"""OpenAI: checks parameters and tools, for Chat Completions and for Responses.

Responses uses most of it: the refusals, the functions ``check_…``, and rules that it shares.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from studio.simulator.json_read import Body, array, compact, obj, objs, text
from studio.simulator.request_checks import (
    IMAGES,
    RequestRefused,
    data_url,
    not_strict,
    sniffed,
    word_set,
)
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

_REASONS = re.compile(r"o\d|gpt-5|sim-reasoning")
_PLAIN = re.compile(r"gpt-(3\.5|4)")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LIMIT = 20 * 1024 * 1024
_CHOICES = ("none", "auto", "required")
_FORMS = ("json_object", "json_schema", "text")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
LONGEST_NAME = 64
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def reasons(model: str) -> bool:
    """Whether the model reasons, and so takes no sampling."""
    return _REASONS.match(model) is not None


def effort(view: RequestView, state: ServerState) -> None:
    """The effort is a known level, for a model that reasons."""
    level, param = view.body.get("reasoning_effort"), "reasoning_effort"
    if view.api == "responses":
        level, param = obj(view.body.get("reasoning")).get("effort"), "reasoning.effort"
    if level is None:
        return
    if _PLAIN.match(view.model):
        raise unsupported(param)
    if level not in _EFFORTS:
        raise unknown_value("parameter", level, _EFFORTS, param)


def temperature(view: RequestView, state: ServerState) -> None:
    """The temperature is 0 to 2, and a reasoning model takes none but its own."""
    value = view.body.get("temperature")
    if not isinstance(value, int | float):
        return
    _check_range("temperature", value, 2)
    if value == 1 or not _is_reasoning(view):
        return
    if view.api == "responses":
        raise unsupported("temperature")
    raise refuse(
        "parameter",
        f"Unsupported value: 'temperature' does not support {value} with this model. Only the "
        "default (1) value is supported.",
        "temperature",
        "unsupported_value",
    )


def _check_range(param: str, value: float, most: int) -> None:
    if not 0 <= value <= most:
        side, sign = ("below_min", ">= 0") if value < 0 else ("above_max", f"<= {most}")
        raise refuse(
            "parameter",
            f"Invalid '{param}': decimal {side.replace('_', ' ')}imum value. Expected a value "
            f"{sign}, but got {value} instead.",
            param,
            f"decimal_{side}_value",
        )


def _is_reasoning(view: RequestView) -> bool:
    """Whether the model reasons and was not told not to."""
    effort = view.body.get("reasoning_effort") or obj(view.body.get("reasoning")).get("effort")
    return reasons(view.model) and effort != "none"


def check_picture(url: str, place: str, param: str) -> None:
    """Raises RequestRefused for an address of no picture that can be read."""
    if url.startswith(("http://", "https://")):
        return
    kind, data = data_url(url)
    if not url.startswith("data:"):
        raise refuse(
            "media",
            f"Invalid '{place}'. Expected a valid URL, but got a value with an invalid format.",
            param,
            "invalid_value",
        )
    if data is None:
        raise refuse(
            "media",
            f"Invalid '{place}'. Expected a base64-encoded data URL with an image MIME type (e.g. "
            "'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without the 'data:' "
            "prefix or with data that is not base64.",
            param,
            "invalid_value",
        )
    if kind not in IMAGES or sniffed(data) not in ("", *IMAGES):
        raise refuse(
            "media",
            "You uploaded an unsupported image. Please make sure your image has of one the "
            "following formats: ['png', 'jpeg', 'gif', 'webp'].",
            param,
            "invalid_image_format",
        )
    if len(data) > _LIMIT:
        words = f"The image at '{place}' is larger than 20 MB."
        raise refuse("media", words, param, "image_too_large")


def check_file(file: Body, place: str, expected: str) -> None:
    """Raises RequestRefused for a file without a name, or with data that cannot be read."""
    if not file.get("filename"):
        raise missing("media", f"{place}.filename")
    if data_url(text(file.get("file_data")))[1] is None:
        param = f"{place}.file_data"
        raise refuse("media", f"Invalid '{param}'. Expected {expected}.", param, "invalid_value")


def refuse(
    rule: str, message: str, param: str = "input", code: str | None = None
) -> RequestRefused:
    """A refusal in OpenAI's form."""
    return RequestRefused(rule, message, param=param, code=code)


def unsupported(param: str) -> RequestRefused:
    """The refusal of what this model does not take."""
    words = f"Unsupported parameter: '{param}' is not supported with this model."
    return refuse("parameter", words, param, "unsupported_parameter")


def unknown_value(rule: str, value: object, known: Sequence[str], param: str) -> RequestRefused:
    """The refusal of a value that is none of the known ones."""
    *some, last = (f"'{name}'" for name in known)
    words = " and ".join([*some, last]) if len(some) == 1 else f"{', '.join(some)}, and {last}"
    message = f"Invalid value: '{value}'. Supported values are: {words}."
    return refuse(rule, message, param, "invalid_value")


def wrong_type(rule: str, param: str, expected: str) -> RequestRefused:
    """The refusal of a value of another type."""
    return refuse(rule, f"Invalid type for '{param}': expected {expected}.", param, "invalid_type")


def missing(rule: str, param: str) -> RequestRefused:
    """The refusal of a request that lacks something."""
    message = f"Missing required parameter: '{param}'."
    return refuse(rule, message, param, "missing_required_parameter")


def empty_array(param: str) -> RequestRefused:
    """The refusal of a list of nothing."""
    words = "Expected an array with minimum length 1, but got an empty array instead."
    return refuse("empty", f"Invalid '{param}': empty array. {words}", param, "empty_array")


def not_plain(rule: str, param: str) -> RequestRefused:
    """The refusal of a name with other letters than a tool's may have."""
    return refuse(
        rule,
        f"Invalid '{param}': string does not match pattern. Expected a string that matches the "
        "pattern '^[a-zA-Z0-9_-]+$'.",
        param,
        "invalid_value",
    )


def check_name(name: str, param: str) -> None:
    """Raises RequestRefused for a tool's name that is too long, or has other letters."""
    if len(name) > LONGEST_NAME:
        raise refuse(
            "tools",
            f"Invalid '{param}': string too long. Expected a string with maximum length "
            f"{LONGEST_NAME}, but got a string with length {len(name)} instead.",
            param,
            "string_above_max_length",
        )
    if not TOOL_NAME.fullmatch(name):
        raise not_plain("tools", param)


def choice_known(view: RequestView, state: ServerState) -> None:
    """What is said of calling tools is known."""
    choice = view.body.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        raise unknown_value("parameter", choice, _CHOICES, "tool_choice")


def choice_of_tools(view: RequestView, state: ServerState) -> None:
    """There is something to choose from, and the named tool is among it."""
    choice = view.body.get("tool_choice")
    function = obj(choice) if view.api == "responses" else obj(obj(choice).get("function"))
    if choice is not None and not view.body.get("tools"):
        raise refuse(
            "parameter",
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
            "specified.",
            "tool_choice",
        )
    kind = obj(choice).get("type")
    of_kind = [t.get("name") for t in objs(view.body.get("tools")) if t.get("type") == kind]
    known = of_kind if view.api == "responses" else view.tool_names
    if kind in ("function", "custom") and function.get("name") not in known:
        raise refuse(
            "parameter", f"Tool choice '{kind}' not found in 'tools' parameter.", "tool_choice"
        )


def top_p(view: RequestView, state: ServerState) -> None:
    """``top_p`` is 0 to 1, and a reasoning model takes none."""
    value = view.body.get("top_p")
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong_type("parameter", "top_p", "a decimal, but got something else instead")
    _check_range("top_p", value, 1)
    if _is_reasoning(view):
        raise unsupported("top_p")


def answer_form(view: RequestView) -> tuple[str, Body, Body]:
    """The place where a request says what form its answer has, the form, and its schema."""
    if view.api == "responses":
        form = obj(obj(view.body.get("text")).get("format"))
        return "text.format", form, form
    form = obj(view.body.get("response_format"))
    return "response_format", form, obj(form.get("json_schema"))


def form_known(view: RequestView, state: ServerState) -> None:
    """The answer's form is a known one."""
    place, form, _ = answer_form(view)
    if form and form.get("type") not in _FORMS:
        raise unknown_value("parameter", form.get("type"), _FORMS, f"{place}.type")


def schema_named(view: RequestView, state: ServerState) -> None:
    """A schema has a plain name."""
    place, form, schema = answer_form(view)
    if form.get("type") != "json_schema":
        return
    if schema is not form:
        place += ".json_schema"
    if "name" not in schema:
        raise missing("parameter", f"{place}.name")
    if not _NAME.fullmatch(text(schema["name"])):
        raise not_plain("parameter", f"{place}.name")


def schema_supported(view: RequestView, state: ServerState) -> None:
    """A schema is one of an object, and a strict one says everything."""
    place, form, schema = answer_form(view)
    if form.get("type") != "json_schema":
        return
    if schema is form:
        place += ".schema"
    begin = f"Invalid schema for response_format '{text(schema.get('name'))}': "
    kind = obj(schema.get("schema")).get("type")
    if kind != "object":
        raise refuse(
            "parameter",
            f"{begin}schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.",
            place,
            "invalid_json_schema",
        )
    if schema.get("strict") and (wrong := not_strict(schema.get("schema"))):
        raise refuse("parameter", f"{begin}In context=(), {wrong}", place, "invalid_json_schema")


_MOST = 4


def stops_are_texts(view: RequestView, state: ServerState) -> None:
    """A stop text is a string, or there are up to four in a list."""
    stop = view.body.get("stop")
    if stop is None or isinstance(stop, str):
        return
    if not isinstance(stop, list) or not all(isinstance(one, str) for one in array(stop)):
        raise wrong_type("parameter", "stop", "one of a string or array of strings")
    if (count := len(array(stop))) > _MOST:
        raise refuse(
            "parameter",
            f"Invalid 'stop': array too long. Expected an array with maximum length {_MOST}, but "
            f"got an array with length {count} instead.",
            "stop",
            "array_above_max_length",
        )


def stops_supported(view: RequestView, state: ServerState) -> None:
    """A reasoning model takes no stop texts."""
    if view.body.get("stop") is not None and reasons(view.model):
        raise unsupported("stop")


def json_mentioned(view: RequestView, state: ServerState) -> None:
    """A request for any JSON object mentions JSON in a message, too."""
    said = compact(view.body.get("messages")).lower()
    if obj(view.body.get("response_format")).get("type") == "json_object" and "json" not in said:
        raise refuse(
            "parameter",
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'.",
            "messages",
        )


def limit_named(view: RequestView, state: ServerState) -> None:
    """A reasoning model's limit has the newer name."""
    if view.body.get("max_tokens") is not None and reasons(view.model):
        raise refuse(
            "parameter",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "max_tokens",
            "unsupported_parameter",
        )


def tools_named(view: RequestView, state: ServerState) -> None:
    """A tool's name is plain, and not too long."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if tool.get("type") == "function":
            check_name(text(obj(tool.get("function")).get("name")), f"tools[{index}].function.name")


def known_parameters(view: RequestView, state: ServerState) -> None:
    """House rule: nothing is sent that the API has no name for."""
    for key in view.body:
        if key not in _PARAMETERS:
            raise refuse(
                "house", f"Unrecognized request argument supplied: {key}", key, "unknown_parameter"
            )


_PARAMETERS = word_set(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs "
    "max_completion_tokens max_tokens metadata modalities moderation n parallel_tool_calls "
    "prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention "
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream "
    "stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)
