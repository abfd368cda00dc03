"""Models: describes what a model can do, what it used, and the options of a generation."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Literal, TypeAlias, get_args

from studio.domain.records import dataclass

from .jsonvalue import JsonObject

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model thinks before it answers, least first; each adapter translates it to
its provider's option."""
EFFORTS: tuple[Effort, ...] = get_args(Effort)


def nearest_effort(wanted: Effort, efforts: Collection[Effort]) -> Effort:
    """The closest of these efforts to the wanted one, the lower of two equally close ones.

    ``efforts`` may not be empty. "none" is returned only if it is wanted, or if it is the
    only one.
    """
    choice: list[Effort] = [effort for effort in EFFORTS if effort in efforts]
    if wanted != "none" and len(choice) > 1:
        choice = [effort for effort in choice if effort != "none"]
    at = EFFORTS.index(wanted)
    return min(choice, key=lambda effort: abs(EFFORTS.index(effort) - at))


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """Facts about one model; None if unknown (P-5: models without facts work).

    ``context_window`` and ``output_limit`` are in tokens, prices in US dollars
    per million tokens. ``images`` and ``documents`` (PDF) say what it can read,
    ``sampling`` whether it takes a temperature, ``efforts`` which of ``EFFORTS``
    it takes; they are empty for a model that does not think. ``lifecycle`` is the provider's
    word (``active``, ``deprecated``), ``retires`` a date, ``2027-01-31``.
    ``source`` says where the facts come from: fetched from the provider, built into the
    program, or set by the person.
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

    ``input`` counts all tokens sent, including cached ones; ``cache_read`` and
    ``cache_write`` are the parts of it that were read from and written to the provider's
    cache. ``output`` includes ``reasoning``. Adapters convert their provider's counts.
    """

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.output + other.output,
            self.reasoning + other.reasoning,
        )

    @property
    def total(self) -> int:
        return self.input + self.output


NO_USAGE = Usage()

ToolChoice: TypeAlias = Literal["auto", "none", "required"]
"""Whether a model may, may not or must call tools."""


@dataclass(frozen=True, slots=True)
class Generation:
    """Options of the answers of a turn; without an option the model's default applies.

    ``output_limit`` is in tokens. ``stop`` lists texts at which an answer ends. ``only``
    names the one tool that has to be called; it and the ``choice`` "required" apply to the
    first request of a turn only, otherwise no turn would end. ``schema`` is the JSON schema
    of the answer, ``{}`` for any JSON object; unless ``corrected`` is off, an answer that does
    not fit it is asked for again. Without ``parallel`` a reply may have one call;
    if a model makes more, only one is handed over. ``calls`` is the highest number of calls
    of the agent's own tools in a turn. ``seed`` and the penalties for tokens that came before
    reach the servers that know them. An adapter leaves out options that a model refuses.
    """

    output_limit: int | None = None
    effort: Effort | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    choice: ToolChoice = "auto"
    only: str = ""
    schema: JsonObject | None = field(default=None, hash=False)
    corrected: bool = True
    parallel: bool = True
    calls: int | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None


DEFAULT_GENERATION = Generation()


StopReason: TypeAlias = Literal[
    "end", "tool_use", "max_tokens", "refusal", "pause", "context_full", "content_filter", "other"
]
"""Why a reply ended, the same for all providers; tools run only on ``tool_use``."""
