"""What real servers took, the simulator takes; what it replays, clients read as they did."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from studio.simulator import Replay, Simulator, Text, Turn
from support.provider_calls import RECORDINGS
from support.rule_cases import HEADERS

# What only the server that signed it can check, or what is stored there.
ECHOES = (
    "anthropic.latest_thinking",
    "anthropic.genuine_thinking",
    "anthropic.bound_thinking",
    "anthropic.served_results",
    "responses.no_earlier_response",
    "responses.called_outputs",
    "responses.stored_reasoning",
    "responses.genuine_reasoning",
    "responses.followed_reasoning",
    "gemini.signed_calls",
    "gemini.genuine_signatures",
)
PATHS = {
    "messages": "/v1/messages",
    "responses": "/v1/responses",
    "chat": "/v1/chat/completions",
    "generateContent": "/v1beta/models/{}",
}


def accepted() -> list[Any]:
    found: list[Any] = []
    for path in sorted(RECORDINGS.glob("*.json")):
        recording = json.loads(path.read_text(encoding="utf-8"))
        for number, row in enumerate(recording["exchanges"]):
            others = ("count_tokens", "input_tokens", "cachedContents", "countTokens")
            other = any(name in row["path"] for name in others)
            if recording["api"] in PATHS and row["status"] == 200 and not other:
                mark = pytest.param(path, number, id=f"{path.stem[:70]} {number}")
                found.append(mark)
    return found


def sent(path: Path, number: int) -> tuple[str, dict[str, Any]]:
    """Where and what a recorded exchange sent."""
    recording = json.loads(path.read_text(encoding="utf-8"))
    row = recording["exchanges"][number]
    _, found, asked = row["path"].partition("/models/")
    if found:  # one recording goes from one provider to another
        return PATHS["generateContent"].format(asked), row["request_json"]
    return PATHS[recording["api"]], row["request_json"]


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


@pytest.mark.recordings
async def test_there_are_recordings() -> None:
    assert len(accepted()) > 100


@pytest.mark.recordings
@pytest.mark.parametrize(("path", "number"), accepted())
async def test_accepted_requests_pass(http: httpx2.AsyncClient, path: Path, number: int) -> None:
    """Recorded under older versions of the API, so without the newest version's rules."""
    where, body = sent(path, number)
    headers = {**HEADERS, "anthropic-version": "2023-06-01"}
    if not where.startswith("/v1/messages"):
        del headers["anthropic-version"]
    async with Simulator([Turn(Text("Fine."))], without=ECHOES) as sim:
        url = f"http://127.0.0.1:{sim.port}{where}"
        response = await http.post(url, json=body, headers=headers)
        assert response.status_code == 200, response.text
        assert sim.violations == []


@pytest.mark.recordings
@pytest.mark.parametrize(("path", "number"), accepted())
async def test_replays_are_the_recorded_bytes(
    http: httpx2.AsyncClient, path: Path, number: int
) -> None:
    where, body = sent(path, number)
    row = json.loads(path.read_text(encoding="utf-8"))["exchanges"][number]
    script = [Replay(path, number)]
    async with Simulator(script, chunking="adversarial", strict=False) as sim:
        url = f"http://127.0.0.1:{sim.port}{where}"
        response = await http.post(url, json=body, headers=HEADERS)
        assert response.content == row["response_body"].encode()


@pytest.mark.recordings
async def test_no_echo_is_checked_after_a_replay(http: httpx2.AsyncClient) -> None:
    """The signatures of a replay are another's; in other sessions ours still have to fit."""
    path = next(RECORDINGS.glob("*anthropic_tool_with_thinking.json"))
    _, first = sent(path, 0)
    _, second = sent(path, 1)
    for body in (first, second):
        body["model"] = "sim-preserved-1"
    async with Simulator([Replay(path, 0), Turn(Text("Fine."))]) as sim:
        url = sim.url("anthropic") + "/v1/messages"
        headers = {**HEADERS, "anthropic-version": "2023-06-01"}
        for body in (first, second):
            assert (await http.post(url, json=body, headers=headers)).status_code == 200
        second["messages"][0]["content"] = "Something else."
        response = await http.post(url, json=second, headers=headers)
        assert "Invalid `signature`" in response.json()["error"]["message"]
