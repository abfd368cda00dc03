"""What clients ask for themselves is answered and not kept; kept chats have a bound (S-1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.domain.messages import Message, Text
from studio.domain.tools import ToolSpec
from studio.server.contract import ApiRequest
from studio.server.housekeeping import is_housekeeping
from studio.simulator import Text as Words
from studio.simulator import Turn
from support.running_server import running_server

FOR_ITSELF = {
    "titles of a chat page": "### Task:\nMake a short title of three to five words.\n### Output:\nJSON\n### Chat History:\n<chat_history>\nUSER: Hi\n</chat_history>",
    "follow-ups": "### Task:\nSuggest 3-5 relevant questions the person could ask next.\n### Guidelines:\n- Short\n<chat_history>x</chat_history>",
    "tags": "### Task:\nGenerate 1-3 broad tags.\n### Output: JSON\n<chat_history>x</chat_history>",
    "a title in words": "Provide a concise, 5-word-or-less title for the conversation, using title case. Only the title.",
    "a title after a detected language": "Detect user language and write in the same language an extremely concise title for this conversation, without punctuation.",
    "a title of an editor": "Generate a concise 3-7 word title for this conversation, omitting punctuation.",
    "a summary": "*Briefly* summarize this partial conversation about programming.\nInclude less detail.",
}  # fmt: skip
INSTRUCTED = {
    "a title": "You are a title generator. You output ONLY a thread title. Nothing else.",
    "a commit": "You are an expert engineer that generates concise, one-line Git commit messages based on the provided diffs.",
    "a topic": "Analyze if this message indicates a new conversation topic. If it does, extract a title.",
}  # fmt: skip
PERSONS = (
    "Create a title for our session about bees",
    "Write a title page for my book about tea.",
    "What is a good title for a conversation partner? Explain.",
    "### Task: water the flowers",
    "Summarize notes.md",
    "Now write a summary of this conversation, please.",
    "How do I write a commit message?",
    "Generate tags for this photo",
    "Please rename this function",
    "",
)


def asked(said: str, instructions: str = "", tools: tuple[ToolSpec, ...] = ()) -> bool:
    messages = (Message("user", (Text("Hi"),)), Message("assistant", (Text("Hello"),)), Message("user", (Text(said),)))  # fmt: skip
    return is_housekeeping(ApiRequest("m", messages, instructions, tools))


@pytest.mark.parametrize("what", FOR_ITSELF)
def test_what_a_client_asks_for_itself_is_recognised(what: str) -> None:
    assert asked(FOR_ITSELF[what])
    assert not asked(FOR_ITSELF[what], tools=(ToolSpec("t", "t", {}, "read"),))


def test_instructions_say_it_too_and_a_persons_words_do_not() -> None:
    for words in INSTRUCTED.values():
        only = (Message("user", (Text("some text"),)),)
        assert is_housekeeping(ApiRequest("m", only, words)), words
        assert not asked("some text", words), words  # a conversation under such instructions
    for words in PERSONS:
        assert not asked(words, "You are a helpful assistant. Keep titles short."), words
        assert not asked(words), words


async def test_it_is_answered_and_leaves_no_chat(tmp_path: Path) -> None:
    async with running_server(tmp_path, lambda _: Turn(Words("Tea time."))) as server:
        sessions, store = server.house.engine.sessions, server.house.engine.store
        first = server.chat("Tell me of tea")
        assert (await server.client.post("/v1/chat/completions", json=first)).status_code == 200
        [kept] = await sessions.list()
        events = len(await store.events(kept.id))
        whole = [*first["messages"], {"role": "assistant", "content": "Tea time."}]
        for words in (FOR_ITSELF["a title of an editor"], FOR_ITSELF["tags"]):
            for messages in ([{"role": "user", "content": words}], [*whole, {"role": "user", "content": words}]):  # fmt: skip
                body = {**first, "messages": messages}
                answer = await server.client.post("/v1/chat/completions", json=body)
                assert answer.json()["choices"][0]["message"]["content"] == "Tea time."
        assert [info.id for info in await sessions.list()] == [kept.id]
        assert len(await store.events(kept.id)) == events and not await sessions.bin()
        body = {**first, "messages": [*whole, {"role": "user", "content": "Go on"}]}
        assert (await server.client.post("/v1/chat/completions", json=body)).status_code == 200
        assert [info.id for info in await sessions.list()] == [kept.id]  # it went on in it
        assert len(await store.events(kept.id)) > events


async def test_the_oldest_kept_chats_go_to_the_bin(tmp_path: Path) -> None:
    async with running_server(tmp_path, lambda _: Turn(Words("Hi."))) as server:
        engine = server.house.engine
        own = await server.house.session()
        for number in range(3):
            await server.ask(f"Number {number}")
        titles = [info.title for info in await engine.sessions.list() if info.origin == "server"]
        assert titles == ["Number 2", "Number 1", "Number 0"]
        pinned = next(info for info in await engine.sessions.list() if info.title == "Number 0")
        await engine.sessions.arrange([pinned.id], pinned=True)
        engine.settings.values.server_chats = 1
        await server.serving._responder.lookup.clear_up()  # pyright: ignore[reportPrivateUsage]
        left = {info.title for info in await engine.sessions.list()}
        assert left == {"Number 0", "Number 2", own.info.title}
        assert [info.title for info in await engine.sessions.bin()] == ["Number 1"]
