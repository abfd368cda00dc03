"""Pictures that a request names by address are fetched, under the rules of the web (T-8)."""

from __future__ import annotations

import base64
import threading
from pathlib import Path
from typing import Any

import pytest

from studio.domain.jsonvalue import JsonObject
from studio.server.contract import ApiRequest
from studio.server.dialects.chat import ChatDialect
from studio.server.remote_pictures import MOST
from studio.simulator import Text, Turn
from studio.tools.web import Client, NetworkGuard, Web
from support.local_site import Site, site
from support.running_server import MODEL, RunningServer, running_server
from support.sample_files import picture

PUBLIC = "93.184.216.34"


def web(where: Site) -> Web:
    """A public name leads to ``where``, any other one to a private network."""

    async def look_up(host: str, port: int) -> list[str]:
        return [PUBLIC if host.endswith("example.com") else "10.0.0.1"]

    def dial(ip: str, port: int) -> tuple[str, int]:
        return ("127.0.0.1", where.port) if ip == PUBLIC else (ip, port)

    return Web(client=Client(NetworkGuard(look_up, dial, proxy=lambda address: "")))


async def test_pictures_of_the_web_are_fetched_under_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    read = ChatDialect.read_request

    def noted(dialect: ChatDialect, body: JsonObject) -> ApiRequest:
        threads.append(threading.current_thread())
        return read(dialect, body)

    monkeypatch.setattr(ChatDialect, "read_request", noted)
    async with (
        site() as pages,
        running_server(tmp_path, lambda view: Turn(Text("Blue."))) as server,
    ):
        services = server.house.engine.services
        services.web = web(pages)
        data = picture()
        pages.page("/a.png", data, "image/png", cache_control="max-age=60")
        pages.page("/words", "no picture")
        pages.redirect("/away", "http://inside.internal/a.png")
        pages.redirect("/moved", "http://cdn.example.com/a.png")
        await _reaches_the_model(server)
        assert sorted(one.target for one in pages.asked) == ["/a.png", "/a.png", "/moved"]
        assert threading.main_thread() not in threads  # a small request became a big one
        for url, why in (
            ("http://inside.internal/a.png", "own network"),
            ("http://127.0.0.1/a.png", "own network"),
            ("http://example.com/away", "own network"),
            ("http://example.com/words", "no picture"),
            ("http://example.com/none", "404"),
            ("file:///etc/passwd", "data: URL"),
        ):
            answer = await _chat(server, url)
            assert answer.status_code == 400 and why in answer.text, url
        answer = await _chat(server, *(f"http://example.com/{n}" for n in range(MOST + 1)))
        assert answer.status_code == 400 and f"At most {MOST}" in answer.text
        server.house.engine.settings.values.server_rules = {"deny": ["fetch(http://cdn.*)"]}
        count = len(pages.asked)
        for url in ("http://cdn.example.com/a.png", "http://example.com/moved"):
            answer = await _chat(server, url)
            assert answer.status_code == 400 and "may not be fetched" in answer.text
        assert {one.target for one in pages.asked[count:]} <= {"/moved"}


async def _reaches_the_model(server: RunningServer) -> None:
    """In each of the APIs."""
    url = "http://example.com/a.png"
    assert (await _chat(server, url, url, "http://example.com/moved")).status_code == 200
    part: Any = {"type": "image", "source": {"type": "url", "url": url}}
    messages: Any = {
        "model": MODEL,
        "max_tokens": 9,
        "messages": [{"role": "user", "content": [part, {"type": "text", "text": "What?"}]}],
    }
    assert (await server.client.post("/v1/messages", json=messages)).status_code == 200
    responses: Any = {
        "model": MODEL,
        "input": [
            {"role": "user", "content": "Go"},
            {"type": "function_call", "call_id": "c", "name": "see", "arguments": "{}"},
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_image", "image_url": url}],
            },
        ],
    }
    assert (await server.client.post("/v1/responses", json=responses)).status_code == 200
    for asked, count in zip(server.house.asked, (3, 1, 1), strict=True):
        sent = str(asked.json)
        assert sent.count("data:image/png;base64,") == count and "example.com" not in sent
    assert base64.b64encode(b"\x89PNG\r\n")[:8].decode() in str(server.house.asked[0].json)


async def _chat(server: RunningServer, *urls: str) -> Any:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    asked = [{"role": "user", "content": [{"type": "text", "text": "What?"}, *parts]}]
    return await server.client.post(
        "/v1/chat/completions", json={"model": MODEL, "messages": asked}
    )
