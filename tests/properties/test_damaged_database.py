"""A database of which a page is damaged opens, shows what is left, and goes on (H-5)."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.agent.session.session_state import SessionInUse
from studio.domain.blocks import NoticeBlock, TranscriptBlock
from studio.domain.events import TurnComplete
from studio.simulator import Call, Text, Think, Turn
from support.engine_home import engine_home, say

CHATS = 3
NIGHTLY = settings.default.max_examples > 1000  # type: ignore[union-attr]
EXAMPLES = 500 if NIGHTLY else 6
PROVIDERS = ["anthropic", "openai", "gemini"] if NIGHTLY else ["anthropic"]
PAGE = 4096
LONG = "\n".join(f"line {number} of a file that fills pages" for number in range(400))


def script(chat: int) -> list[Turn]:
    return [
        Turn(
            Think("Hm."), Text("I look."), Call("read", {"path": f"{chat}.txt"}), Call("list", {})
        ),
        Turn(Think("So."), Text(f"Done with {chat}. " + "More words. " * 300)),
        Turn(Text("I write."), Call("write", {"path": "new.txt", "text": "new\n" * 500})),
        Turn(Text("It waits.")),
        Turn(Text("Good.")),
    ]


class Template:
    """A home with some chats, and what they show when nothing is damaged."""

    def __init__(self, provider: str) -> None:
        self.provider = provider
        self.home = Path(tempfile.mkdtemp(prefix="damage-"))
        self.chosen: dict[str, str] = {}
        self.shown: dict[str, list[TranscriptBlock]] = {}
        asyncio.run(self._fill())
        self.data = (self.home / "studio" / "studio.db").read_bytes()

    async def _fill(self) -> None:
        turns = [turn for chat in range(CHATS) for turn in script(chat)]
        async with engine_home(self.home, self.provider, turns) as home:
            for chat in range(CHATS):
                (home.folder / f"{chat}.txt").write_text(f"{LONG}\n{chat}\n")
                session = await home.session()
                for words in ("Look at it", "Write something", "Thanks"):
                    await say(session, f"{words}, chat {chat}", answer="once")
            assert not home.simulator.violations
        async with engine_home(self.home, self.provider, []) as home:
            for info in await home.engine.sessions.list():
                session = await home.engine.sessions.open(info.id)
                self.shown[info.id] = list(session.transcript.blocks)
                names = ("folder", "agent", "provider", "model", "permission_mode")
                self.chosen = {name: getattr(info, name) for name in names}


@pytest.fixture(scope="module")
def templates() -> Iterator[dict[str, Template]]:
    made: dict[str, Template] = {}
    yield made
    for template in made.values():
        shutil.rmtree(template.home)


def damaged(data: bytes, how: str, page: int, seed: int) -> bytes:
    """``data`` with one page damaged, or cut off there."""
    noise = random.Random(seed)
    start, body = page * PAGE, bytearray(data)
    if how == "zeros":
        body[start : start + PAGE] = bytes(PAGE)
    elif how == "noise":
        body[start : start + PAGE] = noise.randbytes(PAGE)
    elif how == "half":
        body[start + PAGE // 2 : start + PAGE] = noise.randbytes(PAGE // 2)
    elif how == "bits":
        for _ in range(20):
            body[start + noise.randrange(PAGE)] ^= 1 << noise.randrange(8)
    elif how == "other":
        other = noise.randrange(len(data) // PAGE) * PAGE
        body[start : start + PAGE] = data[other : other + PAGE]
    else:
        del body[max(start, PAGE) + noise.randrange(PAGE) :]
    return bytes(body)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    how=st.sampled_from(["zeros", "noise", "half", "bits", "other", "cut"]),
    place=st.floats(0, 1, exclude_max=True),
    seed=st.integers(0, 2**32),
    provider=st.sampled_from(PROVIDERS),
)
def test_every_chat_is_shown_and_goes_on(
    templates: dict[str, Template], how: str, place: float, seed: int, provider: str
) -> None:
    template = templates.get(provider) or Template(provider)
    templates[provider] = template
    page = int(place * (len(template.data) // PAGE))
    data = damaged(template.data, how, page, seed)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(template.home, home, dirs_exist_ok=True)
        (home / "studio" / "studio.db").write_bytes(data)
        asyncio.run(opened(template, home, whole=how != "cut"))


async def opened(template: Template, place: Path, *, whole: bool) -> None:
    replies = [Turn(Text("I go on."))] * 2 * CHATS
    async with engine_home(place, template.provider, replies) as home:
        sessions = home.engine.sessions
        infos = await sessions.list()
        if whole:
            assert {info.id for info in infos} == {*template.shown}
        changed = 0
        for info in infos:
            session = await sessions.open(info.id)
            before = template.shown.get(info.id)
            if before is None:  # the file ends in its row: neither its id nor its folder is whole
                assert not whole
                continue
            changed += not same(session.transcript.blocks, before)
            if session.damage:
                session = await sessions.branch(info.id)
            chosen = {name: getattr(session.info, name) for name in template.chosen}
            if chosen != template.chosen:  # a person sees another name, and chooses again
                await session.change(**template.chosen)
            try:
                *_, last = await say(session, "Go on")
            except SessionInUse:  # the damage was met while it was open
                assert home.engine.database.notice
                session = await sessions.open(session.info.id)
                if session.damage:
                    session = await sessions.branch(session.info.id)
                *_, last = await say(session, "Go on")
            assert isinstance(last, TurnComplete) and last.reason == "done", last
        assert not home.simulator.violations
        if whole:  # one page holds rows of few chats
            assert changed <= 2, home.engine.database.notice
        kept = [path for path in (place / "studio").iterdir() if ".damaged-" in path.name]
        assert bool(kept) == ("The file is kept as" in home.engine.database.notice)
    async with engine_home(place, template.provider, []) as home:
        assert await home.engine.database.rows("PRAGMA quick_check") == [("ok",)] or not kept


def same(shown: list[TranscriptBlock], before: list[TranscriptBlock]) -> bool:
    return [one for one in shown if not isinstance(one, NoticeBlock)] == [
        one for one in before if not isinstance(one, NoticeBlock)
    ]
