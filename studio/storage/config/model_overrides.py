"""Model overrides: reads the settings' facts about models, which precede all others (P-5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from studio.domain.models import EFFORTS, ModelInfo

Check: TypeAlias = Callable[[object], bool]

_MOST = 1_000_000_000  # a larger number is a mistake


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MOST


def _is_price(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < _MOST


def _are_efforts(value: object) -> bool:
    return isinstance(value, list) and all(one in EFFORTS for one in cast("list[object]", value))


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_COUNT = (_is_count, "a whole number of tokens above 0")
_PRICE = (_is_price, "a number of US dollars per million tokens, 0 or more")
_FLAG = (_is_flag, "true or false")
_FIELDS: dict[str, tuple[Check, str]] = {
    "name": (_is_text, "a text"),
    "context_window": _COUNT,
    "output_limit": _COUNT,
    "input_price": _PRICE,
    "output_price": _PRICE,
    "cache_read_price": _PRICE,
    "cache_write_price": _PRICE,
    "images": _FLAG,
    "documents": _FLAG,
    "tools": _FLAG,
    "reasoning": _FLAG,
    "sampling": _FLAG,
    "efforts": (_are_efforts, f"a list with any of {', '.join(EFFORTS)}"),
}


def read_overrides(
    entries: Mapping[str, object],
) -> tuple[dict[str, dict[str, ModelInfo]], list[str]]:
    """The entries by provider and model, and a line on each that is left out.

    ``entries`` is ``{"anthropic/claude-x": {"context_window": 200000}}``. A fact that
    is not in an entry is None.
    """
    found: dict[str, dict[str, ModelInfo]] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        provider, _, model = name.partition("/")
        try:
            if not provider or not model:
                raise ValueError("its name is not of the form provider/model")
            found.setdefault(provider, {})[model] = _facts(model, entry)
        except ValueError as error:
            problems.append(f"The entry “{name}” under models is left out: {error}.")
    return found, problems


def _facts(model: str, entry: object) -> ModelInfo:
    if not isinstance(entry, dict):
        raise ValueError("it is no group of fields")
    facts = cast("dict[str, Any]", entry)
    for field, value in facts.items():
        if field not in _FIELDS:
            raise ValueError(f"there is no field {field}. Fields are {', '.join(_FIELDS)}")
        fits, wanted = _FIELDS[field]
        if not fits(value):
            raise ValueError(f"{field} is {wanted}")
    given = {name: facts[name] for name in _FIELDS if name in facts}
    if "efforts" in given:
        given["efforts"] = tuple(effort for effort in EFFORTS if effort in given["efforts"])
    return ModelInfo(model, **given, source="yours")
