"""Ollama natively: the context that fits this computer, thinking, abilities, downloads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.messages import File, Image, Text
from studio.domain.models import EFFORTS, ModelInfo
from studio.providers.computer_memory import CONTEXT_LEAST, Memory
from studio.providers.http import Http
from studio.providers.ollama.adapter import OllamaProvider, PullProgress, estimated
from studio.providers.ollama.models import (
    CONTEXT_CAP,
    CONTEXT_UNKNOWN,
    ModelDetails,
    context_size,
    pull_progress,
)
from studio.providers.ollama.stream import OllamaAccumulator
from studio.providers.sse import Endpoint
from studio.simulator import Raw, Simulator, Turn
from studio.simulator import Text as Say
from support.provider_calls import answer, drain, fails, request
from support.waiting import HANG

GIBIBYTE = 1 << 30


def provider(simulator: Simulator, http: Http) -> OllamaProvider:
    return OllamaProvider("", simulator.url("ollama"), http)


def chats(simulator: Simulator) -> list[Any]:
    return [one.json for one in simulator.requests if one.path == "/api/chat"]


def shown(able: list[str] | None = None, **info: Any) -> ModelDetails:
    """As Ollama shows Llama 3.1 8B, with changes."""
    answer: Any = {
        "details": {"family": "llama", "parameter_size": "8.0B", "quantization_level": "Q4_K_M"},
        "model_info": {
            "general.architecture": "llama",
            "general.parameter_count": 8_030_261_312,
            "llama.context_length": 131_072,
            "llama.block_count": 32,
            "llama.embedding_length": 4096,
            "llama.attention.head_count": 32,
            "llama.attention.head_count_kv": 8,
            **info,
        },
    }
    if able is not None:
        answer["capabilities"] = able
    return ModelDetails.read(answer, "llama3.1")


def test_p1_what_a_model_takes_in_memory() -> None:
    """llama.cpp reports 128 KiB a token for Llama 3.1 8B, and 4.9 GB for its Q4_K_M file."""
    one = shown()
    assert one.cache_bytes == 128 * 1024
    assert one.weights == pytest.approx(4.9e9, rel=0.03)
    assert shown(**{"llama.attention.key_length": 256}).cache_bytes == 192 * 1024
    layers = [0, 8] * 16
    assert shown(**{"llama.attention.head_count_kv": layers}).cache_bytes == 64 * 1024
    latent = shown(**{"llama.attention.kv_lora_rank": 512, "llama.rope.dimension_count": 64})
    assert latent.cache_bytes == 32 * 576 * 2
    assert shown(**{"llama.block_count": None}).cache_bytes is None
    assert ModelDetails.read({}, "x") == ModelDetails()


@pytest.mark.parametrize(
    ("total", "free", "tokens"),
    [
        (8, 6, CONTEXT_LEAST),  # 6 GiB for weights of 5.4 GB leave little
        (16, 12, 49_152),
        (24, 22, CONTEXT_CAP),
        (64, 60, CONTEXT_CAP),
        (16, 1, CONTEXT_LEAST),
        (64, 1, CONTEXT_CAP),  # loaded already: half of all may be meant for models
    ],
)
def test_p1_the_context_is_as_large_as_fits(total: int, free: int, tokens: int) -> None:
    memory = Memory(total * GIBIBYTE, free * GIBIBYTE)
    assert context_size(shown(), None, memory) == tokens


def test_p1_the_context_is_never_larger_than_the_model_has() -> None:
    plenty = Memory(256 * GIBIBYTE, 250 * GIBIBYTE)
    small = shown(**{"llama.context_length": 2048})
    assert context_size(small, None, plenty) == 2048
    assert context_size(shown(), 10_000, plenty) == 10_000
    assert context_size(small, 10_000, Memory(GIBIBYTE, 0)) == 2048
    assert context_size(ModelDetails(), None, plenty) == CONTEXT_UNKNOWN
    assert context_size(shown(), None, None) == CONTEXT_CAP  # another computer


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(1, 2**20))
def test_p1_any_memory_gives_a_context(total: int, free: int, known: int) -> None:
    memory = Memory(total, min(free, total))
    assert 0 <= memory.usable <= total
    tokens = context_size(shown(), known, memory)
    assert tokens <= known
    assert tokens <= CONTEXT_CAP
    assert tokens >= min(known, CONTEXT_LEAST)


def test_this_computer_tells_its_memory() -> None:
    memory = Memory.of_this_computer()
    assert memory is not None
    assert 0 < memory.free <= memory.total


async def test_p1_the_context_stays_the_same_for_a_session(http: Http) -> None:
    """Another num_ctx would load the model anew at each request."""
    async with Simulator([Turn(Say("Yes."))] * 3) as sim:
        one = provider(sim, http)
        for known, session in ((8192, "s"), (4096, "s"), (4096, "t")):
            facts = ModelInfo("demo-fast", context_window=known)
            await answer(one, one.user_items([Text("Hi.")]), facts=facts, session=session)
        assert [body["options"]["num_ctx"] for body in chats(sim)] == [8192, 8192, 4096]


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (["thinking"], [False, True, True, True, True, True, True]),
        ([True, False], [False, True, True, True, True, True, True]),
        (["low", "medium", "high"], ["low", "low", "low", "medium", "high", "high", "high"]),
        ([False, "high", "max"], [False, None, None, None, "high", "high", "max"]),
        ([False], [False] + [None] * 6),
    ],
)
def test_reasoning_how_much_is_asked(values: Any, asked: Any) -> None:
    answer: Any = {"capabilities": ["completion", "thinking"]}
    if values != ["thinking"]:
        answer["thinking"] = {"values": values}
    one = ModelDetails.read(answer, "qwen3")
    assert [one.think(effort) for effort in EFFORTS] == asked
    assert one.think(None) is None


def test_reasoning_only_where_the_model_can() -> None:
    assert shown(["completion"]).think("high") is None
    assert shown().think("high") is None
    assert ModelDetails.read({"capabilities": ["thinking"]}, "gpt-oss:20b").think("none") == "low"


async def test_reasoning_is_asked_of_the_server(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))] * 4) as sim:
        one = provider(sim, http)
        for model, effort in (
            ("demo-thinker", "high"),
            ("demo-thinker", "none"),
            ("demo-thinker", None),
            ("demo-fast", "high"),
        ):
            await answer(one, one.user_items([Text("Hi.")]), model=model, effort=effort)
        assert [body.get("think") for body in chats(sim)] == [True, False, None, None]
        assert sim.violations == []


async def test_reasoning_a_refusal_is_remembered(http: Http) -> None:
    words = b'{"error":"\\"demo-thinker\\" does not support thinking"}'
    refusal = Raw("ollama", words, "application/json", 400)
    async with Simulator([refusal, Turn(Say("Yes.")), Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        for _ in range(2):
            await answer(one, one.user_items([Text("Hi.")]), model="demo-thinker", effort="high")
        assert ["think" in body for body in chats(sim)] == [True, False, False]


async def test_temperature(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))] * 2) as sim:
        one = provider(sim, http)
        await answer(one, one.user_items([Text("Hi.")]), temperature=0.5)
        fixed = ModelInfo("demo-fast", sampling=False)
        await answer(one, one.user_items([Text("Hi.")]), temperature=0.5, facts=fixed)
        assert [body["options"].get("temperature") for body in chats(sim)] == [0.5, None]


async def test_h6_what_is_too_long_is_said_before(http: Http) -> None:
    async with Simulator([]) as sim:
        one = provider(sim, http)
        assert await one.warning(request(one.user_items([Text("Hi.")]))) == ""
        long = request(one.user_items([Text("word " * 8000)]))
        words = await one.warning(long)
        assert f"{estimated(long):,} tokens" in words
        assert "8,192" in words


async def test_what_is_too_long_for_ollama_is_named(http: Http) -> None:
    words = (
        b'{"error":"{\\"error\\":{\\"code\\":400,\\"message\\":\\"request (8889 tokens) exceeds '
        b'the available context size (4096 tokens), try increasing it\\",'
        b'\\"type\\":\\"exceed_context_size_error\\"}}"}'
    )
    async with Simulator([Raw("ollama", words, "application/json", 400)]) as sim:
        assert (await fails(provider(sim, http))).fault == "too_long"


def test_what_was_cut_off_is_said() -> None:
    def reply(sent: int, seen: int) -> Any:
        folded = OllamaAccumulator([], 8192, lambda error: ProviderError("server", str(error)))
        folded.sent = sent
        list(folded.feed({"message": {"role": "assistant", "content": "Yes."}, "done": False}))
        list(folded.feed({"done": True, "done_reason": "stop", "prompt_eval_count": seen}))
        return folded.reply()

    cut = reply(12_000, 8_100)
    assert cut.stop == "context_full"
    assert "12,000" in cut.detail
    assert reply(8_500, 8_100).stop == "end"  # an estimate only


async def test_what_a_model_can_read_is_what_ollama_says(http: Http) -> None:
    picture = Image("image/png", b"\x89PNG")
    async with Simulator([Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        facts = ModelInfo("demo-fast", images=True)
        assert one.media_problem(picture, facts) == ""
        history = one.user_items([Text("Look."), picture])
        await answer(one, history, facts=facts)
        assert "cannot see" in one.media_problem(picture, facts)
        # The template of such a model has no place for pictures of another time.
        assert "images" in history[0]
        sent = chats(sim)[0]["messages"][1]
        assert "images" not in sent
        assert "Left out: picture" in sent["content"]
    assert "PDF" in one.media_problem(File("a.pdf", "application/pdf", b"%PDF"))


async def test_a_model_without_tools_is_offered_none(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        assert "cannot use tools" in await one.warning(request(history, model="sim-plain"))
        await answer(one, history, model="sim-plain")
        assert "tools" not in chats(sim)[0]


async def test_pull_tells_how_far_it_is(http: Http) -> None:
    async with Simulator([]) as sim:
        one = provider(sim, http)
        steps = [step async for step in one.pull("demo-fast")]
        assert steps[-1].status == "success"
        assert steps[-1].completed == steps[-1].total > 0
        counts = [step.completed for step in steps]
        assert counts == sorted(counts)
        with pytest.raises(ProviderError) as caught:
            [step async for step in one.pull("missing-model")]
        assert caught.value.fault == "not_found"


async def test_pull_is_stopped_by_closing(http: Http) -> None:
    async with Simulator([]) as sim:
        one = provider(sim, http)
        steps = one.pull("demo-fast")
        await anext(steps)
        await steps.aclose()
        await asyncio.wait_for(sim.wait_disconnect(0), HANG)


async def _lines(*lines: Any) -> AsyncIterator[Any]:
    for line in lines:
        yield line


async def test_pull_adds_up_and_ends_only_with_success(http: Http) -> None:
    one = OllamaProvider("", "", http)
    endpoint: Endpoint = one._endpoint  # pyright: ignore[reportPrivateUsage]
    told = [
        {"status": "pulling manifest"},
        {"status": "pulling a", "digest": "a", "total": 100},
        {"status": "pulling a", "digest": "a", "total": 100, "completed": 100},
        {"status": "pulling b", "digest": "b", "total": 50, "completed": 20},
    ]
    seen: list[PullProgress] = []
    with pytest.raises(ProviderError) as caught:
        async for step in pull_progress(_lines(*told), endpoint):
            seen.append(step)
    assert caught.value.fault == "network"
    assert [(step.completed, step.total) for step in seen] == [
        (0, 0),
        (0, 100),
        (100, 100),
        (120, 150),
    ]
    with pytest.raises(ProviderError, match="disk is full"):
        async for _ in pull_progress(_lines({"error": "disk is full"}), endpoint):
            pass


async def test_an_old_server_without_show_still_answers(http: Http) -> None:
    async with Simulator([Turn(Say("Yes."))]) as sim:
        one = provider(sim, http)
        stream = one.stream(request(one.user_items([Text("Hi.")]), model="nobody-knows"))
        await drain(stream)
        assert stream.reply().stop == "end"
        assert chats(sim)[0]["options"]["num_ctx"] == CONTEXT_UNKNOWN
