"""The toy of ``docs/extending/dialect.md`` is built by following the page, and it answers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.server import conversation_digest, dialects, routes
from studio.simulator import Text, Turn
from support.extending import copy_with
from support.running_server import MODEL, events, running_server

REGISTRY = "studio/server/dialects/__init__.py"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module of the page beside the dialects that ship, and the registry with its line."""
    copy = copy_with("dialect.md", tmp_path)
    changed = (copy / REGISTRY).read_text("utf-8")
    folder = str((copy / REGISTRY).parent)
    monkeypatch.setattr(dialects, "__path__", [*dialects.__path__, folder])
    importlib.invalidate_caches()
    names = {"__name__": dialects.__name__, "__package__": dialects.__package__}
    exec(compile(changed, dialects.__file__, "exec"), names)  # the page's own code
    assert list(names["DIALECTS"]) == [*dialects.DIALECTS, "completions"]  # type: ignore[call-overload]
    for module in (dialects, routes, conversation_digest):
        monkeypatch.setattr(module, "DIALECTS", names["DIALECTS"])
    yield
    del sys.modules[f"{dialects.__name__}.completions"]


@pytest.mark.usefixtures("toy")
async def test_the_toy_dialect_answers_whole_and_streamed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    body = {"model": MODEL, "prompt": "Go"}
    async with running_server(home, lambda _: Turn(Text("Hello there."))) as server:
        whole = await server.client.post("/v1/completions", json=body)
        assert whole.status_code == 200
        assert whole.json()["object"] == "text_completion"
        assert whole.json()["choices"] == [
            {"index": 0, "text": "Hello there.", "finish_reason": "stop"}
        ]
        streamed = await server.client.post("/v1/completions", json={**body, "stream": True})
        chunks = [one["choices"][0] for one in events(streamed.text)]
        assert "".join(one["text"] for one in chunks) == "Hello there."
        assert [one["finish_reason"] for one in chunks][-1] == "stop"
        assert streamed.text.endswith("data: [DONE]\n\n")


@pytest.mark.usefixtures("toy")
async def test_the_toy_dialect_says_what_is_wrong(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with running_server(home, lambda _: Turn(Text("No."))) as server:
        missing = await server.client.post("/v1/completions", json={"model": MODEL})
        assert missing.status_code == 400
        assert missing.json()["error"]["param"] == "prompt"
        unknown = await server.client.post("/v1/completions", json={"model": "x", "prompt": "Go"})
        assert unknown.status_code == 404
        assert unknown.json()["error"]["code"] == "model_not_found"
