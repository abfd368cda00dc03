"""A model's download to an Ollama, as its ``/api/pull`` tells of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable
from dataclasses import dataclass

from studio.domain.jsonvalue import JsonObject

from .base import stream_ended_early
from .shapes import as_count, as_text
from .wire import Endpoint


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
    status = ""
    async for line in lines:
        if error := line.get("error"):
            raise endpoint.fault(error)
        status = as_text(line.get("status"))
        if digest := as_text(line.get("digest")):
            total = as_count(line.get("total"))
            files[digest] = (min(as_count(line.get("completed")), total), total)
        completed = sum(done for done, _ in files.values())
        total = sum(size for _, size in files.values())
        yield PullProgress(status, completed, total)
        if status == "success":
            return
    raise stream_ended_early(endpoint.border.provider)
