"""The field reader reads a request's JSON; a wrong type is a BadRequest that names the field.

``null`` counts as a missing field, as clients expect.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeVar

from studio.domain.jsonvalue import Json, JsonObject, repair_surrogates
from studio.server.contract import BadRequest

T = TypeVar("T", bound=str)


class Fields:
    """One object of a request; ``at`` is its path: ``messages[3].content[0]``."""

    def __init__(self, values: JsonObject, at: str = "") -> None:
        self.values = values
        self.at = at

    def place(self, name: str) -> str:
        """The full name of a field: ``tools[0].name``."""
        return f"{self.at}.{name}" if self.at else name

    def wrong(self, name: str, expected: str) -> BadRequest:
        """Return the error for a field of the wrong type: ``expected`` is "a text"."""
        place = self.place(name)
        return BadRequest(f"“{place}” has to be {expected}.", param=place, code="invalid_type")

    def refused(self, name: str, why: str, code: str = "unsupported_value") -> BadRequest:
        """Return the error for a field whose type is right and whose value is not."""
        return BadRequest(why, param=self.place(name), code=code)

    def get(self, name: str) -> Json:
        return self.values.get(name)

    def text(self, name: str, default: str = "") -> str:
        """Read a text, lone surrogates replaced, since they cannot be stored or sent."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, "a text")
        return repair_surrogates(value)

    def needed(self, name: str) -> str:
        """Read a required text that may not be empty."""
        if not (value := self.text(name)):
            raise self._missing(name)
        return value

    def _missing(self, name: str) -> BadRequest:
        place = self.place(name)
        return BadRequest(f"“{place}” is missing.", param=place, code="missing_required_parameter")

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def number(self, name: str, least: float, most: float) -> float | None:
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise self.wrong(name, "a number")
        if not least <= value <= most:  # what is not a number (NaN) is nowhere between
            raise self.wrong(name, f"a number from {least:g} to {most:g}")
        return float(value)

    def count(self, name: str, least: int = 1) -> int | None:
        """A whole number; ``4096.0`` is one."""
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, float) and math.isfinite(value) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.wrong(name, f"a whole number, {least} or more")
        return value

    def one_of(self, name: str, choices: Collection[T]) -> T | None:
        value = self.values.get(name)
        if value is None:
            return None
        for choice in choices:
            if value == choice:
                return choice
        raise self.wrong(name, f"one of {', '.join(choices)}")

    def needed_one_of(self, name: str, choices: Collection[T]) -> T:
        """Read one of these texts, which is required."""
        found = self.one_of(name, choices)
        if found is None:
            raise self._missing(name)
        return found

    def inner(self, name: str) -> Fields | None:
        """The object in a field."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(value, self.place(name))

    def needed_object(self, name: str) -> Fields:
        """The object in a field, which is required."""
        found = self.inner(name)
        if found is None:
            raise self.wrong(name, "an object")
        return found

    def items(self, name: str) -> list[Json]:
        """The list in a field, empty where there is none."""
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(name, "a list")
        return value

    def texts(self, name: str) -> list[str]:
        found: list[str] = []
        for index, one in enumerate(self.items(name)):
            if not isinstance(one, str):
                raise self.wrong(f"{name}[{index}]", "a text")
            found.append(repair_surrogates(one))
        return found

    def objects(self, name: str) -> list[Fields]:
        found: list[Fields] = []
        for index, one in enumerate(self.items(name)):
            at = f"{name}[{index}]"
            if not isinstance(one, dict):
                raise self.wrong(at, "an object")
            found.append(Fields(one, self.place(at)))
        return found
