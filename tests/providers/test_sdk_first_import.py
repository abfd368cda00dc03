"""An SDK's first use leaves the event loop free: its import is a thread's work."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys

import pytest

from studio.providers.http import Http

FIRST_ANSWERS = """
import asyncio, gc, sys, threading
from studio.domain.messages import Text
from studio import simulator
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Request
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.http import Http
from studio.providers.openai.adapter import OpenAIProvider

SDKS = ("anthropic", "openai", "google", "pydantic", "httpx2", "anyio")
on_loop = []

class Watch:
    def find_spec(self, name, path=None, target=None):
        main = threading.current_thread() is threading.main_thread()
        if main and name.partition(".")[0] in SDKS:
            on_loop.append(name)

async def main():
    script = [simulator.Turn(simulator.Text("Hello."))] * 3
    async with simulator.Simulator(script, pace=False) as sim:
        http = Http()
        sys.meta_path.insert(0, Watch())
        for make, api, model in (
            (AnthropicProvider, "anthropic", "sim-preserved-1"),
            (OpenAIProvider, "responses", "gpt-5.6"),
            (GeminiProvider, "gemini", "sim-gemini-3"),
        ):
            provider = make("sk-test", sim.url(api), http)
            stream = provider.stream(Request(model, provider.user_items([Text("Hi")]), ""))
            said = [delta.text async for delta in stream]
            assert "".join(said) == "Hello.", said
        await http.aclose()

asyncio.run(main())
assert gc.isenabled() and gc.get_freeze_count() > 100_000
assert not on_loop, on_loop
"""


async def test_no_sdk_is_imported_on_the_event_loop() -> None:
    """Goal: the window does not stand still for the first request."""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", FIRST_ANSWERS], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


IMPORTS_SIDE_BY_SIDE = """
import asyncio, sys, threading
from itertools import groupby
from studio.domain.models import Usage
from studio.providers.http import Http
from studio.providers.pricing import request_cost

threads = []
begun = threading.Event()

class Watch:
    def find_spec(self, name, path=None, target=None):
        threads.append(threading.get_ident())

def sdk():
    begun.set()
    import anthropic
    return anthropic.AsyncAnthropic

def price():
    begun.wait()
    return request_cost("anthropic", "claude-opus-5-5", Usage(input=1000))

async def main():
    priced = asyncio.create_task(asyncio.to_thread(price))
    imported = asyncio.create_task(Http().imported(sdk))
    assert await priced and await imported

sys.meta_path.insert(0, Watch())
asyncio.run(main())
workers = [one for one, _ in groupby(threads) if one != threading.get_ident()]
assert "genai_prices" in sys.modules and "anthropic" in sys.modules
assert len(workers) == 2, f"two imports took turns: {len(workers)}"
"""


async def test_the_price_tables_are_not_imported_beside_an_sdk() -> None:
    """Both import pydantic, which a second thread would find half made: an ImportError."""
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", IMPORTS_SIDE_BY_SIDE], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("was_on", [True, False])
async def test_collections_are_as_before_also_after_a_failed_import(was_on: bool) -> None:
    during: list[bool] = []

    def fails() -> None:
        during.append(gc.isenabled())
        raise ImportError

    if not was_on:
        gc.disable()
    try:
        with pytest.raises(ImportError):
            await Http().imported(fails)
        assert during == [False]
        assert gc.isenabled() is was_on
    finally:
        gc.enable()
