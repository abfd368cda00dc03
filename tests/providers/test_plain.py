"""Requests without the SDKs are those that the SDKs send, and what is answered is judged alike."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from studio.domain.errors import ProviderError
from studio.domain.messages import Text
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.http import Http
from studio.providers.openai.adapter import OpenAIProvider
from support.provider_calls import drain, fails, request

CLOUDS: dict[str, tuple[Any, str]] = {
    "anthropic": (AnthropicProvider, "claude-sonnet-5"),
    "openai": (OpenAIProvider, "gpt-5.6"),
    "gemini": (GeminiProvider, "gemini-3-pro"),
}
ADDRESSES = ("", "http://127.0.0.1:1/house")
TELEMETRY = ("x-stainless-", "user-agent", "x-goog-api-client")
"""What SDKs tell about themselves."""
OF_NO_MEANING = ("accept", "content-length")
REFUSALS = [
    (400, {"error": {"message": "max_tokens is wrong", "type": "invalid_request_error"}}),
    (401, {"error": {"message": "no such key", "type": "authentication_error", "code": 401}}),
    (404, {"error": {"message": "model: no such model", "type": "not_found_error"}}),
    (429, {"error": {"message": "slower", "status": "RESOURCE_EXHAUSTED", "code": 429}}),
    (400, [{"error": {"message": "API key not valid.", "status": "INVALID_ARGUMENT"}}]),
    (404, "<html>Not here</html>"),
    (503, {"message": "later"}),
    (302, ""),
]


class Recorder(Http):
    """Answers each request with the same refusal, and keeps what was sent."""

    def __init__(self, status: int, body: Any, *, plain: bool) -> None:
        super().__init__()
        self.plain = plain
        self.sent: list[httpx2.Request] = []
        text = body if isinstance(body, str) else json.dumps(body)
        kind = "text/html" if isinstance(body, str) else "application/json"
        headers = {"content-type": kind, "retry-after": "7"}

        async def content() -> AsyncIterator[bytes]:
            yield text.encode()

        async def handle(asked: httpx2.Request) -> httpx2.Response:
            await asked.aread()
            self.sent.append(asked)
            return httpx2.Response(status, headers=headers, content=content())

        self._transport = httpx2.MockTransport(handle)

    def _make(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=self._transport)


def _told(asked: httpx2.Request) -> tuple[str, str, dict[str, str], Any]:
    headers = {
        name: value
        for name, value in asked.headers.items()
        if not name.startswith(TELEMETRY) and name not in OF_NO_MEANING
    }
    if asked.method == "GET":
        headers.pop("content-type", None)
    return asked.method, str(asked.url), headers, json.loads(asked.content or b"null")


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_what_is_sent_and_understood_is_the_same_without_the_sdk(
    cloud: str,
) -> None:
    """P-1: a question and the list of models, at the vendor's address and at another."""
    make, model = CLOUDS[cloud]
    for status, body in REFUSALS:
        for address in ADDRESSES if status == 400 else ADDRESSES[:1]:
            found: list[Any] = []
            for plain in (False, True):
                http = Recorder(status, body, plain=plain)
                one = make("k", address, http)
                errors = [await fails(one, model=model, effort="high")]
                with pytest.raises(ProviderError) as caught:
                    await one.models()
                errors.append(caught.value)
                told = [(e.fault, str(e), e.status, e.retry_after) for e in errors]
                found.append((told, [_told(asked) for asked in http.sent]))
                await http.aclose()
            assert found[0] == found[1]


@pytest.mark.parametrize("cloud", CLOUDS)
async def test_without_a_key_nothing_is_sent(cloud: str) -> None:
    make, model = CLOUDS[cloud]
    http = Recorder(400, "", plain=True)
    assert (await fails(make(" ", "", http), model=model)).fault == "no_key"
    assert http.sent == []


async def test_what_only_the_sdk_knows_how_to_follow_is_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A person's organisation at OpenAI, named in the environment, is named in the request."""
    monkeypatch.setenv("OPENAI_ORG_ID", "org-house")
    http = Recorder(400, "", plain=True)
    one = OpenAIProvider("k", "", http)
    with pytest.raises(ProviderError):
        await drain(one.stream(request(one.user_items([Text("Hi.")]), model="gpt-5.6")))
    assert http.sent[0].headers["openai-organization"] == "org-house"
    await http.aclose()
