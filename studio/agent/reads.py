"""Results of reading tools, kept for the rest of the turn until something is written (L-9)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from studio.domain.messages import ToolCall
from studio.domain.tools import ToolSpec
from studio.tools import Result

from .stall import same


class Reads:
    """Of one turn."""

    def __init__(self) -> None:
        self._kept: dict[str, Result] = {}
        self._writing = 0
        self._age = 0

    @property
    def age(self) -> int:
        """Grows with every write: what was begun at another age is not kept."""
        return self._age

    def get(self, spec: ToolSpec, call: ToolCall) -> Result | None:
        return self._kept.get(same(call)) if _reads(spec) else None

    def keep(self, spec: ToolSpec, call: ToolCall, result: Result, age: int) -> None:
        """``age`` is what it was when the tool began."""
        if _reads(spec) and age == self._age and not self._writing and not result.is_error:
            self._kept[same(call)] = result

    @contextmanager
    def around(self, spec: ToolSpec) -> Generator[None]:
        """A call of the tool goes on: what it writes makes older results worthless."""
        if _reads(spec):
            yield
            return
        self._writing += 1
        self.forget()
        try:
            yield
        finally:
            self._writing -= 1
            self.forget()

    def forget(self) -> None:
        """Something was written, by whomever."""
        self._age += 1
        self._kept.clear()


def _reads(spec: ToolSpec) -> bool:
    return spec.effect in ("read", "fetch") and spec.steady
