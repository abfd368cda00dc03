"""What an adapter's own work costs beyond reading the raw stream.

    python benchmarks/adapters.py [rounds]

One answer (a thought, a long text, two calls) is streamed by the simulator, in
a process of its own and over real HTTP, in each of the five protocols. Ours is
the adapter: events folded to a native history, deltas for the window. Raw is
the vendor's SDK giving its own events; where no SDK is used, the HTTP client
reading lines and ``json`` parsing each. Both take turns in one process, on the
same connections; CPU is that process's.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from measure import Row, quick, show

from studio.domain.messages import Text
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Provider, Request
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai_chat.adapter import CompatibleProvider

Raw = Callable[[], Awaitable[int]]

GOAL = "<= 1.3 x"
KEY = "sk-benchmark"
MODEL = "sim-model"
WORDS = "The retry loop waits for a clock that may step back, so we measure with another. "
APIS = ("anthropic", "responses", "gemini", "chat", "ollama")


async def serve() -> None:
    from studio.simulator import Call, Simulator, Think, Turn
    from studio.simulator import Text as Say

    calls = [Call("read_file", {"path": f"{n}.txt", "words": WORDS * 3}) for n in range(2)]
    answer = Turn(Think(WORDS * 10), Say(WORDS * 200), *calls)
    async with Simulator(lambda _: answer, strict=False, pace=False) as server:
        print(json.dumps({name: server.url(name) for name in APIS}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def ours(api: str, url: str, http: Http) -> Provider:
    match api:
        case "anthropic":
            return AnthropicProvider(KEY, url, http)
        case "responses":
            return OpenAIProvider(KEY, url, http)
        case "gemini":
            return GeminiProvider(KEY, url, http)
        case "chat":
            return CompatibleProvider(KEY, url, http)
        case _:
            return OllamaProvider(KEY, url, http)


async def through_ours(provider: Provider) -> None:
    stream = provider.stream(Request(MODEL, provider.user_items([Text("Go")])))
    async for _ in stream:
        pass
    if len(stream.reply().calls) != 2:
        raise SystemExit("the answer is not what was sent")
    await stream.aclose()


def raw_anthropic(url: str, client: Any) -> Raw:
    from anthropic import AsyncAnthropic

    sdk = AsyncAnthropic(api_key=KEY, base_url=url, http_client=client, max_retries=0)

    async def read() -> int:
        said: Any = [{"role": "user", "content": "Go"}]
        stream = await sdk.messages.create(
            model=MODEL, max_tokens=9_000, messages=said, stream=True
        )
        return await counted(stream)

    return read


def raw_responses(url: str, client: Any) -> Raw:
    from openai import AsyncOpenAI

    sdk = AsyncOpenAI(api_key=KEY, base_url=url, http_client=client, max_retries=0)

    async def read() -> int:
        stream = await sdk.responses.create(model=MODEL, input="Go", store=False, stream=True)
        return await counted(stream)

    return read


def raw_gemini(url: str, client: Any) -> Raw:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=url, api_version="v1beta", httpx_async_client=client)
    sdk = genai.Client(api_key=KEY, enterprise=False, http_options=options)

    async def read() -> int:
        return await counted(
            await sdk.aio.models.generate_content_stream(model=MODEL, contents="Go")
        )

    return read


async def counted(stream: Any) -> int:
    count = 0
    async for _ in stream:
        count += 1
    return count


def raw_lines(address: str, client: Any) -> Raw:
    """Lines of the body and ``json``, and nothing else."""
    said = [{"role": "user", "content": "Go"}]
    body = {"model": MODEL, "messages": said, "stream": True}
    headers = {"authorization": f"Bearer {KEY}"}

    async def read() -> int:
        count = 0
        async with client.stream("POST", address, json=body, headers=headers) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                text = line.removeprefix("data:")
                if text and text != " [DONE]":
                    json.loads(text)
                    count += 1
        return count

    return read


async def raw(api: str, url: str, http: Http) -> tuple[Raw, str]:
    client = await http.client()
    match api:
        case "anthropic":
            return raw_anthropic(url, client), "anthropic SDK"
        case "responses":
            return raw_responses(url, client), "openai SDK"
        case "gemini":
            return raw_gemini(url, client), "google-genai SDK"
        case "chat":
            return raw_lines(f"{url}/chat/completions", client), "httpx2 lines, json"
        case _:
            return raw_lines(f"{url}/api/chat", client), "httpx2 lines, json"


async def compare(api: str, url: str, rounds: int) -> Row:
    http = Http()
    provider = ours(api, url, http)
    read, against = await raw(api, url, http)
    used: dict[str, list[float]] = {"ours": [], "raw": []}
    events = await read()
    await through_ours(provider)
    for _ in range(rounds):
        for name, run in (("ours", lambda: through_ours(provider)), ("raw", read)):
            gc.collect()
            began = time.process_time()
            await run()
            used[name].append((time.process_time() - began) / events * 1_000_000)
    await http.aclose()
    # The least of many: what else runs on the computer only adds.
    mine, other = min(used["ours"]), min(used["raw"])
    return Row(f"{api}: 1,000 streamed events, CPU", mine, other, "ms", GOAL, against)


def rows(rounds: int) -> list[Row]:
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server:
        assert server.stdout is not None
        urls: dict[str, str] = json.loads(server.stdout.readline())
        return [asyncio.run(compare(name, urls[name], rounds)) for name in APIS]


def main() -> None:
    if "--serve" in sys.argv:
        asyncio.run(serve())
        return
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(rows(counts[0] if counts else 5 if quick() else 15))


if __name__ == "__main__":
    main()
