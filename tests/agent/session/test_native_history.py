"""Histories grow only at their end, explain themselves, and outlive damage (H-1, H-5, H-7, H-9)."""

from __future__ import annotations

import itertools
import json
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from studio.agent.session.session import Session
from studio.domain.errors import ConfigurationError
from studio.domain.events import HistoryBegun, Notice, StepEnded, Told, TurnComplete
from studio.domain.ledger import canonical_json, chain_next
from studio.simulator import Call, Text, Think, Turn, Usage
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say

MESSAGES = {
    "anthropic": "messages",
    "responses": "input",
    "chat": "messages",
    "gemini": "contents",
    "ollama": "messages",
}
FROZEN = ("system", "tools", "instructions", "systemInstruction")


def sent(home: EngineHome) -> list[dict]:
    return [request.json for request in home.asked]


def grows(before: dict, after: dict, surface: str) -> None:
    """Everything the older request sent is the beginning of the newer one (H-9)."""
    for name in FROZEN:
        assert before.get(name) == after.get(name)
    old, new = before[MESSAGES[surface]], after[MESSAGES[surface]]
    assert new[: len(old)] == old and len(new) > len(old)


STEPS = [
    Turn(Think("Hm."), Text("I look."), Call("list", {}), Call("read", {"path": "a.txt"})),
    Turn(Think("So."), Text("Done.")),
]


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_requests_only_grow(tmp_path: Path, provider: str) -> None:
    """H-9: over steps, turns, a new day, another mode, new instructions and a restart."""
    surface = PROTOCOLS[provider]
    async with engine_home(tmp_path, provider, STEPS * 2) as home:
        (home.folder / "a.txt").write_text("alpha\n")
        home.engine.services.today = lambda: date(2026, 11, 22)
        session = await home.session()
        await say(session, "One")
        home.engine.services.today = lambda: date(2026, 11, 23)
        await session.change(permission_mode="plan")
        events = await say(session, "Two")
        told = {event.topic: event.text for event in events if isinstance(event, Told)}
        assert "Monday, 23 November 2026" in told["date"] and "plan" in told["mode"]
        identifier, requests = session.info.id, sent(home)
        assert not home.simulator.violations
    async with engine_home(tmp_path, provider, STEPS, seed=1) as home:
        home.engine.services.today = lambda: date(2026, 11, 23)
        home.engine.paths.agents.mkdir(parents=True, exist_ok=True)
        (home.engine.paths.agents / "coder.md").write_text(
            "---\nname: Coder\ndescription: Codes.\ntools: [list, glob, read, search, write, edit, move, "
            "delete, run, ask, plan, outline]\nagents: [Researcher]\n---\nAlways answer in verse.\n"
        )
        session = await home.engine.sessions.open(identifier)
        events = await say(session, "Three")
        told = {event.topic: event.text for event in events if isinstance(event, Told)}
        assert list(told) == ["instructions"] and "verse" in told["instructions"]
        requests += sent(home)
        assert "verse" in json.dumps(requests[-1][MESSAGES[surface]])
        assert not home.simulator.violations
        assert [epoch.number for epoch in await home.engine.store.epochs(identifier)] == [1]
    assert len(requests) == 6
    for before, after in itertools.pairwise(requests):
        grows(before, after, surface)


async def test_the_chain_proves_that_requests_grow(tmp_path: Path) -> None:
    """H-9: each request's prefix lies on the chain of the next, also after a restart."""
    async with engine_home(tmp_path, "anthropic", STEPS) as home:
        session = await home.session()
        await say(session, "One")
        identifier = session.info.id
    async with engine_home(tmp_path, "anthropic", STEPS) as home:
        session = await home.engine.sessions.open(identifier)
        await say(session, "Two")
        entries = await home.engine.store.ledger(identifier)
        native = await home.engine.store.native(identifier)
        assert native is not None and len(entries) == 4
        chain = native.chain[:1]
        for item in native.items:
            chain.append(chain_next(chain[-1], canonical_json(item)))
        for entry in entries:
            assert entry.sent is not None
            assert chain[entry.sent.items] == entry.sent.prefix
        assert [e.sent.items for e in entries if e.sent] == sorted(
            e.sent.items for e in entries if e.sent
        )


async def test_the_ledger_says_what_broke_a_cache_and_what_it_cost(tmp_path: Path) -> None:
    """Usage and cost: expected, got, why not, how much."""
    script = [
        Turn(Text("A."), usage=Usage(inp=5000, out=10)),
        Turn(Text("B."), usage=Usage(inp=6000, cache_read=5000, out=10)),
        Turn(Text("C."), usage=Usage(inp=7000, cache_read=0, out=10)),
        Turn(Text("D."), usage=Usage(inp=8000, cache_read=0, out=10)),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session(model="claude-sonnet-5")
        await say(session, "One")
        await say(session, "Two")
        await say(session, "Three")
        await session.change(model="claude-opus-5")
        await say(session, "Four")
        entries = [entry.sent for entry in await home.engine.store.ledger(session.info.id)]
        assert [entry.expected for entry in entries if entry] == [0, 5000, 6000, 7000]
        first, second, third, fourth = entries
        assert first and second and third and fourth
        assert (first.broke, second.broke) == ("", "")
        assert "dropped" in third.broke and third.lost > 0
        assert "model" in fourth.broke and fourth.lost > 0


@pytest.mark.parametrize("provider", PROTOCOLS)
@pytest.mark.parametrize("harm", ["changed", "missing", "unreadable", "unpaired"])
async def test_a_damaged_history_is_rebuilt(tmp_path: Path, provider: str, harm: str) -> None:
    """H-5: what is damaged in storage is repaired on load, and said."""
    async with engine_home(tmp_path, provider, STEPS) as home:
        session = await home.session()
        await say(session, "One")
        identifier = session.info.id
    with closing(sqlite3.connect(tmp_path / "studio" / "studio.db")) as db, db:
        if harm == "changed":
            db.execute("UPDATE native SET body = replace(body, 'Done', 'Gone')")
        elif harm == "missing":
            db.execute("DELETE FROM native WHERE seq = 3")
        elif harm == "unreadable":
            db.execute("UPDATE native SET body = substr(body, 1, 20) WHERE seq = 2")
        else:  # a file that is whole in itself, and still no history
            rows = db.execute("SELECT seq, body FROM native ORDER BY seq").fetchall()
            db.execute("DELETE FROM native")
            (chain,) = db.execute("SELECT digest FROM epochs").fetchone()
            kept = [body for seq, body in rows if seq != 2]
            for seq, body in enumerate(kept, 1):
                chain = chain_next(chain, body)
                db.execute(
                    "INSERT INTO native (session_id, epoch, seq, body, digest) VALUES (?, 1, ?, ?, ?)",
                    (identifier, seq, body, chain),
                )
            db.execute("UPDATE epochs SET items = ?", (len(kept),))
    async with engine_home(tmp_path, provider, [Turn(Text("On."))]) as home:
        session = await home.engine.sessions.open(identifier)
        assert not session.damage
        events = await say(session, "Two")
        begun = next(event for event in events if isinstance(event, HistoryBegun))
        assert begun.epoch == 2 and begun.why
        assert any(isinstance(event, Notice) and event.text == begun.why for event in events)
        if harm != "unpaired":  # which one provider cannot see before it asks
            assert "damaged" in begun.why
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        body = json.dumps(sent(home)[-1])
        assert "One" in body and "Done." in body and "Two" in body


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE transcript SET body = 'x' WHERE seq = 5",
        "UPDATE sessions SET agent = CAST(x'436fff6572' AS TEXT)",
        "UPDATE sessions SET provider = CAST(x'ff' AS TEXT), model = CAST(x'ff' AS TEXT)",
    ],
)
async def test_a_damaged_transcript_can_be_read_and_gone_on_from(tmp_path: Path, harm: str) -> None:
    """H-5: what cannot be repaired opens read-only, says why, and goes on elsewhere."""
    async with engine_home(tmp_path, "anthropic", STEPS) as home:
        session = await home.session()
        await say(session, "One")
        identifier = session.info.id
    with closing(sqlite3.connect(tmp_path / "studio" / "studio.db")) as db, db:
        db.execute(harm)
    async with engine_home(tmp_path, "anthropic", STEPS) as home:
        session = await home.engine.sessions.open(identifier)
        assert session.damage
        with pytest.raises(ConfigurationError, match="can only be read"):
            await say(session, "Two")
        with pytest.raises(ConfigurationError, match="can only be read"):
            await session.context.compact()
        new = await home.engine.sessions.branch(identifier)
        assert not new.damage and new.info.parent == identifier
        events = await say(new, "Two")
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        assert not home.simulator.violations
        assert "Done." in json.dumps(sent(home)[0])


async def test_a_chat_of_which_an_entry_was_changed_goes_on(tmp_path: Path) -> None:
    """H-5, H-1, T-7: with a note; the model knows what it said, and risks are counted as taken."""
    async with engine_home(tmp_path, "anthropic", STEPS) as home:
        session = await home.session()
        await say(session, "One")
        identifier = session.info.id
    with closing(sqlite3.connect(tmp_path / "studio" / "studio.db")) as db, db:
        db.execute("UPDATE transcript SET body = replace(body, 'Done.', 'Gone.')")
    for words in ("Two", "Three"):
        async with engine_home(tmp_path, "anthropic", [Turn(Text("Yes."))]) as home:
            session = await home.engine.sessions.open(identifier)
            assert not session.damage and {*session.transcript.exposed} == {"private", "untrusted"}
            shown = [str(block) for block in session.transcript.blocks]
            assert sum("An entry of this chat was changed" in block for block in shown) == 1
            events = await say(session, words)
            assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
            assert not any(isinstance(event, HistoryBegun) for event in events)
            assert "Done." in json.dumps(sent(home)[0]) and not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_a_branch_has_what_came_before(tmp_path: Path, provider: str) -> None:
    """H-7: edit and resend is a branch; the old session stays as it is."""
    async with engine_home(tmp_path, provider, [*STEPS, *STEPS, Turn(Text("Other."))]) as home:
        session = await home.session()
        await say(session, "One")
        await say(session, "Two")
        turn_id = next(
            b.turn_id for b in session.transcript.blocks if getattr(b, "text", "") == "Two"
        )
        count = len(session.transcript.blocks)
        branch = await home.engine.sessions.branch(session.info.id, turn_id)
        await say(branch, "Three")
        body = json.dumps(sent(home)[-1])
        assert "One" in body and "Three" in body and '"Two"' not in body
        assert not home.simulator.violations and len(session.transcript.blocks) == count
        assert (await home.engine.store.usage(branch.info.id)).total < (
            await home.engine.store.usage(session.info.id)
        ).total


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_compaction_begins_a_new_epoch(tmp_path: Path, provider: str) -> None:
    """H-9, L-10: nothing is edited in place, the transcript stays whole, pairs stay together."""
    calls = [Turn(Call("read", {"path": f"{n}.txt"})) for n in range(6)]
    async with engine_home(tmp_path, provider, [*calls, *STEPS, *STEPS]) as home:
        for n in range(6):
            (home.folder / f"{n}.txt").write_text(f"file {n} " * 200)
        session: Session = await home.session()
        await say(session, "One")
        before = len(session.transcript.blocks)
        await session.context.compact()
        await say(session, "Two")
        old, new = sent(home)[-3], sent(home)[-1]
        assert len(json.dumps(new)) < len(json.dumps(old))
        assert "left out" in json.dumps(new) and "file 5" in json.dumps(new)
        assert not home.simulator.violations
        epochs = await home.engine.store.epochs(session.info.id)
        assert len(epochs) == 2 and len(session.transcript.blocks) > before
        first = await home.engine.store.native(session.info.id, 1)
        assert first is not None and "file 0" in json.dumps(first.items)


async def test_what_was_cut_off_is_counted(tmp_path: Path) -> None:
    """An answer that was stopped is paid for, and the ledger has it."""
    script = [Turn(Text("A long answer."), usage=Usage(inp=100, out=50))]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        async for envelope in session.turn([*Words("Go")]):
            event = envelope.event
            if type(event).__name__ == "TextDelta":
                session.stop()
        ended = [e for e in session.transcript.blocks if isinstance(e, StepEnded)]
        assert not ended
        assert (await home.engine.store.usage(session.info.id)).input == 100


def Words(text: str) -> list:
    from studio.domain.messages import Text as Said

    return [Said(text)]
