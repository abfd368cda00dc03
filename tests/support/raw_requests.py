"""Requests to the simulator as bare bodies, one for each wire format."""

from __future__ import annotations

from typing import Any

import httpx2

from studio.simulator import ApiName, Simulator

Body = dict[str, Any]
PATHS: dict[ApiName, str] = {
    "anthropic": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "gemini": "/v1beta/models/sim-gemini-3:streamGenerateContent?alt=sse",
    "ollama": "/api/chat",
}
APIS = list(PATHS)
HELLO = {"role": "user", "content": "Hi"}
BODIES: dict[ApiName, Body] = {
    "anthropic": {"model": "m", "max_tokens": 9, "messages": [HELLO], "stream": True},
    "responses": {"model": "m", "input": "Hi", "stream": True},
    "chat": {"model": "m", "messages": [HELLO], "stream": True},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "ollama": {"model": "m", "messages": [HELLO]},
}
LAST = {
    "anthropic": "message_stop",
    "responses": "response.completed",
    "chat": "[DONE]",
    "gemini": '"finishReason"',
    "ollama": '"done":true',
}


def headers(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}", "x-goog-api-key": key}


async def ask(
    http: httpx2.AsyncClient, sim: Simulator, api: ApiName, key: str = "simulated"
) -> httpx2.Response:
    url = f"http://127.0.0.1:{sim.port}{PATHS[api]}"
    return await http.post(url, json=BODIES[api], headers=headers(key))
