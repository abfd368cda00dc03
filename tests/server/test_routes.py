"""The paths of the server: what can be asked, how it is answered, how errors look (S-3)."""

from __future__ import annotations

import json
import logging
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from studio.domain.errors import RETRYABLE, ProviderError, ProviderFault, StorageError
from studio.server import errors
from studio.server.contract import BadRequest
from studio.server.request_body import read_from
from studio.simulator import Call, Fault, Raw, RequestView, Script, Text, Turn, error_event, status
from support.engine_home import KEY
from support.running_server import MODEL, PROVIDER, RunningServer, events, running_server
from support.waiting import until

HELLO: Script = lambda view: Turn(Text("Hello there."))  # noqa: E731
ANTHROPIC = {"anthropic-version": "2023-06-01"}


async def test_chat_is_answered_whole_and_streamed(tmp_path: Path) -> None:
    """S-3"""
    async with running_server(tmp_path, HELLO) as server:
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


async def test_a_conversation_of_several_people_goes_on_in_its_chat(tmp_path: Path) -> None:
    """S-1: the model reads who says what, and the same beginning is the same chat."""
    async with running_server(tmp_path, HELLO) as server:
        messages: list[dict[str, Any]] = [{"role": "user", "name": "Ada", "content": "Red"}]
        for said in ({"name": "Bob", "content": "Blue"}, {"content": "Green"}):
            answer = await server.ask(messages=messages)
            messages += [answer.json()["choices"][0]["message"], {"role": "user", **said}]
        await server.ask(messages=messages)
        asked: Any = server.house.asked[-1].json["messages"]
        heard = [one["content"] for one in asked if one["role"] == "user"]
        assert heard == ["Ada: Red", "Bob: Blue", "Green"]
        assert len(await server.house.engine.sessions.store.all()) == 1


async def test_a_limit_beyond_the_models_own_is_lowered_to_it(tmp_path: Path) -> None:
    """Clients send one limit for all models, and providers refuse what is too high."""
    async with running_server(tmp_path, HELLO) as server:
        server.house.engine.settings.values.models[MODEL] = {"output_limit": 50}
        for asked in (1000, 20):
            assert (await server.ask(max_tokens=asked)).status_code == 200
        assert (await server.ask(seed=7, frequency_penalty=0.5)).status_code == 200
        *sent, last = [one.json for one in server.house.asked]
        assert (last["seed"], last["frequency_penalty"]) == (7, 0.5)
        assert [one.get("max_completion_tokens", one.get("max_tokens")) for one in sent] == [50, 20]


async def test_a_limit_that_the_provider_says_is_learned_from_its_refusal(tmp_path: Path) -> None:
    """No list of models is always right: the answer comes all the same, and then at once."""
    async with running_server(tmp_path, HELLO, provider="anthropic") as server:
        body = {"model": "claude-sonnet-5-20260601", "max_tokens": 99_999_999}
        for _ in range(2):
            answer = await server.ask("Hi", **body)
            assert answer.status_code == 200, answer.text
        assert [one.json["max_tokens"] for one in server.house.asked] == [128_000, 64_000, 64_000]


async def test_a_compatible_server_says_the_limit_of_a_model_that_no_list_has(
    tmp_path: Path,
) -> None:
    limits: list[int] = []

    def script(view: RequestView) -> Turn | Raw:
        limits.append(view.body["max_tokens"])
        most = "This model supports at most 16384 completion tokens, whereas you provided 99999."
        words = {"error": {"message": f"max_tokens is too large: 99999. {most}"}}
        refusal = Raw("chat", json.dumps(words).encode(), "application/json", 400)
        return refusal if limits[-1] > 16_384 else Turn(Text("Hello."))

    async with running_server(tmp_path, script) as server:
        for _ in range(2):
            answer = await server.ask("Hi", max_tokens=99_999)
            assert answer.status_code == 200, answer.text
        assert limits == [99_999, 16_384, 16_384]


async def test_a_list_that_failed_is_let_rest(tmp_path: Path) -> None:
    async with running_server(tmp_path, HELLO) as server:
        engine, simulator = server.house.engine, server.house.simulator
        await until(lambda: engine.catalogue.listing(PROVIDER).state == "ready")
        engine.settings.values.base_urls[PROVIDER] += "/nowhere"

        def asked() -> int:
            return len([one for one in simulator.requests if "nowhere" in one.path])

        for _ in range(3):
            await server.client.get("/v1/models")
            await until(lambda: engine.catalogue.listing(PROVIDER).state == "failed")
        assert asked() == 1


async def test_agents_and_models_are_listed(tmp_path: Path) -> None:
    """S-3: agents, and the models that are set up, as the person offers them."""
    async with running_server(tmp_path, HELLO) as server:
        engine = server.house.engine
        values = engine.settings.values
        values.own_models = {PROVIDER: ["org/my-model", "other"]}
        values.enabled_models = {"simulator": []}
        answer = (await server.client.get("/v1/models")).json()
        assert answer["object"] == "list"
        ids = [one["id"] for one in answer["data"]]
        assert len(ids) == len(set(ids))
        assert "agent/Coder" in ids and "agent/Plain" not in ids
        assert f"{PROVIDER}/org/my-model" in ids
        assert not [one for one in ids if one.startswith(("openai/", "anthropic/", "simulator/"))]
        for one in answer["data"]:
            assert one.keys() == {"id", "object", "created", "owned_by", "name"}
        names = {one["id"]: one["name"] for one in answer["data"]}
        assert names["agent/Coder"] == "Coder"
        assert names[f"{PROVIDER}/other"].startswith("other (")
        listing = engine.catalogue.listing  # the provider is asked beside, and not waited for
        await until(lambda: listing(PROVIDER).state == "ready")
        values.base_urls["anthropic"] = server.house.simulator.url("anthropic")
        engine.keychain.keep_for_session("anthropic", KEY)
        await engine.look_for_providers()
        ids = [one["id"] for one in (await server.client.get("/v1/models")).json()["data"]]
        assert {f"{PROVIDER}/{one.id}" for one in listing(PROVIDER).models} < set(ids)
        assert [one for one in ids if one.startswith("anthropic/")]
        assert not server.house.asked  # nobody was asked for it

        one = await server.client.get(f"/v1/models/{PROVIDER}/org/my-model")
        assert one.json()["id"] == f"{PROVIDER}/org/my-model"
        quoted = await server.client.get(f"/v1/models/{PROVIDER}%2Forg%2Fmy-model")
        assert quoted.json() == one.json()
        none = await server.client.get("/v1/models/agent/Nobody")
        assert (none.status_code, none.json()["error"]["code"]) == (404, "model_not_found")

        await until(lambda: listing("anthropic").state == "ready")
        ids = [one["id"] for one in (await server.client.get("/v1/models")).json()["data"]]
        theirs = (await server.client.get("/v1/models", headers=ANTHROPIC)).json()
        assert [one["id"] for one in theirs["data"]] == ids
        assert (theirs["has_more"], theirs["first_id"], theirs["last_id"]) == (
            False,
            ids[0],
            ids[-1],
        )
        agent = await server.client.get("/v1/models/agent/Coder", headers=ANTHROPIC)
        assert agent.json().keys() == {"type", "id", "display_name", "created_at"}
        assert agent.json()["display_name"] == "Coder"


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/", 404),
        ("GET", "/v1", 404),
        ("GET", "/v1/models/", 404),
        ("POST", "/chat/completions", 404),
        ("POST", "/v1/chat/completions/", 404),
        ("POST", "/v1/embeddings", 404),
        ("POST", "/v1/messages/batches", 404),
        ("GET", "/v1/chat/completions", 405),
        ("GET", "/v1/messages", 405),
        ("PUT", "/v1/responses", 405),
        ("DELETE", "/v1/models", 405),
        ("POST", "/v1/models", 405),
        ("PATCH", "/health", 405),
    ],
)
async def test_what_is_not_here_is_said_in_the_apis_shape(
    tmp_path: Path, method: str, path: str, code: int
) -> None:
    async with running_server(tmp_path, HELLO) as server:
        headers = {"content-type": "application/json"}
        answer = await server.client.request(method, path, headers=headers)
        assert answer.status_code == code
        taken = answer.headers.get("allow", "").split(", ")
        assert method not in taken and (taken != [""]) == (code == 405)
        _shaped(answer.json(), anthropic=path.startswith("/v1/messages"))
        asked = await server.client.request(method, path, headers=headers | ANTHROPIC)
        openai = path.startswith(("/v1/chat", "/v1/responses"))
        _shaped(asked.json(), anthropic=not openai)


async def test_what_a_path_takes_is_said(tmp_path: Path) -> None:
    async with running_server(tmp_path, HELLO) as server:
        for path, taken in (
            ("/v1/models", "GET, HEAD"),
            ("/v1/messages", "POST"),
            ("/v1/responses/x", "DELETE, GET, HEAD"),
        ):
            answer = await server.client.request("PUT", path)
            assert (answer.status_code, answer.headers["allow"]) == (405, taken)
        long = await server.client.get(f"/{'x' * 60_000}")
        assert long.status_code == 404 and len(long.content) < 1_000


async def test_a_slash_too_many_is_named(tmp_path: Path) -> None:
    async with running_server(tmp_path, HELLO) as server:
        for path, mistaken in (
            ("/v1/chat/completions/", True),
            ("/v1/responses/x//", True),
            ("/v1/embeddings/", False),
            ("/v1/embeddings", False),
        ):
            answer = await server.client.post(path, json={})
            assert answer.status_code == 404
            told = answer.json()["error"]["message"]
            assert ("Leave out the “/”" in told) == mistaken and path in told


async def test_a_wrong_base_url_is_named(tmp_path: Path) -> None:
    """With and without ``/v1`` is what people mistake most."""
    async with running_server(tmp_path, HELLO) as server:
        for path, mistaken in (
            ("/chat/completions", True),
            ("/v1/v1/messages", True),
            ("/v1//models", False),
            ("/v1/embeddings", False),
        ):
            answer = await server.client.post(path, json={})
            assert answer.status_code == 404
            assert ("base URL" in answer.json()["error"]["message"]) == mistaken, path


def _shaped(body: dict[str, Any], *, anthropic: bool) -> None:
    if anthropic:
        assert body["type"] == "error"
        assert body["error"].keys() >= {"type", "message"}
    else:
        assert body.keys() == {"error"}
        assert body["error"].keys() == {"message", "type", "param", "code"}


PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")


async def everywhere(server: RunningServer, *, stream: bool) -> list[Any]:
    """The same question in each API."""
    said = [{"role": "user", "content": "Go"}]
    bodies = (
        {"messages": said},
        {"input": "Go"},
        {"messages": said, "max_tokens": 9},
    )
    return [
        await server.client.post(path, json={"model": MODEL, "stream": stream, **body})
        for path, body in zip(PATHS, bodies, strict=True)
    ]


async def test_a_client_that_wants_one_call_at_a_time_gets_one(tmp_path: Path) -> None:
    """S-3: `parallel_tool_calls` and `disable_parallel_tool_use` hold, whatever the model does."""
    script: Script = lambda view: Turn(Call("look", {"at": 1}), Call("look", {"at": 2}))  # noqa: E731
    said = [{"role": "user", "content": "Go"}]
    schema = {"type": "object"}
    function = {"name": "look", "parameters": schema}
    one = {"parallel_tool_calls": False}
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    bodies: tuple[dict[str, Any], ...] = (
        {"messages": said, "tools": [{"type": "function", "function": function}], **one},
        {"input": "Go", "tools": [{"type": "function", **function}], **one},
        {
            "messages": said,
            "max_tokens": 9,
            "tools": [{"name": "look", "input_schema": schema}],
            "tool_choice": choice,
        },
    )
    async with running_server(tmp_path, script) as server:
        for path, body in zip(PATHS, bodies, strict=True):
            for wish, calls in ((body, 1), ({**body, "tool_choice": {"type": "auto"}}, 2)):
                if calls == 2 and path != "/v1/messages":
                    wish = {**body, "parallel_tool_calls": True}
                answer = await server.client.post(path, json={"model": MODEL, **wish})
                assert answer.status_code == 200, answer.text
                assert answer.text.count('"look"') - ("tools" in answer.json()) == calls
        assert not server.house.simulator.violations


async def test_what_an_agent_brings_is_counted_too(tmp_path: Path) -> None:
    """S-3: its instructions and its tools are sent with every request."""
    async with running_server(tmp_path, HELLO) as server:
        values = server.house.engine.settings.values
        values.default_provider, values.default_model = PROVIDER, {PROVIDER: "sim-model"}
        said = {"messages": [{"role": "user", "content": "Go"}]}
        counts: list[int] = []
        for model in (MODEL, "agent/Coder"):
            body = {"model": model, **said}
            answer = await server.client.post("/v1/messages/count_tokens", json=body)
            counts.append(answer.json()["input_tokens"])
            body = {"model": model, "input": "Go", "instructions": "Be brief. " * 100}
            answer = await server.client.post("/v1/responses/input_tokens", json=body)
            assert answer.json()["input_tokens"] > counts[-1] + 200
        await server.client.post("/v1/messages", json={"model": model, "max_tokens": 9, **said})
        sent = server.house.asked[0].json
        size = len(json.dumps([sent["messages"], sent["tools"]])) / 4
        assert counts[0] < 20 and 0.7 * size < counts[1] < 1.3 * size


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("fault", "codes", "word"),
    [
        (status(401), (502, 502, 502), "provider_authentication"),
        (status(403), (502, 502, 502), "provider_forbidden"),
        (status(429, retry_after=7), (429, 429, 429), "rate_limit_exceeded"),
        (status(503), (503, 503, 529), "overloaded"),
        (status(500), (502, 502, 502), "provider_error"),
    ],
)
async def test_a_providers_refusal_has_its_proper_status(
    tmp_path: Path, fault: Fault, codes: tuple[int, ...], word: str, stream: bool
) -> None:
    """Also of a stream: nothing is sent before the first part is known."""
    async with running_server(tmp_path, lambda view: Turn(faults=[fault])) as server:
        answers = await everywhere(server, stream=stream)
        assert tuple(one.status_code for one in answers) == codes, answers[0].text
        for answer, path in zip(answers, PATHS, strict=True):
            _shaped(answer.json(), anthropic=path == "/v1/messages")
            if path != "/v1/messages":
                assert answer.json()["error"]["code"] == word
            again = word in ("rate_limit_exceeded", "overloaded", "provider_error")
            assert answer.headers["x-should-retry"] == str(again).lower()
            assert answer.headers.get("retry-after") == ("7" if codes[0] == 429 else None)
            assert KEY not in answer.text


async def test_an_error_in_the_middle_is_an_event_of_the_api(tmp_path: Path) -> None:
    turn = Turn(Text("Some words. " * 5), faults=[error_event(at=3)])
    async with running_server(tmp_path, lambda view: turn) as server:
        chat, responses, messages = await everywhere(server, stream=True)
        assert [one.status_code for one in (chat, responses, messages)] == [200] * 3
        assert [one for one in events(chat.text) if "error" in one]
        assert "response.failed" in responses.text
        assert "event: error\n" in messages.text
        whole = await everywhere(server, stream=False)
        assert [one.status_code for one in whole] == [503, 503, 529]


async def test_a_model_that_is_not_there_is_404(tmp_path: Path) -> None:
    async with running_server(tmp_path, HELLO) as server:
        for name in ("nothing", "agent/Nobody", f"{PROVIDER}/missing-model"):
            answer = await server.client.post(PATHS[0], json={**server.chat(), "model": name})
            assert answer.status_code == 404, answer.text
            assert answer.json()["error"]["code"] == "model_not_found"


async def test_what_is_too_long_is_400(tmp_path: Path) -> None:
    async with running_server(tmp_path, HELLO, window=50) as server:
        answer = await server.ask("word " * 500)
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["code"] == "context_length_exceeded"


def test_every_fault_of_a_provider_has_a_status() -> None:
    """A client's library tries again exactly where that can help."""
    from typing import get_args

    for fault in get_args(ProviderFault):
        found = errors.error_from_exception(ProviderError(fault, "Words."))
        assert 400 <= found.status < 600 and found.status != 401, fault
        assert found.message == "Words."
        retries = found.headers().get("x-should-retry") == "true"
        assert retries is (fault in RETRYABLE), fault


def test_errors_hold_no_secrets_and_no_details(caplog: pytest.LogCaptureFixture) -> None:
    key = "sk-live-0123456789abcdef"
    for error in (ProviderError("bad_request", f"Wrong key {key}."), ValueError(key)):
        assert key not in errors.error_from_exception(error).message
    assert errors.error_from_exception(ValueError("x")) == errors.ApiError(errors.INTERNAL)
    assert "ValueError" in caplog.text
    caplog.clear()
    assert (
        "/"
        not in errors.error_from_exception(StorageError("/home/me/studio.db is locked.")).message
    )
    mistake = errors.error_from_exception(BadRequest("Wrong.", param="n", code="c"))
    assert (mistake.status, mistake.param, mistake.code) == (400, "n", "c")
    assert mistake.headers() == {}
    assert not caplog.text
    wait = errors.error_from_exception(
        ProviderError("rate_limited", "Wait.", retry_after=1e9)
    ).headers()
    assert wait["retry-after"] == "3600"


async def test_nothing_of_a_request_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with running_server(tmp_path, HELLO) as server:
        await server.ask("my little secret")
        await server.client.get("/v1/models/my-little-secret")
    logged = [one.getMessage() for one in caplog.records if one.name != "httpx2"]
    assert "secret" not in " ".join(logged)  # the client here logs what it asks for


async def test_a_dialects_body_is_what_went_out(tmp_path: Path) -> None:
    """Compact JSON, characters as they are."""
    async with running_server(tmp_path, lambda view: Turn(Text("Grüße 🙂"))) as server:
        answer = await server.ask()
        assert "Grüße 🙂" in answer.content.decode()
        assert json.loads(answer.content) == answer.json()
        assert int(answer.headers["content-length"]) == len(answer.content)
        assert "server" not in answer.headers


async def test_a_big_body_is_read_beside_the_others() -> None:
    """S-5: whoever else streams does not wait until 100,000 messages are read."""
    here = threading.get_ident()
    assert await read_from(b"{}", threading.get_ident) == here
    assert await read_from(b" " * 200_000, threading.get_ident) != here


async def test_every_answer_has_a_number(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Under the names that the libraries read; an error of ours is in the log by it."""
    script: list[Turn] = [Turn(Text("Hi."))] * 4 + [Turn(faults=[status(500)])] * 3
    async with running_server(tmp_path, script) as server:
        client = server.client
        answers = [
            *await everywhere(server, stream=True),
            await server.ask(),
            await client.get("/v1/models"),
            await client.get("/health"),
            await client.get("/nothing", headers=ANTHROPIC),
            await client.get("/v1/models", headers={"host": "evil.example"}),
            await client.get("/v1/models", headers={"authorization": "Bearer wrong"}),
            *await everywhere(server, stream=False),
        ]
        numbers = [answer.headers["x-request-id"] for answer in answers]
        assert len(set(numbers)) == len(answers)
        assert [answer.headers["request-id"] for answer in answers] == numbers
        assert all(re.fullmatch("req_[0-9a-f]{32}", number) for number in numbers)
        assert answers[-1].status_code == 502
        assert answers[-1].json()["request_id"] == numbers[-1]
        logged = [one.getMessage() for one in caplog.records if "was answered" in one.message]
        assert [line.partition(":")[0] for line in logged] == numbers[-3:]
        assert logged[-1].endswith(": POST '/v1/messages' was answered with 502")
