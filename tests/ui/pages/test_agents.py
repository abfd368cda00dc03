"""The Agents page: files are edited with their problems in sight, saved, tried and copied."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from studio.agent.agent_files.finder import AgentFiles
from studio.agent.agent_files.library import AgentLibrary, StoredText
from studio.agent.agent_files.parser import parse_agent
from studio.agent.engine import Engine
from studio.simulator import Text, Turn
from studio.ui.pages.agents.page import AgentsPage
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.theme.icons import Icons
from support.engine_home import KEY
from support.languages import language
from support.server_home import ListedServer, switch_on
from support.waiting import until
from support.window import (
    CTRL,
    SHIFT,
    Key,
    Person,
    alone,
    at_window,
    in_focus,
    message,
    on_window_loop,
)

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

PROOF = """\
---
name: Proofreader   # not Reader
description: Finds mistakes
modle: sonnet   # a good one
tools: [list, read, serach]
hue: rust
---
# Proofreader\u00a0one

You read texts, and **change** nothing.
"""
TEAM = "---\nname: Team\npermissions: {allow: [run]}\n---\nWork together.\n"


def write_files(home: Path) -> Path:
    """The person's proof.md with two problems, and a folder's team.md; the path of the first."""
    own = home / "studio" / "agents"
    theirs = home / "work" / ".agents" / "agents"
    own.mkdir(parents=True)
    theirs.mkdir(parents=True)
    (theirs / "team.md").write_text(TEAM)
    file = own / "proof.md"
    file.write_bytes(PROOF.replace("\n", "\r\n").encode())
    return file


async def page_of(person: Person) -> AgentsPage:
    person.press(Key.Key_2, CTRL)
    page = await until(
        lambda: next(
            (p for p in [person.window.pages.currentWidget()] if isinstance(p, AgentsPage)), None
        )
    )
    await until(lambda: page.document is not None, what="an agent is shown")
    return page


async def choose(page: AgentsPage, name: str) -> None:
    row = next(row for row in page.gallery.files.rows if row.path and row.name == name)
    assert row.path is not None
    page.gallery.choose(row.path)

    def shown() -> bool:
        return page.document is not None and page.document.path == row.path and page.file.is_checked

    await until(shown, what=f"{name} is shown")


def rows(page: AgentsPage) -> list[tuple[str, str]]:
    return [(row.name, row.problem) for row in page.gallery.files.rows]


async def says(page: AgentsPage, words: str) -> None:
    await until(lambda: words in page.notice.text, what=words)


async def checked(page: AgentsPage, count: int) -> None:
    await until(
        lambda: len(page.foot.problems) == count and page.file.is_checked,
        what=f"{count} problems",
    )


@on_window_loop
async def test_w11_problems_are_fixed_and_values_changed_word_by_word(tmp_path: Path) -> None:
    """W-8, T-6: one step of undo each; line ends, comments and hard blanks stay."""
    file = write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        assert ("In " in rows(page)[0][0]) and ("Team", "") in rows(page)
        assert ("proof.md", "Line 4: no key “modle”. Did you mean “model”?") in rows(page)
        await choose(page, "proof.md")
        person.press(Key.Key_Return)  # into the text
        assert person.focused() is page.editor and not page.save_button.isEnabled()
        await checked(page, 2)
        assert page.foot.line.text() == "Line 4: no key “modle”. Did you mean “model”?"
        person.click(page.foot.line)
        assert page.editor.textCursor().selectedText() == "modle"
        person.click(page.foot.fix)
        await checked(page, 1)
        assert page.foot.line.text() == "Line 5: there is no tool serach. Did you mean “search”?"
        assert page.title.accessibleName() == "proof.md, Edited" and page.save_button.isEnabled()
        person.click(page.foot.fix)
        await checked(page, 0)
        assert page.foot.line.text() == "No problems" and not page.foot.fix.isVisible()
        person.press(Key.Key_Z, CTRL)
        await checked(page, 1)
        person.press(Key.Key_Z, CTRL | SHIFT)
        await checked(page, 0)

        panel = page.properties
        person.click(panel.details)
        assert all(Icons().known(row.spec.icon) for row in panel.tools.values())
        panel.name.setFocus(Qt.FocusReason.TabFocusReason)
        panel.name.selectAll()
        person.type("Proof: two")
        person.press(Key.Key_Return)
        await until(lambda: 'name: "Proof: two"   # not Reader\n' in page.editor.text())
        person.click(panel.hues[0])
        await until(lambda: "hue: blue\n" in page.editor.text())
        page.properties.tools["run"].chosen.emit("deny")
        await until(lambda: "search, run]\npermissions: {deny: [run]}\n" in page.editor.text())
        await until(lambda: panel.tools["run"].verdict == "deny")
        person.press(Key.Key_Return)
        page.editor.setFocus()
        for _ in range(3):  # a tool, a hue, a name
            person.press(Key.Key_Z, CTRL)
        await until(lambda: "name: Proofreader   # not Reader\n" in page.editor.text())
        assert "hue: rust\n" in page.editor.text() and "permissions" not in page.editor.text()

        person.press(Key.Key_S, CTRL)
        await until(lambda: page.title.accessibleName() == "proof.md")
        fixed = PROOF.replace("modle", "model").replace("serach", "search")
        assert file.read_bytes() == fixed.replace("\n", "\r\n").encode()
        await until(lambda: ("Proofreader", "") in rows(page))

        page.which.segment(1).click()
        assert page.views.currentWidget() is not page.editor
        assert page.preview is not None and page.preview.about.text() == "Finds mistakes"
        page.which.segment(0).click()

        # A stranger's file is marked, and is copied only after a question.
        await choose(page, "Team")
        await says(page, "do not trust")
        page.duplicate()
        box = await until(message)
        assert "allows itself" in box.informativeText()
        box.reject()
        await until(lambda: message() is None)

        # A shipped agent cannot be changed; its copy is the person's.
        await choose(page, "Coder")
        assert page.editor.isReadOnly() and not panel.name.isEnabled()
        person.click(page.copy_button)
        mine = file.parent / "coder.md"
        await until(lambda: page.document is not None and page.document.path == mine)
        assert not page.editor.isReadOnly() and mine.read_text().startswith("---\nname: Coder\n")
        panel.more.setFocus()
        page.discard()
        await says(page, "Coder is in the trash.")
        await page.file.check()  # as a moment later
        assert "Coder is in the trash." in page.notice.text
        assert not mine.exists()
        person.click(page.notice.buttons[0])
        await until(mine.exists)
        await until(lambda: page.document is not None and page.document.path == mine)


@on_window_loop
async def test_w11_nothing_that_is_written_is_lost(tmp_path: Path) -> None:
    """With mistakes it is kept, also through a restart; a change outside is merged or asked.

    PRE-17.
    """
    file = write_files(tmp_path)
    good = PROOF.replace("modle", "model").replace("serach", "search")
    file.write_text(good)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Proofreader")
        page.editor.setFocus()
        person.press(Key.Key_End, CTRL)
        person.type("wings")
        page.editor.apply(page_edit(page, "hue: rust", "hue: pink"))
        await checked(page, 1)
        person.press(Key.Key_S, CTRL)
        await says(page, "Kept, not saved. Line 6: hue is one of")
        assert file.read_text() == good
        assert any(row.unsaved for row in page.gallery.files.rows)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Proofreader")
        assert page.editor.text() == good.replace("rust", "pink") + "wings"
        page.editor.apply(page_edit(page, "pink", "teal"))
        await checked(page, 0)

        file.write_text(good.replace("Finds mistakes", "Finds all mistakes"))
        await says(page, "proof.md changed on disk.")
        person.click(page.notice.buttons[0])  # Merge
        merged = good.replace("Finds mistakes", "Finds all mistakes").replace("rust", "teal")
        await until(lambda: page.editor.text() == merged + "wings")
        person.press(Key.Key_S, CTRL)
        await until(lambda: file.read_text() == merged + "wings")

        page.editor.apply(page_edit(page, "wings", "mine"))
        other = tmp_path / "other.md"
        other.write_bytes(good.replace("\n", "\r\n").encode())
        other.replace(file)
        await says(page, "changed on disk.")
        assert not await page._save()
        assert file.read_bytes().count(b"\r\n") > 5 and "changed on disk." in page.notice.text
        person.click(page.notice.buttons[1])  # Keep mine
        await until(lambda: not page.notice.text)
        person.press(Key.Key_S, CTRL)
        mine = (merged + "mine").replace("\n", "\r\n").encode()  # the line ends of the disk
        await until(lambda: file.read_bytes() == mine)

        await until(lambda: not page.title.accessibleName().endswith("Edited"))
        page.editor.apply(page_edit(page, "mine", "ours"))
        await until(lambda: page.save_button.isEnabled())
        file.unlink()
        await page._load(file)  # as what a save lists afterwards, when it comes so late
        await says(page, "proof.md is not on the disk.")
        person.press(Key.Key_S, CTRL)
        await until(lambda: file.exists() and file.read_text() == merged + "ours")
        await until(lambda: not page.title.accessibleName().endswith("Edited"))
        file.write_text(good)  # nothing is unsaved: it is shown at once
        await until(lambda: page.editor.text() == good)


@on_window_loop
async def test_w60_whom_an_agent_may_start_is_a_property(tmp_path: Path) -> None:
    """W-1, W-11: names and numbers are written into the file, each at its place alone."""
    file = write_files(tmp_path)
    file.write_text("---\nname: Lead  # of all\ntools: [read]\n---\nYou lead.\n")
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Lead")
        panel = page.properties
        person.click(panel.details)
        assert panel.agents.placeholderText() == "Nobody"
        depth = panel.children_limits["depth"]
        assert not depth.isVisible()
        for field, words in ((panel.agents, "Coder, Tester"), (panel.fallback, "claude-opus-*")):
            field.setFocus()
            field.setText(words)
            field.editingFinished.emit()
            await until(lambda words=words: words.split(", ")[-1] in page.editor.text())
        await until(depth.isVisible)
        depth.setText("1")
        depth.editingFinished.emit()
        await until(lambda: "depth: 1" in page.editor.text())
        person.press(Key.Key_S, CTRL)
        await until(lambda: "depth" in file.read_text())
        agent = parse_agent(file.read_text(), file)
        assert (agent.agents, agent.depth) == (("Coder", "Tester"), 1)
        assert agent.fallback == ("claude-opus-*",) and "Lead  # of all" in file.read_text()


@on_window_loop
async def test_w4_an_agent_of_another_program_is_read_and_converted(tmp_path: Path) -> None:
    """Its file stays as it was; a folder's agent is converted beside it, and counts from then on."""
    write_files(tmp_path)
    theirs = tmp_path / "work" / ".claude" / "agents" / "look.md"
    theirs.parent.mkdir(parents=True)
    text = (
        "---\nname: look\ndescription: Looks: and says\ntools: Read, Bash\nhooks: {}\n---\nLook.\n"
    )
    theirs.write_text(text)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await page._engine.rules.trust(tmp_path / "work")
        await page._load()
        await choose(page, "look")
        assert page.editor.isReadOnly() and "Written for another program" in page.notice.text
        first = page.foot.first
        assert first is not None and "without effect so far: hooks" in first.message
        assert page.copy_button.text() == "Convert"
        person.click(page.copy_button)
        ours = tmp_path / "work" / ".agents" / "agents" / "look.md"
        await until(lambda: page.document is not None and page.document.path == ours)
        assert theirs.read_text() == text
        agent = parse_agent(ours.read_text(), ours)
        assert (agent.name, agent.tools, agent.prompt) == ("look", ("read", "run"), "Look.")
        assert agent.description == "Looks: and says"


@on_window_loop
async def test_w11_a_change_right_after_the_file_was_read_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when another program had put a new file in place just before."""
    file = write_files(tmp_path)
    good = PROOF.replace("modle", "model").replace("serach", "search")
    file.write_text(good)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Proofreader")
        read = AgentLibrary.read
        written = [good.replace("Finds", "Finds 0")]

        def read_and_change(self: AgentLibrary, path: Path) -> StoredText | None:
            found = read(self, path)
            if found is not None and found.text in written and len(written) < 5:
                written.append(good.replace("Finds", f"Finds {len(written)}"))
                file.write_text(written[-1])
            return found

        monkeypatch.setattr(AgentLibrary, "read", read_and_change)
        other = tmp_path / "other.md"
        other.write_text(written[0])
        other.replace(file)
        await until(lambda: len(written) == 5 and page.editor.text() == written[-1])


@on_window_loop
async def test_w11_what_changed_while_the_program_was_closed_is_not_overwritten(
    tmp_path: Path,
) -> None:
    """Save asks about it as about a change while it is open; switching loses no letter."""
    file = write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "proof.md")
        page.editor.apply(page_edit(page, "modle", "model"))
        await checked(page, 1)
    theirs = PROOF.replace("modle", "model").replace("change", "break")
    file.write_text(theirs)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Proofreader")
        await says(page, "proof.md changed on disk.")
        assert not await page._save()
        assert file.read_text() == theirs and "changed on disk." in page.notice.text
        person.click(page.notice.buttons[0])  # Merge
        await until(lambda: page.editor.text() == theirs)

        other = tmp_path / "studio" / "agents" / "other.md"
        going = asyncio.create_task(page.file.load(other, "own"))
        await asyncio.sleep(0)  # it has begun
        page.editor.apply(page_edit(page, "break", f"break {KEY}"))
        await going
        kept = await asyncio.to_thread(page.library.unsaved)
        assert kept[file].text == theirs.replace("break", f"break {KEY}")


@on_window_loop
async def test_w11_a_file_that_cannot_be_read_shows_nothing_of_another_one(tmp_path: Path) -> None:
    (write_files(tmp_path).parent / "odd.md").write_bytes(b"---\nname: \xff\n---\n")
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Team")
        panel = page.properties
        assert panel.name.text() == "Team" and page.save_button.isVisible()
        row = next(row for row in page.gallery.files.rows if row.name == "odd.md")
        assert row.path is not None
        page.gallery.choose(row.path)
        await says(page, "odd.md is not UTF-8 text.")
        assert panel.name.text() == "" and not panel.name.isEnabled()
        assert not any(one.isVisible() for one in (page.save_button, page.try_it))
        await choose(page, "Team")
        assert panel.name.text() == "Team" and page.save_button.isVisible()
        assert page.try_it.isVisible()


@on_window_loop
async def test_t6_numbers_are_written_as_the_person_writes_them(tmp_path: Path) -> None:
    write_files(tmp_path)
    with language("de"):
        async with at_window(tmp_path, "anthropic", []) as person:
            page = await page_of(person)
            await choose(page, "proof.md")
            field = page.properties.limits["dollars"]
            for typed in ("2.5", "viel", "inf"):
                field.setText(typed)
                field.editingFinished.emit()
                assert field.error
            field.setText("2,5")
            field.editingFinished.emit()
            await until(lambda: "dollars: 2.5\n" in page.editor.text())
            await until(lambda: field.text() == "2,5" and not field.error)
            tokens = page.properties.limits["tokens"]
            tokens.setText("200.000")
            tokens.editingFinished.emit()
            await until(lambda: "tokens: 200000\n" in page.editor.text())
            page.properties.show_use(1234, 5, "")
            assert page.properties.used[0].text() == "1.234"


def page_edit(page: AgentsPage, old: str, new: str):
    from studio.agent.agent_files.edit import Edit

    start = page.editor.text().index(old)
    return Edit(start, start + len(old), new)


@on_window_loop
async def test_t6_a_new_agent_is_made_tried_and_kept_as_a_chat(tmp_path: Path) -> None:
    """By keys; the request has what the editor shows, and the chat stands in the list."""
    script = [Turn(Text("I am **new**.")), Turn(Text("Still here."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        page = await page_of(person)
        await page.create()
        path = person.engine.paths.agents / "new-agent.md"
        assert page.document is not None and page.document.path == path
        found = await AgentFiles(tmp_path / "none", path.parent).load()
        assert list(found.by_name) == ["New agent"] and not found.problems
        person.type("Poet")
        person.press(Key.Key_Tab)
        await until(lambda: "name: Poet\n" in page.editor.text())
        page.editor.setFocus()
        person.press(Key.Key_End, CTRL)
        person.type("Answer in rhymes.")
        person.click(page.try_it)
        chat = await until(lambda: page.try_chat)
        await until(lambda: person.focused() is chat.editor)
        assert "Answer in rhymes." in path.read_text()
        chat.begin("Nobody", ("sparkle", "slate"))
        person.type("Hello?")
        person.press(Key.Key_Return)
        assert not chat.editor.toPlainText()
        person.type("Anyone?")
        await until(lambda: chat.editor.toPlainText() == "Hello?\nAnyone?")  # nobody is there
        chat.editor.clear()
        chat.begin("Poet", ("sparkle", "slate"))
        person.type("Who are you?")
        person.press(Key.Key_Return)
        person.type("Well?")
        await until(lambda: chat.session is not None and not chat.running)
        await until(lambda: chat.send.isVisible() and not chat.send.stops)
        assert "Answer in rhymes." in person.asked[0] and "Who are you?" in person.asked[0]
        chat.view.flush()
        assert any("I am **new**." in item.source() for item in chat.view.canvas.items)
        await until(lambda: "Try Poet" in person.chats())
        assert chat.editor.toPlainText() == "Well?"  # typed while the chat was made
        chat.editor.clear()
        person.press(Key.Key_Escape)
        await until(lambda: not chat.isVisible() and page.properties.isVisible())
        await choose(page, "Coder")
        await choose(page, "Poet")
        await until(lambda: page.properties.used[0].text() == "1")
        person.click(page.try_it)
        await until(chat.isVisible)
        person.click(chat.whole)
        await until(lambda: person.window.pages.shows_chat)
        assert person.session.info.agent == "Poet"


@on_window_loop
async def test_w60_two_agents_are_tried_side_by_side_and_change_nothing(tmp_path: Path) -> None:
    """Both are told the same; each chat is kept, and one alone goes on as before."""
    async with at_window(tmp_path, "anthropic", [Turn(Text("So it is."))] * 3) as person:
        page = await page_of(person)
        await choose(page, "Coder")
        person.click(page.try_it)
        pair = await until(lambda: page.try_pair)
        await until(lambda: person.focused() is pair.first.editor and pair.choice._items)
        wide = pair.width()
        person.click(pair.beside)
        assert pair.is_pair and pair.width() > wide and pair.second.isVisible()
        assert pair.choice.current != "Coder"
        pair.choice.chosen.emit("Writer")
        assert pair.second.agent == "Writer"
        person.type("Which of you?")
        person.press(Key.Key_Return)
        for chat in (pair.first, pair.second):
            await until(lambda chat=chat: chat.session is not None and not chat.running)
        found = [chat.session.info for chat in (pair.first, pair.second) if chat.session]
        assert [(one.agent, one.permission_mode) for one in found] == [
            ("Coder", "plan"),
            ("Writer", "plan"),
        ]
        assert all("Which of you?" in asked for asked in person.asked)
        await until(lambda: {"Try Coder", "Try Writer"} <= {*person.chats()})
        pair.second.closed.emit()
        assert not pair.is_pair and pair.width() == wide and pair.first.session is None
        person.type("And alone?")
        person.press(Key.Key_Return)
        await until(lambda: pair.first.session is not None and not pair.first.running)
        assert pair.first.session is not None
        assert pair.first.session.info.permission_mode != "plan"


@on_window_loop
async def test_u1_every_column_has_its_place_at_any_size(tmp_path: Path) -> None:
    """Nothing overlaps where there is room; else properties and list lie over the text."""
    write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", [], size=(1000, 640)) as person:
        page = await page_of(person)
        assert not page.properties.isVisible() and page.panel_button.isVisible()
        person.click(page.panel_button)
        assert page.properties.isVisible() and page.properties.geometry().right() < page.width()
        assert page.columns.centre.geometry().right() + 1 == page.width()
        person.click(page.panel_button) if page.panel_button.isVisible() else None
        person.window.resize(1432, 860)
        await until(lambda: page.width() > 1000)
        page.columns.panel_wanted = None
        page._place()
        assert page.properties.isVisible()
        assert page.columns.centre.geometry().right() < page.properties.x()
        # A name is whole before buttons have words, and a long text shows its beginning.
        person.window.theme.set(scale=1.2)
        name = "a-file-with-a-name.md"
        wide = person.window.theme.metrics("heading").horizontalAdvance(name)

        def has_room() -> bool:
            page.title.show_title(name, "Cannot be changed here")
            return page.title.width() >= wide

        await until(has_room)
        title = type(page.title)(person.window.theme)
        title.resize(wide + 20, 30)  # the name is not cut for the state
        title.show_title(name, "Edited")
        shown = title.grab().toImage()
        title.show_title(name, "")
        assert shown == title.grab().toImage()
        title.deleteLater()
        about = page.properties.about
        about.set_unless_typing("What this agent is for, in more words than the field shows. " * 3)
        assert about.cursorPosition() == 0
        person.window.theme.set(scale=1.6)
        person.window.resize(900, 640)
        await until(lambda: page.list_button.isVisible() and not page.columns.listed.isVisible())
        QTest.mouseClick(page.list_button, Qt.MouseButton.LeftButton)
        await until(lambda: page.columns.listed.isVisible() and in_focus(page.gallery))


@on_window_loop
async def test_w11_an_agent_says_who_uses_it_and_which_tools_it_has(tmp_path: Path) -> None:
    """W-11: workflows and agents that name it can be opened; tools that it lacks are folded."""
    own = write_files(tmp_path).parent
    (own / "proof.md").write_text("---\nname: Proofreader\n---\nYou read texts.\n")
    flow = own.parent / "workflows" / "release.md"
    flow.parent.mkdir()
    flow.write_text("---\nname: Release\nsteps:\n- {id: look, agent: Proofreader}\n---\n")
    boss = own / "boss.md"
    boss.write_text("---\nname: Boss\nagents: [Proofreader]\ntools: [read]\n---\nLead.\n")
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        panel = page.properties
        await choose(page, "Boss")
        assert not panel.name.isVisible() and panel.tools["read"].isVisible()
        assert not panel.tools["run"].isVisible()
        more = len(panel.tools) - 1
        assert panel.more_tools.accessibleName() == f"More tools, {more}, collapsed"
        person.click(panel.more_tools)
        assert panel.tools["run"].isVisible()
        await choose(page, "Proofreader")
        await until(lambda: [row.text() for row in panel.users] == ["release.md", "boss.md"])
        person.click(panel.users[1])
        await until(lambda: page.document is not None and page.document.path == boss)
        await choose(page, "Proofreader")
        await until(lambda: len(panel.users) == 2)
        person.click(panel.users[0])
        shown = await until(lambda: flows(person))
        await until(lambda: shown.document is not None and shown.document.path == flow)


def flows(person: Person) -> WorkflowsPage | None:
    page = person.window.pages.currentWidget()
    return page if isinstance(page, WorkflowsPage) else None


@on_window_loop
async def test_m14_an_agent_has_its_servers_tools_to_choose_from(tmp_path: Path) -> None:
    """M-14: below their server, which opens by a key; what is chosen is written to the file."""
    every = write_files(tmp_path).with_name("all.md")
    every.write_text('---\nname: All\ntools: ["*"]\n---\nWork.\n')
    shop = ListedServer(tmp_path)
    shop.offer("find", "sell")

    async def prepare(engine: Engine) -> None:
        await switch_on(engine.services.servers, shop)

    async with at_window(tmp_path, "anthropic", [], prepare=prepare) as person:
        page = await page_of(person)
        await choose(page, "proof.md")
        section = page.properties.servers["shop"]
        assert section.head.accessibleName() == "shop, 0 of 2, collapsed" and not section.rows
        section.head.setFocus()
        person.press(Key.Key_Space)
        find, sell = section.rows["shop__find"], section.rows["shop__sell"]
        assert find.accessibleName().startswith("shop, find") and find.isVisible()
        assert (find.verdict, sell.verdict) == ("off", "off")
        find.chosen.emit("allow")
        line = "tools: [list, read, serach, shop__find]\n"
        await until(lambda: line in page.editor.text())
        await until(lambda: (find.verdict, sell.verdict) == ("allow", "off"))
        assert section.head.accessibleName() == "shop, 1 of 2, expanded"
        assert "permissions: {allow: [shop__find]}\n" in page.editor.text()
        find.chosen.emit("off")
        await until(lambda: "serach]\n" in page.editor.text())
        await until(lambda: find.verdict == "off")

        # An agent that has all tools: one that is taken from it is refused, the others stay.
        await choose(page, "All")
        await until(lambda: section.rows["shop__sell"].verdict == "ask")
        section.rows["shop__find"].chosen.emit("off")
        await until(lambda: "permissions: {deny: [shop__find]}\n" in page.editor.text())
        page.properties.tools["run"].chosen.emit("off")
        await until(lambda: page.properties.tools["run"].verdict == "off")
        await until(lambda: 'servers: ["*"]\n' in page.editor.text())
        assert [row.verdict for row in section.rows.values()] == ["deny", "ask"]
