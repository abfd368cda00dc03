"""Drafts of kinds that packs bring: only a person can approve them (KZ-5)."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import MethodType

import pytest

from studio.agent.session.session import Session
from studio.domain.drafts import KindDraft
from studio.domain.events import ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from studio.tools import Context, ToolFailed
from studio.tools.packs.persons_act import ActBook, ActDesk, PersonsAct
from studio.ui.chat.model.open_chat import ExternalChanges, OpenChat
from studio.ui.chat.model.transcript_actions import TranscriptActions
from studio.ui.chat.model.turn_runner import TurnRunner
from support.engine_home import EngineHome, engine_home, say
from support.pack_home import install_notes, notes
from support.waiting import until

CHAT = "openai-compatible"


def script(*texts: str) -> list[Turn]:
    calls = [Turn(Call("draft_note", {"topic": "rivers", "text": one})) for one in texts]
    return [*calls, *(Turn(Text("Done.")) for _ in range(5))]


async def drafted(home: EngineHome, tmp_path: Path, **how: object) -> tuple[Session, KindDraft]:
    install_notes(home, tmp_path)
    session = await home.session()
    await say(session, **how)  # type: ignore[arg-type]
    (draft,) = session.drafts.waiting()
    assert isinstance(draft, KindDraft)
    return session, draft


def desk_of(home: EngineHome) -> ActDesk:
    desk = home.engine.services.acts.desk("window")
    assert desk is not None
    return desk


async def test_a_draft_is_shown_approved_and_undone(tmp_path: Path) -> None:
    """KZ-5: as any draft, also after a restart; what the model is told says what became of it."""
    async with engine_home(tmp_path, CHAT, script("They flow.")) as one:
        session, draft = await drafted(one, tmp_path)
        said = [e.text for e in (await say(session)) if isinstance(e, ToolFinished)]
        assert not said
        about = draft.describe()
        assert (about.noun, about.name, about.before, about.after) == (
            *("note", "rivers", None),
            "They flow.",
        )
        assert draft.kind == "notes:note" and notes(tmp_path) == {}
        session_id = session.info.id
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good.")), Turn(Text("Fine."))]) as two:
        desk = desk_of(two)
        install_notes(two, tmp_path)
        session = await two.engine.sessions.open(session_id)
        acts = desk.decided("approve", [draft])
        assert await session.review.decide(draft.id, "approve", acts) == "approved"
        assert notes(tmp_path) == {"rivers": "They flow."}
        assert await session.review.decide(draft.id, "approve", acts) == "approved"  # once
        await say(session)
        assert "The person approved the draft of rivers. It is written." in str(two.asked[-1].json)
        assert await session.review.decide(draft.id, "undo", acts) == "approved", "another decision"
        acts = desk.decided("undo", [draft])
        assert await session.review.decide(draft.id, "undo", acts) == "undone"
        assert notes(tmp_path) == {}


async def test_a_note_that_changed_meanwhile_is_a_conflict(tmp_path: Path) -> None:
    async with engine_home(tmp_path, CHAT, script("They flow.")) as home:
        desk = desk_of(home)
        session, draft = await drafted(home, tmp_path)
        (pack,) = home.engine.services.packs.homes.values()
        pack.records.write("INSERT INTO note VALUES ('rivers', 'Dry.', 'a person')")
        acts = desk.decided("approve", [draft])
        assert await session.review.decide(draft.id, "approve", acts) == "conflict"
        assert notes(tmp_path) == {"rivers": "Dry."}
        made = await session.review.resolve(draft.id, None)
        assert made.describe().before == "Dry."
        acts = desk.decided("approve", [made])
        assert await session.review.decide(made.id, "approve", acts) == "approved"
        assert notes(tmp_path) == {"rivers": "They flow."}


@pytest.mark.parametrize("how", ["a rule", "the automatic mode"])
async def test_nothing_but_a_person_approves(tmp_path: Path, how: str) -> None:
    """KZ-5: a rule and the automatic mode let the draft wait."""
    async with engine_home(tmp_path, CHAT, script("They flow.")) as home:
        install_notes(home, tmp_path)
        session = await home.session()
        rules = (Rule("allow", "draft_note", "*"),) if how == "a rule" else ()
        if how != "a rule":
            await session.change(permission_mode="auto")
        await say(session, rules=rules)
        (draft,) = session.drafts.waiting()
        assert notes(tmp_path) == {}
        # Who has a session, such as an editor's client, still has no proof.
        assert await session.review.decide(draft.id, "approve") == "waiting"
        assert "only a person can decide this" in session.transcript.draft_details[-1][1]
        assert await home.command("drafts", "approve", draft.id) == 1  # nobody is at a terminal
        assert notes(tmp_path) == {}


async def test_a_proof_is_for_one_decision_about_what_was_shown(tmp_path: Path) -> None:
    """KZ-5: of another book, another draft, another decision, or used, it is worth nothing."""
    async with engine_home(tmp_path, CHAT, script("They flow.")) as home:
        desk = desk_of(home)
        session, draft = await drafted(home, tmp_path)
        other = ActBook().desk("window")
        assert other is not None
        edited = KindDraft(**{**_fields(draft), "after": "They stand."})
        moved = KindDraft(**{**_fields(draft), "id": "0" * 32})
        wrong = [
            other.decided("approve", [draft]),
            desk.decided("undo", [draft]),
            desk.decided("approve", [edited]),
            {draft.id: desk.decided("approve", [moved])["0" * 32]},
            {draft.id: object.__new__(PersonsAct)},
        ]
        for acts in wrong:
            assert await session.review.decide(draft.id, "approve", acts) == "waiting"
        assert notes(tmp_path) == {}
        acts = desk.decided("approve", [draft])
        assert await session.review.decide(draft.id, "approve", acts) == "approved"


async def test_a_click_in_the_window_approves(tmp_path: Path) -> None:
    """KZ-5: the transcript's card makes the proof."""
    async with engine_home(tmp_path, CHAT, script("They flow.")) as home:
        chat = OpenChat(TurnRunner(lambda error: None, lambda *_: None), lambda problem: None)
        chat.desk = desk_of(home)
        session, draft = await drafted(home, tmp_path)
        chat.session = session
        actions = TranscriptActions(chat, ExternalChanges(chat))
        actions.decide_draft(draft.id, "approve")
        await until(lambda: not session.drafts.waiting())
        assert notes(tmp_path) == {"rivers": "They flow."}


def test_a_terminal_of_an_agent_is_no_persons(tmp_path: Path) -> None:
    """KZ-5: what a command begins is known, also where it takes the mark away."""
    ask = "from studio.processes.keeper_process import begun_by_a_command as b; print(b())"
    again = (
        "import subprocess, sys, os; os.environ.pop('AGENT_STUDIO_RUN');"
        f"subprocess.run([sys.executable, '-c', {ask!r}], env=dict(os.environ))"
    )
    # Not the number of a studio that is gone: any that starts would end these processes.
    marked = {**os.environ, "AGENT_STUDIO_RUN": "test"}
    for code, environment, said in ((ask, None, b"False"), (ask, marked, b"True")):
        found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
        assert found.stdout.strip() == said
    if sys.platform == "linux":
        found = subprocess.run([sys.executable, "-c", again], env=marked, capture_output=True)
        assert found.stdout.strip() == b"True", found.stderr


def _fields(draft: KindDraft) -> dict[str, object]:
    return {name: getattr(draft, name) for name in KindDraft.__dataclass_fields__}


async def test_the_code_of_a_pack_cannot_approve_by_itself(tmp_path: Path) -> None:
    """KZ-5: its own ``approve`` does nothing without a decision that is being carried out."""
    async with engine_home(tmp_path, CHAT, script("They flow.")) as home:
        desk = desk_of(home)
        _, draft = await drafted(home, tmp_path)
        (pack,) = home.engine.services.packs.homes.values()
        (kind,) = pack.loaded.pack.kinds
        fields = kind.fields("rivers", "They flow.")
        act = desk.decided("approve", [draft])[draft.id]  # decided, and not carried out
        for proof in (act, None, "yes", object.__new__(PersonsAct)):
            with pytest.raises(ToolFailed, match="only a person"):
                kind.approve(draft, fields, pack, proof)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            PersonsAct()
        with pytest.raises(TypeError):
            copy.copy(act)
        with pytest.raises(TypeError):
            pickle.dumps(act)
        with pytest.raises(AttributeError):
            act.draft_id = "other"
        assert notes(tmp_path) == {}


async def test_nobody_gets_the_desk_once_a_turn_runs(tmp_path: Path) -> None:
    """KZ-5: a tool asks for it in vain, and no way from its context leads there."""
    found: list[object] = []
    turns = [Turn(Call("find_note", {"topic": "x"})), Turn(Text("Done."))]
    async with engine_home(tmp_path, CHAT, turns) as home:
        install_notes(home, tmp_path)
        desk = desk_of(home)
        tool = home.engine.tools()["find_note"]

        async def spy(context: Context, arguments: object) -> str:
            found.append(home.engine.services.acts.desk("window"))
            way = [*reachable(context)]
            book = home.engine.services.acts
            assert any(one is book for one in way), "the walk goes far enough"
            found.extend(one for one in way if isinstance(one, ActDesk))
            return "looked"

        object.__setattr__(tool, "run", spy)
        session = await home.session()
        said = [e.text for e in await say(session) if isinstance(e, ToolFinished)]
        assert said == ["looked"] and found == [None] and desk is not None
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good."))]) as home:  # no door asked
        await say(await home.session())
        assert home.engine.services.acts.desk("window") is None


def reachable(start: object) -> Iterable[object]:
    """All that attributes, items and methods lead to."""
    seen: dict[int, object] = {}
    ahead = [start]
    while ahead:
        one = ahead.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | type | None):
            continue
        seen[id(one)] = one
        if isinstance(one, MethodType):
            ahead.append(one.__self__)
        elif isinstance(one, dict):
            ahead += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            ahead += one
        elif type(one).__module__.startswith("studio"):
            ahead += [getattr(one, name) for name in (*vars_of(one),) if hasattr(one, name)]
    return seen.values()


def vars_of(one: object) -> set[str]:
    names: set[str] = set(getattr(one, "__dict__", ()))
    for kind in type(one).__mro__:
        slots = vars(kind).get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else set(slots)
    return names
