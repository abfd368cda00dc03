"""C-8: OpenAI's models change files with patches, natively where their API has that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from studio.agent.permission.policy import Policy
from studio.domain.blocks import ToolBlock
from studio.domain.drafts import FileDraft
from studio.domain.events import DraftResolved, Event, ToolFinished, ToolQueued
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say

PATCH = """\
*** Begin Patch
*** Update File: a.txt
@@
-one
+ONE
 two
*** Add File: src/new.txt
+new
*** Update File: b.txt
*** Move to: moved.txt
@@
-left
+right
*** Delete File: old.txt
*** End Patch
"""
GPT = "gpt-5.2"


def patching(patch: str = PATCH) -> Turn:
    return Turn(Text("I change it."), Call("apply_patch", {"input": patch}), stop="tool_use")


def lay_out(folder: Path) -> None:
    for name, text in (("a", "one\ntwo\n"), ("b", "left\n"), ("old", "x\n")):
        (folder / f"{name}.txt").write_text(text)


def offered(home: EngineHome, request: int = 0) -> dict[str, Any]:
    body: Any = home.asked[request].json
    tools = [tool.get("function", tool) for tool in body["tools"]]
    return {tool["name"]: tool for tool in tools}


def results(events: list[Event]) -> list[ToolFinished]:
    return [event for event in events if isinstance(event, ToolFinished)]


async def test_gpt_5_writes_patches_as_plain_text(tmp_path: Path) -> None:
    """C-8, H-1: the call and its output stay as OpenAI has them, over a restart, too."""
    script = [patching(), Turn(Text("Done."), stop="end")]
    async with engine_home(tmp_path, "openai", script, strict="beyond") as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        events = await say(session)
        assert not home.simulator.violations
        tools = offered(home)
        assert "edit" not in tools and tools["apply_patch"]["type"] == "custom"
        assert tools["apply_patch"]["format"]["syntax"] == "lark"
        second: Any = home.asked[1].json
        call = next(item for item in second["input"] if item.get("type") == "custom_tool_call")
        output = second["input"][second["input"].index(call) + 1]
        assert call["input"] == PATCH and call["id"].startswith("ctc_")
        assert output["type"] == "custom_tool_call_output"
        assert output["output"].startswith("Drafts made: a.txt (+1 −1), src/new.txt (new, +1 −0)")
        (done,) = results(events)
        assert not done.is_error and "1\tONE" in done.text
        assert (home.folder / "a.txt").read_text() == "one\ntwo\n"
        kept, sent = session.info.id, second["input"]
    async with engine_home(
        tmp_path, "openai", [Turn(Text("Yes."), stop="end")], strict="beyond"
    ) as home:
        await say(await home.engine.sessions.open(kept), "Again?")
        assert not home.simulator.violations
        third: Any = home.asked[0].json
        assert third["input"][: len(sent)] == sent


@pytest.mark.parametrize(
    ("provider", "model"),
    [("openai-compatible", "openai/gpt-5.2"), ("ollama", "gpt-oss:20b")],
)
async def test_elsewhere_the_patch_is_an_argument(
    tmp_path: Path, provider: str, model: str
) -> None:
    """C-8: gpt-oss and Chat Completions get a function."""
    script = [patching(), Turn(Text("Done."), stop="end")]
    async with engine_home(tmp_path, provider, script) as home:
        lay_out(home.folder)
        events = await say(await home.session(model=model))
        assert not home.simulator.violations
        tools = offered(home)
        assert "edit" not in tools
        assert tools["apply_patch"]["parameters"]["required"] == ["input"]
        assert not results(events)[0].is_error


@pytest.mark.parametrize(
    ("provider", "model"),
    [("anthropic", "claude-sonnet-5"), ("gemini", "gemini-3-pro"), ("openai", "gpt-4.1")],
)
async def test_other_models_are_not_offered_patches(
    tmp_path: Path, provider: str, model: str
) -> None:
    """C-8."""
    async with engine_home(tmp_path, provider, [Turn(Text("Hm."), stop="end")]) as home:
        await say(await home.session(model=model))
        text = json.dumps(home.asked[0].json)
        assert '"edit"' in text and "apply_patch" not in text


@pytest.mark.parametrize("provider", ["anthropic", "openai", "gemini", "ollama"])
async def test_a_command_that_applies_a_patch_is_taken_as_the_tool(
    tmp_path: Path, provider: str
) -> None:
    """C-8: nothing runs, and nobody is asked; the reply still answers the call of ``run``."""
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n*** End Patch"
    for command, name in (
        (f"apply_patch <<'EOF'\n{patch}\nEOF\n", "a.txt"),
        (f"apply_patch <<'EOF'\n{patch}\nEOF", "the sub/a.txt"),
        (f"cd 'the sub' && apply_patch <<EOF\n{patch}\nEOF", "the sub/a.txt"),
        (f"apply_patch '{patch}'", "a.txt"),
    ):
        arguments = {"command": command}
        if name != "a.txt" and "cd" not in command:
            arguments["folder"] = "the sub"
        script = [Turn(Call("run", arguments), stop="tool_use"), Turn(Text("Done."))]
        home_path = tmp_path / str(len(command))
        home_path.mkdir()
        async with engine_home(home_path, provider, script) as home:
            lay_out(home.folder)
            (home.folder / "the sub").mkdir()
            lay_out(home.folder / "the sub")
            session = await home.session(model=GPT if provider == "openai" else "sim-model")
            events = await say(session)
            assert not home.simulator.violations
            (queued,) = (event for event in events if isinstance(event, ToolQueued))
            assert (queued.name, queued.target) == ("apply_patch", name)
            (draft,) = session.drafts.waiting()
            assert isinstance(draft, FileDraft)
            assert (draft.path, draft.after) == (name, "ONE\ntwo\n")


async def test_all_or_nothing_of_a_patch(tmp_path: Path) -> None:
    """C-8: the third change cannot be made, so there is no draft of the first."""
    patch = PATCH.replace("-left", "-gone")
    script = [patching(patch), Turn(Text("Oh."), stop="end")]
    async with engine_home(tmp_path, "openai", script) as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        (done,) = results(await say(session))
        assert done.is_error and "b.txt" in done.text and "Nothing of the patch" in done.text
        assert session.drafts.all == []


async def test_a_patch_is_decided_as_a_whole(tmp_path: Path) -> None:
    """C-8: one approval writes all files; undo goes file by file."""
    async with engine_home(tmp_path, "openai", [patching(), Turn(Text("Done."))]) as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        await say(session)
        one = session.drafts.waiting()[2]
        await session.review.decide(one.id, "approve")
        assert {draft.status for draft in session.drafts.all} == {"approved"}
        found = {p.name: p.read_text() for p in home.folder.rglob("*.txt")}
        assert found == {"a.txt": "ONE\ntwo\n", "new.txt": "new\n", "moved.txt": "right\n"}


async def test_a_patch_whose_last_file_changed_writes_none(tmp_path: Path) -> None:
    """C-8: what was written already is put back, and the person sees which file it was."""
    async with engine_home(tmp_path, "openai", [patching(), Turn(Text("Done."))]) as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        await say(session)
        (home.folder / "old.txt").write_text("changed\n")
        first = session.drafts.waiting()[0]
        await session.review.decide(first.id, "approve")
        states = {draft.describe().name: draft.status for draft in session.drafts.all}
        assert states.pop("old.txt") == "conflict" and set(states.values()) == {"waiting"}
        found = {p.name: p.read_text() for p in home.folder.rglob("*.txt")}
        assert found == {"a.txt": "one\ntwo\n", "b.txt": "left\n", "old.txt": "changed\n"}
        await session.review.decide(first.id, "approve")  # not without the part in conflict
        assert (home.folder / "a.txt").read_text() == "one\ntwo\n"
        await session.review.decide(first.id, "discard")
        assert {draft.status for draft in session.drafts.all} == {"discarded"}


@pytest.mark.parametrize(
    ("rule", "refused"),
    [
        (Rule("deny", "edit", "a.txt"), True),
        (Rule("deny", "write", "src/*"), True),
        (Rule("deny", "move", "b.txt"), True),
        (Rule("deny", "delete", "*"), True),
        (Rule("deny", "apply_patch", "moved.txt"), True),
        (Rule("deny", "edit", "src/*"), False),
        (Rule("deny", "run", "*"), False),
    ],
)
async def test_a_patch_is_decided_by_its_worst_file(
    tmp_path: Path, rule: Rule, refused: bool
) -> None:
    """C-8: rules of edit, write, move and delete hold for what a patch does."""
    async with engine_home(tmp_path, "openai", [patching(), Turn(Text("Done."))]) as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        (done,) = results(await say(session, rules=(rule,)))
        assert done.is_error == refused
        assert bool(session.drafts.all) != refused


async def test_rules_that_allow_each_part_write_the_patch(tmp_path: Path) -> None:
    """C-8: one part that nobody allowed lets all of it wait."""
    rules = [Rule("allow", name, "*") for name in ("edit", "write", "move", "delete")]
    for given, written in ((rules, True), (rules[:3], False)):
        home_path = tmp_path / str(written)
        home_path.mkdir()
        script = [patching(), Turn(Text("Done."))]
        async with engine_home(home_path, "openai", script) as home:
            lay_out(home.folder)
            session = await home.session(model=GPT)
            (done,) = results(await say(session, rules=tuple(given)))
            assert done.text.startswith("Done: " if written else "Drafts made: ")
            assert (home.folder / "old.txt").exists() != written


@pytest.mark.parametrize("to", ["anthropic", "gemini", "openai-compatible", "ollama"])
async def test_another_provider_takes_a_patch_over(tmp_path: Path, to: str) -> None:
    """C-8, H-7: the plain text becomes an argument, and back."""
    async with engine_home(tmp_path, "openai", [patching(), Turn(Text("Done."))]) as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        await say(session)
        kept = session.info.id
    async with engine_home(tmp_path, to, [Turn(Text("Mine.")), Turn(Text("Mine."))]) as home:
        session = await home.engine.sessions.open(kept)
        await session.change(provider=to, model="sim-model")
        await say(session, "Go on")
        assert not home.simulator.violations
        assert "Begin Patch" in json.dumps(home.asked[0].json)
    async with engine_home(tmp_path, "openai", [Turn(Text("Back."))]) as home:
        session = await home.engine.sessions.open(kept)
        await session.change(provider="openai", model=GPT)
        await say(session, "And back")
        assert not home.simulator.violations
        (block,) = (b for b in session.transcript.blocks if isinstance(b, ToolBlock))
        asked: JsonObject = {"input": PATCH}
        assert block.arguments == asked


async def test_a_call_that_was_cut_off_is_answered_in_its_own_kind(tmp_path: Path) -> None:
    """C-8, H-5: a program that ended before the tool answers the call when it opens again."""
    async with engine_home(tmp_path, "openai", [patching(), Turn(Text("Done."))]) as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        await say(session)
        kept = session.info.id
        stored = await home.engine.store.native(kept)
        assert stored is not None
        upto = next(
            n
            for n, item in enumerate(stored.items)
            if item.get("type") == "custom_tool_call_output"
        )
        await home.engine.store.begin_epoch(
            kept,
            "openai",
            "responses",
            GPT,
            stored.system,
            stored.tools,
            stored.items[:upto],
            why="",
        )
    async with engine_home(tmp_path, "openai", [Turn(Text("Yes."))]) as home:
        events = await say(await home.engine.sessions.open(kept), "Again?")
        assert not home.simulator.violations
        assert not any(isinstance(event, DraftResolved) for event in events)
        assert "custom_tool_call_output" in json.dumps(home.asked[0].json)


async def test_a_rule_is_tried_with_the_path_of_a_file(tmp_path: Path) -> None:
    """C-8: as ``permissions test`` does."""
    async with engine_home(tmp_path, "openai", []) as home:
        spec = home.engine.tools()["apply_patch"].spec
        policy = Policy("ask", {"person": [Rule("deny", "edit", "a.txt")]})
        assert policy.explain(spec, "a.txt").verdict == "deny"
        assert policy.explain(spec, "b.txt").verdict == "ask"


async def test_a_patch_shows_lines_of_the_file_and_so_the_chat_knows_it(tmp_path: Path) -> None:
    """T-7, C-10: like reading, it counts as private data."""
    async with engine_home(tmp_path, "openai", [patching(), Turn(Text("Done."))]) as home:
        lay_out(home.folder)
        session = await home.session(model=GPT)
        await say(session)
        assert "private" in session.transcript.exposed
