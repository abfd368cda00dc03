"""The toy of ``docs/extending/dialect.md`` is built by following the page, and it answers."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from studio.server import conversation_digest, dialects, routes
from studio.simulator import Text, Turn
from support.running_server import MODEL, events, running_server

PAGE = Path(__file__).parents[2] / "docs" / "extending" / "dialect.md"
FILE = re.compile(r"^```python\n# (studio/\S+)\n(.*?)^```", re.M | re.S)
DIFF = re.compile(r"^```diff\n(.*?)^```", re.M | re.S)
FOLDER = "studio/server/dialects/"


def patched(text: str, diff: str) -> str:
    """A text with the added lines of a diff where its other lines stand."""
    before = "".join(f"{line[1:]}\n" for line in diff.splitlines() if line[0] == " ")
    after = "".join(f"{line[1:]}\n" for line in diff.splitlines())
    assert text.count(before) == 1, f"the page names lines that are not there:\n{before}"
    return text.replace(before, after)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The module of the page beside the dialects that ship, and the registry as it says."""
    page = PAGE.read_text("utf-8")
    files = FILE.findall(page)
    assert {path for path, _ in files} == {f"{FOLDER}completions.py"}
    (tmp_path / "completions.py").write_text("\n\n".join(text for _, text in files), "utf-8")
    changed = Path(dialects.__file__).read_text("utf-8")
    for diff in DIFF.findall(page):
        changed = patched(changed, diff)
    monkeypatch.setattr(dialects, "__path__", [*dialects.__path__, str(tmp_path)])
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


def test_the_page_is_formatted_and_leads_to_files_that_are_there() -> None:
    page = PAGE.read_text("utf-8")
    root = PAGE.parents[2]
    for path in re.findall(r"`((?:studio|tests)/[\w/.]+)`", page):
        assert (root / path).exists(), path
