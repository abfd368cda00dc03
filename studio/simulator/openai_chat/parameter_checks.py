"""OpenAI: checks parameters and tools, for Chat Completions and for Responses.

Responses uses the functions ``check_…``, ``choice_known`` and ``top_p`` too.
"""

from __future__ import annotations

import re

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
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]+")


def reasons(model: str) -> bool:
    """Whether the model reasons, and so takes no sampling."""
    return _REASONS.match(model) is not None


def check_effort(view: RequestView, effort: object, param: str) -> None:
    """Raises RequestRefused for an unknown level, or for any with a model that does not reason."""
    if effort is None:
        return
    if _PLAIN.match(view.model):
        raise RequestRefused(
            "parameter",
            f"Unsupported parameter: '{param}' is not supported with this model.",
            param=param,
            code="unsupported_parameter",
        )
    if effort not in _EFFORTS:
        known = ", ".join(f"'{name}'" for name in _EFFORTS[:-1])
        raise RequestRefused(
            "parameter",
            f"Invalid value: '{effort}'. Supported values are: {known}, and '{_EFFORTS[-1]}'.",
            param=param,
            code="invalid_value",
        )


def check_temperature(view: RequestView, unsupported: str) -> None:
    """Raises RequestRefused for a temperature out of range, or for any with a reasoning model."""
    value = view.body.get("temperature")
    if not isinstance(value, int | float):
        return
    for bad, side, limit in ((value < 0, "below minimum", 0), (value > 2, "above maximum", 2)):
        if bad:
            sign = ">=" if limit == 0 else "<="
            raise RequestRefused(
                "parameter",
                f"Invalid 'temperature': decimal {side} value. Expected a value {sign} {limit}, "
                f"but got {value} instead.",
                param="temperature",
                code=f"decimal_{side.replace('imum', '').replace(' ', '_')}_value",
            )
    effort = view.body.get("reasoning_effort") or obj(view.body.get("reasoning")).get("effort")
    if value != 1 and reasons(view.model) and effort != "none":
        raise RequestRefused(
            "parameter",
            unsupported.format(value),
            param="temperature",
            code="unsupported_parameter" if "parameter" in unsupported else "unsupported_value",
        )


def bad_picture(url: str) -> tuple[str, str] | None:
    """What is wrong with a picture's address, with a place to fill in, and its code."""
    if url.startswith(("http://", "https://")):
        return None
    kind, data = data_url(url)
    if not url.startswith("data:"):
        return (
            "Invalid '{}'. Expected a valid URL, but got a value with an invalid format.",
            "invalid_value",
        )
    if data is None:
        return (
            "Invalid '{}'. Expected a base64-encoded data URL with an image MIME type (e.g. "
            "'data:image/png;base64,aW1nIGJ5dGVzIGhlcmU='), but got a value without the 'data:' "
            "prefix or with data that is not base64.",
            "invalid_value",
        )
    if kind not in IMAGES or sniffed(data) not in ("", *IMAGES):
        return (
            "You uploaded an unsupported image. Please make sure your image has of one the "
            "following formats: ['png', 'jpeg', 'gif', 'webp'].",
            "invalid_image_format",
        )
    if len(data) > _LIMIT:
        return "The image at '{}' is larger than 20 MB.", "image_too_large"
    return None


def refuse(rule: str, message: str, param: str, code: str | None = None) -> RequestRefused:
    """A refusal in OpenAI's form."""
    return RequestRefused(rule, message, param=param, code=code)


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names[:-1]) + f", and '{names[-1]}'"


def choice_known(view: RequestView, state: ServerState) -> None:
    """What is said of calling tools is known."""
    choice = view.body.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        raise refuse(
            "parameter",
            f"Invalid value: '{choice}'. Supported values are: {_quoted(_CHOICES)}.",
            "tool_choice",
            "invalid_value",
        )


def check_choice(view: RequestView, name: object) -> None:
    """Raises RequestRefused for a choice among no tools, or for a tool that is not there.

    ``name`` is the function that has to be called, None for none of that kind.
    """
    choice = view.body.get("tool_choice")
    if choice is not None and not view.body.get("tools"):
        raise refuse(
            "parameter",
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
            "specified.",
            "tool_choice",
        )
    if obj(choice).get("type") == "function" and name not in view.tool_names:
        raise refuse(
            "parameter", "Tool choice 'function' not found in 'tools' parameter.", "tool_choice"
        )


def top_p(view: RequestView, state: ServerState) -> None:
    """``top_p`` is 0 to 1, and a reasoning model takes none."""
    value = view.body.get("top_p")
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(
            "parameter",
            "Invalid type for 'top_p': expected a decimal, but got something else instead.",
            "top_p",
            "invalid_type",
        )
    if not 0 <= value <= 1:
        side = "above maximum" if value > 1 else "below minimum"
        sign = "<= 1" if value > 1 else ">= 0"
        raise refuse(
            "parameter",
            f"Invalid 'top_p': decimal {side} value. Expected a value {sign}, but got {value} "
            "instead.",
            "top_p",
            f"decimal_{side.replace('imum', '').replace(' ', '_')}_value",
        )
    effort = view.body.get("reasoning_effort") or obj(view.body.get("reasoning")).get("effort")
    if reasons(view.model) and effort != "none":
        raise refuse(
            "parameter",
            "Unsupported parameter: 'top_p' is not supported with this model.",
            "top_p",
            "unsupported_parameter",
        )


def check_form_known(form: Body, place: str) -> None:
    """Raises RequestRefused for a form of answers that nobody knows."""
    if form and form.get("type") not in _FORMS:
        raise refuse(
            "parameter",
            f"Invalid value: '{form.get('type')}'. Supported values are: {_quoted(_FORMS)}.",
            f"{place}.type",
            "invalid_value",
        )


def check_schema_named(form: Body, schema: Body, place: str) -> None:
    """Raises RequestRefused where a schema lacks its plain name."""
    if form.get("type") != "json_schema":
        return
    if "name" not in schema:
        raise refuse(
            "parameter",
            f"Missing required parameter: '{place}.name'.",
            f"{place}.name",
            "missing_required_parameter",
        )
    if not _NAME.fullmatch(text(schema["name"])):
        raise refuse(
            "parameter",
            f"Invalid '{place}.name': string does not match pattern. Expected a string that "
            "matches the pattern '^[a-zA-Z0-9_-]+$'.",
            f"{place}.name",
            "invalid_value",
        )


def check_schema(form: Body, schema: Body, place: str) -> None:
    """Raises RequestRefused for a schema of no object, or one that strict mode does not take."""
    if form.get("type") != "json_schema":
        return
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
        raise refuse(
            "parameter",
            "Invalid type for 'stop': expected one of a string or array of strings.",
            "stop",
            "invalid_type",
        )
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
        raise refuse(
            "parameter",
            "Unsupported parameter: 'stop' is not supported with this model.",
            "stop",
            "unsupported_parameter",
        )


def choice_of_tools(view: RequestView, state: ServerState) -> None:
    """There is something to choose from, and the named tool is among it."""
    function = obj(obj(view.body.get("tool_choice")).get("function"))
    check_choice(view, function.get("name"))


def _form(view: RequestView) -> Body:
    return obj(view.body.get("response_format"))


def form_known(view: RequestView, state: ServerState) -> None:
    """The answer's form is a known one."""
    check_form_known(_form(view), "response_format")


def schema_named(view: RequestView, state: ServerState) -> None:
    """A schema has a name."""
    schema = obj(_form(view).get("json_schema"))
    check_schema_named(_form(view), schema, "response_format.json_schema")


def schema_supported(view: RequestView, state: ServerState) -> None:
    """A schema is one of an object, and a strict one says everything."""
    check_schema(_form(view), obj(_form(view).get("json_schema")), "response_format")


def json_mentioned(view: RequestView, state: ServerState) -> None:
    """A request for any JSON object mentions JSON in a message, too."""
    said = compact(view.body.get("messages")).lower()
    if _form(view).get("type") == "json_object" and "json" not in said:
        raise refuse(
            "parameter",
            "'messages' must contain the word 'json' in some form, to use 'response_format' of "
            "type 'json_object'.",
            "messages",
        )


def effort(view: RequestView, state: ServerState) -> None:
    """The effort is a known level, for a model that reasons."""
    check_effort(view, view.body.get("reasoning_effort"), "reasoning_effort")


def temperature(view: RequestView, state: ServerState) -> None:
    """The temperature is 0 to 2, and a reasoning model takes none but its own."""
    check_temperature(
        view,
        "Unsupported value: 'temperature' does not support {} with this model. Only the default "
        "(1) value is supported.",
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
    """A tool's name is plain."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        function = obj(tool.get("function"))
        if tool.get("type") == "function" and not TOOL_NAME.fullmatch(text(function.get("name"))):
            place = f"tools[{index}].function.name"
            raise refuse(
                "tools",
                f"Invalid '{place}': string does not match pattern. Expected a string that "
                "matches the pattern '^[a-zA-Z0-9_-]+$'.",
                place,
                "invalid_value",
            )


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
