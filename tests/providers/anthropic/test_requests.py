"""What Anthropic is asked for: thinking, effort, system messages, pictures, facts, errors."""

from __future__ import annotations

import json
import struct
from itertools import pairwise
from typing import Any

import pytest

from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import EFFORTS, Effort, ModelInfo, nearest_effort
from studio.providers.anthropic.adapter import AnthropicProvider, body_of
from studio.providers.anthropic.models import (
    beta_headers,
    facts_of,
    output_limit,
    takes_system_messages,
    thinking_parameters,
)
from studio.providers.http import Http
from studio.providers.media import pixels
from studio.simulator import Call, Raw, Simulator, Think, Turn
from studio.simulator import Text as Say
from support.provider_calls import READ, answer, drain, fails, request, result, thoughts

NEW = "claude-opus-5-5"


def provider(simulator: Simulator, http: Http) -> AnthropicProvider:
    return AnthropicProvider("sim-key", simulator.url("anthropic"), http)


def asked(model: str, effort: Effort | None = None, **more: Any) -> dict[str, Any]:
    facts = more.pop("facts", None)
    found = thinking_parameters(
        request(more.pop("history", []), model=model, effort=effort, facts=facts, **more)
    )
    return dict(found)


def test_the_nearest_effort() -> None:
    assert nearest_effort("minimal", ("low", "high")) == "low"
    assert nearest_effort("max", ("none", "low", "high")) == "high"
    assert nearest_effort("medium", ("low", "high")) == "low"
    assert nearest_effort("low", ("none", "high")) == "high"
    assert nearest_effort("high", ("none",)) == "none"
    assert nearest_effort("none", ("minimal", "low")) == "minimal"
    assert nearest_effort("minimal", ("none", "low")) == "low"  # not none: to think was asked for
    assert nearest_effort("medium", ("xhigh",)) == "xhigh"
    for effort in EFFORTS:
        assert nearest_effort(effort, EFFORTS) == effort


SHOWN = {"type": "adaptive", "display": "summarized"}


@pytest.mark.parametrize(
    ("model", "effort", "thinking", "level"),
    [
        (NEW, None, SHOWN, None),
        (NEW, "minimal", SHOWN, "low"),
        (NEW, "max", SHOWN, "max"),
        (NEW, "none", SHOWN, "low"),  # this one always thinks
        ("claude-fable-5-1", "none", SHOWN, "low"),
        ("claude-sonnet-5-5", "none", {"type": "between_tools"}, None),
        ("claude-haiku-5-5", "none", {"type": "disabled"}, None),
        ("claude-opus-4-8", None, None, None),  # off unless asked for
        ("claude-opus-4-8", "high", SHOWN, "high"),
        ("claude-sonnet-4-6", "max", SHOWN, "high"),
        ("claude-opus-4-6", "xhigh", SHOWN, "high"),
        ("claude-mythos-preview", None, SHOWN, None),
        ("claude-3-5-haiku-20241022", "high", None, None),
        ("somebody-elses", "high", None, None),
    ],
)
def test_effort_by_name(model: str, effort: Any, thinking: Any, level: Any) -> None:
    body = asked(model, effort)
    assert body.get("thinking") == thinking
    assert body.get("output_config", {}).get("effort") == level


@pytest.mark.parametrize("model", ["claude-haiku-4-5-20251001", "claude-opus-4-20250514"])
def test_effort_as_a_budget(model: str) -> None:
    assert "thinking" not in asked(model)
    assert "thinking" not in asked(model, "none")
    budgets: list[int] = []
    for effort in EFFORTS[1:]:
        body = asked(model, effort)
        assert body["thinking"]["type"] == "enabled"
        budgets.append(body["thinking"]["budget_tokens"])
        assert 1_024 <= budgets[-1] < body["max_tokens"]
    assert budgets == sorted(budgets)
    assert budgets[0] < budgets[-1]
    one = request([], model=model, effort="high")
    assert beta_headers(one, thinking_parameters(one)) == {
        "anthropic-beta": "interleaved-thinking-2025-05-14"
    }
    bare = request([], model=model, effort="high", tools=())
    assert beta_headers(bare, thinking_parameters(bare)) == {}
    tight = asked(model, "high", facts=ModelInfo(model, output_limit=1_500))
    assert "thinking" not in tight
    assert tight["max_tokens"] == 1_500


def test_a_turn_that_began_without_thinking_ends_without() -> None:
    """A budget in the middle of such a turn would be a 400 for ever."""
    one = AnthropicProvider("k", "", Http())
    call: Any = {"type": "tool_use", "id": "t1", "name": "now", "input": {}}
    thought: Any = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    begun = one.user_items([Text("Hi.")])
    results = one.result_items([ToolResult("t1", "now", (Text("12:00"),))])
    model = "claude-haiku-4-5"

    def thinks(history: list[Any]) -> bool:
        return "thinking" in asked(model, "low", history=history)

    bare = [*begun, {"role": "assistant", "content": [call]}, *results]
    assert not thinks(bare)
    assert not thinks([*bare, *one.system_items("Hurry.")])
    assert not thinks([*bare, {"role": "assistant", "content": [thought, call]}, *results])
    assert thinks([*begun, {"role": "assistant", "content": [thought, call]}, *results])
    assert thinks(
        [*bare, {"role": "assistant", "content": [{"type": "text", "text": "12."}]}, *begun]
    )


def test_effort_by_what_is_known() -> None:
    """P-5: the list's word comes before the name's."""
    few = ModelInfo("x", efforts=("low", "high"))
    assert asked("claude-opus-9", "max", facts=few)["output_config"] == {"effort": "high"}
    assert asked("claude-opus-9", "none", facts=few)["output_config"] == {"effort": "low"}
    assert asked("other", "high", facts=few)["thinking"] == SHOWN
    assert "thinking" not in asked("other", None, facts=few)
    dull = ModelInfo("x", efforts=())
    assert "thinking" not in asked(NEW, "high", facts=dull)
    assert asked("other", "low", facts=ModelInfo("x", reasoning=True))["thinking"] == {
        "type": "enabled",
        "budget_tokens": 4_096,
    }


def test_room_to_think_and_to_answer() -> None:
    facts = ModelInfo("", context_window=1_000_000, output_limit=128_000)
    assert output_limit(request([], model=NEW, facts=facts)) == 32_000
    assert output_limit(request([], model=NEW, facts=facts, effort="max")) == 64_000
    assert output_limit(request([], facts=ModelInfo("", output_limit=8_192))) == 8_192
    small = request([], output_limit=99_000, facts=ModelInfo("", output_limit=8_192))
    assert output_limit(small) == 8_192


def test_a_temperature_goes_only_where_it_is_taken() -> None:
    def sent(sampling: bool | None, **more: Any) -> bool:
        facts = ModelInfo("m", sampling=sampling, efforts=("low",))
        return "temperature" in body_of(
            request([], model="m", temperature=0.2, facts=facts, **more)
        )

    assert sent(True)
    assert not sent(True, effort="low")
    assert not sent(False)
    assert not sent(None)
    assert "temperature" not in body_of(request([], model=NEW, temperature=0.2))


async def test_thinking_is_shown_and_signed_between_calls(http: Http) -> None:
    script = [
        Turn(Think("One."), Call("now")),
        Turn(Think("Two."), Call("read_file", {"path": "a"})),
        Turn(Think("Three."), Say("Done.")),
    ]
    async with Simulator(script) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Go.")])
        for effort in ("high", "max", "low"):
            stream = one.stream(request(history, model=NEW, effort=effort))
            assert thoughts(await drain(stream))
            reply = stream.reply()
            history += reply.items + one.result_items([result(call) for call in reply.calls])
        assert sim.violations == []
        sent = [exchange.json for exchange in sim.requests]
        assert [body["output_config"]["effort"] for body in sent] == ["high", "max", "low"]
        assert one.history_problem(history) == ""


# System messages.


def test_which_models_have_system_messages() -> None:
    for model in ("claude-opus-4-8", "claude-opus-5", NEW, "claude-sonnet-5-5", "claude-fable-5"):
        assert takes_system_messages(model)
    for model in ("", "demo-fast", "claude-sonnet-5", "claude-opus-4-7", "claude-haiku-4-5-20251001", "claude-3-7-sonnet-20250219"):  # fmt: skip
        assert not takes_system_messages(model)


async def test_h6_a_system_message_wherever_it_stands(http: Http) -> None:
    """H-6: after results, right after a reply, before the person's words, first of all."""
    script = [Turn(Think("Hm."), Call("now")), *(Turn(Think("Hm."), Say(".")) for _ in range(5))]
    async with Simulator(script) as sim:
        one = provider(sim, http)
        history = one.system_items("It is Monday.", NEW) + one.user_items([Text("Hi.")])
        reply = await answer(one, history, model=NEW)
        history += one.result_items([result(call) for call in reply.calls])
        history += one.system_items("Be quick.", NEW) + one.system_items("Very quick.", NEW)
        await answer(one, history, model=NEW)
        history += one.system_items("It is Tuesday.", NEW) + one.user_items([Text("And now?")])
        await answer(one, history, model=NEW)
        history += one.system_items("Go on by yourself.", NEW)
        await answer(one, history, model=NEW)
        history += one.user_items([Text("Thanks.")])
        assert one.history_problem(history) == ""
        await answer(one, history, model=NEW)
        await answer(
            one, history + one.user_items([Text("Bye.")]), model="claude-haiku-4-5-20251001"
        )
        assert sim.violations == []
        bodies: list[Any] = [exchange.json["messages"] for exchange in sim.requests]
    for earlier, later in pairwise(bodies[:5]):
        assert later[: len(earlier)] == earlier  # H-9
    last = bodies[4]
    for number, message in enumerate(last):
        if message["role"] == "system":  # the API's own words: see anthropic_history.placed
            assert last[number - 1]["role"] != "assistant"
            assert number + 1 == len(last) or last[number + 1]["role"] != "user"
    assert sum(message["role"] == "system" for message in last) == 4
    assert {"role": "user", "content": [{"type": "text", "text": "Go on by yourself."}]} in last
    assert all(message["role"] != "system" for message in bodies[5])


async def test_h6_a_system_message_before_results_comes_after_them(http: Http) -> None:
    async with Simulator([Turn(Call("now")), Turn(Say("."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        reply = await answer(one, history, model=NEW)
        history += one.system_items("Be quick.", NEW)
        assert one.open_calls(history) == reply.calls
        history += one.result_items([result(call) for call in reply.calls])
        await answer(one, history, model=NEW)
        assert sim.violations == []
        assert [m["role"] for m in sim.requests[1].json["messages"][2:]] == ["user", "system"]


# Pictures and files.


def png(width: int, height: int, size: int = 0) -> bytes:
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, height)
    return head + b"\0" * max(size - len(head), 0)


def test_sizes_by_the_header() -> None:
    assert pixels(png(3, 4)) == (3, 4)
    assert pixels(b"GIF89a" + struct.pack("<HH", 5, 6)) == (5, 6)
    jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x11\x08" + struct.pack(">HH", 8, 7)
    assert pixels(jpeg) == (7, 8)
    riff = b"RIFF\0\0\0\0WEBP"
    assert pixels(riff + b"VP8X" + b"\0" * 8 + b"\x08\0\0\x09\0\0") == (9, 10)
    assert pixels(riff + b"VP8 " + b"\0" * 10 + struct.pack("<HH", 11, 12)) == (11, 12)
    assert pixels(riff + b"VP8L" + b"\0" * 5 + struct.pack("<I", 12 | 13 << 14)) == (13, 14)
    for broken in (b"", b"BM", png(1, 1)[:20], b"\xff\xd8", jpeg[:12], riff + b"VP8 ", b"GIF89a"):
        assert pixels(broken) is None


def test_l_what_cannot_be_read_is_said_before_it_is_sent() -> None:
    one = AnthropicProvider("k", "", Http())
    pdf = File("a.pdf", "application/pdf", b"%PDF")
    picture = Image("image/png", png(100, 100))
    assert (
        one.media_problem(Text("x")) == one.media_problem(picture) == one.media_problem(pdf) == ""
    )
    assert one.media_problem(File("n.txt", "text/plain", b"x")) == ""
    assert one.media_problem(Image("image/png", png(1, 1, 7_000_000))) == (
        "Anthropic takes pictures up to 3.9 MB; this one has 7 MB."
    )
    assert one.media_problem(Image("image/png", png(9_000, 10))) == (
        "Anthropic takes pictures up to 8000 pixels wide or high; this one has 9000 × 10."
    )
    assert one.media_problem(File("x.bmp", "image/bmp", b"BM")) == (
        "Anthropic takes pictures as JPEG, PNG, GIF or WebP; this one is BMP."
    )
    assert one.media_problem(File("b.pdf", "application/pdf", bytes(30_000_000))) == (
        "Anthropic takes PDF files up to 20 MB; this one has 30 MB."
    )
    assert one.media_problem(File("x.zip", "application/zip", b"PK")) == (
        "Anthropic cannot read x.zip: it is neither text nor a PDF."
    )
    blind = ModelInfo("m", images=False)
    assert one.media_problem(picture, blind) == "This model cannot see pictures."
    assert one.media_problem(pdf, blind) == "This model cannot read PDF files."
    assert one.media_problem(pdf, ModelInfo("m", images=True, documents=False)) != ""
    long = File("n.txt", "text/plain", b"x" * 5_000)
    assert one.media_problem(long, ModelInfo("m", context_window=1_000)) == (
        "n.txt is longer than this model can read."
    )


def test_h7_nothing_refused_is_sent() -> None:
    one = AnthropicProvider("k", "", Http())
    huge = Image("image/png", png(9_000, 9_000))
    small = Image("image/png", png(9, 9))
    history = one.rebuild(
        [
            Message("user", (Text("See."), huge, File("x.zip", "application/zip", b"PK"))),
            Message("assistant", (ToolCall("a", "shot", None, "{broken"),)),
            Message("user", (ToolResult("a", "shot", (huge, small)),)),
            Message("user", (File("p.pdf", "application/pdf", b"%PDF"),)),
        ]
    )
    assert one.history_problem(history) == ""
    said: Any = history[0]["content"]
    assert [block["type"] for block in said] == ["text", "text", "text"]
    assert said[1]["text"].startswith("(Left out: picture. Anthropic takes pictures up to 8000")
    assert "x.zip" in said[2]["text"]
    call: Any = history[1]["content"]
    assert call[0]["input"] == {"INVALID_JSON": "{broken"}
    results: Any = history[2]["content"]
    assert [block["type"] for block in results[0]["content"]] == ["text", "image"]
    assert results[1]["type"] == "document"


# Facts and errors.


async def test_p5_facts_from_the_list(http: Http) -> None:
    async with Simulator([]) as sim:
        models = {model.id: model for model in await provider(sim, http).models()}
    opus, fast = models[NEW], models["demo-fast"]
    assert (opus.images, opus.documents, opus.sampling, opus.lifecycle, opus.retires) == (
        True, True, False, "active", "",
    )  # fmt: skip
    assert opus.efforts == ("none", "low", "medium", "high", "xhigh", "max")
    assert (fast.efforts, fast.reasoning) == ((), False)


def test_p5_facts_of_odd_entries() -> None:
    yes, no = {"supported": True}, {"supported": False}
    budget: Any = {
        "id": "old",
        "lifecycle": "deprecated",
        "retires_at": "2026-11-30T00:00:00Z",
        "capabilities": {
            "thinking": {"supported": True, "types": {"enabled": yes, "adaptive": no}},
            "effort": no,
            "image_input": yes,
            "pdf_input": no,
        },
    }
    old = facts_of(budget)
    assert old.efforts == ("none", "minimal", "low", "medium", "high")
    assert (old.lifecycle, old.retires, old.documents) == ("deprecated", "2026-11-30", False)
    assert asked("old", "low", facts=old)["thinking"]["type"] == "enabled"
    always: Any = {
        "capabilities": {
            "thinking": {"supported": True, "types": {"adaptive": yes, "disabled": no}},
            "effort": {"low": yes, "high": yes, "xhigh": None},
        }
    }
    assert facts_of(always).efforts == ("low", "high")
    bare = facts_of({"id": "x", "capabilities": None})
    assert (bare.efforts, bare.images, bare.reasoning) == (None, None, None)


async def test_h5_a_rejected_history_is_known_by_its_fault(http: Http) -> None:
    async with Simulator([]) as sim:
        one = provider(sim, http)
        history: Any = [
            *one.user_items([Text("Hi.")]),
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "now", "input": {}}],
            },
            *one.user_items([Text("Well?")]),
            {"role": "assistant", "content": [{"type": "text", "text": "Well."}]},
            *one.user_items([Text("So?")]),
        ]
        assert one.history_problem(history) == "message 4: a call before it has no result"
        with pytest.raises(Exception, match="did not accept the conversation's history") as caught:
            await drain(one.stream(request(history)))
        assert getattr(caught.value, "fault", "") == "bad_history"


async def test_l12_a_limit_on_spending_is_no_limit_on_the_rate(http: Http) -> None:
    words = "This request would exceed your monthly spend limit."
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": words}}
    raw = Raw("anthropic", json.dumps(body).encode(), "application/json", 429)
    async with Simulator([raw]) as sim:
        error = await fails(provider(sim, http))
        assert (error.fault, error.status, error.retry_after) == ("no_credit", 429, None)


def test_what_is_sent_is_json() -> None:
    one = AnthropicProvider("k", "", Http())
    assert one.cache is not None
    assert READ.schema
    json.dumps(one.user_items([Text("x"), File("a.pdf", "application/pdf", b"%PDF")]))
