"""Gemini batches: ``models/NAME:batchGenerateContent``, with requests inline or in a file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from urllib.parse import quote

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text
from studio.domain.ledger import canonical_json
from studio.providers.base import Request
from studio.providers.batch import LISTED, BatchAnswer, Batches, BatchState, folded

from .stream import GeminiAccumulator

VERSION = "v1beta"
OVER = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")


class GeminiBatches(Batches):
    # "a maximum file size of 2 GB" and, for requests that are sent inline, "under 20MB": Google's
    # page "Batch API". It names no number of requests.
    most_requests = 100_000
    most_bytes = 1_000_000_000
    most_inline = 5_000_000
    """Bytes of requests that are sent with the batch, and answered with it. More are a file."""

    @staticmethod
    def path_of(model: str) -> str:
        """``models/NAME``; tuned models and publishers bring their own folder."""
        return quote(model if "/" in model else f"models/{model}", safe="/@-._")

    def headers(self) -> dict[str, str]:
        return {"x-goog-api-key": self.errors.key}

    def line(self, id: str, request: Request) -> JsonObject:
        return {"key": id, "request": self.body_of(request)}

    async def send(self, key: str, model: str, lines: Sequence[bytes]) -> str:
        if sum(map(len, lines)) <= self.most_inline:
            requests = b",".join(map(_inline, lines))
            given = b'{"requests":{"requests":[' + requests + b"]}}"
        else:
            file = await self._upload(key, b"\n".join(lines))
            given = canonical_json({"fileName": file}).encode()
        body = b'{"batch":{"displayName":"' + key.encode() + b'","inputConfig":' + given + b"}}"
        path = f"/{VERSION}/{self.path_of(model)}:batchGenerateContent"
        return as_text((await self.ask(path, body)).get("name"))

    async def _upload(self, key: str, data: bytes) -> str:
        start = {
            "x-goog-upload-protocol": "resumable",
            "x-goog-upload-command": "start",
            "x-goog-upload-header-content-length": str(len(data)),
            "x-goog-upload-header-content-type": "application/jsonl",
        }
        about = canonical_json({"file": {"displayName": key}}).encode()
        try:
            async with aclosing(await self.open(f"/upload/{VERSION}/files", about, start)) as found:
                url = found.headers.get("x-goog-upload-url", "")
        except Exception as error:
            raise self.translate(error) from error
        if not url:
            raise self.errors.error("protocol", status=502)
        rest = {"x-goog-upload-command": "upload, finalize", "x-goog-upload-offset": "0"}
        uploaded = await self.ask(url, data, rest)
        return as_text(as_object(uploaded.get("file")).get("name"))

    async def find(self, key: str, count: int, began: float, others: set[str]) -> str | None:
        token = ""
        for _ in range(LISTED):
            more = f"&pageToken={quote(token)}" if token else ""
            page = await self.ask(f"/{VERSION}/batches?pageSize=100{more}")
            for one in as_objects(page.get("operations")):
                if as_object(one.get("metadata")).get("displayName") == key:
                    return as_text(one.get("name"))
            token = as_text(page.get("nextPageToken"))
            if not token:
                break
        return ""

    async def _found(self, remote: str) -> tuple[JsonObject, JsonObject, str]:
        """A batch, what came of it, and its state."""
        found = await self.ask(f"/{VERSION}/{remote}")
        about = as_object(found.get("metadata"))
        made = as_object(about.get("output")) or as_object(found.get("response"))
        return found, made, as_text(about.get("state")).rpartition("_")[2]

    async def state(self, remote: str) -> BatchState:
        found, _, state = await self._found(remote)
        words = as_text(as_object(found.get("error")).get("message"))
        failed = words or "The batch was not accepted." if state == "FAILED" else ""
        return BatchState(state in OVER, failed)

    async def answers(self, remote: str) -> AsyncIterator[BatchAnswer]:
        _, made, _ = await self._found(remote)
        if file := as_text(made.get("responsesFile")):
            async for one in self.lines_of(f"/{VERSION}/{file}:download?alt=media"):
                yield self._answer(as_text(one.get("key")), one)
        inline = as_object(made.get("inlinedResponses"))
        for one in as_objects(inline.get("inlinedResponses")):
            yield self._answer(as_text(as_object(one.get("metadata")).get("key")), one)

    def _answer(self, id: str, one: JsonObject) -> BatchAnswer:
        response = as_object(one.get("response"))
        if error := as_object(one.get("error")):
            if error.get("code") in (1, 4, "CANCELLED", "DEADLINE_EXCEEDED"):
                return BatchAnswer(id)
            return BatchAnswer(id, error=self.fault({"error": error}))
        if not response:
            return BatchAnswer(id)
        return BatchAnswer(id, *folded(GeminiAccumulator((), self.fault), [response]))

    async def cancel(self, remote: str) -> None:
        await self.ask(f"/{VERSION}/{remote}:cancel", b"")


def _inline(line: bytes) -> bytes:
    """A line of a file as it stands in a batch itself: the key is its metadata there."""
    found: dict[str, Json] = json.loads(line)
    body: JsonObject = {"request": found["request"], "metadata": {"key": found["key"]}}
    return canonical_json(body).encode()
