"""Stories that broke something once, as ``test_invariant`` found and shrank them."""

from __future__ import annotations

import asyncio
import gc
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from studio.domain.messages import Text as Words
from studio.simulator import Call, Text, Think, unknown
from studio.tools import Context, Workspace
from studio.tools.builtin.run import run
from support.engine_home import PROTOCOLS, engine_home
from support.story_runner import StoryRunner
from support.story_steps import Act, Change, Damage, Reply, Restart, Say, Step, Switch
from support.waiting import within


async def lived(home: Path, provider: str, *steps: Step, **world: object) -> StoryRunner:
    """The story, every check of the world included."""
    lived = StoryRunner(home, provider, **world)  # type: ignore[arg-type]
    async with within():
        await lived.live(steps)
    return lived


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_trying_again_before_anything_was_said_sends_nothing(
    tmp_path: Path, provider: str
) -> None:
    """H-5: an empty list of messages is refused by every provider."""
    world = await lived(tmp_path, provider, Say(said=()))
    assert len([one for one in world.simulator.requests if one.path != "/api/show"]) == 1


async def test_a_chat_whose_last_entries_are_lost_does_not_run_for_ever(tmp_path: Path) -> None:
    """H-5, L-2: the end of the last turn is gone, and nobody is left to write it."""
    await lived(tmp_path, "openai", Say(), Damage("transcript", "gone", -1))


async def test_a_damaged_chat_that_ended_within_a_turn_does_not_seem_to_run(tmp_path: Path) -> None:
    """H-5: it is only read, so its end cannot be written; it is over all the same."""
    reply = Reply((Call("read", {"path": "a.txt"}),))
    steps = [Say(replies=(reply,)), Damage("transcript", "unreadable", -1), Restart()]
    await lived(tmp_path, "anthropic", *steps)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_blanks_alone_are_not_sent(tmp_path: Path, provider: str) -> None:
    """H-5: left out of a request they left the model's own words at its end, which is refused."""
    blank = Say(said=("space",))
    await lived(tmp_path, provider, blank, Say(), blank, Say(said=()), Restart(), Say(said=()))


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_server_may_use_an_id_again_in_a_later_reply(tmp_path: Path, provider: str) -> None:
    """H-3, H-5: the history is not taken for a damaged one."""
    reply = Reply((Call("read", {"path": "a.txt"}, id="call_same"),))
    await lived(tmp_path, provider, Say(replies=(reply, reply)), Restart(), Say(replies=(reply,)))


async def test_a_command_stopped_twice_while_it_starts_does_not_run_on(tmp_path: Path) -> None:
    """L-11: who cancels a group of tasks cancels each again; the child was then forgotten."""
    before = set(threading.enumerate())
    running = asyncio.create_task(run.call(Context(Workspace(tmp_path)), {"command": "sleep 3600"}))
    await asyncio.sleep(0)
    for _ in range(2):
        running.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await running
    for thread in set(threading.enumerate()) - before:
        thread.join()
    gc.collect()  # a child that is forgotten warns, which is an error here


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_half_a_character_in_a_paste_is_not_sent(tmp_path: Path, provider: str) -> None:
    """H-5: no provider reads it, so that every later request was refused too."""
    await lived(tmp_path, provider, Say(said=("odd",)), Restart(), Say())


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_name_that_a_local_model_made_up_does_not_block_a_switch(
    tmp_path: Path, provider: str
) -> None:
    """H-7: clouds refuse a name or an id with a space in it."""
    reply = Reply((Call("fly away, é", {"to": "moon"}, id="so odd an id: é"), Call("")))
    await lived(tmp_path, "ollama", Say(replies=(reply,)), Switch(provider))


@pytest.mark.parametrize("later", range(6))
async def test_words_of_turns_that_were_cut_short_are_sent_once(tmp_path: Path, later: int) -> None:
    """H-5: stored one by one, they were not recognised together after a crash, and sent again."""
    stopped = Say(acts=(Act("stop", 1, later=later),))
    crashed = Say(acts=(Act("crash", 1, later=later),))
    await lived(tmp_path, "gemini", Say(), stopped, crashed, stopped, stopped, crashed, Say())


@pytest.mark.parametrize("later", range(0, 24, 2))
async def test_a_history_begun_just_before_a_crash_is_told_how_things_stand(
    tmp_path: Path, later: int
) -> None:
    """H-6, H-9: it was stored, but not that it had begun, so what the old one knew counted."""
    mode, crash = Change("permission_mode", "plan"), Say(acts=(Act("crash", later=later),))
    await lived(tmp_path, "anthropic", Say(), mode, Say(), Switch("anthropic", 1), crash, Say())


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_an_empty_message_after_reasoning_does_not_block_what_follows(
    tmp_path: Path, provider: str
) -> None:
    """H-5: OpenAI refuses a message without the reasoning that led to it, known by their ids."""
    reply = Reply((Think("Hm."), Text(""), Text("Some words."), Call("list", {})))
    await lived(tmp_path, provider, Say(replies=(reply,)), Say())


async def test_items_that_nobody_has_heard_of_have_ids_of_their_own(tmp_path: Path) -> None:
    """Kept as they came and sent back, two with one id are refused by Responses."""
    odd = Reply(faults=(unknown(1, "block"),))
    await lived(tmp_path, "openai", Say(replies=(odd,)), Say(replies=(odd,)), Say())


async def test_a_turn_cancelled_twice_while_it_is_made_is_over(tmp_path: Path) -> None:
    """L-2, L-11: who cancels a group of tasks cancels each again; the chat seemed to run on."""
    async with engine_home(tmp_path, "ollama", []) as home:
        session = await home.session()

        async def turn() -> None:
            async with aclosing(session.turn([Words("Go")])) as events:
                async for _ in events:
                    pass

        for passes in range(12):
            running = asyncio.create_task(turn())
            for _ in range(passes):
                await asyncio.sleep(0)
            running.cancel()
            await asyncio.sleep(0)
            running.cancel()
            await asyncio.wait([running])
            assert not session.running and not session.transcript.running


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_the_model_knows_the_words_in_which_it_declined(
    tmp_path: Path, provider: str
) -> None:
    """H-1: Chat completions keep them apart from other words, and take them back so."""
    await lived(tmp_path, provider, Say(replies=(Reply((Text("Not that."),), "refusal"),)), Say())
