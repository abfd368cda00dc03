"""Structured output: describes a JSON schema to the model, and parses the answer."""

from __future__ import annotations

import json
import re
from typing import cast

from studio.agent.prompts import ANSWER_IN_WORDS, ANSWER_JSON, ANSWER_SCHEMA
from studio.domain.jsonvalue import Json, JsonObject
from studio.tools.sdk.argument_check import violations

MAX_CORRECTIONS = 2
"""How often an answer that does not fit its schema is requested again."""
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```", re.S)


def schema_instruction(schema: JsonObject | None) -> str:
    """The schema as an instruction, because some providers do not enforce schemas."""
    if schema is None:
        return ANSWER_IN_WORDS
    if not schema:
        return ANSWER_JSON
    return ANSWER_SCHEMA.format(schema=json.dumps(schema, ensure_ascii=False))


def strip_code_fence(text: str) -> str:
    """The text without whitespace and without the code fence that some models add to JSON."""
    inside = _FENCED.fullmatch(text.strip())
    return inside[1] if inside else text.strip()


def parse_answer(text: str, schema: JsonObject) -> Json:
    """Parse an answer; the text of ValueError tells the model why it does not fit.

    A code fence or whitespace around it is accepted. Patterns are not checked, because a
    client's pattern may take without end; nor is a schema with a pattern behind a reference,
    or one that takes too long. Slow for long texts: call it in a thread.
    """
    try:
        value = cast("Json", json.loads(strip_code_fence(text), parse_constant=_refuse))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON ({error})") from error
    if not schema:
        if not isinstance(value, dict):
            raise ValueError("it is not a JSON object")
    elif wrong := violations(cast("JsonObject", _without_patterns(schema)), value, foreign=True):
        raise ValueError("; ".join(wrong))
    return value


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is no JSON")


def _without_patterns(schema: Json) -> Json:
    if isinstance(schema, list):
        return [_without_patterns(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept: JsonObject = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, dict):  # these keys are names
            kept[key] = {name: _without_patterns(one) for name, one in value.items()}
        elif key in ("const", "enum", "default", "examples"):
            kept[key] = value
        elif key not in ("pattern", "patternProperties"):
            kept[key] = _without_patterns(value)
    return kept
