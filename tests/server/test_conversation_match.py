"""Which session a request belongs to (S-1, S-2): on with it, a branch of it, or one of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.messages import (
    Block,
    File,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from studio.domain.tools import ToolSpec
from studio.server.contract import ApiRequest, BadRequest, TurnRef
from studio.server.conversation_digest import KnownConversations, conversation_digest
from studio.server.responder import Responder
from studio.simulator import Call, Think, Turn, cut, stall, status
from studio.simulator import Text as Says
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say
from support.responder_calls import (
    Answer,
    RequestRecorder,
    answered,
    assistant,
    call_of,
    responder_of,
    sent,
    user,
)

COMPATIBLE = "openai-compatible"
WEATHER = ToolSpec("weather", "The weather", {"type": "object", "properties": {}}, external=True)
HI = Turn(Says("Hi."))


def result(call: ToolCall, text: str = "Rain") -> ToolResult:
    return ToolResult(call.id, "", (Text(text),))


# One conversation is known from every other


def base() -> ApiRequest:
    messages = (user("Go"), assistant("Hi.", ToolCall("c1", "weather", {"a": 1, "b": 2})))
    return ApiRequest("m", messages, "Be brief.", (WEATHER,), user="ann")


def known(asked: ApiRequest, door: str = "chat") -> bytes:
    return conversation_digest(asked, door, asked.messages)


def test_what_a_client_may_change_when_it_sends_an_answer_back() -> None:
    call = ToolCall("c1", "weather", {"b": 2, "a": 1})
    for messages in (
        (user(" Go\n"), assistant("\nHi. ", call)),
        (user("Go"), assistant("Hi."), assistant(call)),
        (user("Go"), assistant("H", "i.", call)),
        (user("Go"), assistant(Reasoning("Hm."), "Hi.", call)),
        (user("Go", " "), assistant("Hi.", call)),
    ):
        assert known(replace(base(), messages=messages)) == known(base())


def test_what_makes_another_conversation() -> None:
    call = ToolCall("c1", "weather", {"a": 1, "b": 2})
    others: list[tuple[ApiRequest, str]] = [
        (base(), "responses"),
        (replace(base(), user="bob"), "chat"),
        (replace(base(), model="n"), "chat"),
        (replace(base(), instructions=""), "chat"),
        (replace(base(), tools=()), "chat"),
        (replace(base(), tools=(replace(WEATHER, description="?"),)), "chat"),
        (replace(base(), messages=(user("Go", "on"), assistant("Hi.", call))), "chat"),
        (replace(base(), messages=(user("Go"), assistant("Ho.", call))), "chat"),
        (replace(base(), messages=(user("Go"), assistant("Hi."))), "chat"),
        (replace(base(), messages=(assistant("Go"), user("Hi."))), "chat"),
        (
            replace(
                base(),
                messages=(user("Go"), assistant("Hi.", ToolCall("c2", "weather", call.arguments))),
            ),
            "chat",
        ),
    ]
    found = {known(asked, door) for asked, door in others}
    assert len(found) == len(others) and known(base()) not in found
    pictures = [
        user(Image("image/png", b"1")),
        user(Image("image/png", b"2")),
        user(File("a", "image/png", b"1")),
        user(result(call)),
        user(result(call, "Sun")),
        user(replace(result(call), is_error=True)),
        user("image", "image/png"),
    ]
    assert len({known(ApiRequest("m", (one,))) for one in pictures}) == len(pictures)


BLOCKS = st.one_of(
    st.builds(Text, st.text(max_size=4)),
    st.builds(Image, st.just("image/png"), st.binary(max_size=2)),
    st.builds(ToolCall, st.text(max_size=2), st.text(max_size=2), st.just({"a": 1})),
    st.builds(Reasoning, st.text(max_size=2)),
    st.builds(ToolResult, st.text(max_size=2), st.just(""), st.tuples(st.builds(Text, st.text()))),
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(BLOCKS).map(tuple))
)


@given(MESSAGES, MESSAGES)
def test_no_two_conversations_are_taken_for_one(one: list[Message], other: list[Message]) -> None:
    """Equal digests mean equal words and calls of each side."""

    def said(messages: Sequence[Message]) -> list[tuple[str, list[Any]]]:
        sides: list[tuple[str, list[Any]]] = []
        for message in messages:
            if not sides or sides[-1][0] != message.role:
                sides.append((message.role, []))
            sides[-1][1].extend(b for b in message.blocks if not isinstance(b, Reasoning))
        return [(role, _told(role, blocks)) for role, blocks in sides if role != "user" or blocks]

    def _told(role: str, blocks: list[Block]) -> list[Any]:
        if role == "assistant":
            text = "".join(b.text for b in blocks if isinstance(b, Text)).strip()
            return [text, *(b for b in blocks if isinstance(b, ToolCall))]
        texts = [Text(b.text.strip()) if isinstance(b, Text) else b for b in blocks]
        return [b for b in texts if b != Text("") and not isinstance(b, ToolCall)]

    same = conversation_digest(ApiRequest("m", ()), "chat", one) == conversation_digest(
        ApiRequest("m", ()), "chat", other
    )
    if same:
        assert repr(said(one)) == repr(said(other))


def test_the_oldest_answer_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.server.conversation_digest.KEPT", 2)
    known = KnownConversations()
    places = [TurnRef(f"{n}" * 32, "t" * 32) for n in range(3)]
    for n, place in enumerate(places):
        known.keep(bytes([n]), place)
    assert known.take(b"\0") is None
    assert known.take(b"\1") == places[1]
    assert known.take(b"\2") == places[2]
    assert known.take(b"\1") is None, "only the first who asks hears of it"


# On with it


async def talk(answering: Responder, home: EngineHome, *words: str, **wishes: Any) -> list[Answer]:
    """A client that keeps nothing but what was said."""
    messages: list[Message] = []
    answers: list[Answer] = []
    for word in words:
        messages.append(user(word))
        answers.append(await answered(answering, call_of(home, *messages, **wishes)))
        messages.append(answers[-1].message)
    return answers


async def test_what_the_model_thought_and_did_stays(tmp_path: Path) -> None:
    """H-1: the provider gets its own history back, with signatures the client never saw."""
    script = [
        Turn(Think("Secretly."), Says("I look."), Call("read", {"path": "a"})),
        Turn(Think("So."), Says("Found.")),
        Turn(Says("Bye.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a").write_text("in the file\n")
        home.engine.settings.values.default_provider = "anthropic"
        home.engine.settings.values.default_model["anthropic"] = "sim-model"
        first, second = await talk(responder_of(home), home, "Go", "Thanks", model="agent/Coder")
        assert second.place.session_id == first.place.session_id
        assert second.place.turn_id != first.place.turn_id
        assert "signature" in sent(home) and "in the file" in sent(home)
        before, after = home.asked[1].json["messages"], home.asked[2].json["messages"]
        plain = [_unmarked(message) for message in after]
        assert plain[: len(before)] == [_unmarked(message) for message in before]


def _unmarked(message: Any) -> Any:
    """Without the marks of the prompt cache, which move on."""
    if not isinstance(message["content"], list):
        return message
    blocks = [{k: v for k, v in b.items() if k != "cache_control"} for b in message["content"]]
    return {**message, "content": blocks}


async def test_the_same_question_twice_is_two_chats(tmp_path: Path) -> None:
    """An answer made anew does not see the first one."""
    async with engine_home(tmp_path, COMPATIBLE, [HI] * 4) as home:
        answering = responder_of(home)
        first, second = await talk(answering, home, "One", "Two")
        again = call_of(home, user("One"), first.message, user("Two"))
        third = await answered(answering, again)
        assert first.place.session_id == second.place.session_id != third.place.session_id
        assert sent(home).count("Two") == 1


async def test_a_changed_past_is_another_conversation(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [HI] * 3) as home:
        answering = responder_of(home)
        (first,) = await talk(answering, home, "One")
        for messages in (
            (user("One"), assistant("Ho."), user("Two")),
            (user("Uno"), first.message, user("Two")),
        ):
            answer = await answered(answering, call_of(home, *messages))
            assert answer.place.session_id != first.place.session_id
            assert all(message.text in sent(home) for message in messages)


async def test_two_at_once_with_one_beginning_never_share_a_chat(tmp_path: Path) -> None:
    ears = RequestRecorder(*[HI] * 12)
    async with engine_home(tmp_path, COMPATIBLE, ears) as home:
        answering = responder_of(home)
        (first,) = await talk(answering, home, "One")
        words = [f"two{n}" for n in range(10)]
        answers = await asyncio.gather(
            *(answered(answering, call_of(home, "One", first.message, word)) for word in words)
        )
        sessions = [answer.place.session_id for answer in answers]
        assert len(set(sessions)) == 10 and sessions.count(first.place.session_id) == 1
        heard = sorted(ears.heard(n)[-1][1] for n in range(1, 11))
        assert heard == sorted(words)


@pytest.mark.parametrize("change", ["says", "model", "folder", "deletes"])
async def test_what_the_person_did_meanwhile_counts(tmp_path: Path, change: str) -> None:
    """The client sends what it knows; in a chat that has gone on, it would be something else."""
    async with engine_home(tmp_path, COMPATIBLE, [HI] * 4) as home:
        answering = responder_of(home)
        (first,) = await talk(answering, home, "One")
        session = await home.engine.sessions.open(first.place.session_id)
        match change:
            case "says":
                await say(session, "between")
            case "model":
                await session.change(model="other")
            case "folder":
                await session.change(folder=str(tmp_path))
            case _:
                await home.engine.sessions.delete(session.info.id)
        answer = await answered(answering, call_of(home, "One", first.message, "Two"))
        assert answer.place.session_id != first.place.session_id
        assert "between" not in sent(home)
        assert home.asked[-1].json["model"] == "sim-model"


async def test_a_chat_that_runs_in_the_window_is_left_alone(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [HI, Turn(faults=[stall("headers")]), HI]) as home:
        answering = responder_of(home)
        (first,) = await talk(answering, home, "One")
        session = await home.engine.sessions.open(first.place.session_id)
        theirs = asyncio.create_task(say(session, "between"))
        await home.engine.sessions.store.get(session.info.id)
        while len(home.asked) < 2:  # noqa: ASYNC110 (of the simulator)
            await asyncio.sleep(0.01)
        answer = await answered(answering, call_of(home, "One", first.message, "Two"))
        assert answer.text == "Hi." and answer.place.session_id != first.place.session_id
        assert session.running
        session.stop()
        await theirs


async def test_a_failed_answer_is_asked_for_anew(tmp_path: Path) -> None:
    ears = RequestRecorder(HI, Turn(faults=[status(500)]), HI)
    async with engine_home(tmp_path, COMPATIBLE, ears) as home:
        answering = responder_of(home)
        (first,) = await talk(answering, home, "One")
        asked = call_of(home, "One", first.message, "Two")
        assert (await answered(answering, asked)).outcome.stop == "error"
        assert (await answered(answering, asked)).outcome.stop == "end"
        assert ears.heard() == [("user", "One"), ("assistant", "Hi."), ("user", "Two")]


async def test_the_beginning_of_an_answer_that_broke_off_is_gone_on_from(tmp_path: Path) -> None:
    ears = RequestRecorder(Turn(Says("Once upon a time"), faults=[cut(at=-2)]), HI)
    async with engine_home(tmp_path, COMPATIBLE, ears) as home:
        answering = responder_of(home)
        first, second = await talk(answering, home, "One", "Two")
        assert first.outcome.stop == "error" and first.text
        assert second.place.session_id == first.place.session_id
        words = [one[1] for one in ears.heard()]
        assert words[0] == "One" and words[-1].endswith("Two")
        assert "".join(first.text.split()) in words


async def test_call_ids_that_repeat_are_told_apart(tmp_path: Path) -> None:
    """Some clients count the calls of each answer from 0."""
    call = ToolCall("call_0", "weather", {"town": "Ulm"})
    messages = (
        user("Ulm?"), assistant(call), user(result(call, "Rain")), assistant("Wet."),
        user("Bonn?"), assistant(call), user(result(call, "Sun")), assistant("Dry."),
        user("So?"),
    )  # fmt: skip
    ears = RequestRecorder(HI)
    async with engine_home(tmp_path, "anthropic", ears) as home:
        await answered(responder_of(home), call_of(home, *messages, tools=(WEATHER,)))
        heard = ears.heard()
        assert [one[1] for one in heard if one[0] == "result"] == ["Rain", "Sun"]


# By its number


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_an_answer_is_gone_on_from_by_its_number(tmp_path: Path, provider: str) -> None:
    """S-3: in its chat; S-2: with all that was said."""
    ears = RequestRecorder(HI, HI, HI)
    async with engine_home(tmp_path, provider, ears) as home:
        answering = responder_of(home)
        first = await answered(answering, call_of(home, "One"), "responses")
        numbers = (first.place.number, f"resp_{first.place.number}")
        second = await answered(answering, call_of(home, "Two", previous=numbers[0]), "responses")
        assert second.place.session_id == first.place.session_id
        assert [one[1] for one in ears.heard()] == ["One", "Hi.", "Two"]
        other = await answered(answering, call_of(home, "Too", previous=numbers[1]), "responses")
        assert other.place.session_id != first.place.session_id
        assert [one[1] for one in ears.heard()] == ["One", "Hi.", "Too"]
        info = await home.engine.store.get(other.place.session_id)
        assert info is not None
        assert (info.origin, info.parent) == ("server", first.place.session_id)


async def test_after_a_restart_too(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [HI]) as home:
        first = await answered(responder_of(home), call_of(home, "One"), "responses")
    ears = RequestRecorder(HI)
    async with engine_home(tmp_path, COMPATIBLE, ears) as home:
        asked = call_of(home, "Two", previous=first.place.number)
        await answered(responder_of(home), asked, "responses")
        assert [one[1] for one in ears.heard()] == ["One", "Hi.", "Two"]


async def test_all_at_once_from_one_answer_are_branches(tmp_path: Path) -> None:
    ears = RequestRecorder(*[HI] * 9)
    async with engine_home(tmp_path, COMPATIBLE, ears) as home:
        answering = responder_of(home)
        first = await answered(answering, call_of(home, "One"), "responses")
        answers = await asyncio.gather(
            *(
                answered(
                    answering, call_of(home, f"two{n}", previous=first.place.number), "responses"
                )
                for n in range(8)
            )
        )
        assert len({answer.place.session_id for answer in answers}) == 8
        heard = [[one[1] for one in ears.heard(n)] for n in range(1, 9)]
        assert sorted(heard) == [["One", "Hi.", f"two{n}"] for n in range(8)]


@pytest.mark.parametrize("change", [{"instructions": "In Latin."}, {"model": "ollama/llama"}])
async def test_other_wishes_begin_another_chat_of_the_same_words(
    tmp_path: Path, change: dict[str, str]
) -> None:
    """S-1: instructions are those of this request, in the one system prompt."""
    ears = RequestRecorder(HI, HI)
    async with engine_home(tmp_path, "ollama", ears) as home:
        answering = responder_of(home)
        asked = call_of(home, "One", instructions="In Greek.")
        first = await answered(answering, asked, "responses")
        on = call_of(
            home, "Two", **{"instructions": "In Greek.", **change}, previous=first.place.number
        )
        second = await answered(answering, on, "responses")
        assert second.place.session_id != first.place.session_id
        assert [one[1] for one in ears.heard()] == ["One", "Hi.", "Two"]
        assert ears.views[-1].system == on.instructions
        assert ears.views[-1].model == on.model.partition("/")[2]


@pytest.mark.parametrize("branched", [False, True])
async def test_results_are_brought_by_number(tmp_path: Path, branched: bool) -> None:
    ears = RequestRecorder(Turn(Call("weather"), Call("weather", {"town": "Ulm"})), HI, HI)
    async with engine_home(tmp_path, "anthropic", ears) as home:
        answering = responder_of(home)
        wishes: dict[str, Any] = {"tools": (WEATHER,)}
        first = await answered(answering, call_of(home, "One", **wishes), "responses")
        assert first.outcome.stop == "calls" and len(first.calls) == 2
        wishes["previous"] = first.place.number
        with pytest.raises(BadRequest, match="call_id nobody"):
            lost = user(ToolResult("nobody", "", (Text("?"),)))
            await answered(answering, call_of(home, lost, **wishes), "responses")
        if branched:
            brought = user(*(result(call, "Snow") for call in first.calls))
            await answered(answering, call_of(home, brought, **wishes), "responses")
        second = await answered(
            answering, call_of(home, user(result(first.calls[1], "Sun")), **wishes), "responses"
        )
        assert (second.place.session_id == first.place.session_id) != branched
        results = [one[1] for one in ears.heard() if one[0] == "result"]
        assert len(results) == 2 and results[1] == "Sun" and "Snow" not in results


@pytest.mark.parametrize("number", ["", "x", "0" * 64, "resp_1", "0" * 32, "a" * 1000])
async def test_an_answer_that_nobody_gave(tmp_path: Path, number: str) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [HI]) as home:
        asked = call_of(home, "On", previous=number or "-")
        with pytest.raises(BadRequest, match="not found") as caught:
            await answered(responder_of(home), asked, "responses")
        assert caught.value.code == "previous_response_not_found"
        assert not home.asked


async def test_the_persons_own_chats_are_out_of_reach(tmp_path: Path) -> None:
    """S-4: only what clients began can clients go on with, or read."""
    async with engine_home(tmp_path, COMPATIBLE, [HI]) as home:
        session = await home.session()
        await say(session, "private words")
        place = TurnRef(session.info.id, session.transcript.turn_id)
        answering = responder_of(home)
        with pytest.raises(BadRequest, match="not found"):
            await answered(answering, call_of(home, "On", previous=place.number), "responses")
        wrong = TurnRef(place.session_id, "0" * 32)
        with pytest.raises(BadRequest, match="not found"):
            await answered(answering, call_of(home, "On", previous=wrong.number), "responses")
        assert len(home.asked) == 1


async def test_an_answer_that_is_not_complete_yet(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [Turn(faults=[stall("headers")])]) as home:
        answering = responder_of(home)
        places: list[TurnRef] = []
        task = asyncio.ensure_future(_drained(answering, call_of(home, "One"), places))
        while not home.asked:  # noqa: ASYNC110 (of the simulator)
            await asyncio.sleep(0.01)
        with pytest.raises(BadRequest, match="not complete") as caught:
            await answered(answering, call_of(home, "On", previous=places[0].number), "responses")
        assert caught.value.status == 409
        task.cancel()
        await asyncio.wait([task])


async def _drained(answering: Responder, asked: ApiRequest, places: list[TurnRef]) -> None:
    async with aclosing(answering.answer(asked, "responses", places.append)) as parts:
        async for _ in parts:
            pass


# Again


async def repeated(answering: Responder, asked: ApiRequest, place: TurnRef) -> Answer:
    answer = Answer()
    async for part in answering.repeat(asked, "chat", place, 0.0, answer.places.append):
        answer.parts.append(part)
    return answer


async def test_a_finished_answer_is_told_again(tmp_path: Path) -> None:
    """S-3: a repeated request runs no tool, and asks no provider."""
    script = [Turn(Think("Hm."), Says("I look."), Call("read", {"path": "a"})), HI]
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.default_provider = "anthropic"
        home.engine.settings.values.default_model["anthropic"] = "sim-model"
        answering = responder_of(home)
        asked = call_of(home, "Go", model="agent/Coder")
        first = await answered(answering, asked)
        again = await repeated(answering, asked, first.place)
        assert again.text == first.text == "I look.\n\nHi."
        assert (again.place, again.outcome) == (first.place, first.outcome)
        assert len(home.asked) == 2


async def test_handed_over_calls_are_told_again(tmp_path: Path) -> None:
    async with engine_home(tmp_path, COMPATIBLE, [Turn(Call("weather", {"town": "Ulm"}))]) as home:
        answering = responder_of(home)
        asked = call_of(home, "Go", tools=(WEATHER,))
        first = await answered(answering, asked)
        again = await repeated(answering, asked, first.place)
        assert again.calls == first.calls and again.outcome.stop == "calls"


async def test_what_was_done_before_is_not_done_again(tmp_path: Path) -> None:
    """S-3: the client vanished after a tool had run; its retry goes on from there."""
    log = tmp_path / "log"
    script = [
        Turn(Says("I run."), Call("run", {"command": f"echo ran >> '{log}'"})),
        Turn(faults=[stall("headers")]),
        Turn(Says("Done.")),
        HI,
    ]
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        values = home.engine.settings.values
        values.default_provider, values.sandbox = COMPATIBLE, False
        values.default_model[COMPATIBLE] = "sim-model"
        values.server_rules = {"allow": ["run"]}
        answering = responder_of(home)
        asked = call_of(home, "Go", model="agent/Coder")
        places: list[TurnRef] = []
        task = asyncio.create_task(_drained(answering, asked, places))
        while len(home.asked) < 2:  # noqa: ASYNC110 (of the simulator)
            await asyncio.sleep(0.01)
        task.cancel()
        again = await repeated(answering, asked, places[0])
        assert again.text == "I run.\n\nDone."
        assert again.place.session_id == places[0].session_id
        assert again.place.turn_id != places[0].turn_id
        assert log.read_text() == "ran\n"
        on = await answered(
            answering, call_of(home, "Go", again.message, "Thanks", model="agent/Coder")
        )
        assert on.place.session_id == again.place.session_id, "the client knows no more of it"


async def test_a_failure_is_gone_on_from(tmp_path: Path) -> None:
    ears = RequestRecorder(Turn(faults=[status(500)]), HI, HI)
    async with engine_home(tmp_path, COMPATIBLE, ears) as home:
        answering = responder_of(home)
        first = await answered(answering, call_of(home, "Go"))
        assert first.outcome.stop == "error"
        again = await repeated(answering, call_of(home, "Go"), first.place)
        assert again.text == "Hi." and again.place.session_id == first.place.session_id
        assert ears.heard() == [("user", "Go")]
        gone = TurnRef("0" * 32, "1" * 32)
        assert (await repeated(answering, call_of(home, "Go"), gone)).text == "Hi."


# Whatever was said


WORDS = st.text("ab c", min_size=1, max_size=6).map(lambda text: f"w{text}")
ARGUMENTS = st.dictionaries(st.sampled_from(["town", "day"]), st.sampled_from(["x", 1]), max_size=2)


@st.composite
def rounds(draw: st.DrawFn) -> list[tuple[list[str], list[Turn], list[str]]]:
    """What the user says, what the model answers, and what its calls come to."""
    made: list[tuple[list[str], list[Turn], list[str]]] = []
    for _ in range(draw(st.integers(1, 2))):
        said = draw(st.lists(WORDS, min_size=1, max_size=2))
        turns: list[Turn] = []
        results: list[str] = []
        for _ in range(draw(st.integers(0, 2))):
            calls = [
                Call("weather", one) for one in draw(st.lists(ARGUMENTS, min_size=1, max_size=2))
            ]
            words = [Says(draw(WORDS))] if draw(st.booleans()) else []
            turns.append(Turn(*words, *calls))
            results += [draw(WORDS) for _ in calls]
        turns.append(Turn(Says(draw(WORDS))))
        made.append((said, turns, results))
    return made


@pytest.mark.parametrize("provider", PROTOCOLS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(rounds())
def test_asked_step_by_step_or_all_at_once_it_is_one_conversation(
    provider: str, made: list[tuple[list[str], list[Turn], list[str]]]
) -> None:
    """S-1, S-2: what reaches the provider does not depend on whether the session was known."""
    asyncio.run(_same(provider, made))


async def _same(provider: str, made: list[tuple[list[str], list[Turn], list[str]]]) -> None:
    turns = [turn for _, answers, _ in made for turn in answers]
    ears = RequestRecorder(*turns, *turns)
    with tempfile.TemporaryDirectory() as folder:
        async with engine_home(Path(folder), provider, ears) as home:
            answering = responder_of(home)
            messages: list[Message] = []
            asked: list[tuple[Message, ...]] = []
            sessions: set[str] = set()
            for said, answers, brought in made:
                messages.append(user(*said))
                results = list(brought)
                for _ in answers:
                    asked.append(tuple(messages))
                    request = call_of(home, *messages, tools=(WEATHER,))
                    answer = await answered(answering, request)
                    assert answer.outcome.stop in ("end", "calls"), answer.outcome
                    sessions.add(answer.place.session_id)
                    messages.append(answer.message)
                    if answer.calls:
                        messages.append(
                            user(*(result(call, results.pop(0)) for call in answer.calls))
                        )
            assert len(sessions) == 1
            for number, one in enumerate(asked):
                request = call_of(home, *one, tools=(WEATHER,), user="somebody else")
                await answered(answering, request)
                assert ears.heard(len(turns) + number) == ears.heard(number)
            assert not home.simulator.violations
