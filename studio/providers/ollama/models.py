"""Ollama models: read a model's details and a download's progress, and choose the context size."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable

from studio.domain.jsonvalue import JsonObject, as_count, as_limit, as_object, as_text
from studio.domain.models import Effort, ModelInfo
from studio.domain.records import dataclass
from studio.providers.base import stream_ended_early
from studio.providers.computer_memory import Memory, cache_bytes, fitting_context
from studio.providers.sse import Endpoint

CONTEXT_CAP = 65_536
"""Tokens. Ollama asks for 64,000 for agents (docs/context-length); what is larger
slows down a model that shares its memory with the rest of the computer."""
CONTEXT_UNKNOWN = 8_192
"""Tokens, where the model's window is not known: room for tools and a few files."""

LEVELS: tuple[Effort, ...] = ("low", "medium", "high")

# Bits of one weight, by the first figure of a quantization's name ("Q4_K_M"): the scales
# that go with the weights are counted in.
_BITS = {"2": 3.2, "3": 3.9, "4": 4.9, "5": 5.7, "6": 6.6, "8": 8.5, "16": 16.0, "32": 32.0}


@dataclass(frozen=True, slots=True)
class ModelDetails:
    """One model, from ``/api/show``; None where it does not say.

    ``cache_bytes`` is what one token of context takes in memory, ``weights``
    what the model itself takes, both in bytes and estimated. ``thinking`` holds
    what its ``think`` may be.
    """

    context_window: int | None = None
    images: bool | None = None
    tools: bool | None = None
    thinking: tuple[bool | str, ...] = ()
    cache_bytes: int | None = None
    weights: int | None = None

    @classmethod
    def read(cls, answer: JsonObject, model: str) -> ModelDetails:
        info = as_object(answer.get("model_info"))
        details = as_object(answer.get("details"))
        family = as_text(info.get("general.architecture")) or as_text(details.get("family"))
        able = answer.get("capabilities")
        able = able if isinstance(able, list) else None
        return cls(
            context_window=as_limit(info.get(f"{family}.context_length")),
            images=None if able is None else "vision" in able,
            tools=None if able is None else "tools" in able,
            thinking=_thinking(answer, family, model) if able and "thinking" in able else (),
            cache_bytes=cache_bytes(info, family),
            weights=_weights(info, details),
        )

    def think(self, effort: Effort | None) -> bool | str | None:
        """What to send as ``think``; None sends nothing, so that the model's default holds."""
        if effort is None or not self.thinking:
            return None
        if True in self.thinking:
            return effort != "none" if False in self.thinking else True
        if effort == "none" and False in self.thinking:
            return False
        # gpt-oss cannot be kept from thinking at all.
        match effort:
            case "none" | "minimal" | "low":
                wanted = "low"
            case "medium":
                wanted = "medium"
            case _:
                wanted = "max" if effort == "max" and "max" in self.thinking else "high"
        return wanted if wanted in self.thinking else None


def context_size(shown: ModelDetails, known: int | None, memory: Memory | None) -> int:
    """The context to ask for, in tokens: the model's own, as far as it fits in memory.

    ``known`` is what else is known of the model's window; ``memory`` is None
    for a model that runs on another computer.
    """
    limits = [one for one in (shown.context_window, known) if one]
    most = min([*limits, CONTEXT_CAP]) if limits else CONTEXT_UNKNOWN
    return fitting_context(most, shown.cache_bytes, shown.weights, memory)


def _thinking(answer: JsonObject, family: str, model: str) -> tuple[bool | str, ...]:
    """Newer servers list the values; older ones take a flag, for gpt-oss a level."""
    values = as_object(answer.get("thinking")).get("values")
    if isinstance(values, list):
        return tuple(value for value in values if isinstance(value, bool | str))
    if "gptoss" in family.replace("-", "") or "gpt-oss" in model:
        return LEVELS
    return (True, False)


def _weights(info: JsonObject, details: JsonObject) -> int | None:
    count = as_count(info.get("general.parameter_count"))
    if not count:
        size = re.fullmatch(
            r"(\d{1,6}(?:\.\d{0,6})?)([MB])", as_text(details.get("parameter_size")).upper()
        )
        count = int(float(size[1]) * {"M": 1e6, "B": 1e9}[size[2]]) if size else 0
    figure = re.search(r"\d+", as_text(details.get("quantization_level")))
    bits = _BITS.get(figure[0] if figure else "4", _BITS["4"])
    return int(count * bits / 8) or None


def facts_of(entry: JsonObject) -> ModelInfo | None:
    """One entry of ``/api/tags``; None for a model that does not chat."""
    identifier = entry.get("model") or entry.get("name")
    if not isinstance(identifier, str) or not identifier:
        return None
    details = as_object(entry.get("details"))
    able = entry.get("capabilities")
    length = details.get("context_length", entry.get("context_length"))
    if not isinstance(able, list):
        family = str(details.get("family") or "")
        if "embed" in identifier or "bert" in family:
            return None
        return ModelInfo(identifier)
    if "completion" not in able:
        return None
    efforts: tuple[Effort, ...] = ()
    if "thinking" in able:
        efforts = LEVELS if "gpt-oss" in identifier else ("none", "medium")
    return ModelInfo(
        identifier,
        context_window=as_limit(length),
        images="vision" in able,
        documents=False,
        tools="tools" in able,
        reasoning="thinking" in able,
        efforts=efforts,
    )


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model on Ollama's disk; ``size`` in bytes, 0 where it does not say."""

    name: str
    size: int


def stored_model(entry: JsonObject) -> StoredModel | None:
    """One entry of ``/api/tags``; None for one without a name."""
    name = as_text(entry.get("model")) or as_text(entry.get("name"))
    return StoredModel(name, as_count(entry.get("size"))) if name else None


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a download is; ``status`` is Ollama's word, ``success`` at the end.

    Both counts are in bytes, over all files known so far; ``total`` is 0 until
    the first is known.
    """

    status: str
    completed: int = 0
    total: int = 0


async def pull_progress(
    lines: AsyncIterable[JsonObject], endpoint: Endpoint
) -> AsyncGenerator[PullProgress, None]:
    """The lines of ``/api/pull``, added up.

    Raises ProviderError for an error among them and for an end without success.
    """
    files: dict[str, tuple[int, int]] = {}
    status, completed, total = "", 0, 0
    async for line in lines:
        if error := line.get("error"):
            raise endpoint.fault(error)
        status = as_text(line.get("status"))
        if digest := as_text(line.get("digest")):
            size = as_count(line.get("total"))
            done = min(as_count(line.get("completed")), size)
            before = files.get(digest, (0, 0))
            files[digest] = (done, size)
            completed += done - before[0]
            total += size - before[1]
        yield PullProgress(status, completed, total)
        if status == "success":
            return
    raise stream_ended_early(endpoint.errors.provider)
