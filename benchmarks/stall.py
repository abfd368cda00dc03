"""How long the window would stand still while a provider is used for the first time.

    python benchmarks/stall.py [rounds]

A fresh process for each run: an event loop with a ticker of 1 ms, then the
provider is made and its first answer read from the simulator in another
process. Told is the longest time between two ticks, the least of all rounds,
for other programs lengthen it and nothing shortens it. The baseline is the
same with the SDK imported, its client and the TLS context made on the loop.
Beside these stands the ticker alone: no gap is shorter than what it has.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from measure import Row, child, quick, show

if TYPE_CHECKING:
    from studio.simulator import ApiName

GOAL = "< 20 ms"
TICK = 0.001
PROVIDERS: dict[str, tuple[ApiName, str]] = {
    "anthropic": ("anthropic", "anthropic"),
    "openai": ("responses", "openai"),
    "gemini": ("gemini", "google.genai.types"),
    "openai-compatible": ("chat", ""),
    "ollama": ("ollama", ""),
}
"""The simulator's API, and the SDK's module."""
PHASES = {
    "make": "the adapter's modules",
    "tls": "HTTP and its TLS context",
    "sdk": "SDK and request",
    "answer": "the first answer",
}


@dataclass(slots=True)
class Ticker:
    """Ticks on the loop; ``phase`` names what the gaps are counted for."""

    phase: str = "rest"
    gaps: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    async def run(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(TICK)
            now = time.perf_counter()
            self.gaps.setdefault(self.phase, []).append(now - last)
            last = now

    async def enter(self, phase: str) -> None:
        """From here on; what was running is counted before."""
        await asyncio.sleep(3 * TICK)
        self.phase = phase
        await asyncio.sleep(0)


async def first_use(name: str, url: str, model: str, *, on_loop: bool) -> dict[str, list[float]]:
    """One process's life until the first answer, in the phases of ``PHASES``."""
    from pathlib import Path

    from studio.agent.models.provider_factory import ProviderFactory
    from studio.providers.base import Request
    from studio.providers.http import Http
    from studio.storage.config.keychain import Keychain
    from studio.storage.config.settings import SettingsFile

    ticker = Ticker()
    ticking = asyncio.create_task(ticker.run())
    await asyncio.sleep(0.3)  # the ticker alone
    http = Http()
    settings, keychain = SettingsFile(Path("nowhere")), Keychain()
    settings.values.base_urls[name] = url
    keychain.keep_for_session(name, "sk-benchmark")
    connections = ProviderFactory(settings, keychain, http, {})
    await ticker.enter("make")
    if on_loop:
        connections.make(name, "", url)
    provider = await connections.provider(name)
    await ticker.enter("tls")
    if on_loop:
        http._client = http._make()
    client = await http.client()

    async def leaving(_: object) -> None:
        await ticker.enter("answer")

    client.event_hooks = {"request": [leaving]}
    await ticker.enter("sdk")
    if on_loop and (module := PROVIDERS[name][1]):
        __import__(module)
        made: Callable[..., object] | None = getattr(provider, "_make", None)
        assert made is not None
        made(client)
    stream = provider.stream(Request(model, provider.user_items([_words()]), "Be brief."))
    async for _ in stream:
        pass
    stream.reply()
    await ticker.enter("rest")
    ticking.cancel()
    await http.aclose()
    return ticker.gaps


def _words():
    from studio.domain.messages import Text

    return Text("Hello")


def longest(runs: list[dict[str, list[float]]], phase: str) -> float:
    """Milliseconds, the least of all runs."""
    return min(max(run.get(phase, [0.0])) for run in runs) * 1000


def ordinary(runs: list[dict[str, list[float]]]) -> float:
    """What 95 of 100 gaps do not exceed while anything is done, the least of all runs."""

    def gap(run: dict[str, list[float]]) -> float:
        gaps = sorted(gap for phase in PHASES for gap in run.get(phase, []))
        return gaps[int(len(gaps) * 0.95)]

    return min(map(gap, runs)) * 1000


def rows(rounds: int) -> list[Row]:
    from sessions import MODELS, server

    out: list[Row] = []
    with server() as urls:
        for name, (api, _) in PROVIDERS.items():
            here = [__file__, "--first", name, urls[api], MODELS[api]]
            ours: list[dict[str, list[float]]] = []
            plain: list[dict[str, list[float]]] = []
            for _ in range(rounds):
                ours.append(child(here))
                plain.append(child([*here, "--on-loop"]))
            for phase, what in PHASES.items():
                out.append(
                    Row(f"{name}: longest gap, {what}", longest(ours, phase),
                        longest(plain, phase), "ms", GOAL, "on the loop")
                )  # fmt: skip
            out.append(Row(f"{name}: 95 % of gaps", ordinary(ours), ordinary(plain), "ms"))
            out.append(Row(f"{name}: longest gap, the ticker alone", longest(ours, "rest"),
                           longest(plain, "rest"), "ms"))  # fmt: skip
    return out


def main() -> None:
    if "--first" in sys.argv:
        at = sys.argv.index("--first")
        found = first_use(*sys.argv[at + 1 : at + 4], on_loop="--on-loop" in sys.argv)
        print(json.dumps(asyncio.run(found)))
        return
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(rows(counts[0] if counts else 3 if quick() else 7))


if __name__ == "__main__":
    main()
