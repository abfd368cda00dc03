"""Tool arguments: parses a call's arguments from the text that a model wrote (L-6).

Models stream arguments as pieces of JSON; only a complete text comes here. What
is not JSON gets one deterministic repair: trailing commas, single quotes,
missing closing brackets, code fences. What still is no object is for the model
to send again.
"""

from __future__ import annotations

import json
from typing import NoReturn, cast

from studio.domain.jsonvalue import JsonObject, is_clean_json

REPAIR_LIMIT = 20_000
"""Characters. The repair's time grows with the square of the length."""


def parse_arguments(raw: str) -> JsonObject | None:
    """The object that ``raw`` stands for; None if it cannot be read as one.

    An empty text is an empty object: that is how a call without arguments
    arrives. The result can always be written as JSON in UTF-8.
    """
    text = raw.strip()
    if not text:
        return {}
    try:
        value: object = json.loads(text, parse_constant=reject_constant)
    except (ValueError, RecursionError):
        value = _repaired(text)
    if not isinstance(value, dict):
        return None
    found = cast("JsonObject", value)
    return found if is_clean_json(found) else None


def is_whole_object(raw: str) -> bool:
    """Whether a text is one finished JSON object as it stands, unrepaired."""
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def _repaired(text: str) -> object:
    if len(text) > REPAIR_LIMIT or _ends_inside_a_string(text):
        return None
    import json_repair

    try:
        return json_repair.repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None


def _ends_inside_a_string(text: str) -> bool:
    """Whether a string lost its end: guessing one would run half of what was meant."""
    quote = '"' if '"' in text else "'"
    return text.replace("\\\\", "").replace(f"\\{quote}", "").count(quote) % 2 == 1


def reject_constant(constant: str) -> NoReturn:
    """For ``parse_constant``: ``NaN`` and ``Infinity`` are what Python reads beside JSON."""
    raise ValueError(f"{constant} is not JSON")
