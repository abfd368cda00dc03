"""What OpenAI's two surfaces refuse alike about how the answer is to be made."""

from __future__ import annotations

import re

from studio.simulator import schemas
from studio.simulator.json_read import Body, obj, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import RequestRefused

from . import shared_models

_CHOICES = ("none", "auto", "required")
_FORMS = ("json_object", "json_schema", "text")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


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
    if shared_models.reasons(view.model) and effort != "none":
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
