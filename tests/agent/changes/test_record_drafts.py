"""Drafts of records: proposed by a tool, decided by a person, written by the tool's own store."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.domain.blocks import DraftBlock
from studio.domain.drafts import FileDraft, RecordDraft
from studio.domain.errors import ConfigurationError
from studio.domain.events import ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say

CHAT = "openai-compatible"
TOOL_FILE = '''
"""Contacts in a JSON file."""
import json
from pathlib import Path
from studio.tools import Context, RecordStore, Result, make_record_draft, propose, tool

class Contacts(RecordStore):
    name = "contacts"
    path = Path(@PATH@)

    def read(self, key):
        return json.loads(self.path.read_text("utf-8")).get(key)

    def replace(self, key, before, after):
        records = json.loads(self.path.read_text("utf-8"))
        if records.get(key) != before:
            return False
        records = {**records, key: after}
        self.path.write_text(json.dumps({k: v for k, v in records.items() if v is not None}))
        return True

contacts = Contacts()

@tool(effect="draft", verb="Changing", done="Changed")
async def change_contact(context: Context, key: str, mail: str = "") -> Result:
    """Change a contact, or delete it without a mail address."""
    return await propose(context, make_record_draft(contacts, key, {"mail": mail} if mail else None))
'''
START = {"ada": {"mail": "ada@old.example"}}


def script(*calls: dict[str, object]) -> list[Turn]:
    made = [Turn(Call("change_contact", arguments)) for arguments in calls]
    return [*made, Turn(Text("Done.")), Turn(Text("Good.")), Turn(Text("Fine."))]


def install(tmp_path: Path) -> Path:
    file = tmp_path / "contacts.json"
    file.write_text(json.dumps(START))
    tools = tmp_path / "studio" / "tools"
    tools.mkdir(parents=True)
    (tools / "contacts.py").write_text(TOOL_FILE.replace("@PATH@", repr(str(file))))
    agents = tmp_path / "studio" / "agents"
    agents.mkdir()
    (agents / "coder.md").write_text(
        "---\nname: Coder\ntools: [write, change_contact]\n---\nWork.\n"
    )
    return file


def records(file: Path) -> object:
    return json.loads(file.read_text("utf-8"))


def results(events: list[object]) -> list[str]:
    return [event.text for event in events if isinstance(event, ToolFinished)]


def last(home: EngineHome) -> str:
    return str(home.asked[-1].json)


async def test_a_record_is_drafted_shown_approved_and_undone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """T-5: also after a restart, from the list of all drafts."""
    file = install(tmp_path)
    async with engine_home(
        tmp_path, CHAT, script({"key": "ada", "mail": "ada@new.example"})
    ) as one:
        session = await one.session()
        (said,) = results(list(await say(session)))
        assert "Draft of contacts/ada made (+1 −1 lines). It is not written" in said
        assert records(file) == START
        (block,) = [b for b in session.transcript.blocks if isinstance(b, DraftBlock)]
        about = block.draft.describe()
        assert (about.noun, about.label, about.action) == ("record", "contacts/ada", "write")
        assert '"mail": "ada@old.example"' in (about.before or "")
        assert '"mail": "ada@new.example"' in about.after
        session_id = session.info.id
    async with engine_home(tmp_path, CHAT, [Turn(Text("Good.")), Turn(Text("Fine."))]) as two:
        (entry,) = await two.engine.store.drafts()
        assert (entry.place, entry.action, entry.status) == ("contacts/ada", "write", "waiting")
        capsys.readouterr()
        assert await two.command("drafts", "show", entry.draft_id) == 0
        assert capsys.readouterr().out == (
            "Write contacts/ada (+1 −1)\n    {\n"
            '  -   "mail": "ada@old.example"\n  +   "mail": "ada@new.example"\n    }\n'
        )
        session = await two.engine.sessions.open(session_id)
        draft = session.drafts.get(entry.draft_id)
        assert isinstance(draft, RecordDraft) and draft.before == START["ada"]
        with pytest.raises(ConfigurationError, match="cannot be edited by hand"):
            await session.review.edit(draft.id, "{}")
        assert await session.review.decide(draft.id, "approve") == "approved"
        assert records(file) == {"ada": {"mail": "ada@new.example"}}
        await say(session)
        assert "The person approved the draft of contacts/ada. It is written." in last(two)
        assert await session.review.decide(draft.id, "undo") == "undone"
        assert records(file) == START
        await say(session)
        assert "undid the change of contacts/ada. The record is as it was before." in last(two)


async def test_a_record_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = install(tmp_path)
    calls = ({"key": "ada"}, {"key": "bob", "mail": "b"}, {"key": "bob", "mail": "bob@x"})
    async with engine_home(tmp_path, CHAT, script(*calls)) as home:
        session = await home.session()
        said = results(list(await say(session)))
        assert "Draft of contacts/ada that deletes it made" in said[0]
        assert "new record, +3 −0 lines" in said[1]
        first, second = session.drafts.waiting()  # the second one of bob replaced the first
        assert second.describe().after.count("bob@x") == 1
        theirs = {"ada": {"mail": "hers"}}
        file.write_text(json.dumps(theirs))
        assert await session.review.decide(first.id, "approve") == "conflict"
        assert records(file) == theirs
        conflict = await session.review.conflict(first.id)
        assert "ada@old" in (conflict.base or "") and '"hers"' in (conflict.theirs or "")
        made = await session.review.resolve(first.id, None, conflict)
        assert await session.review.decide_all("approve", [made.id, second.id]) == {
            made.id: "approved",
            second.id: "approved",
        }
        assert records(file) == {"bob": {"mail": "bob@x"}}
        assert await session.review.decide(second.id, "undo") == "undone"
        assert records(file) == {}


async def test_a_rule_lets_a_record_be_written_at_once(tmp_path: Path) -> None:
    file = install(tmp_path)
    async with engine_home(tmp_path, CHAT, script({"key": "ada"})) as home:
        session = await home.session()
        said = results(list(await say(session, rules=(Rule("allow", "change_contact", "*"),))))
        assert said == ["contacts/ada is deleted (+0 −3 lines)."]
        assert records(file) == {}


async def test_a_store_that_is_gone_leaves_the_draft_waiting(tmp_path: Path) -> None:
    install(tmp_path)
    async with engine_home(tmp_path, CHAT, script({"key": "ada"})) as one:
        session = await one.session()
        await say(session)
        session_id = session.info.id
    (tmp_path / "studio" / "tools" / "contacts.py").unlink()
    async with engine_home(tmp_path, CHAT, []) as two:
        session = await two.engine.sessions.open(session_id)
        (draft,) = session.drafts.waiting()
        assert await session.review.decide(draft.id, "approve") == "waiting"
        ((_, detail),) = session.transcript.draft_details
        assert "The record store “contacts” is not installed any more." in detail


async def test_files_and_records_stand_side_by_side(tmp_path: Path) -> None:
    install(tmp_path)
    calls = [
        Turn(Call("write", {"path": "contacts/ada", "content": "a file\n"})),
        *script({"key": "ada"}),
    ]
    async with engine_home(tmp_path, CHAT, calls) as home:
        session = await home.session()
        await say(session)
        file, record = session.drafts.waiting()
        assert isinstance(file, FileDraft) and isinstance(record, RecordDraft)
        assert file.label == record.label
        await session.review.decide_all("approve", [file.id, record.id])
        assert (home.folder / "contacts" / "ada").read_text() == "a file\n"
        files = session.transcript.blocks[-1]
        turn_id = getattr(files, "turn_id", "")
        event = await session.undo.restore(turn_id, undo=True)
        assert event.drafts == (file.id,)  # a turn's undo is about files; records go one by one
        assert session.drafts.get(record.id) == record.__class__(
            record.id, "contacts", "ada", START["ada"], None, "approved"
        )
