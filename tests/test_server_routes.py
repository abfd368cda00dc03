"""The paths of the server: what can be asked, how it is answered, how errors look (S-3)."""

from __future__ import annotations

from pathlib import Path

from served import events, served

from studio.providers.simulator import Text, Turn


async def test_chat_is_answered_whole_and_streamed(tmp_path: Path) -> None:
    """S-3"""
    async with served(tmp_path, lambda view: Turn(Text("Hello there."))) as server:
        whole = await server.ask("Hi")
        assert whole.status_code == 200, whole.text
        assert whole.json()["choices"][0]["message"]["content"] == "Hello there."
        streamed = await server.ask("Hi", stream=True)
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert (streamed.headers["cache-control"], streamed.headers["x-accel-buffering"]) == (
            "no-cache",
            "no",
        )
        words = [e["choices"][0]["delta"].get("content") or "" for e in events(streamed.text)]
        assert "".join(words) == "Hello there."
        assert streamed.text.endswith("data: [DONE]\n\n")
        assert not server.house.simulator.violations
