"""Anthropic batches: Message Batches, ``/v1/messages/batches``.

They carry no word of ours but the ids of their requests, and these are told with the results. So a
batch whose answer was lost is looked for by its time and size, and known when it is over.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from studio.domain.jsonvalue import Json, JsonObject, as_count, as_object, as_objects, as_text
from studio.providers.base import Request
from studio.providers.batch import LISTED, BatchAnswer, Batches, BatchState, folded

from .stream import AnthropicAccumulator

CLOCKS = 300.0
"""Seconds by which the clocks of this computer and the provider may differ."""
PATH = "/v1/messages/batches"


class AnthropicBatches(Batches):
    """``fault`` makes an error of the object of one that failed."""

    # "limited to either 100,000 Message requests or 256 MB in size": Anthropic's page "Batch
    # processing".
    most_requests = 100_000
    most_bytes = 256_000_000
    version = ""
    """Of the API."""

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.errors.key}", "anthropic-version": self.version}

    def line(self, id: str, request: Request) -> JsonObject:
        body = self.body_of(request)
        del body["stream"]
        return {"custom_id": id, "params": body}

    async def send(self, key: str, model: str, lines: Sequence[bytes]) -> str:
        body = b'{"requests":[' + b",".join(lines) + b"]}"
        return as_text((await self.ask(PATH, body)).get("id"))

    async def find(self, key: str, count: int, began: float, others: set[str]) -> str | None:
        after, undecided = "", False
        for _ in range(LISTED):
            page = await self.ask(f"{PATH}?limit=100" + (f"&after_id={after}" if after else ""))
            for one in as_objects(page.get("data")):
                remote, counts = as_text(one.get("id")), as_object(one.get("request_counts"))
                if _time(one.get("created_at")) < began - CLOCKS:
                    return None if undecided else ""
                if remote in others or sum(as_count(value) for value in counts.values()) != count:
                    continue
                if one.get("processing_status") != "ended":
                    undecided = True
                elif await self._has(remote, key):
                    return remote
            after = as_text(page.get("last_id"))
            if page.get("has_more") is not True or not after:
                break
        return None if undecided else ""

    async def _has(self, remote: str, key: str) -> bool:
        """Whether the ids of a batch that is over begin with a key."""
        async for one in self.lines_of(f"{PATH}/{remote}/results"):
            return as_text(one.get("custom_id")).startswith(f"{key}-")
        return False

    async def state(self, remote: str) -> BatchState:
        found = await self.ask(f"{PATH}/{remote}")
        return BatchState(found.get("processing_status") == "ended")

    async def answers(self, remote: str) -> AsyncIterator[BatchAnswer]:
        async for one in self.lines_of(f"{PATH}/{remote}/results"):
            id, result = as_text(one.get("custom_id")), as_object(one.get("result"))
            match result.get("type"):
                case "succeeded":
                    message = as_object(result.get("message"))
                    accumulator = AnthropicAccumulator(self.fault)
                    yield BatchAnswer(id, *folded(accumulator, _events(message)))
                case "errored":
                    yield BatchAnswer(id, error=self.fault(as_object(result.get("error"))))
                case _:
                    yield BatchAnswer(id)

    async def cancel(self, remote: str) -> None:
        await self.ask(f"{PATH}/{remote}/cancel", b"")


def _events(message: JsonObject) -> list[JsonObject]:
    """The events that would have streamed a whole message."""
    events: list[JsonObject] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(as_objects(message.get("content"))):
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events.append({"type": "content_block_stop", "index": index})
    told = ("stop_reason", "stop_sequence", "stop_details")
    delta: JsonObject = {name: message.get(name) for name in told}
    events.append({"type": "message_delta", "delta": delta, "usage": message.get("usage")})
    return [*events, {"type": "message_stop"}]


def _time(text: Json) -> float:
    """Seconds since the epoch; those of now for a time that cannot be read."""
    try:
        return datetime.fromisoformat(as_text(text)).timestamp()
    except ValueError:
        return time.time()
