"""Models: describe what one can do, what it used and what that costs.

Providers by name.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias, get_args

from .jsonvalue import JsonObject

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model thinks before it answers, least first; each adapter says it
in its provider's words."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)


def nearest_effort(wanted: Effort, efforts: Collection[Effort]) -> Effort:
    """The one of these efforts that is closest to the wanted one, the lower of two.

    ``efforts`` may not be empty. Nothing but "none" stands for none while a
    model has any other: to think is what was asked for.
    """
    choice: list[Effort] = [effort for effort in EFFORTS if effort in efforts]
    if wanted != "none" and len(choice) > 1:
        choice = [effort for effort in choice if effort != "none"]
    at = EFFORTS.index(wanted)

    def distance(effort: Effort) -> int:
        return abs(EFFORTS.index(effort) - at)

    return min(choice, key=distance)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about one model; None where nobody knows (P-5: unknown models work).

    ``context_window`` and ``output_limit`` are in tokens, prices in US dollars
    per million tokens. ``images`` and ``documents`` (PDF) say what it can read,
    ``sampling`` whether it takes a temperature, ``efforts`` which of ``EFFORTS``
    it takes, empty for one that does not think. ``lifecycle`` is the provider's
    word (``active``, ``deprecated``), ``retires`` a date, ``2027-01-31``.
    ``source`` says where the entry comes from, so that a list can show it:
    fetched from the provider, built into the program, or the person's own.
    """

    id: str
    name: str = ""
    context_window: int | None = None
    output_limit: int | None = None
    input_price: float | None = None
    output_price: float | None = None
    images: bool | None = None
    tools: bool | None = None
    reasoning: bool | None = None
    cache_read_price: float | None = None
    cache_write_price: float | None = None
    documents: bool | None = None
    sampling: bool | None = None
    efforts: tuple[Effort, ...] | None = None
    lifecycle: str = ""
    retires: str = ""
    source: Literal["fetched", "built-in", "yours"] = "fetched"

    @property
    def title(self) -> str:
        return self.name or self.id


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more requests.

    ``input`` counts everything sent, cached tokens included; ``cache_read``
    and ``cache_write`` are the parts of it read from and written to the
    provider's cache. ``output`` includes ``reasoning``. Providers count
    differently; adapters translate to this.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(Usage)))

    @property
    def total(self) -> int:
        return self.input + self.output


NO_USAGE = Usage()

ToolChoice: TypeAlias = Literal["auto", "none", "required"]
"""Whether a model may call tools, may not, or has to."""


@dataclass(frozen=True, slots=True)
class Generation:
    """How answers are made, where somebody says so; what is not said is the model's default.

    ``output_limit`` is in tokens. ``stop`` are texts at which an answer ends.
    ``only`` names the one tool that has to be called; it and ``choice``
    "required" count for the first request of a turn, or no turn would end.
    ``schema`` is the JSON schema that the answer has to fit, ``{}`` for any
    JSON object. Without ``parallel`` a reply has one call at most; where a model
    makes more all the same, one alone is handed over. ``calls`` is how many calls
    of the agent's own tools a turn makes at most. An adapter leaves out what a model
    would refuse.
    """

    output_limit: int | None = None
    effort: Effort | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    choice: ToolChoice = "auto"
    only: str = ""
    schema: JsonObject | None = field(default=None, hash=False)
    parallel: bool = True
    calls: int | None = None


DEFAULT_GENERATION = Generation()


StopReason: TypeAlias = Literal[
    "end", "tool_use", "max_tokens", "refusal", "pause", "context_full", "content_filter", "other"
]
"""Why a reply ended, in our words; tools run only on ``tool_use``."""
