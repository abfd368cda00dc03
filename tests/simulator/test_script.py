"""What a script can say: sealed thoughts, searches, phases, prices; and what a cache remembers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anthropic
import httpx2
import pytest

from studio.simulator import Found, RequestView, ServerTool, Simulator, Text, Think, Turn, Usage
from support.rule_cases import (
    ASK,
    HI,
    WORDS,
    assistant,
    claude,
    contents,
    inputs,
    post,
    said,
    user,
)
from support.rule_cases_parameters import BETA, local

SEARCH = ServerTool(query="cats", found=(Found("Cats", "https://cats.example"),))
LONG = "word " * 2000


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


async def test_sealed_thoughts_come_back_as_they_were(http: httpx2.AsyncClient) -> None:
    """H-1: redacted thinking is part of the history."""
    async with Simulator([Turn(Think("Secret.", redacted=True), Text("Yes."))] * 3) as sim:
        body = claude(HI, model="sim-preserved-1")
        _, reply = await post(http, sim, "anthropic", body)
        assert [block["type"] for block in reply["content"]] == ["redacted_thinking", "text"]
        assert "Secret" not in json.dumps(reply)
        again = {**body, "messages": [HI, assistant(*reply["content"]), user(said("And?"))]}
        assert (await post(http, sim, "anthropic", again))[0] == 200
        moved = {**again, "messages": [user(said("Ho")), *again["messages"][1:]]}
        status, refused = await post(http, sim, "anthropic", moved)
        assert (status, "different conversation" in str(refused)) == (400, True)
        _, items = await post(http, sim, "responses", inputs(ASK))
        assert items["output"][0]["summary"] == []


async def test_thinking_of_another_conversation_is_dropped_on_demand(
    http: httpx2.AsyncClient,
) -> None:
    """H-1: ``drop_block`` answers, and tells what was removed; a whole row goes at once."""
    turn = Turn(Think("One."), Think("Two."), Text("Yes."))
    async with Simulator([turn, turn, turn]) as sim:
        body = claude(HI, model="sim-preserved-1")
        _, reply = await post(http, sim, "anthropic", body)
        binding = {"prefix_mismatch_behavior": "drop_block"}
        history = [user(said("Ho")), assistant(*reply["content"]), user(said("And?"))]
        dropping = {
            **body,
            "messages": history,
            "thinking": {"type": "adaptive", "block_binding": binding},
        }
        status, second = await post(http, sim, "anthropic", dropping, BETA)
        assert status == 200, second
        assert second["input_transformations"] == [
            {
                "type": "thinking_dropped",
                "path": f"messages.1.content.{number}",
                "reason": "prefix_binding_mismatch",
            }
            for number in (0, 1)
        ]
        # What was thought after that is bound to what the model saw.
        dropping["messages"] = [*history, assistant(*second["content"]), user(said("Well?"))]
        status, third = await post(http, sim, "anthropic", dropping, BETA)
        assert len(third["input_transformations"]) == 2


async def test_thinking_of_another_model_is_dropped_silently(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("Hm."), Text("Yes."))] * 4) as sim:
        _, reply = await post(http, sim, "anthropic", claude(HI, model="sim-preserved-1"))
        messages = [HI, assistant(*reply["content"]), user(said("And?"))]
        status, second = await post(http, sim, "anthropic", claude(*messages))
        assert status == 200
        assert [row["reason"] for row in second["input_transformations"]] == [
            "model_binding_mismatch"
        ]
        _, reply = await post(http, sim, "responses", inputs(ASK))
        body = {**inputs(ASK, *reply["output"], ASK), "model": "gpt-5.6-mini"}
        status, second = await post(http, sim, "responses", body)
        assert status == 200
        assert second["input_transformations"] == [
            {
                "id": reply["output"][0]["id"],
                "type": "reasoning",
                "action": "removed",
                "reason": "model_mismatch",
            }
        ]
        assert sim.violations == []


async def test_searches_in_each_providers_form(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(SEARCH, Text("Cats."))] * 6) as sim:
        _, reply = await post(http, sim, "anthropic", claude(HI))
        use, found, _ = reply["content"]
        assert (use["type"], use["input"]) == ("server_tool_use", {"query": "cats"})
        assert found["content"][0]["url"] == "https://cats.example"
        history = [HI, assistant(*reply["content"]), user(said("And?"))]
        assert (await post(http, sim, "anthropic", claude(*history)))[0] == 200
        _, reply = await post(http, sim, "responses", inputs(ASK))
        assert [item["type"] for item in reply["output"]] == ["web_search_call", "message"]
        status, answer = await post(http, sim, "responses", inputs(ASK, *reply["output"], ASK))
        assert status == 200, answer
        _, reply = await post(http, sim, "gemini", contents(WORDS))
        grounding = reply["candidates"][0]["groundingMetadata"]
        assert grounding["groundingChunks"][0]["web"]["title"] == "Cats"
        body = {"model": "gpt-4o-search-preview", "messages": [ASK]}
        _, reply = await post(http, sim, "chat", body)
        cited = reply["choices"][0]["message"]["annotations"][0]["url_citation"]
        assert cited["url"] == "https://cats.example"


async def test_sdks_read_a_search_while_it_streams(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("x", redacted=True), SEARCH, Text("Cats."))]) as sim:
        client = anthropic.AsyncAnthropic(
            api_key="k", base_url=sim.url("anthropic"), max_retries=0, http_client=http
        )
        async with client.messages.stream(
            model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        ) as stream:
            message = await stream.get_final_message()
        kinds = [block.type for block in message.content]
        assert kinds == ["redacted_thinking", "server_tool_use", "web_search_tool_result", "text"]
        assert message.content[1].to_dict()["input"] == {"query": "cats"}


async def test_phases_and_a_last_signature(http: httpx2.AsyncClient) -> None:
    turn = Turn(Text("I look.", phase="commentary"), Text("Done."))
    async with Simulator([turn] * 2) as sim:
        _, reply = await post(http, sim, "responses", inputs(ASK))
        assert [item["phase"] for item in reply["output"]] == ["commentary", "final_answer"]
        _, reply = await post(http, sim, "gemini", contents(WORDS, model="sim-gemini-3"))
        last = reply["candidates"][0]["content"]["parts"][-1]
        assert last["text"] == ""
        assert last["thoughtSignature"]


async def test_a_provider_tells_its_price(http: httpx2.AsyncClient) -> None:
    """L-5."""
    async with Simulator([Turn(Text("."), usage=Usage(10, out=2, cost=0.0125))]) as sim:
        _, reply = await post(http, sim, "chat", {"model": "m", "messages": [ASK]})
        assert reply["usage"]["cost"] == 0.0125


async def test_thinking_can_be_left_out_of_what_is_shown(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("Hm."), Text("."))] * 2) as sim:
        body = claude(HI, thinking={"type": "adaptive", "display": "omitted"})
        _, reply = await post(http, sim, "anthropic", body)
        thinking = reply["content"][0]
        assert (thinking["thinking"], bool(thinking["signature"])) == ("", True)
        status, _ = await post(
            http, sim, "anthropic", claude(HI, assistant(*reply["content"]), user(said("And?")))
        )
        assert status == 200


async def test_the_cache_of_marked_prefixes(http: httpx2.AsyncClient) -> None:
    """L-5: Anthropic writes what is marked, and reads what an earlier request wrote."""

    async def usage(*messages: Any, **more: Any) -> tuple[int, int]:
        _, reply = await post(http, sim, "anthropic", claude(*messages, system=LONG, **more))
        found = reply["usage"]
        assert found["input_tokens"] >= 0
        return found["cache_read_input_tokens"], found["cache_creation_input_tokens"]

    mark = {"cache_control": {"type": "ephemeral"}}
    async with Simulator([Turn(Text("Fine."))] * 6) as sim:
        assert await usage(HI) == (0, 0)
        read, written = await usage(HI, **mark)
        assert read == 0
        assert written >= 2000
        longer = (HI, assistant(said("Fine.")), user(said(LONG)))
        read, more = await usage(*longer, **mark)
        assert (read, more >= 2000) == (written, True)
        # A prefix that was changed is another one.
        assert (await usage(user(said("Ho")), **mark))[0] == 0
        assert (await usage(*longer, model="sim-preserved-1", **mark))[0] == 0


@pytest.mark.parametrize("api", ["responses", "chat", "gemini"])
async def test_the_cache_of_every_prefix(http: httpx2.AsyncClient, api: Any) -> None:
    """L-5: the others cache by themselves what two requests begin with."""

    def body(first: str, *more: str) -> Any:
        rows = [first, *more]
        if api == "gemini":
            names = ("user", "model")
            return contents(*((names[n % 2], [{"text": row}]) for n, row in enumerate(rows)))
        names = ("user", "assistant")
        messages = [{"role": names[n % 2], "content": row} for n, row in enumerate(rows)]
        key = "input" if api == "responses" else "messages"
        return {"model": "gpt-4o", key: messages}

    async def cached(*rows: str) -> int:
        _, reply = await post(http, sim, api, body(*rows))
        if api == "gemini":
            return reply["usageMetadata"].get("cachedContentTokenCount", 0)
        names = {"responses": "input_tokens_details", "chat": "prompt_tokens_details"}
        return reply["usage"][names[api]]["cached_tokens"]

    async with Simulator([Turn(Text("Fine."))] * 5) as sim:
        assert await cached("Hi") == 0
        assert await cached(LONG) == 0
        first = await cached(LONG, "Fine.", "And?")
        assert first >= 2000
        assert await cached(LONG, "Fine.", "And?", "Well.", "So?") > first
        assert await cached("other " + LONG, "Fine.", "And?") == 0


async def test_a_small_window_drops_the_oldest(http: httpx2.AsyncClient) -> None:
    """Ollama cuts silently: the script sees what the model would."""
    seen: list[RequestView] = []

    def script(request: RequestView) -> Turn:
        seen.append(request)
        return Turn(Text(f"{len(request.items)} items"))

    system = {"role": "system", "content": "Be brief."}
    answer = {"role": "assistant", "content": "Fine."}
    messages = [system, {"role": "user", "content": LONG}, answer, {**ASK, "content": "And?"}]
    async with Simulator(script) as sim:
        for room in (16_384, 1024):
            body = local(*messages, options={"num_ctx": room})
            _, reply = await post(http, sim, "ollama", body)
            assert reply["prompt_eval_count"] <= room
        assert [len(view.items) for view in seen] == [4, 3]
        assert [view.left_out for view in seen] == [0, 1]
        assert seen[1].system == "Be brief."
        assert seen[1].last_user == "And?"


async def test_ollama_thinks_when_it_may(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("Hm."), Text("Yes."))] * 2) as sim:
        _, reply = await post(http, sim, "ollama", local(ASK, think=True))
        assert reply["message"]["thinking"] == "Hm."
        _, reply = await post(http, sim, "ollama", local(ASK, think=False))
        assert "thinking" not in reply["message"]


async def test_ollama_fetches_a_model(http: httpx2.AsyncClient) -> None:
    async with Simulator([]) as sim:
        url = sim.url("ollama") + "/api/pull"
        lines = (await http.post(url, json={"model": "demo-fast"})).text.splitlines()
        rows = [json.loads(line) for line in lines]
        assert rows[0] == {"status": "pulling manifest"}
        assert [row["completed"] for row in rows if "completed" in row][-1] == rows[1]["total"]
        assert rows[-1] == {"status": "success"}
        lines = (await http.post(url, json={"model": "missing-1"})).text.splitlines()
        assert "error" in json.loads(lines[-1])
        shown = await http.post(sim.url("ollama") + "/api/show", json={"model": "demo-thinker"})
        assert "thinking" in shown.json()["capabilities"]
        tags = (await http.get(sim.url("ollama") + "/api/tags")).json()["models"]
        assert {"completion", "tools"} <= set(tags[0]["capabilities"])


async def test_a_new_session_may_begin_like_another(http: httpx2.AsyncClient) -> None:
    """The append-only rule is about one session; a retry and a new beginning are none of it."""
    async with Simulator([Turn(Text("Fine."))] * 5, strict="beyond") as sim:
        later = claude(HI, assistant(said("Fine.")), user(said("And?")))
        for body in (claude(HI), later, later, claude(HI), later):
            status, answer = await post(http, sim, "anthropic", body)
            assert status == 200, answer
