"""Server-sent events and JSON lines: posts JSON over the shared client and reads the stream.

Tolerant where servers differ (comments, line ends, a missing last newline, a
whole JSON body in place of a stream), strict where it matters: a page that is
not this protocol is an error, and half an object at the end is never data.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, cast

from studio.domain.errors import ProviderError, ProviderFault
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.records import dataclass

from .errors import ErrorFactory, error_message, fault_of_status, is_too_long
from .http import Http

if TYPE_CHECKING:
    import httpx2

DONE: JsonObject = {"[DONE]": True}
"""Stands for the ``[DONE]`` line that ends a Chat Completions stream."""

_STRICT = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
"""``json.dumps`` makes a new one for each text."""

BODY_LIMIT = 16 * 1024 * 1024
"""Bytes of one line or body that we are ready to hold."""


class InvalidResponse(ValueError):
    """What came is not this protocol; a stream's ``translate`` makes it a ProviderError."""


@dataclass(frozen=True, slots=True)
class _Head:
    """What all requests to one address begin with."""

    url: httpx2.URL
    headers: httpx2.Headers
    extensions: Mapping[str, Any]


class Endpoint:
    """One server: sends JSON with the key, answers with chunks or an object.

    ``judge`` returns the fault that an error object of this protocol means, or None.
    """

    def __init__(
        self,
        errors: ErrorFactory,
        http: Http,
        judge: Callable[[object], ProviderFault | None],
    ) -> None:
        self.errors = errors
        self._http = http
        self._judge = judge
        self._url = errors.base_url.rstrip("/")
        self._heads: dict[str, _Head] = {}
        """What requests begin with, by their paths: to put one together takes as long as to send
        it."""

    async def prepare(self) -> None:
        """Make the client, which takes a while the first time."""
        await self._http.client()

    async def stream(
        self, stack: AsyncExitStack, path: str, body: JsonObject, *, model: str = ""
    ) -> AsyncIterator[bytes]:
        """Post and return the answer's body as it comes; ``stack`` hangs up.

        Raises ProviderError for any status that is not a success.
        """
        client = await self._http.client()
        try:
            content = _STRICT.encode(body).encode()
        except (ValueError, RecursionError) as error:
            raise self.errors.error("bad_history") from error
        response = await client.send(self._request(client, path, content), stream=True)
        stack.push_async_callback(response.aclose)
        if not response.is_success:
            raise self._refusal(
                response.status_code, await response.aread(), response.headers, model
            )
        return response.aiter_raw()  # ``limit_answer`` has unpacked it

    def _request(self, client: httpx2.AsyncClient, path: str, content: bytes) -> httpx2.Request:
        """A POST of JSON, as the client builds it; only its length is another each time."""
        if client.cookies or path not in self._heads:
            headers = {"content-type": "application/json", **self._authorization()}
            built = client.build_request("POST", self._url + path, content=content, headers=headers)
            if not client.cookies:
                self._heads[path] = _Head(built.url, built.headers.copy(), built.extensions)
            return built
        from httpx2 import ByteStream, Request  # the client has imported it

        head = self._heads[path]
        body, more = ByteStream(content), head.extensions
        request = Request("POST", head.url, headers=head.headers, stream=body, extensions=more)
        request.headers["Content-Length"] = str(len(content))
        request.read()  # it is here, and sent with the head
        return request

    async def get(self, path: str) -> JsonObject:
        """One JSON object; raises ProviderError whatever goes wrong."""
        try:
            client = await self._http.client()
            response = await client.get(self._url + path, headers=self._authorization())
            if not response.is_success:
                raise self._refusal(response.status_code, response.content, response.headers, "")
            return parse_object(response.content)
        except ProviderError:
            raise
        except Exception as error:
            raise self.errors.from_exception(error) from error

    async def delete(self, path: str, body: JsonObject, *, model: str = "") -> None:
        """Raises ProviderError whatever goes wrong."""
        try:
            client = await self._http.client()
            url, headers = self._url + path, self._authorization()
            response = await client.request("DELETE", url, json=body, headers=headers)
            if not response.is_success:
                content, status = response.content, response.status_code
                raise self._refusal(status, content, response.headers, model)
        except ProviderError:
            raise
        except Exception as error:
            raise self.errors.from_exception(error) from error

    def fault(self, error: object) -> ProviderError:
        """The error object inside a stream that began well."""
        words = error_message({"error": error})
        return self.errors.error(self._judge(error) or fault_of_message(words) or "server", words)

    def _authorization(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.errors.key}"} if self.errors.key else {}

    def _refusal(
        self, status: int, content: bytes, headers: Mapping[str, str], model: str
    ) -> ProviderError:
        body = content.decode("utf-8", "replace")
        try:
            error = parse_object(content).get("error")
        except InvalidResponse:
            error = None
        fault = self._judge(error) or (
            fault_of_message(error_message(body)) if status == 400 else None
        )
        if (fault or fault_of_status(status)) == "bad_key" and not self.errors.key:
            fault = "no_key"
        return self.errors.from_response(status, body, headers, fault=fault, model=model)


def fault_of_message(words: str) -> ProviderFault | None:
    return "too_long" if is_too_long(words) else None


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[list[bytes]]:
    """Whole lines without their ends (LF or CRLF), wherever the chunks were cut.

    Comes as what each chunk completed: a hop for each line would cost more than
    its JSON. Works on bytes: a text reader would also split at the line
    separators that JSON strings may hold.
    """
    pending = bytearray()
    async for chunk in chunks:
        if len(pending) + len(chunk) > BODY_LIMIT:
            raise InvalidResponse("one line of the answer is too long")
        if b"\n" not in chunk:
            pending += chunk
            continue
        *whole, rest = (bytes(pending) + chunk if pending else chunk).split(b"\n")
        pending = bytearray(rest)
        yield [line.removesuffix(b"\r") for line in whole]
    if pending:
        yield [bytes(pending).removesuffix(b"\r")]


async def sse_batches(chunks: AsyncIterable[bytes]) -> AsyncIterator[list[JsonObject]]:
    """The JSON object of each server-sent event, as they came together; ``DONE`` for ``[DONE]``.

    A server that answers with one JSON object instead of a stream yields that.
    Raises ``InvalidResponse`` for a page or for broken JSON in a finished event;
    an unfinished last event is dropped, as it is when a line drops.
    """
    data: list[bytes] = []
    held = 0
    begun = False
    reader = lines(chunks)
    async for batch in reader:
        found: list[JsonObject] = []
        broken: InvalidResponse | None = None
        for number, line in enumerate(batch):
            if not begun and line.strip():
                line = line.removeprefix(b"\xef\xbb\xbf")
                if line.lstrip().startswith((b"<", b"{")):
                    yield [await _body([line, *batch[number + 1 :]], reader)]
                    return
                begun = True
            if line.startswith(b"data:"):
                data.append(line[6:] if line.startswith(b" ", 5) else line[5:])
                held += len(line)
                if held > BODY_LIMIT:
                    broken = InvalidResponse("one event of the answer is too long")
                    break
            elif not line and data:
                whole = b"\n".join(data)
                data.clear()
                held = 0
                try:
                    if whole:  # an event without data is none, by the standard
                        found.append(_event(whole) if whole[:1] == b"[" else parse_object(whole))
                except InvalidResponse as error:
                    broken = error
                    break
        if found:
            yield found
        if broken is not None:
            raise broken
    if data:
        try:
            last = _event(b"\n".join(data))
        except InvalidResponse:
            return
        yield [last]


async def json_batches(chunks: AsyncIterable[bytes]) -> AsyncIterator[list[JsonObject]]:
    """One object a line (NDJSON), as they came together, with the tolerance of ``sse_batches``."""
    broken: InvalidResponse | None = None
    ended = False
    async for batch in lines(chunks):
        found: list[JsonObject] = []
        for line in batch:
            if not line or line.isspace():
                continue
            ended = broken is not None
            if ended:
                break
            try:
                found.append(parse_object(line))
            except InvalidResponse as error:
                broken = error
                ended = not line.lstrip().startswith(b"{")
                if ended:
                    break  # else, if nothing follows, the connection closed within a line
        if found:
            yield found
        if ended and broken is not None:
            raise broken


async def json_lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[JsonObject]:
    """The same, one by one."""
    async for objects in json_batches(chunks):
        for one in objects:
            yield one


_scan: Callable[[str, int], tuple[Json, int]] = cast("Any", json.JSONDecoder()).scan_once


def parse_object(data: bytes) -> JsonObject:
    """A JSON object, or ``InvalidResponse``."""
    try:
        text = data.decode("utf-8", "surrogatepass")
        if not text.startswith("{"):
            text = text.removeprefix("\ufeff").lstrip()
        # Straight to the scanner: what ``json.loads`` does first takes as long again.
        value, end = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration) as error:
        raise InvalidResponse("not JSON") from error
    if end != len(text) and text[end:].strip():
        raise InvalidResponse("not JSON")
    if not isinstance(value, dict):
        raise InvalidResponse("not an object")
    return value


def _event(data: bytes) -> JsonObject:
    if data.startswith(b"[") and data.strip() == b"[DONE]":
        return DONE
    return parse_object(data)


async def read_object(chunks: AsyncIterable[bytes]) -> JsonObject:
    """The one JSON object that a body is, or ``InvalidResponse``."""
    return await _body([], lines(chunks))


async def _body(parts: list[bytes], rest: AsyncIterator[list[bytes]]) -> JsonObject:
    size = sum(map(len, parts))
    async for batch in rest:
        parts += batch
        size += sum(map(len, batch))
        if size > BODY_LIMIT:
            raise InvalidResponse("the answer is too long")
    return parse_object(b"\n".join(parts))
