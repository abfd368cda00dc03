"""Anthropic Messages: what is refused about how the answer is to be made."""

from __future__ import annotations

import re

from studio.simulator import schemas
from studio.simulator.json_read import array, obj, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import RequestRefused
from studio.simulator.state import ServerState

_CHOICES = ("auto", "any", "tool", "none")
_MODEL = re.compile(r"claude-[a-z]+-(\d+)(?:-(\d))?(?!\d)")


def _choice(view: RequestView) -> str:
    return text(obj(view.body.get("tool_choice")).get("type"))


def choice_known(view: RequestView, maker: ServerState) -> None:
    """What is said of calling tools is one of four."""
    choice = view.body.get("tool_choice")
    if choice is not None and _choice(view) not in _CHOICES:
        known = ", ".join(f"'{name}'" for name in _CHOICES)
        raise RequestRefused(
            "tools",
            f"tool_choice: Input tag '{_choice(view)}' found using 'type' does not match any of "
            f"the expected tags: {known}",
        )


def choice_of_tools(view: RequestView, maker: ServerState) -> None:
    """There is something to choose from, and the named tool is among it."""
    choice = obj(view.body.get("tool_choice"))
    if choice and not view.tools:
        raise RequestRefused("tools", "tool_choice may only be specified while providing tools.")
    if _choice(view) == "tool" and choice.get("name") not in view.tool_names:
        raise RequestRefused("tools", f"Tool '{choice.get('name')}' not found in provided tools")


def choice_free(view: RequestView, maker: ServerState) -> None:
    """Models from Claude 5.1 on cannot be made to call."""
    found = _MODEL.match(view.model)
    newest = found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 1)
    if newest and _choice(view) in ("any", "tool"):
        raise RequestRefused(
            "tools", 'tool_choice: type "tool" and "any" are not supported for this model.'
        )


def stops_are_texts(view: RequestView, maker: ServerState) -> None:
    """Stop sequences are strings of more than blanks."""
    stops = view.body.get("stop_sequences")
    if stops is None:
        return
    if not isinstance(stops, list):
        raise RequestRefused("parameter", "stop_sequences: Input should be a valid list")
    for number, stop in enumerate(array(stops)):
        if not isinstance(stop, str):
            raise RequestRefused(
                "parameter", f"stop_sequences.{number}: Input should be a valid string"
            )
        if not stop.strip():
            raise RequestRefused(
                "parameter", "stop_sequences: each stop sequence must contain non-whitespace"
            )


def one_way_of_sampling(view: RequestView, maker: ServerState) -> None:
    """Many models take a temperature or a top_p, not both."""
    if view.body.get("temperature") is not None and view.body.get("top_p") is not None:
        raise RequestRefused(
            "parameter",
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one.",
        )


def form_known(view: RequestView, maker: ServerState) -> None:
    """An answer's form is a schema."""
    form = obj(view.body.get("output_config")).get("format")
    if form is None:
        return
    if obj(form).get("type") != "json_schema":
        raise RequestRefused(
            "parameter", "output_config.format.type: Input should be 'json_schema'"
        )
    if not isinstance(obj(form).get("schema"), dict):
        raise RequestRefused("parameter", "output_config.format.schema: Field required")


def form_supported(view: RequestView, maker: ServerState) -> None:
    """Objects of a schema are closed, and it has no limits that cannot be held."""
    form = obj(obj(view.body.get("output_config")).get("format"))
    for part in schemas.parts(form.get("schema")):
        kind = text(part.get("type"))
        if schemas.has_type(part, "object") and part.get("additionalProperties") is not False:
            raise _not_held(
                "For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
        for key in part:
            if key in schemas.LIMITS and not (key == "minItems" and part[key] in (0, 1)):
                raise _not_held(f"For '{kind}' type, property '{key}' is not supported")


def _not_held(words: str) -> RequestRefused:
    return RequestRefused("schema", f"output_config.format.schema: {words}")
