"""Settings, Skills: what there is, switched off for agents, begun anew (K-4, K-5)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QDesktopServices
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel

from studio.agent.skills import list_tokens
from studio.extensions.packs.installed import InstalledPacks
from studio.simulator import Text, Turn
from studio.ui.formatting import number
from studio.ui.settings.pages.skills import SkillsPage
from studio.ui.widgets import Tag
from support.engine_home import say
from support.pack_files import write_pack
from support.waiting import until
from support.window import alone, at_window, in_focus, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@on_window_loop
async def test_k5_a_skill_is_switched_off_for_agents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K-4, K-5: what is left out and why, what the list may take; off, it is not in the next chat."""
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))

    def script(view: object) -> Turn:
        return Turn(Text("Fine."))

    async with at_window(tmp_path, "anthropic", script) as person:
        own = person.engine.paths.config / "skills"
        for name, head in (("notes", "description: Writes notes"), ("broken", "name: broken")):
            (own / name).mkdir(parents=True)
            (own / name / "SKILL.md").write_text(f"---\n{head}\n---\nDo.")
        person.window.preferences.open("skills")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["skills"]
        assert isinstance(page, SkillsPage)
        await until(lambda: "notes" in page.rows)
        assert "1 skill on" in page.sum.text() and "broken" not in page.rows
        window = person.window.chat.model.options.model.context_window
        assert page.sum.text().endswith(f"of {number(list_tokens(window))} tokens")
        (left,) = page.left
        assert (left.name, left.why.text()) == ("broken", "Left out: SKILL.md has no description")
        page.search.setText("writes")
        assert [*page.rows] == ["notes"] and not page.left
        page.search.setText("broken")
        assert not page.rows and len(page.left) == 1
        page.search.clear()
        assert not page.form.isVisible()
        page.begin.click()
        await until(lambda: in_focus(page.name))
        page.name.setText("release-notes")
        page.new.click()
        await until(lambda: "release-notes" in page.rows)
        assert page.form.isHidden()
        assert opened and opened[0].endswith("release-notes/SKILL.md")
        assert page.rows["release-notes"].scripts.isHidden() and page.since is None
        page.rows["notes"].toggle.click()
        await until(lambda: "1 skill on" in page.sum.text())
        assert person.engine.settings.values.skills_off == ["notes"]
        found = await person.engine.services.extensions(person.folder)
        assert {one.name for one in found.by_hand} == {"notes", "release-notes"}
        session = await person.engine.sessions.create(
            folder=str(person.folder), agent="Coder", provider="anthropic", model="sim-model"
        )
        await say(session)
        sent = json.dumps([one.json for one in person.simulator.requests if one.method == "POST"])
        assert "- release-notes:" in sent and "- notes:" not in sent


@on_window_loop
async def test_k6_a_wish_is_seen_allowed_and_taken_back(tmp_path: Path) -> None:
    """K-6: by hand alone; what it gives away is said, and it is a rule as any."""
    async with at_window(tmp_path, "anthropic", []) as person:
        skill = person.engine.paths.config / "skills" / "notes" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text("---\ndescription: Notes\nallowed-tools: Bash(pytest:*), Warp\n---\nDo.")
        person.window.preferences.open("skills")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["skills"]
        assert isinstance(page, SkillsPage)
        await until(lambda: "notes" in page.rows and not page.rows["notes"].rights.isHidden())
        assert not await person.engine.rules.list()
        page.rows["notes"].rights.click()
        assert page.asked is not None
        said = " ".join(one.text() for one in page.asked.findChildren(QLabel))
        assert "pytest runs code of the folder" in said and "No counterpart here: Warp" in said
        await until(lambda: in_focus(page.asked.leave))
        QTest.keyClick(page.asked.leave, Qt.Key.Key_Escape)  # leaves the card, not the settings
        assert page.asked is None and dialog.isVisible()
        before = page.rows["notes"].rights
        before.click()
        assert page.asked.take_back.isHidden()
        page.asked.agree.click()
        await until(lambda: page.rows["notes"].rights is not before)
        assert [str(one.rule) for one in await person.engine.rules.list()] == ["run(pytest *)"]
        before = page.rows["notes"].rights
        before.click()
        assert page.asked is not None and page.asked.agree.isHidden()
        page.asked.take_back.click()
        await until(lambda: page.rows["notes"].rights is not before)
        assert not await person.engine.rules.list()


@on_window_loop
async def test_k4_skills_are_brought_from_elsewhere_and_say_what_they_run(tmp_path: Path) -> None:
    """K-4, K-6: programs are counted; one that is shadowed says by which, a folder since when."""
    async with at_window(tmp_path, "anthropic", []) as person:
        source = tmp_path / "elsewhere" / "db-migrations"
        (source / "scripts").mkdir(parents=True)
        (source / "SKILL.md").write_text("---\ndescription: Writes migrations\n---\nDo.")
        (source / "scripts" / "check.py").write_text("print()")
        (source / "run-it").write_text("#!/bin/sh\n")
        (source / "run-it").chmod(0o755)
        here = person.folder / ".agents" / "skills" / "notes" / "SKILL.md"
        own = person.engine.paths.config / "skills"
        for path in (here, own / "notes" / "SKILL.md"):
            path.parent.mkdir(parents=True)
            path.write_text("---\ndescription: Notes\n---\nDo.")
        await person.engine.rules.trust(person.folder)
        person.window.preferences.open("skills")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["skills"]
        assert isinstance(page, SkillsPage)
        await until(lambda: "notes" in page.rows)
        assert page.since is not None and page.since.text().startswith("Trusted since ")
        (shadowed,) = page.left
        assert shadowed.name == "notes" and shadowed.why.text().startswith("Not used here: the one")
        assert page.sources.isHidden()
        page.bring.click()
        await until(lambda: in_focus(page.folder))
        page.bring_in(str(tmp_path / "elsewhere"))
        await until(lambda: "db-migrations" in page.rows)
        row = page.rows["db-migrations"]
        assert row.scripts.accessibleName() == "2 scripts"
        assert "run-it, scripts/check.py" in row.scripts.toolTip()
        assert page.sources.isHidden() and page.notice.text() == "Copied: db-migrations"
        assert (own / "db-migrations" / "run-it").stat().st_mode & 0o100
        page.bring_in(str(tmp_path / "elsewhere"))
        await until(lambda: "is there already" in page.notice.text())
        page.bring_in(str(tmp_path / "nowhere.zip"))
        await until(lambda: "nowhere.zip" in page.notice.text())


@on_window_loop
async def test_k4_the_skills_of_a_pack_are_one_row_with_one_switch(tmp_path: Path) -> None:
    """K-4, X-2: its arrow shows each of them, and leads to the pack where they are off with it."""
    source = write_pack(tmp_path / "office")
    for name in ("notary", "release"):
        (source / "skills" / name).mkdir()
        (source / "skills" / name / "SKILL.md").write_text(f"---\ndescription: {name}\n---\nDo.")
    wish = "allowed-tools: Bash(pytest:*)"
    (source / "skills" / "notary" / "SKILL.md").write_text(f"---\ndescription: N\n{wish}\n---\nDo.")
    async with at_window(tmp_path, "anthropic", []) as person:
        packs = person.engine.services.get(InstalledPacks)
        packs.add(packs.look(str(source)))
        person.window.preferences.open("skills")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["skills"]
        assert isinstance(page, SkillsPage)
        await until(lambda: "office" in page.packs)
        row = page.packs["office"]
        assert row.line.text() == "3 skills: deed, notary, release"
        assert row.toggle.isChecked() and row.body.isHidden()
        assert {*page.rows} == {"deed", "notary", "release"}
        tokens = sum(one.tokens for one in page._found.skills)
        assert row.tokens.text() == f"{tokens} tokens"
        assert "Wants rights" in {one.accessibleName() for one in row.findChildren(Tag)}
        row.open.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(row.open, Qt.Key.Key_Space)
        assert not row.body.isHidden()
        page.rows["deed"].toggle.click()
        assert person.engine.settings.values.skills_off == ["deed"]
        page.search.setText("release")
        assert [*page.rows] == ["release"] and not page.packs["office"].body.isHidden()
        assert page.packs["office"].tokens.text() == f"{tokens} tokens", "of all that it brings"
        page.search.setText("nothing like it")
        assert not page.packs
        page.search.clear()
        row = page.packs["office"]
        assert not row.body.isHidden(), "it is still open"
        QTest.keyClick(row.toggle, Qt.Key.Key_Space)
        await until(lambda: page.packs["office"] is not row)
        row = page.packs["office"]
        assert packs.get("office").off == {"skills"} and not row.toggle.isChecked()
        assert not page.rows and not row.tokens.text() and row.body.isHidden()
        await until(lambda: in_focus(row.toggle))
        QTest.keyClick(row.toggle, Qt.Key.Key_Space)
        await until(lambda: "notary" in page.rows)
        assert not page.packs["office"].body.isHidden()
        packs.switch("office", on=False)
        page.refresh()
        await until(lambda: not page.packs["office"].toggle.isEnabled())
        row = page.packs["office"]
        assert row.line.text() == "3 skills, off with their pack" and not row.toggle.isChecked()
        row.open.click()
        await until(lambda: "packs" in dialog.pages and dialog.pages["packs"].isVisible())
