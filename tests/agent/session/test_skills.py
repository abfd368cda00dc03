"""Skills and commands in a chat: told once, opened once, called by hand, kept (K-5 to K-7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.agent.session.session import Session
from studio.agent.skills import catalogue
from studio.domain.blocks import ToolBlock, UserBlock
from studio.domain.events import AwaitingPermission, Event, Failed, HistoryBegun, Told, ToolFinished
from studio.domain.extensions import Extension
from studio.domain.messages import File
from studio.domain.messages import Text as Words
from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Text, Turn
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say

YES = Turn(Text("Yes."))
BODY = "Group the changes by what users notice. " * 20


def write_skill(home: EngineHome, name: str = "release-notes", body: str = BODY) -> Path:
    folder = home.engine.paths.config / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\ndescription: About {name}.\n---\n{body}\n")
    (folder / "sample.txt").write_text("A sample.")
    return folder


def write_command(home: EngineHome, name: str, text: str) -> None:
    folder = home.folder / ".claude" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text)


async def call(session: Session, text: str, rules: tuple[Rule, ...] = ()) -> list[Event]:
    """Say something as the doors do; every question is refused."""
    events: list[Event] = []
    async for envelope in session.turn((Words(text),), rules=rules, mentions=True):
        events.append(envelope.event)
        if isinstance(envelope.event, AwaitingPermission):
            session.answer_permission(envelope.event.question.id, "deny")
    return events


def last_said(session: Session) -> UserBlock:
    return [one for one in session.transcript.blocks if isinstance(one, UserBlock)][-1]


def body_of(home: EngineHome, index: int = -1) -> str:
    return json.dumps(home.asked[index].json)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_k5_a_skill_is_listed_opened_and_its_files_are_read(
    tmp_path: Path, provider: str
) -> None:
    """K-5, H-9: unasked, also outside of the folder; the body comes with the call alone."""
    folder = ""

    def script(view: RequestView) -> Turn:
        calls = [Call("skill", {"name": "release-notes"})]
        calls.append(Call("read", {"path": f"{folder}/sample.txt"}))
        return Turn(calls[len(home.asked) - 1]) if len(home.asked) <= 2 else YES

    async with engine_home(tmp_path, provider, script) as home:
        folder = str(write_skill(home))
        session = await home.session()
        events = await say(session)
        (listed,) = [one.text for one in events if isinstance(one, Told) and one.topic == "skills"]
        assert "- release-notes: About release-notes." in listed
        results = [one for one in events if isinstance(one, ToolFinished)]
        assert [one.is_error for one in results] == [False, False]
        assert "sample.txt" in results[0].text and BODY.strip() in results[0].text
        assert "A sample." in results[1].text
        assert [body_of(home, at).count("Group the changes by") for at in range(3)] == [0, 20, 20]
        assert not [one for one in events if isinstance(one, AwaitingPermission)]
        assert not home.simulator.violations


async def test_k5_the_list_is_frozen_and_no_skill_means_no_tool(tmp_path: Path) -> None:
    """K-5, H-9: a skill that comes later changes nothing that was sent, and can be opened."""

    def script(view: RequestView) -> Turn:
        return Turn(Call("skill", {"name": "later"})) if len(home.asked) == 3 else YES

    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        assert not [
            one for one in await say(session) if isinstance(one, Told) and "skill" in one.topic
        ]
        assert '"skill"' not in body_of(home)
        write_skill(home)
        events = await say(session)  # a new tool begins a new history, as any other
        assert [one for one in events if isinstance(one, HistoryBegun)]
        system = home.asked[-1].json["system"]
        write_skill(home, "later", "The later body.")
        events = await say(session)
        assert not [one for one in events if isinstance(one, HistoryBegun)]
        assert home.asked[-1].json["system"] == system
        assert "The later body." in body_of(home)
        assert "About later." not in body_of(home)


def test_k5_the_list_takes_two_percent_and_says_what_is_left() -> None:
    """K-5: the rest is found by words."""
    skills = [
        Extension("skill", f"skill-{n}", "x" * 200, "Do.", f"/{n}/SKILL.md", f"/{n}", "own")
        for n in range(100)
    ]
    for window in (8_000, 200_000, None):
        text = catalogue(skills, window)
        listed = text.count("- skill-")
        assert len(text) < (window or 100_000) * 0.02 * 3 + 500
        assert (f"And {100 - listed} more" in text) == (listed < 100)
    assert catalogue(skills, 200_000).count("- skill-") > catalogue(skills, 8_000).count("- skill-")


async def test_k5_one_that_is_not_listed_is_found_by_words(tmp_path: Path) -> None:
    """K-5: a name that is wrong, or words of the task, name those that may fit."""
    scripted = [Turn(Call("skill", {"name": "write notes for a release"})), YES]
    async with engine_home(tmp_path, "anthropic", scripted) as home:
        write_skill(home)
        write_skill(home, "taxes")
        events = await say(await home.session())
        (result,) = [one for one in events if isinstance(one, ToolFinished)]
        first = result.text.splitlines()[1]
        assert first.startswith("- release-notes") and not result.is_error


async def test_k5_by_hand_and_after_a_summary(tmp_path: Path) -> None:
    """K-5: what was typed stays; the body goes with it, and comes again where a summary took it."""
    async with engine_home(tmp_path, "anthropic", lambda _: YES) as home:
        write_skill(home)
        session = await home.session()
        await call(session, "/release-notes for 2.4")
        said = last_said(session)
        assert said.text == "/release-notes for 2.4" and session.info.title.startswith("/release")
        (file,) = [one for one in said.said if isinstance(one, File)]
        assert file.invoked and not session.transcript.attached
        assert "for 2.4" in body_of(home) and body_of(home).count("Group the changes by") == 20
        assert "<file" not in body_of(home)
        for _ in range(2):
            await say(session, "Go on " * 50)
        await session.context.summarise()
        events = await say(session)
        (again,) = [one for one in events if isinstance(one, Told) and one.topic == "skill"]
        assert BODY.strip() in again.text
        assert body_of(home).count("Group the changes by") == 20
        assert not [one for one in await say(session) if isinstance(one, Told)]
        await call(session, "/no-such-thing at all")
        assert len(last_said(session).said) == 1
        assert not home.simulator.violations


async def test_k7_a_command_is_filled_in(tmp_path: Path) -> None:
    """K-7: arguments, files of the folder, frontmatter; what arguments say is not looked at."""
    async with engine_home(tmp_path, "anthropic", lambda _: YES) as home:
        (home.folder / "style.md").write_text("Be brief.")
        (tmp_path / "secret.md").write_text("Outside.")
        write_command(
            home,
            "review",
            "---\ndescription: Reviews\nargument-hint: FILE\n---\n"
            "Review $1 and $2 ($ARGUMENTS) by @style.md, @../secret.md, @$1 and `@none`. $3.",
        )
        session = await home.session()
        await call(session, "/review a.py b")
        assert len(last_said(session).said) == 1  # K-3: the folder is not trusted
        await home.engine.rules.trust(home.folder)
        (home.folder / "a b.py").write_text("x = 1")
        await call(session, "/review 'a b.py' '$1 @style.md !`ls`'")
        said = last_said(session).said
        files = [one for one in said if isinstance(one, File)]
        assert [one.name for one in files] == ["review.md", "style.md", "a b.py"]
        text = files[0].data.decode()
        assert "Review a b.py and $1 @style.md !`ls` (" in text and "argument-hint" not in text
        assert not [one for one in session.transcript.blocks if isinstance(one, ToolBlock)]
        write_command(home, "plain", "Do it well.")
        await call(session, "/plain the parser")
        assert "the parser" in last_said(session).said[1].data.decode()  # type: ignore[union-attr]
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_k7_commands_in_it_pass_the_gate(tmp_path: Path, provider: str) -> None:
    """K-7, H-5: they are calls of the agent; a refusal reaches the model, and so does what ran."""
    async with engine_home(tmp_path, provider, lambda _: YES) as home:
        write_command(home, "look", "What is in !`printf '%s-%s ' mark 42 $1`? And !`rm -rf gone`?")
        await home.engine.rules.trust(home.folder)
        session = await home.session()
        allowed = (Rule.parse("run(printf *)", "allow"),)
        events = await call(session, "/look 'x; echo injected'", allowed)
        asked = [one for one in events if isinstance(one, AwaitingPermission)]
        assert len(asked) == 1 and "rm -rf gone" in str(asked[0].question)
        first, second = (b for b in session.transcript.blocks if isinstance(b, ToolBlock))
        assert "mark-42 x; echo injected" in first.output and second.state == "denied"
        assert len(home.asked) == 1 and "mark-42" in body_of(home)
        assert not home.simulator.violations
        await session.change(model="sim-other")  # H-7: it is in a rebuilt history, too
        await call(session, "And now?")
        assert "mark-42" in body_of(home) and not home.simulator.violations


async def test_k7_an_agent_that_runs_nothing_says_so(tmp_path: Path) -> None:
    """K-7: the message is kept, and nothing is sent without what it needs."""
    async with engine_home(tmp_path, "anthropic", lambda _: YES) as home:
        write_command(home, "look", "!`ls`")
        await home.engine.rules.trust(home.folder)
        session = await home.session("Writer")
        events = await call(session, "/look")
        assert [one for one in events if isinstance(one, Failed)]
        assert last_said(session).text == "/look" and not home.asked
