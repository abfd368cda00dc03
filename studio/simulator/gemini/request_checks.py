"""Gemini: checks parameters, contents and parts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from studio.simulator.json_read import Body, array, obj, objs, text
from studio.simulator.request_checks import RequestRefused, decoded, schema_parts, word_set
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

_PARTS = (
    "Unable to submit request because it must include at least one parts field, which describes "
    "the prompt input."
)
_LEVELS = ("minimal", "low", "medium", "high", "xhigh", "thinking_level_unspecified")
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1beta"
_STRUCT = "type.googleapis.com/google.protobuf.Struct"
_CAPITAL = re.compile(r"[A-Z]")
_NAME = re.compile(r"[A-Za-z_][\w.:-]{0,63}", re.ASCII)
_MEDIA = re.compile(r"(image|audio|video|text)/|application/(pdf|json|rtf|x-javascript|x-python)")
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
_ABOUT = ("thought", "thoughtSignature", "thought_signature", "partMetadata", "part_metadata")
_DATA = word_set(
    "text inlineData inline_data fileData file_data functionCall function_call functionResponse "
    "function_response executableCode executable_code codeExecutionResult code_execution_result "
    "toolCall tool_call toolResponse tool_response videoMetadata video_metadata mediaResolution "
    "media_resolution surprise"
)
_PARAMETERS = word_set(
    "contents tools toolConfig tool_config safetySettings safety_settings systemInstruction "
    "system_instruction generationConfig generation_config cachedContent cached_content labels "
    "model store serviceTier service_tier modelArmorConfig"
)


def member(body: Body, name: str) -> Any:
    """The member of this name, in camel case or in snake case; None if there is none."""
    return body.get(name) or body.get(_CAPITAL.sub(r"_\g<0>", name).lower())


def contents(view: RequestView) -> list[Body]:
    """The request's contents."""
    return objs(view.body.get("contents"))


def call_of(part: Body) -> Body:
    """A part's function call; empty if it is none."""
    return obj(member(part, "functionCall"))


def response_of(part: Body) -> Body:
    """A part's function response; empty if it is none."""
    return obj(member(part, "functionResponse"))


def _wrong(rule: str, place: str, words: str) -> RequestRefused:
    return RequestRefused(rule, f"* GenerateContentRequest.{place}: {words}\n")


def _invalid(rule: str, place: str, kind: str, words: str = "") -> RequestRefused:
    message = f"Invalid value at '{place}' ({kind})"
    return RequestRefused(rule, f"{message}, {words}" if words else message)


def _parts(view: RequestView) -> Iterator[tuple[str, Body]]:
    for index, content in enumerate(contents(view)):
        for number, part in enumerate(objs(content.get("parts"))):
            yield f"contents[{index}].parts[{number}]", part


def some_contents(view: RequestView, state: ServerState) -> None:
    """There is something to answer."""
    if not contents(view):
        raise _wrong("empty", "contents", "contents is not specified")


def roles(view: RequestView, state: ServerState) -> None:
    """Contents are the user's or the model's."""
    for content in contents(view):
        if content.get("role", "user") not in ("user", "model"):
            raise RequestRefused("role", "Please use a valid role: user, model.")


def parts_given(view: RequestView, state: ServerState) -> None:
    """No content is empty."""
    if any(not objs(content.get("parts")) for content in contents(view)):
        raise RequestRefused("empty", _PARTS)


def parts_have_data(view: RequestView, state: ServerState) -> None:
    """A part is something."""
    for place, part in _parts(view):
        if not set(part) - set(_ABOUT):
            words = "required oneof field 'data' must have one initialized field"
            raise _wrong("empty", f"{place}.data", words)


def _inline(view: RequestView) -> Iterator[tuple[str, Body]]:
    """Everything that travels as base64, in responses too."""
    for place, part in _parts(view):
        inner = [
            (f"{place}.function_response", row) for row in objs(response_of(part).get("parts"))
        ]
        for where, holder in [(place, part), *inner]:
            if data := obj(member(holder, "inlineData")):
                yield f"{where}.inline_data", data


def base64_sound(view: RequestView, state: ServerState) -> None:
    """What travels as base64 is base64, in either alphabet."""
    for place, data in _inline(view):
        raw = text(data.get("data"))
        if decoded(raw.replace("-", "+").replace("_", "/")) is None:
            words = f'Base64 decoding failed for "{raw[:40]}"'
            raise _invalid("media", f"{place}.data", "TYPE_BYTES", words)


def media_types(view: RequestView, state: ServerState) -> None:
    """Pictures, sounds, films, text and PDF can be read."""
    for _, data in _inline(view):
        kind = text(member(data, "mimeType"))
        if not _MEDIA.match(kind) or (kind.startswith("image/") and kind not in _IMAGES):
            raise RequestRefused("media", f"Unsupported MIME type: {kind}")


def args_are_objects(view: RequestView, state: ServerState) -> None:
    """A call's arguments are an object."""
    for place, part in _parts(view):
        if not isinstance(call_of(part).get("args") or {}, dict):
            raise _invalid("content", f"{place}.function_call.args", _STRUCT)


def responses_are_objects(view: RequestView, state: ServerState) -> None:
    """A response is an object."""
    for place, part in _parts(view):
        answer = response_of(part)
        if answer and not isinstance(answer.get("response"), dict):
            raise _invalid("content", f"{place}.function_response.response", _STRUCT)


def _functions(view: RequestView) -> Iterator[tuple[str, str]]:
    for index, tool in enumerate(objs(view.body.get("tools"))):
        for number, one in enumerate(objs(member(tool, "functionDeclarations"))):
            yield f"tools[{index}].function_declarations[{number}]", text(one.get("name"))


def functions_named(view: RequestView, state: ServerState) -> None:
    """A function's name is plain and not too long."""
    for place, name in _functions(view):
        if not _NAME.fullmatch(name):
            raise _wrong(
                "tools",
                f"{place}.name",
                "Invalid function name. Must start with a letter or an underscore. Must be "
                "alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes "
                "(-), with a maximum length of 64.",
            )


def functions_described(view: RequestView, state: ServerState) -> None:
    """A function's parameters are a schema as the API knows them."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        for number, one in enumerate(objs(member(tool, "functionDeclarations"))):
            place = f"tools[{index}].function_declarations[{number}].parameters"
            if "$schema" in obj(one.get("parameters")):
                raise RequestRefused(
                    "tools",
                    f"Invalid JSON payload received. Unknown name \"$schema\" at '{place}': "
                    "Cannot find field.",
                )
            given = member(one, "parametersJsonSchema") or one.get("parameters")
            for part in schema_parts(given):
                kind = text(part.get("type")).lower()
                if part.get("properties") and kind not in ("object", ""):
                    raise _wrong("tools", f"{place}.properties", "only allowed for OBJECT type")


def functions_unique(view: RequestView, state: ServerState) -> None:
    """No two functions of one name."""
    seen: set[str] = set()
    for _, name in _functions(view):
        if name in seen:
            raise RequestRefused("tools", f"Duplicate function declaration found: {name}")
        seen.add(name)


def _thinking(view: RequestView) -> tuple[object, object]:
    """The level and the budget of thinking that the request asks for."""
    config = config_of(view.body)
    thinking = obj(member(config, "thinkingConfig"))
    level = thinking.get("thinkingLevel", thinking.get("thinking_level"))
    return level, thinking.get("thinkingBudget", thinking.get("thinking_budget"))


def level_or_budget(view: RequestView, state: ServerState) -> None:
    """Thinking has a level or a budget."""
    level, budget = _thinking(view)
    if level is not None and budget is not None:
        raise RequestRefused(
            "parameter", "You can only set only one of thinking budget and thinking level."
        )


def levels(view: RequestView, state: ServerState) -> None:
    """The level of thinking is a known one."""
    level, _ = _thinking(view)
    if level is not None and text(level).lower() not in _LEVELS:
        place = "generation_config.thinking_config.thinking_level"
        raise _invalid("parameter", place, f"{_TYPE}.ThinkingLevel", f'"{level}"')


def level_supported(view: RequestView, state: ServerState) -> None:
    """Models before the third generation have budgets only."""
    level, _ = _thinking(view)
    if level is not None and view.model.startswith(("gemini-2", "sim-gemini-25")):
        raise RequestRefused("parameter", "Thinking level is not supported for this model.")


def budgets(view: RequestView, state: ServerState) -> None:
    """A budget is within the model's range; 0 is none, -1 the model's own choice."""
    _, budget = _thinking(view)
    if not isinstance(budget, int) or budget == -1:
        return
    pro = "-pro" in view.model
    most, least = (32_768, 128) if pro else (24_576, 0)
    if not least <= budget <= most:
        raise RequestRefused(
            "parameter",
            f"The thinking budget {budget} is invalid. Please choose a value between {least} and "
            f"{most}.",
        )


def temperature(view: RequestView, state: ServerState) -> None:
    """The temperature is 0 to 2."""
    _check_range("temperature", config_of(view.body).get("temperature"), 2)


def top_p(view: RequestView, state: ServerState) -> None:
    """A share is 0 to 1."""
    _check_range("top_p", config_of(view.body).get("topP"), 1)


def _check_range(name: str, value: object, most: int) -> None:
    if isinstance(value, int | float) and not 0 <= value <= most:
        words = f"{name} must be in the range [0.0, {most}.0]."
        raise _wrong("parameter", f"generation_config.{name}", words)


def known_parameters(view: RequestView, state: ServerState) -> None:
    """House rule: nothing is sent that the API has no name for."""
    for key in view.body:
        if key not in _PARAMETERS:
            raise RequestRefused(
                "house",
                f'Invalid JSON payload received. Unknown name "{key}": Cannot find field.',
            )


def known_keys(view: RequestView, state: ServerState) -> None:
    """House rule: parts hold nothing that the API has no name for."""
    for place, part in _parts(view):
        for key in part:
            if key not in _DATA.union(_ABOUT):
                raise RequestRefused(
                    "house",
                    f"Invalid JSON payload received. Unknown name \"{key}\" at '{place}': Cannot "
                    "find field.",
                )


_MODES = ("MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED")
_MOST = 5
_ALLOWED = "tool_config.function_calling_config.allowed_function_names"
_TYPES = ("text/plain", "application/json", "text/x.enum")


def calling(body: Body) -> Body:
    """What the request says of calling functions."""
    return obj(member(obj(member(body, "toolConfig")), "functionCallingConfig"))


def config_of(body: Body) -> Body:
    """The request's ``generationConfig``."""
    return obj(member(body, "generationConfig"))


def mode_known(view: RequestView, state: ServerState) -> None:
    """The mode of calling is a known one."""
    mode = calling(view.body).get("mode")
    if mode is not None and mode not in _MODES:
        place = "tool_config.function_calling_config.mode"
        raise _invalid("tools", place, f"{_TYPE}.FunctionCallingConfig.Mode", f'"{mode}"')


def mode_of_functions(view: RequestView, state: ServerState) -> None:
    """There are functions to call or not to call."""
    if calling(view.body) and not view.tools:
        raise RequestRefused(
            "tools", "Function calling config is set without function_declarations."
        )


def names_with_any(view: RequestView, state: ServerState) -> None:
    """Functions are named only where one has to be called."""
    config = calling(view.body)
    if config.get("allowedFunctionNames") and config.get("mode") not in ("ANY", "VALIDATED"):
        raise _wrong("tools", _ALLOWED, "only allowed when the mode is ANY.")


def names_declared(view: RequestView, state: ServerState) -> None:
    """A function that is named is there."""
    for name in array(calling(view.body).get("allowedFunctionNames")):
        if view.tools and name not in view.tool_names:
            raise _wrong("tools", _ALLOWED, f"{name} is not in function_declarations.")


def stops_are_texts(view: RequestView, state: ServerState) -> None:
    """Stop sequences are up to five strings."""
    stops = config_of(view.body).get("stopSequences")
    if stops is None:
        return
    if not all(isinstance(one, str) for one in array(stops)) or not isinstance(stops, list):
        raise _invalid("parameter", "generation_config.stop_sequences", "TYPE_STRING")
    if (count := len(array(stops))) > _MOST:
        words = f"the number of stop sequences must be at most {_MOST}, but got {count}."
        raise _wrong("parameter", "generation_config.stop_sequences", words)


def form_known(view: RequestView, state: ServerState) -> None:
    """The answer is of a type that can be made."""
    kind = config_of(view.body).get("responseMimeType")
    if kind is not None and kind not in _TYPES:
        raise _wrong(
            "parameter",
            "generation_config.response_mime_type",
            "allowed mimetypes are `text/plain`, `application/json`, `application/xml`, "
            "`application/yaml` and `text/x.enum`.",
        )


def schema_is_json(view: RequestView, state: ServerState) -> None:
    """A schema is one for JSON."""
    config = config_of(view.body)
    schema = config.get("responseJsonSchema")
    if schema is not None and config.get("responseMimeType") != "application/json":
        words = "only allowed when response_mime_type is `application/json`."
        raise _wrong("parameter", "generation_config.response_schema", words)


def form_without_functions(view: RequestView, state: ServerState) -> None:
    """Models before the third generation call, or answer in JSON."""
    old = view.model.startswith(("gemini-1", "gemini-2", "sim-gemini-25"))
    if (
        old
        and view.tools
        and text(config_of(view.body).get("responseMimeType")) == "application/json"
    ):
        raise RequestRefused(
            "parameter",
            "Function calling with a response mime type: 'application/json' is unsupported",
        )
