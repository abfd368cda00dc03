"""The example of ``docs/packs-python.md`` works as it stands there (KZ-2, KZ-5, KZ-8, KZ-9)."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from studio.domain.drafts import KindDraft
from studio.extensions.packs.loading import load_class
from studio.simulator import Call, Text, Turn
from studio.tools.packs.sources import Source
from support.engine_home import engine_home, say
from support.pack_home import install_notes, notes
from support.sample_files import pdf

PAGE = Path(__file__).parents[2] / "docs" / "packs-python.md"


async def test_the_example_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, reading, more, page, beside = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S
    )
    calls = [Turn(Call("draft_note", {"topic": "rivers", "text": "They flow."}))]
    async with engine_home(tmp_path, "anthropic", [*calls, Turn(Text("Done."))]) as home:
        desk = home.engine.services.acts.desk("window")
        assert desk is not None
        root = install_notes(home, tmp_path, f"{code}\n{more}")
        (root / "pages" / "topics.py").write_text(page)
        session = await home.session()
        await say(session)
        (draft,) = session.drafts.waiting()
        assert isinstance(draft, KindDraft)
        acts = desk.decided("approve", [draft])
        assert await session.review.decide(draft.id, "approve", acts) == "approved"
        assert notes(tmp_path) == {"rivers": "They flow."}
        assert await home.command("packs", "run", "notes", "topics", "--words", "r") == 0
        assert capsys.readouterr().out == "rivers\n"
        found = home.engine.services.packs.resolve(["notes:topic/rivers"])
        assert found == {"notes:topic/rivers": Source("Note about rivers", "topics", ("rivers",))}
        names: dict[str, object] = {"data": pdf("They flow.")}
        exec(reading, names)
        assert "They flow." in str(names["words"])
        shown = load_class("notes", "pages.topics:TopicsPage")
        assert shown.__name__ == "TopicsPage"
        exec(beside, names)
        subjects: list[str] = []
        told = SimpleNamespace(studio=SimpleNamespace(set_subject=subjects.append))
        for name, given in (("open", ("rivers",)), ("open", ())):
            method = names[name]
            assert callable(method) and hasattr(shown, name)
            method(told, *given)
        assert subjects == ["notes:topic/rivers", ""]
        assert hasattr(shown, "chat_shown") and callable(names["chat_shown"])
