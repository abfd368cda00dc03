"""What goes wrong on the wire goes wrong here too, in each provider's form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import errors as google_errors
from google.genai import types

from studio.simulator import (
    ApiName,
    Byte,
    Call,
    Fault,
    Pace,
    Raw,
    RequestView,
    Simulator,
    Table,
    Text,
    Turn,
    Usage,
    When,
    cut,
    dup,
    eof,
    error_event,
    garbage,
    html,
    stall,
    status,
    tool_json,
    unknown,
)
from support.raw_requests import APIS, BODIES, LAST, PATHS, ask, headers
from support.waiting import HANG


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


def failing(*faults: Fault) -> list[Turn]:
    return [Turn(Text("One two three four five six."), faults=faults), Turn(Text("After."))]


@pytest.mark.parametrize("api", APIS)
async def test_status_a_number_of_times(http: httpx2.AsyncClient, api: ApiName) -> None:
    async with Simulator(failing(status(429, times=2, retry_after=3))) as sim:
        for _ in range(2):
            response = await ask(http, sim, api)
            assert response.status_code == 429
            if api == "gemini":
                assert response.json()["error"]["details"][0]["retryDelay"] == "3s"
                assert "retry-after" not in response.headers
            else:
                assert response.headers["retry-after"] == "3"
        response = await ask(http, sim, api)
        assert response.status_code == 200
        assert "six" in response.text
        assert sim.violations == []


@pytest.mark.parametrize(
    ("api", "code", "wanted"),
    [
        ("anthropic", 529, ["type", "error", "overloaded_error"]),
        ("anthropic", 413, ["request_too_large"]),
        ("responses", 503, ["server_is_overloaded", "server_error"]),
        ("chat", 429, ["rate_limit_exceeded"]),
        ("gemini", 503, ["UNAVAILABLE"]),
        ("ollama", 500, ["error"]),
    ],
)
async def test_status_without_times_is_the_answer(
    http: httpx2.AsyncClient, api: ApiName, code: int, wanted: list[str]
) -> None:
    async with Simulator(failing(status(code))) as sim:
        response = await ask(http, sim, api)
        assert response.status_code == code
        assert all(word in response.text for word in wanted), response.text
        assert "After." in (await ask(http, sim, api)).text


async def test_quota_is_no_rate_limit(http: httpx2.AsyncClient) -> None:
    async with Simulator(failing(status(429, variant="insufficient_quota"))) as sim:
        error = (await ask(http, sim, "chat")).json()["error"]
        assert error["code"] == error["type"] == "insufficient_quota"


@pytest.mark.parametrize(
    ("api", "code", "wanted"),
    [
        ("anthropic", 401, "authentication_error"),
        ("responses", 401, "invalid_api_key"),
        ("chat", 401, "invalid_api_key"),
        ("gemini", 400, "API_KEY_INVALID"),
    ],
)
async def test_bad_keys(http: httpx2.AsyncClient, api: ApiName, code: int, wanted: str) -> None:
    async with Simulator([]) as sim:
        response = await ask(http, sim, api, "bad-0123456789")
        assert response.status_code == code
        assert wanted in response.text
        assert "bad-0123456789" not in str(sim.requests[0])
        assert sim.violations == []


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("fault", [eof(-1), eof(2), eof(Byte(40))])
async def test_eof_ends_cleanly_and_early(
    http: httpx2.AsyncClient, api: ApiName, fault: Fault
) -> None:
    async with Simulator(failing(fault)) as sim:
        response = await ask(http, sim, api)
        assert response.status_code == 200
        assert LAST[api] not in response.text
        assert sim.requests[0].sent == len(response.content) > 0


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("reset", [False, True])
async def test_cut_breaks_the_connection(
    http: httpx2.AsyncClient, api: ApiName, reset: bool
) -> None:
    async with Simulator(failing(cut(2, reset=reset))) as sim:
        with pytest.raises(httpx2.TransportError):
            await ask(http, sim, api)
        assert "After." in (await ask(http, sim, api)).text


@pytest.mark.parametrize("at", ["headers", 0, 3])
async def test_stall_ends_when_the_client_hangs_up(http: httpx2.AsyncClient, at: Any) -> None:
    async with Simulator(failing(stall(at))) as sim:
        task = asyncio.ensure_future(ask(http, sim, "anthropic"))
        exchange = await sim.wait_requests(1)
        await exchange.stalled.wait()
        assert not exchange.gone.is_set()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gone = await asyncio.wait_for(sim.wait_disconnect(0), HANG)
        assert (gone.sent > 0) == (at == 3)


async def test_cancelling_a_stream_is_seen(http: httpx2.AsyncClient) -> None:
    """The pace never moves on, so only the hang-up can end this."""
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    script = [Turn(Text("One two."), pace=Pace(ttft=0, tokens_per_s=60))]
    async with Simulator(script, sleep=sleep) as sim:
        url = f"http://127.0.0.1:{sim.port}{PATHS['chat']}"
        async with http.stream("POST", url, json=BODIES["chat"], headers=headers("k")) as response:
            assert response.status_code == 200
            await waiting.wait()
        exchange = await asyncio.wait_for(sim.wait_disconnect(), HANG)
        assert 0 < exchange.sent < 400


async def test_stopping_closes_open_streams(http: httpx2.AsyncClient) -> None:
    sim = Simulator(failing(stall(1)))
    await sim.start()
    task = asyncio.ensure_future(ask(http, sim, "chat"))
    await (await sim.wait_requests(1)).stalled.wait()
    await sim.stop()
    with pytest.raises(httpx2.TransportError):
        await task


@pytest.mark.parametrize("api", APIS)
async def test_html_with_200(http: httpx2.AsyncClient, api: ApiName) -> None:
    async with Simulator(failing(html())) as sim:
        response = await ask(http, sim, api)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        assert "<html>" in response.text


@pytest.mark.parametrize("api", APIS)
async def test_errors_inside_a_stream(http: httpx2.AsyncClient, api: ApiName) -> None:
    async with Simulator(failing(error_event("overloaded", at=3))) as sim:
        response = await ask(http, sim, api)
        assert response.status_code == 200
        last = response.text.strip().splitlines()[-1].removeprefix("data: ")
        assert "error" in json.loads(last) or json.loads(last)["type"] == "error"
        assert LAST[api] not in response.text


async def test_sdks_see_errors_inside_a_stream(http: httpx2.AsyncClient) -> None:
    async with Simulator(failing(error_event("overloaded", at=3)) * 4) as sim:
        claude = anthropic.AsyncAnthropic(
            api_key="k", base_url=sim.url("anthropic"), max_retries=0, http_client=http
        )
        with pytest.raises(anthropic.APIStatusError) as caught:
            async with claude.messages.stream(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
            ) as stream:
                await stream.get_final_message()
        assert caught.value.type == "overloaded_error"
        await ask(http, sim, "chat")  # the turn after
        gpt = openai.AsyncOpenAI(
            api_key="k", base_url=sim.url("chat"), max_retries=0, http_client=http
        )
        with pytest.raises(openai.APIError):
            async for _ in await gpt.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
            ):
                pass
        await ask(http, sim, "chat")
        gemini = genai.Client(
            api_key="k",
            enterprise=False,
            http_options=types.HttpOptions(
                base_url=sim.url("gemini"), api_version="v1beta", httpx_async_client=http
            ),
        )
        with pytest.raises(google_errors.ServerError):
            async for _ in await gemini.aio.models.generate_content_stream(
                model="sim-gemini-3", contents="Hi"
            ):
                pass
        await gemini.aio.aclose()


async def test_responses_can_fail_in_a_second_form(http: httpx2.AsyncClient) -> None:
    async with Simulator(failing(error_event("server", at=3, variant="failed"))) as sim:
        assert "response.failed" in (await ask(http, sim, "responses")).text


async def test_garbage_and_repeats(http: httpx2.AsyncClient) -> None:
    faults = [garbage(2), garbage(2, "utf8"), garbage(2, "truncated"), dup(-1)]
    script = [Turn(Text("One two three."), faults=[fault]) for fault in faults]
    async with Simulator(script) as sim:
        texts = [(await ask(http, sim, "anthropic")).content for _ in faults]
        assert b"{{" in texts[0]
        with pytest.raises(UnicodeDecodeError):
            texts[1].decode()
        assert texts[3].count(b"event: message_stop") == 2


async def test_truncated_tool_json(http: httpx2.AsyncClient) -> None:
    """L-6: the reply ends at its limit in the middle of a call."""
    turn = Turn(
        Call("write", {"path": "a", "content": "rm -rf /tmp"}),
        stop="max_tokens",
        faults=[tool_json("truncated")],
    )
    async with Simulator([turn] * 4) as sim:
        text = (await ask(http, sim, "anthropic")).text
        events = [json.loads(row[6:]) for row in text.splitlines() if row.startswith("data: ")]
        raw = "".join(
            e["delta"].get("partial_json", "") for e in events if "index" in e and "delta" in e
        )
        with pytest.raises(ValueError):
            json.loads(raw)
        assert '"stop_reason":"max_tokens"' in text
        assert '"finish_reason":"length"' in (await ask(http, sim, "chat")).text
        text = (await ask(http, sim, "responses")).text
        assert '"reason":"max_output_tokens"' in text
        assert '"status":"incomplete"' in text
        assert '"finishReason":"MAX_TOKENS"' in (await ask(http, sim, "gemini")).text


async def test_scripts_can_be_tables_functions_and_bytes(http: httpx2.AsyncClient) -> None:
    def spoken(request: RequestView) -> Turn:
        return Turn(Text(f"{request.api} {request.nth}"))

    async with Simulator(spoken) as sim:
        assert "chat" in (await ask(http, sim, "chat")).text
        assert "ollama" in (await ask(http, sim, "ollama")).text
    table = Table(
        (
            (When(api="chat"), Turn(Text("for chat"), usage=Usage(inp=7, out=3))),
            (When(says="^Hi$"), Raw("anthropic", b"event: odd\ndata: {}\n\n")),
        )
    )
    async with Simulator(table) as sim:
        assert "for" in (await ask(http, sim, "chat")).text
        assert (await ask(http, sim, "anthropic")).text == "event: odd\ndata: {}\n\n"
    async with Simulator([Turn(Text("x"), expect=lambda request: False)]) as sim:
        assert (await ask(http, sim, "chat")).status_code == 400
        assert [violation.rule for violation in sim.violations] == ["expect"]
        assert (await ask(http, sim, "chat")).status_code == 400


async def test_unknown_models_and_paths(http: httpx2.AsyncClient) -> None:
    async with Simulator([]) as sim:
        root = f"http://127.0.0.1:{sim.port}"
        bodies = {name: {**body, "model": "missing-1"} for name, body in BODIES.items()}
        wanted: dict[ApiName, tuple[int, str]] = {
            "anthropic": (404, "model: missing-1"),
            "chat": (404, "The model `missing-1` does not exist"),
            "responses": (400, "The model `missing-1` does not exist"),
            "ollama": (404, "model 'missing-1' not found"),
            "gemini": (404, "models/missing-1 is not found for API version v1beta"),
        }
        for api, (code, words) in wanted.items():
            path = PATHS[api].replace("sim-gemini-3", "missing-1")
            response = await http.post(root + path, json=bodies[api], headers=headers("k"))
            assert (response.status_code, words in response.text) == (code, True)
        response = await http.get(root + "/nothing", headers=headers("k"))
        assert response.status_code == 404


async def test_model_lists_in_pages(http: httpx2.AsyncClient) -> None:
    """P-2: lists hold models that cannot chat, so that filters have something to do."""
    async with Simulator([], page_size=3) as sim:
        claude = anthropic.AsyncAnthropic(
            api_key="k", base_url=sim.url("anthropic"), max_retries=0, http_client=http
        )
        listed = [model async for model in claude.models.list()]
        assert len(listed) == len({model.id for model in listed}) > 3
        assert listed[0].max_input_tokens == 200_000
        gpt = openai.AsyncOpenAI(
            api_key="k", base_url=sim.url("chat"), max_retries=0, http_client=http
        )
        ids = [model.id async for model in gpt.models.list()]
        assert {"gpt-5.6", "whisper-1", "text-embedding-3-small", "dall-e-3"} < set(ids)
        gemini = genai.Client(
            api_key="k",
            enterprise=False,
            http_options=types.HttpOptions(
                base_url=sim.url("gemini"), api_version="v1beta", httpx_async_client=http
            ),
        )
        models = [model async for model in await gemini.aio.models.list()]
        names = [model.name for model in models]
        assert "models/gemini-embedding-001" in names
        assert sum("generateContent" in (model.supported_actions or []) for model in models) > 3
        await gemini.aio.aclose()
        root = sim.url("ollama")
        tags = (await http.get(f"{root}/api/tags")).json()["models"]
        assert tags[0]["name"] == "demo-fast:latest"
        shown = (await http.post(f"{root}/api/show", json={"model": "demo-fast"})).json()
        assert shown["model_info"]["llama.context_length"] == 8192
        assert "tools" in shown["capabilities"]
        counted = await claude.messages.count_tokens(
            model="m", messages=[{"role": "user", "content": "Hi"}]
        )
        assert counted.input_tokens > 0
        # More than one page was asked for.
        assert len([e for e in sim.requests if e.path == "/v1/models"]) > 2


@pytest.mark.parametrize("api", APIS)
async def test_unknown_events(http: httpx2.AsyncClient, api: ApiName) -> None:
    async with Simulator(failing(unknown(2))) as sim:
        text = (await ask(http, sim, api)).text
        assert "surprise" in text
        assert LAST[api] in text


async def test_a_model_list_without_an_end(http: httpx2.AsyncClient) -> None:
    async with Simulator([], page_size=3, endless_models=True) as sim:
        url, cursor = f"{sim.url('anthropic')}/v1/models", ""
        for _ in range(9):
            page = await http.get(
                url,
                params={"after_id": cursor},
                headers={"x-api-key": "k", "anthropic-version": "2026-10-21"},
            )
            cursor = page.json()["last_id"]
            assert page.json()["has_more"]
        url, cursor = f"{sim.url('gemini')}/v1beta/models", ""
        for _ in range(9):
            page = await http.get(url, params={"pageToken": cursor}, headers=headers("k"))
            cursor = page.json()["nextPageToken"]
            assert page.json()["models"]
