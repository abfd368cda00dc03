"""Permission at the window: questions with their rule, the settings, trust (T-6, T-7)."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QMessageBox

from studio.domain.blocks import ToolBlock
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from studio.ui.pages.agents.page import AgentsPage
from studio.ui.settings.pages.permissions import PermissionsPage, tool_groups
from studio.ui.transcript.items.approval_item import ApprovalItem, covered
from studio.ui.transcript.items.tool_item import ToolsItem
from studio.ui.translation import tr
from studio.ui.widgets import Button
from support.languages import language
from support.waiting import until, within
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def runs(command: str) -> Call:
    return Call("run", {"command": command, "reason": "To see what is there."})


async def asked(person: Person) -> ApprovalItem:
    """The card of the question that is open, once keys count."""
    await until(lambda: person.composer.state == "waiting" and person.item(ApprovalItem))
    item = person.item(ApprovalItem)
    person.view.grab()
    await until(lambda: item.shown_at is not None)
    later = person.view.context.now
    person.view.context.now = lambda: later() + 2.0
    return item


def words(item: ApprovalItem) -> str:
    return "\n".join(leaf.text for leaf in item.leaves)


async def page_of(person: Person) -> PermissionsPage:
    person.window.preferences.open("permissions")
    dialog = person.window.preferences.dialog
    assert dialog is not None
    page = dialog.pages["permissions"]
    await until(lambda: page.tools)
    return page


async def standing(person: Person) -> list[tuple[str, str]]:
    return [(one.rule.verdict, str(one.rule)) for one in await person.engine.rules.list()]


async def eventually(person: Person, expected: list[tuple[str, str]]) -> None:
    async with within():
        while sorted(await standing(person)) != sorted(expected):
            pass


# Questions


@on_window_loop
async def test_t7_a_question_says_why_and_what_always_adds(tmp_path: Path) -> None:
    script = [
        Turn(runs("curl a | sh")),
        Turn(runs("pytest --version")),
        Turn(runs("echo two")),
        Turn(Text("Done.")),
    ]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        item = await asked(person)
        first, text = item.question, words(item)
        assert "To see what is there." in text and first.why and first.why in text
        assert [hit.action for hit in item.hits] == ["allow_once", "deny"]  # no rule for any text
        person.press(Key.Key_D)
        await until(lambda: person.session.transcript.questions[:1] not in ([], [first]))
        item = await asked(person)
        second, text = item.question, words(item)
        assert "run(pytest *)" in text
        assert "pytest runs code of the folder: this rule lets it run any program" in text
        person.press(Key.Key_D)
        await until(lambda: person.session.transcript.questions[:1] not in ([], [second]))
        item = await asked(person)
        assert "lets it run" not in words(item)
        assert "run(echo *)" in words(item) and "Always covers echo in this folder" in words(item)
        assert item.question.why.rstrip(".") in item.name
        person.press(Key.Key_A)
        await person.done()
        (rule,) = await person.engine.rules.list()
        assert (str(rule.rule), Path(rule.folder)) == ("run(echo *)", person.folder.resolve())
        call = person.blocks(ToolBlock)[-1]
        person.view.context.opened.add(id(call))
        row = person.item(ToolsItem)
        row.lay(person.view.context)
        assert any("Allowed by: you, for this folder" in leaf.text for leaf in row.leaves)


@on_window_loop
async def test_g2_what_is_typed_when_a_question_comes_goes_to_the_message(tmp_path: Path) -> None:
    """Nothing typed is lost: only a key that a card shows, pressed after it was seen, is its."""
    script = [Turn(runs("pytest --version")), Turn(Text("Well."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        later = person.view.context.now
        person.view.context.now = lambda: now[0]
        now = [later()]
        person.say("Go")
        await until(lambda: person.composer.state == "waiting" and person.item(ApprovalItem))
        question = person.item(ApprovalItem).question
        person.view.grab()
        await until(lambda: person.focused() is person.view)
        for letter in "add a test":
            person.type(letter)
        assert person.focused() is person.composer.editor
        assert person.composer.text == "add a test"

        person.press(Key.Key_J, CTRL)
        assert person.focused() is person.view
        now[0] += 2
        for letter in "why? A":  # no key of the card, and then the composer's
            person.type(letter)
        assert person.composer.text == "add a testwhy? A"
        person.press(Key.Key_J, CTRL)
        now[0] += 2
        assert person.session.transcript.questions == [question]
        person.press(Key.Key_D)
        await person.done()
        assert person.composer.text == "add a testwhy? A"


@on_window_loop
async def test_t7_a_command_of_several_parts_shows_each_rule_it_would_add(tmp_path: Path) -> None:
    script = [
        Turn(runs("echo one")),
        Turn(runs("echo a && sort b | sort")),
        Turn(runs("sort c; echo d")),
        Turn(Text("Done.")),
    ]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        first = (await asked(person)).question
        person.press(Key.Key_Return)
        await until(lambda: person.session.transcript.questions[:1] not in ([], [first]))
        item = await asked(person)
        text = words(item)
        assert "Always adds these 2 rules in this folder" in text
        assert "run(echo *)\nrun(sort *)" in text and "Would also have allowed: echo one" in text
        hit = next(hit for hit in item.hits if hit.action == "allow_always")
        assert hit.text == "Always allow echo and sort"
        person.press(Key.Key_A)
        await person.done()  # the next one is not asked about
        rules = await person.engine.rules.list()
        assert [str(one.rule) for one in rules] == ["run(echo *)", "run(sort *)"]
        assert {Path(one.folder) for one in rules} == {person.folder.resolve()}


@on_window_loop
@pytest.mark.parametrize("where", ["session", "always"])
async def test_t7_the_scope_of_always_is_chosen_in_a_menu(tmp_path: Path, where: str) -> None:
    script = [Turn(runs("echo one")), Turn(Text("Done."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        item = await asked(person)
        hit = next(hit for hit in item.hits if hit.action == "scopes")
        index = person.view.canvas.index(item)
        assert index is not None
        at = person.view.canvas_viewport.place_of(index).topLeft() + hit.rect.center().toPoint()
        QTest.mouseClick(person.view.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(at))
        menu = await until(QApplication.activePopupWidget)
        assert isinstance(menu, QMenu)
        texts = [action.text() for action in menu.actions()]
        assert texts == [
            "Always allow in this folder",
            "Always allow in this chat",
            "Always allow everywhere",
        ]
        menu.actions()[1 if where == "session" else 2].trigger()
        menu.close()
        await person.done()
        rules = await person.engine.rules.list()
        expected = [] if where == "session" else [("run(echo *)", "")]
        assert [(str(one.rule), one.folder) for one in rules] == expected


def test_what_else_a_rule_would_have_allowed_is_named_and_counted() -> None:
    assert covered(()) == []
    assert covered(("a", "b")) == ["Would also have allowed: a, b"]
    (line,) = covered(tuple("abcde"))
    assert line == "Would also have allowed: c, d, e and 2 more"


# Settings


@on_window_loop
async def test_t7_a_kind_of_tool_is_allowed_asked_about_or_never(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        assert page.tools["Read files"].current == 0 and page.tools["Run commands"].current == 1
        page.tools["Run commands"].segment(0).click()
        await eventually(person, [("allow", "run"), ("allow", "job")])
        await until(lambda: page.tools["Run commands"].current == 0)
        page.tools["Run commands"].segment(2).click()
        await eventually(person, [("deny", "run"), ("deny", "job")])
        found = await person.engine.explain("run", "ls", person.folder)
        assert found.verdict == "deny"
        page.tools["Run commands"].segment(1).click()  # as it comes: no rule
        await eventually(person, [])
        page.tools["Write files"].segment(0).click()
        await eventually(person, [("allow", "edit"), ("allow", "move"), ("allow", "write")])
        await until(lambda: page._tags["Write files"].accessibleName() == "Written at once")
        assert page._tags["Keep notes"].accessibleName() == "Waits for you"  # W-44: nobody is asked


@on_window_loop
async def test_each_tool_that_ships_has_a_row_in_the_persons_language(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        titles = [group.title for group in tool_groups(person.engine.tools())]
        assert "Start other agents" in titles
        with language("de"):
            assert [title for title in titles if tr(title) == title] == []


@on_window_loop
async def test_t7_a_rule_with_a_pattern_holds_beside_one_for_the_tool(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        rules = person.engine.rules
        await rules.add(Rule("ask", "run", "git push *"))
        await rules.add(Rule("allow", "run"))
        asks = await person.engine.explain("run", "git push", person.folder)
        runs_ = await person.engine.explain("run", "git status", person.folder)
        assert (asks.verdict, runs_.verdict) == ("ask", "allow")


@on_window_loop
async def test_t7_rules_are_added_checked_tried_and_removed(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        person.engine.settings.values.use_folder(str(person.folder))
        page = await page_of(person)
        page.rules.field.setText("runs(git *)")
        page.rules.button.click()
        assert "There is no tool runs" in page.rules.problem.text()
        page.rules.field.setText("run(")
        page.rules.button.click()
        assert "is not a rule" in page.rules.problem.text()
        page.tester.field.setText("run(git push)")
        await until(lambda: page.tester.verdict.accessibleName() == "Asks you")
        assert page.tester.why.text() == "No rule allows this command."
        page.rules.verdict.set_current("deny")
        page.rules.field.setText("run(git push *)")
        QTest.keyClick(page.rules.field, Key.Key_Return)
        await eventually(person, [("deny", "run(git push *)")])
        await until(lambda: page.tester.verdict.accessibleName() == "Refused")
        assert "run(git push *)" in page.tester.why.text()
        page.rules.removes["run(git push *)"].click()
        await eventually(person, [])
        await until(lambda: page.tester.verdict.accessibleName() == "Asks you")
        page.tester.field.setText("read(../outside)")
        await until(lambda: "outside the folder" in page.tester.why.text())


@on_window_loop
async def test_t7_a_rule_is_changed_in_its_place(tmp_path: Path) -> None:
    """T-7: with the mouse, with keys alone, to another place; or left as it is."""
    async with at_window(tmp_path, "anthropic", []) as person:
        rules = person.engine.rules
        person.engine.settings.values.use_folder(str(person.folder))
        for text in ("git *", "git status", "ls *"):
            await rules.add(Rule("allow", "run", text))
        page = await page_of(person)
        line = page.rules
        await until(lambda: "run(git *)" in line.rules)
        await rules.add(Rule("deny", "run", "x" * 300))
        page.refresh()
        await until(lambda: len(line.rules) == 4)
        long = line.rules[f"run({'x' * 300})"]
        await until(lambda: long.height() >= long.heightForWidth(long.width()) > 40)
        await rules.remove(4)
        page.refresh()
        await until(lambda: len(line.rules) == 3)
        button = line.rules["run(git *)"]
        assert button.accessibleName() == "Change run(git *)"
        assert "Always allowed. Everywhere" in button.accessibleDescription()
        button.click()
        assert (line.head.text(), line.button.text()) == ("Change rule", "Save")
        assert (line.field.text(), line.where.current) == ("run(git *)", "everywhere")
        line.verdict.set_current("ask")
        line.field.setText("run(")
        line.button.click()
        assert "is not a rule" in line.problem.text()
        line.field.setText("run(git pull *)")
        line.button.click()
        expected = [("ask", "run(git pull *)"), ("allow", "run(git status)")]
        await eventually(person, [*expected, ("allow", "run(ls *)")])
        assert (await standing(person))[0] == expected[0]  # still the first of them
        await until(lambda: "run(git pull *)" in line.rules)
        assert (line.head.text(), line.field.text()) == ("Add rule", "")
        # With keys alone, and Esc leaves it as it is; the window stays.
        keyed = line.rules["run(ls *)"]
        keyed.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClick(keyed, Key.Key_Return)
        assert line.field.text() == "run(ls *)" and line.cancel.isVisible()
        QTest.keyClick(line.field, Key.Key_Escape)
        assert line.field.text() == "" and not line.cancel.isVisible() and page.isVisible()
        QTest.keyClick(keyed, Key.Key_Enter)
        line.where.set_current(str(person.folder))
        QTest.keyClick(line.field, Key.Key_Return)
        await until(lambda: line.head.text() == "Add rule")
        (kept,) = [one for one in await rules.list() if one.folder]
        assert str(kept.rule) == "run(ls *)" and kept.folder == str(person.folder.resolve())
        # What another hand removed is not changed any more: it would be a new rule.
        await until(lambda: "In" in line.rules["run(ls *)"].accessibleDescription())
        line.rules["run(ls *)"].click()
        await rules.remove(kept.id)
        page.refresh()
        await until(lambda: "run(ls *)" not in line.rules)
        assert (line.head.text(), line.field.text()) == ("Add rule", "run(ls *)")


@on_window_loop
async def test_t7_the_rules_of_the_open_chat_are_listed_and_taken_back(tmp_path: Path) -> None:
    """T-7: at once, for the running turn's next question; those of files are only shown."""
    calls = ("echo one", "ls", "echo two", "pwd", "echo three")
    script = [*(Turn(runs(command)) for command in calls), Turn(Text("Done."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        trust_files(person.folder, "deny: [run(make *)]\nallow: [run(cat *)]\n")
        file = person.engine.paths.agents / "coder.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("---\nname: Coder\npermissions: {ask: [run(rm *)]}\n---\nWork.\n")
        page = await page_of(person)
        line = page.rules
        await until(lambda: person.window.chat.model.options.folder and line._shown)
        assert "This chat" not in [item.text for item in line.where._items]
        person.window.activateWindow()
        person.composer.setFocus()
        await until(person.composer.editor.hasFocus)
        person.say("Go")
        await asked(person)
        person.session.answer_permission(person.session.transcript.questions[0].id, "session")
        await until(lambda: "run(echo *)" in line.removes)  # while it is looked at
        shown = {str(one.rule): (one.about, one.rule.verdict) for one in line._shown or ()}
        assert shown == {
            "run(echo *)": ("In this chat", "allow"),
            "run(make *)": ("From .agents/permissions.yaml", "deny"),
            "run(rm *)": ("From the agent Coder", "ask"),
        }
        assert list(line.rules) == list(line.removes) == ["run(echo *)"]
        page.tester.field.setText("run(echo x)")
        await until(lambda: page.tester.verdict.accessibleName() == "Allowed")
        assert "for this chat" in page.tester.why.text()

        def question() -> str:
            found = person.session.transcript.questions
            return found[0].detail if found else ""

        await until(lambda: question() == "ls")
        line.rules["run(echo *)"].click()
        assert line.where.current == "chat"
        line.field.setText("run(pwd)")
        line.button.click()
        await until(lambda: "run(pwd)" in line.removes)
        person.session.answer_permission(person.session.transcript.questions[0].id, "once")
        await until(lambda: question() == "echo two")  # what was allowed is not any more
        person.session.answer_permission(person.session.transcript.questions[0].id, "once")
        await until(lambda: question() == "echo three")  # and “pwd” was
        line.removes["run(pwd)"].click()
        await until(lambda: "run(pwd)" not in line.removes)
        assert await person.session.rules.list() == []
        person.session.answer_permission(person.session.transcript.questions[0].id, "deny")
        await person.done()
        await person.session.rules.add(Rule("allow", "run", "true"))
        page.refresh()
        await until(lambda: "run(true)" in line.removes)
        person.window.new_chat()
        await until(lambda: "run(true)" not in line.removes)
        assert "This chat" not in [item.text for item in line.where._items]


@on_window_loop
async def test_t7_a_folder_is_trusted_after_it_is_said_what_that_means(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        agents = person.folder / ".agents"
        agents.mkdir()
        (agents / "permissions.yaml").write_text("allow:\n  - run(make *)\n")
        (agents / "agents").mkdir()
        (agents / "agents" / "c.md").write_text("---\nname: Coder\nmodel: <b>m</b>\n---\nObey.\n")
        person.engine.settings.values.use_folder(str(person.folder))
        page = await page_of(person)
        key = str(person.folder)
        await until(lambda: key in page.folders)
        assert page.folders[key].text() == "Trust…"
        page.folders[key].click()
        box = await until(lambda: page._question)
        assert isinstance(box, QMessageBox) and "without asking" in box.informativeText()
        assert box.textFormat() == Qt.TextFormat.PlainText
        assert "Allows without asking you: run(make *)." in box.informativeText()
        taken = "Agent Coder: takes the place of the one you have; begins chats on <b>m</b>."
        assert taken in box.informativeText()
        next(b for b in box.buttons() if b.objectName() == "trust").click()
        await until(lambda: page.folders[key].text() == "Stop trusting")
        allowed = await person.engine.explain("run", "make all", person.folder)
        assert allowed.verdict == "allow"
        page.folders[key].click()
        await until(lambda: page.folders[key].text() == "Trust…")


@on_window_loop
async def test_mode_sandbox_and_web_are_kept(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        values = person.engine.settings.values
        page.mode.chosen.emit("plan")
        page.sandbox.click()
        assert (values.default_permission_mode, values.sandbox) == ("plan", False)
        await until(lambda: page.confined.text().strip())
        dialog = person.window.preferences.dialog
        assert dialog is not None
        dialog.open_page("web")
        web = dialog.pages["web"]
        web.engine.chosen.emit("searxng")
        web.address.setText("searx.example")
        web.address.editingFinished.emit()
        assert web.address.error and values.searxng_url == ""
        web.address.setText("https://searx.example")
        web.address.editingFinished.emit()
        web.private.click()
        web.masks["email"].click()
        web.masks["iban"].click()
        web.masks["email"].click()
        assert (values.web_search, values.searxng_url) == ("searxng", "https://searx.example")
        web.mask_own.click()
        assert values.fetch_private and values.mask == ["iban"] and values.mask_own
        web.keys["brave"].entry.setText("BSA-0123456789-abcd")
        web.keys["brave"].store()
        await until(lambda: web.keys["brave"].problem.text())  # no keychain here
        web.keys["brave"].session.click()
        assert await person.engine.keychain.get("brave") == "BSA-0123456789-abcd"


# Trust


def trust_files(folder: Path, rules: str = "allow:\n  - run(make *)\n") -> None:
    (folder / ".agents").mkdir(exist_ok=True)
    (folder / ".agents" / "permissions.yaml").write_text(rules)


@on_window_loop
async def test_t7_a_folder_with_rules_of_its_own_asks_to_be_trusted(tmp_path: Path) -> None:
    script = [Turn(Text("One.")), Turn(Text("Two.")), Turn(Text("Three."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        chat, strip = person.window.chat, person.window.chat.strip
        trust_files(person.folder)
        (person.folder / "AGENTS.md").write_text("Be brief.")
        person.say("Go")
        await person.done()
        await until(lambda: "They count once you trust it." in strip.text)
        person.window.resize(1000, 640)
        person.window.theme.set(scale=1.6)  # the message stays in the window
        await until(lambda: person.composer.y() + person.composer.height() <= chat.height())
        person.window.theme.set(scale=1.0)
        person.click(person.strip_button("Not now"))
        assert not strip.text
        person.say("On")
        await person.done(2)
        assert not strip.text  # once for each opening of a chat
        person.window.open_session(person.session.info.id)
        await until(lambda: strip.text)
        person.click(person.strip_button("Trust folder"))
        box = await until(lambda: chat.trust_question)
        assert "AGENTS.md" in box.informativeText() and "Be brief." in box.detailedText()  # K-3
        next(b for b in box.buttons() if b.objectName() == "trust").click()
        await until(lambda: not strip.text)
        assert await person.engine.rules.trusted(person.folder) == "trusted"
        trust_files(person.folder, "allow:\n  - run(rm *)\n")
        person.window.activateWindow()
        person.composer.setFocus()
        await until(person.composer.editor.hasFocus)
        person.say("Once more")
        await person.done(3)
        await until(lambda: "changed" in strip.text)


@on_window_loop
async def test_a_new_chat_asks_about_its_folder_too(tmp_path: Path) -> None:
    """T-7: above the message, and both stay in a small window with large text."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    trust_files(folder)
    async with at_window(tmp_path, "anthropic", [], folder=folder) as person:
        strip = person.window.chat.strip
        await until(lambda: strip.text)
        window, chat, message = person.window, person.window.chat, person.composer
        assert strip.geometry().bottom() < message.geometry().top()
        window.resize(1000, 640)
        window.theme.set(scale=1.6)
        message.editor.setPlainText("\n".join("abcdefg"))
        await until(lambda: chat.width() < 800 and strip.height() > 100)
        assert window.size().toTuple() == (1000, 640) and chat.session is None
        parts = (strip.geometry(), message.geometry())
        assert all(chat.rect().contains(part) for part in parts), (chat.rect(), parts)
        assert chat.heading.geometry().bottom() < strip.y()
        assert strip.geometry().bottom() < message.y()


@on_window_loop
async def test_words_of_the_strip_are_never_a_narrow_column(tmp_path: Path) -> None:
    """U-1: in German and large text its buttons stand below them, and all is seen."""
    folder = tmp_path / "work"
    folder.mkdir(exist_ok=True)
    trust_files(folder)
    with language("de"):
        async with at_window(tmp_path, "anthropic", [], folder=folder) as person:
            strip, window = person.window.chat.strip, person.window
            await until(lambda: strip.text)
            trust, _ = strip.findChildren(Button)
            assert trust.geometry().center().y() == strip._label.geometry().center().y()
            window.resize(1000, 640)
            window.theme.set(scale=1.6)
            await until(lambda: trust.y() >= strip._label.geometry().bottom())
            line = strip._label.fontMetrics().lineSpacing()
            assert strip._label.height() <= 3 * line + 4
            await until(lambda: strip.rect().contains(trust.geometry()))
            assert person.window.chat.rect().contains(strip.geometry())
            assert strip.geometry().bottom() < person.composer.y()


@on_window_loop
async def test_t6_the_role_of_an_agent_is_shown(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        agents = person.engine.paths.agents
        agents.mkdir(parents=True, exist_ok=True)
        (agents / "looker.md").write_text("---\nname: Looker\nrole: reads\n---\nLook.\n")
        person.window.pages.show_page("agents", "Looker")
        page = person.window.pages.currentWidget()
        assert isinstance(page, AgentsPage)
        await until(lambda: page.properties.role.text() == "Only read")
        person.window.new_chat()
        await until(
            lambda: any(a.name == "Looker" for a in person.window.chat.model.options.agents)
        )
        theirs = person.folder / ".agents" / "agents"
        theirs.mkdir(parents=True)
        (theirs / "team.md").write_text("---\nname: Team\ndescription: Helps\n---\nHelp.\n")
        person.window.new_chat()
        menu = person.composer.agent
        await until(lambda: any(item.key == "Team" for item in menu._items))
        details = {item.key: item.detail for item in menu._items}
        assert details["Team"] == "This folder’s, not trusted. Helps"
        menu.chosen.emit("Team")
        await until(lambda: menu.toolTip() == "This folder’s, not trusted")
        person.composer.agent.chosen.emit("Looker")
        await until(lambda: person.composer.agent.toolTip() == "Only reads")


@on_window_loop
async def test_t7_a_long_command_is_shown_whole_and_its_buttons_fit(tmp_path: Path) -> None:
    command = "python3 -c 'print(" + " + ".join(f"{n}" for n in range(120)) + ")'"
    script = [Turn(runs(command)), Turn(Text("Done."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        item = await asked(person)
        assert command in words(item)
        assert all(hit.rect.right() <= person.view.context.width for hit in item.hits)
        assert item.height < 600
        person.press(Key.Key_D)
        await person.done()
