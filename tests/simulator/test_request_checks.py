"""H-3, H-5: what a provider refuses, the simulator refuses, in the provider's own words."""

from __future__ import annotations

import copy
import json
from collections.abc import AsyncIterator, Callable

import httpx2
import pytest

from studio.simulator import ApiName, Call, Simulator, Text, Think, Turn
from support.rule_cases import (
    ASK,
    BROKEN,
    HEADERS,
    HI,
    WORDS,
    Body,
    assistant,
    calling,
    chat,
    claude,
    contents,
    fc,
    gcall,
    gresult,
    inputs,
    message_of,
    out,
    post,
    result,
    said,
    tool,
    use,
    user,
)


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


@pytest.mark.parametrize(
    ("api", "case"), [(name, case) for name, cases in BROKEN.items() for case in cases]
)
async def test_broken_histories_are_refused(
    http: httpx2.AsyncClient, api: ApiName, case: str
) -> None:
    body, message = BROKEN[api][case]
    async with Simulator([Turn(Text("Should not come."))]) as sim:
        status, answer = await post(http, sim, api, body)
        assert message_of(api, answer) == message
        assert status == (404 if "not found. Items" in message else 400)
        assert [violation.message for violation in sim.violations] == [message]


GOOD: list[tuple[ApiName, Body]] = [
    ("anthropic", claude(HI, assistant(use("t1"), use("t2")), user(result("t2"), result("t1")))),
    ("anthropic", claude(HI, assistant(use("t1")), user(result("t1")), user(said("and")))),
    (
        "anthropic",
        claude(
            HI,
            assistant(use("t1")),
            user(result("t1")),
            {"role": "system", "content": "Be brief."},
            model="demo-tools",
        ),
    ),
    # An id may come again in a later turn that has its own result.
    (
        "anthropic",
        claude(HI, assistant(use("t")), user(result("t")), assistant(use("t")), user(result("t"))),
    ),
    ("chat", chat(ASK, calling("c1", "c2"), tool("c2"), tool("c1"))),
    ("responses", inputs(ASK, fc("c1"), fc("c2"), out("c2"), ASK, out("c1"))),
    (
        "gemini",
        contents(WORDS, ("model", [gcall()]), ("model", [gcall()]), ("user", [gresult()] * 2)),
    ),
    (
        "gemini",
        contents(
            WORDS,
            ("model", [{**gcall(), "thoughtSignature": "skip_thought_signature_validator"}]),
            ("user", [gresult()]),
            model="sim-gemini-3",
        ),
    ),
    ("ollama", {"model": "demo-fast", "stream": False, "messages": [ASK]}),
]


@pytest.mark.parametrize(("api", "body"), GOOD)
async def test_unusual_but_good_histories_pass(
    http: httpx2.AsyncClient, api: ApiName, body: Body
) -> None:
    async with Simulator([Turn(Text("Fine."))]) as sim:
        status, answer = await post(http, sim, api, body)
        assert (status, sim.violations) == (200, []), answer


async def test_warn_records_and_answers(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Text("Fine."))], strict="warn") as sim:
        status, _ = await post(http, sim, "chat", chat(ASK, tool("c1")))
        assert status == 200
        assert [violation.rule for violation in sim.violations] == ["pairing"]


async def test_house_rules_pair_on_ollama(http: httpx2.AsyncClient) -> None:
    """H-3: Ollama itself takes anything."""
    call = {"function": {"name": "read", "arguments": {}}}
    reply = {"role": "assistant", "content": "", "tool_calls": [call, call]}
    answer = {"role": "tool", "tool_name": "read", "content": "ok"}
    rows: list[tuple[list[Body], str]] = [
        ([answer], "house rule: calls without results: read"),
        ([answer] * 3, "house rule: no open call for a result of 'read'"),
        ([answer, {**answer, "tool_name": "x"}], "house rule: no open call for a result of 'x'"),
    ]
    both = {**reply, "tool_calls": [call, {"function": {"name": "write", "arguments": {}}}]}
    wrong = [ASK, both, {**answer, "tool_name": "write"}, answer]
    async with Simulator([Turn(Text("Fine."))], strict="beyond") as sim:
        status, refused = await post(http, sim, "ollama", {"model": "m", "messages": wrong})
        assert "call order" in message_of("ollama", refused)
        for results, message in rows:
            messages = [ASK, reply, *results]
            body: Body = {"model": "m", "messages": messages}
            status, refused = await post(http, sim, "ollama", body)
            assert (status, message_of("ollama", refused)) == (400, message)


async def test_house_rules_want_call_order(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Text("Fine."))], strict="beyond") as sim:
        backwards = contents(
            WORDS,
            ("model", [gcall(id="f1"), gcall(id="f2")]),
            ("user", [gresult(id="f2"), gresult(id="f1")]),
        )
        for api, body in (GOOD[0], GOOD[4], ("gemini", backwards)):
            status, answer = await post(http, sim, api, body)
            assert status == 400
            assert "call order" in message_of(api, answer)


THINKING = [Turn(Think("Let me see."), Call("read", {"path": "a"})), Turn(Text("Done."))]


async def thought(http: httpx2.AsyncClient, sim: Simulator, api: ApiName, body: Body) -> Body:
    status, answer = await post(http, sim, api, body)
    assert status == 200, answer
    return answer


Change = Callable[[Body], None]


def drop_system(body: Body) -> None:
    body["system"] = "other"


def change_words(body: Body) -> None:
    body["messages"][0]["content"] = "Hello"


def change_thought(body: Body) -> None:
    body["messages"][1]["content"][0]["thinking"] += "!"


def mark_cache(body: Body) -> None:
    """Cache marks are no part of what a signature covers."""
    body["messages"][0]["content"] = [{**said("Hi"), "cache_control": {"type": "ephemeral"}}]


@pytest.mark.parametrize(
    ("model", "change", "message"),
    [
        ("sim-preserved-1", drop_system, "The block is bound to a different conversation"),
        ("claude-opus-5-5", change_words, "The block is bound to a different conversation"),
        ("sim-preserved-1", change_thought, "latest assistant message cannot be modified"),
        ("demo-thinker", change_thought, "latest assistant message cannot be modified"),
        ("demo-thinker", change_words, None),
        ("sim-preserved-1", mark_cache, None),
    ],
)
async def test_thinking_is_bound_to_what_came_before(
    http: httpx2.AsyncClient, model: str, change: Change, message: str | None
) -> None:
    async with Simulator(THINKING) as sim:
        body = claude({"role": "user", "content": "Hi"}, model=model, system="Be brief.")
        reply = await thought(http, sim, "anthropic", body)
        call = reply["content"][1]["id"]
        body["messages"] += [assistant(*reply["content"]), user(result(call))]
        change(body)
        status, answer = await post(http, sim, "anthropic", body)
        if message is None:
            assert status == 200, answer
        else:
            assert (status, len(sim.violations)) == (400, 1)
            assert message in message_of("anthropic", answer)


async def test_reasoning_items_come_back_whole(http: httpx2.AsyncClient) -> None:
    async with Simulator(THINKING) as sim:
        body = inputs(ASK)
        items = (await thought(http, sim, "responses", body))["output"]
        reasoning, call = items
        answer_to = out(call["call_id"])

        async def refusal(*rest: Body) -> str:
            status, answer = await post(http, sim, "responses", inputs(ASK, *rest))
            assert status == 400
            return message_of("responses", answer)

        assert await refusal(call, answer_to) == (
            f"Item '{call['id']}' of type 'function_call' was provided without its required "
            f"'reasoning' item: '{reasoning['id']}'."
        )
        following = (
            f"Item '{reasoning['id']}' of type 'reasoning' was provided without its required "
            "following item."
        )
        assert await refusal(reasoning) == following
        assert await refusal(reasoning, {"role": "assistant", "content": "x"}) == following
        damaged = {**reasoning, "encrypted_content": "AAAA" + reasoning["encrypted_content"][4:]}
        assert "could not be verified" in await refusal(damaged, call, answer_to)
        # The call may lack its id.
        bare = {key: value for key, value in call.items() if key not in ("id", "status")}
        await thought(http, sim, "responses", inputs(ASK, reasoning, bare, answer_to))


async def test_house_rules_want_one_message_a_turn(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Text("Fine."))], strict="beyond") as sim:
        status, answer = await post(http, sim, "anthropic", claude(HI, HI))
        assert (status, "consecutive user" in message_of("anthropic", answer)) == (400, True)


async def test_reasoning_cut_at_the_limit_cannot_come_back(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("Hm."), stop="max_tokens")]) as sim:
        (reasoning,) = (await thought(http, sim, "responses", inputs(ASK)))["output"]
        status, answer = await post(http, sim, "responses", inputs(ASK, reasoning, ASK))
        assert status == 400
        assert "required following item" in message_of("responses", answer)


async def test_a_message_keeps_its_id_after_reasoning(http: httpx2.AsyncClient) -> None:
    async with Simulator([Turn(Think("Hm."), Text("Yes."))] * 2) as sim:
        reasoning, message = (await thought(http, sim, "responses", inputs(ASK)))["output"]
        bare = {key: value for key, value in message.items() if key != "id"}
        status, answer = await post(http, sim, "responses", inputs(ASK, reasoning, bare, ASK))
        assert status == 400
        assert "required following item" in message_of("responses", answer)
        await thought(http, sim, "responses", inputs(ASK, reasoning, message, ASK))


async def test_encrypted_content_differs_by_stage(http: httpx2.AsyncClient) -> None:
    """Only what comes with ``done`` and ``completed`` may be sent back."""
    async with Simulator(THINKING * 2) as sim:
        url = f"{sim.url('responses')}/responses"
        response = await http.post(url, json={**inputs(ASK), "stream": True}, headers=HEADERS)
        rows = [line[6:] for line in response.text.splitlines() if line.startswith("data: ")]
        events = [json.loads(row) for row in rows]
        stages = {
            kind: next(e for e in events if e["type"] == f"response.{kind}")
            for kind in ("output_item.added", "output_item.done", "completed")
        }
        call = stages["completed"]["response"]["output"][1]
        items = [
            stages["output_item.added"]["item"],
            stages["output_item.done"]["item"],
            stages["completed"]["response"]["output"][0],
        ]
        assert len({item["encrypted_content"] for item in items}) == 3
        rest = (call, out(call["call_id"]))
        status, _ = await post(http, sim, "responses", inputs(ASK, items[0], *rest))
        assert status == 400
        for item in items[1:]:
            await thought(http, sim, "responses", inputs(ASK, item, *rest))


async def test_gemini_checks_signatures_of_this_turn(http: httpx2.AsyncClient) -> None:
    parallel = Turn(Call("read", {"path": "a"}), Call("read", {"path": "b"}))
    async with Simulator([parallel, Turn(Text("Done.")), Turn(Text("Done."))]) as sim:
        body = contents(WORDS, model="sim-gemini-3")
        reply = await thought(http, sim, "gemini", body)
        parts = reply["candidates"][0]["content"]["parts"]
        assert ["thoughtSignature" in part for part in parts] == [True, False]
        results = [gresult(id=part["functionCall"]["id"]) for part in parts]

        def following(model_parts: list[Body], *more: tuple[str, list[Body]]) -> Body:
            rows = (WORDS, ("model", model_parts), ("user", results), *more)
            return contents(*rows, model="sim-gemini-3")

        changed = copy.deepcopy(parts)
        changed[0]["functionCall"]["args"] = {"path": "z"}
        status, answer = await post(http, sim, "gemini", following(changed))
        assert (status, message_of("gemini", answer)) == (400, "Corrupted thought signature.")
        # Either base64 alphabet will do.
        safe = copy.deepcopy(parts)
        signature = safe[0]["thoughtSignature"]
        safe[0]["thoughtSignature"] = signature.replace("+", "-").replace("/", "_")
        await thought(http, sim, "gemini", following(safe))
        # An earlier turn is not checked any more.
        bare = [{"functionCall": part["functionCall"]} for part in parts]
        await thought(http, sim, "gemini", following(bare, ("model", [{"text": "x"}]), WORDS))
