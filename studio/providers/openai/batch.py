"""OpenAI batches: files of JSON lines, and ``/v1/batches`` over them."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Sequence

from studio.domain.errors import ProviderError
from studio.domain.jsonvalue import JsonObject, as_object, as_objects, as_text
from studio.domain.ledger import canonical_json
from studio.providers.base import Request
from studio.providers.batch import LISTED, BatchAnswer, Batches, BatchState, folded

from .stream import ResponsesAccumulator

ENDPOINT = "/v1/responses"
OVER = ("completed", "failed", "expired", "cancelled")
KEY = "studio_key"
"""The name under which a batch carries our key."""


class OpenAIBatches(Batches):
    # "up to 50,000 requests, and can be up to 200 MB in size": the SDK's words on input files.
    most_requests = 50_000
    most_bytes = 200_000_000

    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.errors.key}"}

    def line(self, id: str, request: Request) -> JsonObject:
        body = self.body_of(request)
        return {"custom_id": id, "method": "POST", "url": ENDPOINT, "body": body}

    async def send(self, key: str, model: str, lines: Sequence[bytes]) -> str:
        mark = uuid.uuid4().hex
        head = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
            f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{key}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        body = head.encode() + b"\n".join(lines) + f"\r\n--{mark}--\r\n".encode()
        kind = {"content-type": f"multipart/form-data; boundary={mark}"}
        try:
            file = as_text((await self.ask("/files", body, kind)).get("id"))
        except ProviderError as error:
            if error.status is None:  # a file alone is no batch
                error.status = 503
            raise
        wanted: JsonObject = {
            "input_file_id": file,
            "endpoint": ENDPOINT,
            "completion_window": "24h",
            "metadata": {KEY: key},
        }
        return as_text((await self.ask("/batches", canonical_json(wanted).encode())).get("id"))

    async def find(self, key: str, count: int, began: float, others: set[str]) -> str | None:
        after = ""
        for _ in range(LISTED):
            page = await self.ask("/batches?limit=100" + (f"&after={after}" if after else ""))
            listed = as_objects(page.get("data"))
            for one in listed:
                if as_object(one.get("metadata")).get(KEY) == key:
                    return as_text(one.get("id"))
            if page.get("has_more") is not True or not listed:
                break
            after = as_text(listed[-1].get("id"))
        return ""

    async def state(self, remote: str) -> BatchState:
        found = await self.ask(f"/batches/{remote}")
        status = as_text(found.get("status"))
        wrong = as_objects(as_object(found.get("errors")).get("data"))
        words = as_text(wrong[0].get("message")) if wrong else "The batch was not accepted."
        return BatchState(status in OVER, words if status == "failed" else "")

    async def answers(self, remote: str) -> AsyncIterator[BatchAnswer]:
        found = await self.ask(f"/batches/{remote}")
        files = [as_text(found.get(name)) for name in ("output_file_id", "error_file_id")]
        for file in filter(None, files):
            async for one in self.lines_of(f"/files/{file}/content"):
                yield self._answer(one)

    def _answer(self, line: JsonObject) -> BatchAnswer:
        id, response = as_text(line.get("custom_id")), as_object(line.get("response"))
        body = as_object(response.get("body"))
        if not response:  # it expired, or was cancelled
            return BatchAnswer(id)
        if response.get("status_code") != 200:
            return BatchAnswer(id, error=self.fault(body))
        kind = "incomplete" if body.get("status") == "incomplete" else "completed"
        event: JsonObject = {"type": f"response.{kind}", "response": body}
        try:
            reply, text = folded(ResponsesAccumulator(self._failed), [event])
        except ProviderError as error:
            return BatchAnswer(id, error=error)
        return BatchAnswer(id, reply, text)

    def _failed(self, error: object) -> ProviderError:
        return self.fault({"error": error} if isinstance(error, dict) else {})

    async def cancel(self, remote: str) -> None:
        await self.ask(f"/batches/{remote}/cancel", b"")
