"""The standalone server: runs the simulator as a program of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from .demo import demo_script
from .script import Script
from .simulator import Simulator

BASES = (
    ("Anthropic Messages", ""),
    ("OpenAI Responses", "/v1"),
    ("OpenAI Chat Completions", "/v1"),
    ("Gemini", ""),
    ("Ollama", ""),
)


async def serve(
    port: int = 0,
    *,
    script: Script = demo_script,
    show: Callable[[str], None] = print,
    pace: bool = True,
) -> None:
    """Serve the demo on 127.0.0.1 until cancelled; port 0 takes a free one.

    ``show`` gets one line for each base URL and for each request refused by a
    rule. Raises OSError if the port is taken.
    """
    simulator = Simulator(
        script, seed=None, pace=pace, refused=lambda v: show(f"Refused {v.path}: {v.message}")
    )
    await simulator.start(port)
    try:
        width = max(len(name) for name, _ in BASES)
        for name, path in BASES:
            show(f"{name:<{width}}  http://127.0.0.1:{simulator.port}{path}")
        show("Any key works, except one that begins with “bad”. Stop with Ctrl+C.")
        await asyncio.Event().wait()
    finally:
        await simulator.stop()
