"""What Gemini is asked for: thinking, temperature, order, signatures, pictures, facts, errors."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from studio.domain.messages import File, Image, Message, Text, ToolCall, ToolResult
from studio.domain.models import EFFORTS, Effort, ModelInfo
from studio.providers.gemini.adapter import UNSIGNED, GeminiProvider, body_of
from studio.providers.gemini.models import facts_of, generation_config, version, wants_signatures
from studio.providers.http import Http
from studio.simulator import Call, Raw, Simulator, Think, Turn
from studio.simulator import Text as Say
from support.provider_calls import answer, drain, fails, request, result, thoughts

SIGNED = "sim-gemini-3"


def provider(simulator: Simulator, http: Http) -> GeminiProvider:
    return GeminiProvider("sim-key", simulator.url("gemini"), http)


def thinking(model: str, effort: Effort | None = None, **facts: Any) -> Any:
    known = ModelInfo(model, **facts) if facts else None
    config: Any = generation_config(request([], model=model, effort=effort, facts=known))
    return config.get("thinkingConfig")


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("gemini-3-pro-preview", None, {}),
        ("gemini-3-pro-preview", "none", {"thinkingLevel": "LOW"}),
        ("gemini-3-pro-preview", "max", {"thinkingLevel": "HIGH"}),
        ("gemini-3.1-pro-preview", "medium", {"thinkingLevel": "MEDIUM"}),
        ("gemini-3-flash-preview", "none", {"thinkingLevel": "MINIMAL"}),
        ("gemini-flash-latest", "low", {"thinkingLevel": "LOW"}),
        ("gemini-2.5-pro", None, {}),
        ("gemini-2.5-pro", "none", {"thinkingBudget": 512}),  # it cannot but think
        ("gemini-2.5-pro", "max", {"thinkingBudget": 32_768}),
        ("gemini-2.5-flash", "max", {"thinkingBudget": 24_576}),
        ("gemini-2.5-flash-lite", "low", {"thinkingBudget": 2_048}),
    ],
)
def test_effort_by_name(model: str, effort: Any, expected: Any) -> None:
    assert thinking(model, effort) == {"includeThoughts": True, **expected}


def test_where_nothing_is_thought_nothing_is_asked_for() -> None:
    for model in ("gemini-2.0-flash", "gemma-3-27b-it", "gemini-2.5-flash-image", "demo-fast"):
        assert thinking(model, "high") is None
    assert thinking("gemini-2.5-flash-lite") is None
    assert thinking("gemini-2.5-flash", "none") == {"thinkingBudget": 0}
    assert thinking("gemini-3-pro", "high", reasoning=False) is None
    assert thinking("gemini-3-pro", "high", efforts=()) is None
    assert thinking("other", "high", reasoning=True) == {"includeThoughts": True}
    assert thinking("other", reasoning=True) == {"includeThoughts": True}
    few = thinking("gemini-4-pro", "max", efforts=("low", "xhigh"))
    assert few == {"includeThoughts": True, "thinkingLevel": "XHIGH"}


def test_budgets_grow_with_the_effort() -> None:
    for model in ("gemini-2.5-pro", "gemini-2.5-flash"):
        found = [thinking(model, effort)["thinkingBudget"] for effort in EFFORTS]
        assert found == sorted(found)


def test_temperature_and_room() -> None:
    def config(**more: Any) -> Any:
        return generation_config(request([], model="gemini-2.5-flash", **more))

    assert config(temperature=0.3)["temperature"] == 0.3
    assert "temperature" not in config(temperature=0.3, facts=ModelInfo("", sampling=False))
    assert "temperature" not in config()
    assert config(output_limit=100, effort="low")["maxOutputTokens"] == 2_148
    most = ModelInfo("", output_limit=1_000)
    assert config(output_limit=100, effort="low", facts=most)["maxOutputTokens"] == 1_000


def test_versions() -> None:
    assert version("gemini-3.1-pro-preview") == (3, 1)
    assert version("gemini-2.5-flash") == (2, 5)
    assert version("gemma-3") is None
    assert wants_signatures("gemini-pro-latest")
    assert not wants_signatures("gemini-2.5-pro")


async def test_thoughts_are_shown_and_signed_between_calls(http: Http) -> None:
    script = [
        Turn(Think("One."), Call("now")),
        Turn(Think("Two."), Call("read_file", {"path": "a"})),
        Turn(Think("Three."), Say("Done.")),
    ]
    async with Simulator(script) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Go.")])
        for effort in ("high", "low", None):
            stream = one.stream(request(history, model=SIGNED, effort=effort))
            assert thoughts(await drain(stream))
            reply = stream.reply()
            history += reply.items + one.result_items([result(call) for call in reply.calls])
        assert sim.violations == []
        bodies: list[Any] = [exchange.json for exchange in sim.requests]
        assert bodies[0]["generationConfig"]["thinkingConfig"] == {
            "includeThoughts": True,
            "thinkingLevel": "HIGH",
        }
        assert bodies[2]["contents"] == history[:-1]  # H-1
        assert one.history_problem(history) == ""


async def test_h6_words_wherever_they_stand(http: Http) -> None:
    """H-6, H-9: before results too; each request begins with what the one before sent."""
    async with Simulator([Turn(Call("now")), *(Turn(Say(".")) for _ in range(3))]) as sim:
        one = provider(sim, http)
        history = one.system_items("It is Monday.") + one.user_items([Text("Hi.")])
        reply = await answer(one, history, model=SIGNED)
        history += one.system_items("Hurry.")
        assert one.open_calls(history) == reply.calls
        history += one.result_items([result(call) for call in reply.calls])
        assert one.history_problem(history) == ""
        await answer(one, history, model=SIGNED)
        history += one.system_items("Go on.")
        await answer(one, history, model=SIGNED)
        history += one.system_items("It is Tuesday.") + one.user_items([Text("And?")])
        await answer(one, history, model=SIGNED)
        assert sim.violations == []
        sent: list[Any] = [exchange.json["contents"] for exchange in sim.requests]
    assert "functionResponse" in sent[1][3]["parts"][0]
    for earlier, later in pairwise(sent):
        assert later[: len(earlier)] == earlier


async def test_h5_calls_that_lost_their_signature_get_the_documented_one(http: Http) -> None:
    async with Simulator([Turn(Call("now"), Call("now")), Turn(Say("."))]) as sim:
        one = provider(sim, http)
        history = one.user_items([Text("Hi.")])
        reply = await answer(one, history, model=SIGNED)
        parts: Any = history[-1]["parts"]
        for part in parts:
            part.pop("thoughtSignature", None)
        before = json.dumps(history)
        history += one.result_items([result(call) for call in reply.calls])
        await answer(one, history, model=SIGNED)
        assert sim.violations == []
        sent: Any = sim.requests[1].json["contents"][1]["parts"]
        assert [part.get("thoughtSignature") for part in sent] == [UNSIGNED, None]
        assert json.dumps(history[:2]) == before  # what is stored stays as it is
    old: Any = body_of(request(history, model="gemini-2.5-flash"))["contents"]
    assert "thoughtSignature" not in old[1]["parts"][0]


def test_l_what_cannot_be_read_is_said_before_it_is_sent() -> None:
    one = GeminiProvider("k", "", Http())
    for fine in (
        Text("x"),
        Image("image/heic", b"x"),
        File("a.pdf", "application/pdf", bytes(40_000_000)),
        File("n.md", "text/markdown", b"x"),
    ):
        assert one.media_problem(fine) == ""
    assert one.media_problem(Image("image/gif", b"GIF89a")) == (
        "Gemini takes pictures as PNG, JPEG, WebP, HEIC or HEIF; this one is GIF."
    )
    assert one.media_problem(Image("image/png", bytes(21_000_000))) == (
        "Gemini takes pictures up to 20 MB; this one has 21 MB."
    )
    assert "50 MB" in one.media_problem(File("a.pdf", "application/pdf", bytes(51_000_000)))
    assert one.media_problem(File("x.zip", "application/zip", b"PK")) != ""


def test_h7_nothing_refused_is_sent() -> None:
    one = GeminiProvider("k", "", Http())
    gif, png = Image("image/gif", b"GIF89a"), Image("image/png", b"\x89PNG")
    history = one.rebuild(
        [
            Message("user", (gif, File("x.zip", "application/zip", b"PK"))),
            Message("assistant", (ToolCall("a", "shot", None, "{broken"),)),
            Message("user", (ToolResult("a", "shot", (gif, png)),)),
            Message("user", (File("p.pdf", "application/pdf", b"%PDF"),)),
        ]
    )
    assert one.history_problem(history) == ""
    said: Any = history[0]["parts"]
    assert all("text" in part for part in said)
    call: Any = history[1]["parts"]
    assert call[0]["functionCall"]["args"] == {"unreadable": "{broken"}
    kinds = [sorted(part) for part in history[2]["parts"]]  # type: ignore[union-attr] # a list
    assert kinds == [["functionResponse"], ["text"], ["inlineData"], ["inlineData"]]
    assert "GIF" in str(history[2]["parts"][0])  # type: ignore[index] # a list


def test_p5_facts_of_the_list() -> None:
    entry: Any = {
        "name": "models/gemini-3-pro-preview",
        "displayName": "Gemini 3 Pro",
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "thinking": True,
        "temperature": 1,
        "maxTemperature": 2,
    }
    pro = facts_of(entry)
    assert (pro.images, pro.documents, pro.sampling, pro.reasoning) == (True, True, True, True)
    assert pro.efforts is None  # the list does not say which; the snapshot may
    gemma = facts_of({"name": "models/gemma-3-27b-it", "thinking": None})
    assert (gemma.images, gemma.sampling, gemma.efforts) == (None, None, None)
    assert facts_of({"name": "models/gemini-2.0-flash"}).efforts is None
    assert facts_of({"name": "models/x", "thinking": False}).efforts == ()


async def test_h5_a_rejected_history_is_known_by_its_fault(http: Http) -> None:
    async with Simulator([]) as sim:
        one = provider(sim, http)
        call: Any = {"functionCall": {"name": "now", "args": {}}}
        history = one.user_items([Text("Hi.")])
        history.append({"role": "model", "parts": [call]})
        history.append({"role": "model", "parts": [{"text": "Well."}]})
        history += one.user_items([Text("So?")])
        assert one.history_problem(history) == "content 3: a call before it has no result"
        with pytest.raises(Exception, match="did not accept the conversation's history") as caught:
            await drain(one.stream(request(history, model=SIGNED)))
        assert getattr(caught.value, "fault", "") == "bad_history"


@pytest.mark.parametrize(
    ("words", "details", "fault", "wait"),
    [
        ("Quota exceeded.", [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}], "rate_limited", 34.07),
        ("Quota exceeded.", [], "rate_limited", None),
        ("Your prepayment credits are depleted.", [], "no_credit", None),
    ],
)  # fmt: skip
async def test_l12_the_wait_is_in_the_body(
    http: Http, words: str, details: Any, fault: str, wait: float | None
) -> None:
    error = {"code": 429, "message": words, "status": "RESOURCE_EXHAUSTED", "details": details}
    raw = Raw("gemini", json.dumps({"error": error}).encode(), "application/json", 429)
    async with Simulator([raw]) as sim:
        found = await fails(provider(sim, http))
        assert (found.fault, found.retry_after) == (fault, wait)
