"""Checks that OpenAI's two APIs share: parameters by model, pictures, tool choice and format."""

from __future__ import annotations

import re

from studio.simulator import media, schemas
from studio.simulator.json_read import Body, obj, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import RequestRefused

_REASONS = re.compile(r"o\d|gpt-5|sim-reasoning")
_PLAIN = re.compile(r"gpt-(3\.5|4)")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LIMIT = 20 * 1024 * 1024
_CHOICES = ("none", "auto", "required")
_FORMS = ("json_object", "json_schema", "text")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def reasons(model: str) -> bool:
    """Whether the model reasons, and so takes no sampling."""
    return _REASONS.match(model) is not None


def check_effort(view: RequestView, effort: object, param: str) -> None:
    """Raises Refused for a level nobody knows, or for any with a model that does not reason."""
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
    """Raises Refused for a temperature out of range, or for one that a reasoning model is sent."""
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
    kind, data = media.data_url(url)
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
    if kind not in media.IMAGES or media.sniffed(data) not in ("", *media.IMAGES):
        return (
            "You uploaded an unsupported image. Please make sure your image has of one the "
            "following formats: ['png', 'jpeg', 'gif', 'webp'].",
            "invalid_image_format",
        )
    if len(data) > _LIMIT:
        return "The image at '{}' is larger than 20 MB.", "image_too_large"
    return None


def refuse(message: str, param: str, code: str | None = None) -> RequestRefused:
    """A refusal in OpenAI's form."""
    return RequestRefused("parameter", message, param=param, code=code)


def _quoted(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names[:-1]) + f", and '{names[-1]}'"


def check_choice_known(view: RequestView) -> None:
    """Raises Refused for a word that is no choice."""
    choice = view.body.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        raise refuse(
            f"Invalid value: '{choice}'. Supported values are: {_quoted(_CHOICES)}.",
            "tool_choice",
            "invalid_value",
        )


def check_choice(view: RequestView, name: object) -> None:
    """Raises Refused for a choice among no tools, or for a tool that is not there.

    ``name`` is the function that has to be called, None for none of that kind.
    """
    choice = view.body.get("tool_choice")
    if choice is not None and not view.body.get("tools"):
        raise refuse(
            "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are "
            "specified.",
            "tool_choice",
        )
    if obj(choice).get("type") == "function" and name not in view.tool_names:
        raise refuse("Tool choice 'function' not found in 'tools' parameter.", "tool_choice")


def check_top_p(view: RequestView) -> None:
    """Raises Refused for a share that is none, or for any with a model that reasons."""
    value = view.body.get("top_p")
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refuse(
            "Invalid type for 'top_p': expected a decimal, but got something else instead.",
            "top_p",
            "invalid_type",
        )
    if not 0 <= value <= 1:
        side = "above maximum" if value > 1 else "below minimum"
        sign = "<= 1" if value > 1 else ">= 0"
        raise refuse(
            f"Invalid 'top_p': decimal {side} value. Expected a value {sign}, but got {value} "
            "instead.",
            "top_p",
            f"decimal_{side.replace('imum', '').replace(' ', '_')}_value",
        )
    effort = view.body.get("reasoning_effort") or obj(view.body.get("reasoning")).get("effort")
    if reasons(view.model) and effort != "none":
        raise refuse(
            "Unsupported parameter: 'top_p' is not supported with this model.",
            "top_p",
            "unsupported_parameter",
        )


def check_form_known(form: Body, place: str) -> None:
    """Raises Refused for a form of answers that nobody knows."""
    if form and form.get("type") not in _FORMS:
        raise refuse(
            f"Invalid value: '{form.get('type')}'. Supported values are: {_quoted(_FORMS)}.",
            f"{place}.type",
            "invalid_value",
        )


def check_schema_named(form: Body, schema: Body, place: str) -> None:
    """Raises Refused where a schema lacks its plain name."""
    if form.get("type") != "json_schema":
        return
    if "name" not in schema:
        raise refuse(
            f"Missing required parameter: '{place}.name'.",
            f"{place}.name",
            "missing_required_parameter",
        )
    if not _NAME.fullmatch(text(schema["name"])):
        raise refuse(
            f"Invalid '{place}.name': string does not match pattern. Expected a string that "
            "matches the pattern '^[a-zA-Z0-9_-]+$'.",
            f"{place}.name",
            "invalid_value",
        )


def check_schema(form: Body, schema: Body, place: str) -> None:
    """Raises Refused for a schema of no object, or one that strict mode does not take."""
    if form.get("type") != "json_schema":
        return
    begin = f"Invalid schema for response_format '{text(schema.get('name'))}': "
    kind = obj(schema.get("schema")).get("type")
    if kind != "object":
        raise refuse(
            f"{begin}schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'.",
            place,
            "invalid_json_schema",
        )
    if schema.get("strict") and (wrong := schemas.not_strict(schema.get("schema"))):
        raise refuse(f"{begin}In context=(), {wrong}", place, "invalid_json_schema")
