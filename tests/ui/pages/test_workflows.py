"""The Workflows page: a file is text and graph at once (W-11, W-61, W-67)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextDocument
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from studio.storage.paths import Paths
from studio.ui.graph.pane import GraphPane
from studio.ui.pages.files.highlighter import FileHighlighter
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.pages.workflows.workflow_graph import graph_of, place_of, step_at
from studio.ui.pages.workflows.workflow_rows import rows_of
from studio.ui.theme import Theme
from studio.ui.widgets import Field
from studio.workflows.reader import read_workflow_text
from studio.workflows.workflow_check import KnownNames, check_workflow
from studio.workflows.workflow_files import PROJECT_WORKFLOWS, find_workflows
from support.graph_twin import FOR_EYES, actions_of
from support.waiting import until
from support.window import CTRL, SHIFT, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

UPDATES = """\
---
name: Updates
steps:
  - id: plan
    agent: Researcher
    prompt: List the packages
  - id: notes   # for whom
    need: plan
    agent: Writer
  - id: test
    needs: [plan, notes]
    run: make test
    redo: {from: plan, when: steps.plan.text == '', max: 3}
  - id: ok
    needs: test
    approve: Write the drafts?
---
# Prompts

## notes
Say what breaks.
"""


def write_files(home: Path) -> Path:
    own = home / "studio" / "workflows"
    theirs = home / "work" / ".agents" / "workflows"
    own.mkdir(parents=True)
    theirs.mkdir(parents=True)
    (own / "broken.md").write_text("no dashes\n")
    file = theirs / "updates.md"
    file.write_bytes(UPDATES.replace("\n", "\r\n").encode())
    return file


async def page_of(person: Person) -> WorkflowsPage:
    person.press(Key.Key_3, CTRL)
    page = await until(
        lambda: isinstance(found := person.window.pages.currentWidget(), WorkflowsPage) and found
    )
    await until(lambda: page.document is not None, what="a workflow is shown")
    return page


async def choose(page: WorkflowsPage, name: str) -> None:
    row = next(row for row in page.gallery.files.rows if row.path and row.name == name)
    assert row.path is not None
    page.gallery.choose(row.path)
    await until(
        lambda: (
            page.document is not None and page.document.path == row.path and page.file.is_checked
        ),
        what=f"{name} is shown",
    )


async def back_in(person: Person, pane: GraphPane) -> None:
    """Go on in the graph or its list after a menu."""
    person.window.activateWindow()
    await until(person.window.isActiveWindow)
    pane.take_focus()


def nodes(page: WorkflowsPage) -> list[str]:
    return [node.id for node in page.pane.graph.nodes]


@on_window_loop
async def test_w61_text_and_graph_are_one(tmp_path: Path) -> None:
    """W-8, W-11, W-67: by key alone, from the list through the graph into the text and back."""
    file = write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        names = [(row.name, bool(row.problem)) for row in page.gallery.files.rows if row.path]
        assert ("broken", True) in names and ("Review", False) in names
        await choose(page, "Updates")
        assert nodes(page) == ["plan", "notes", "test", "ok"]
        assert page.pane.graph.edges == (("plan", "test"), ("notes", "test"), ("test", "ok"))
        assert [way.label for way in page.pane.graph.ways_back] == ["at most 3 times"]
        assert page.foot.line.text() == "Line 8: a step has no key “need”. Did you mean “needs”?"
        assert [node.wrong for node in page.pane.graph.nodes] == [0, 1, 0, 0]
        assert [page.editor.mark_of(line) for line in (6, 7, 8)] == [None, "err", None]

        # What is wrong is put right with one click, and the graph is drawn anew.
        person.click(page.foot.fix)
        await until(lambda: ("plan", "notes") in page.pane.graph.edges)
        assert page.foot.line.text() == "No problems"

        # The caret chooses a step, also in the section of its prompt.
        for words, step in (("run: make", "test"), ("Say what", "notes"), ("# Prompts", "")):
            page.editor.go_to(page.editor.text().index(words))
            assert page.pane.current == step

        # A step that is chosen in the graph is where the caret goes.
        page.pane.view.setFocus(Qt.FocusReason.TabFocusReason)
        for key in (Key.Key_Down, Key.Key_Down, Key.Key_Down):
            person.press(key)
        assert page.pane.current == "ok"
        assert page.editor.text()[page.editor.caret :].startswith("id: ok")
        person.press(Key.Key_Return)
        assert person.focused() is page.editor

        # A step that is typed is drawn.
        page.editor.go_to(page.editor.text().index("\n---\n# Prompts"))
        person.press(Key.Key_Return)
        person.type("  - {id: last, needs: ok, run: ls}")
        await until(lambda: nodes(page)[-1] == "last")
        assert page.pane.current == "last"

        # While the text cannot be read, the graph stays as it was.
        page.editor.go_to(3)
        person.type("x")
        await until(lambda: page.file.checked.workflow is None)
        assert nodes(page)[-1] == "last" and page.foot.problems
        person.press(Key.Key_Backspace)
        await until(lambda: page.file.checked.workflow is not None)

        person.press(Key.Key_S, CTRL)
        await until(lambda: page.title.accessibleName() == "updates.md")
        right = UPDATES.replace("need:", "needs:")
        right = right.replace("drafts?\n", "drafts?\n  - {id: last, needs: ok, run: ls}\n")
        assert file.read_bytes() == right.replace("\n", "\r\n").encode()


@on_window_loop
async def test_w61_text_graph_and_both_by_the_room_there_is(tmp_path: Path) -> None:
    write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        assert page.editor.isVisible() and page.pane.isVisible()

        def edge(widget: QWidget) -> int:
            return widget.mapTo(page, widget.rect().topRight()).x()

        await until(lambda: edge(page.save_button) > page.width() - 20, "the head is laid out")
        assert 0 <= edge(page.editor) - edge(page.which) <= 20, "the switch is the text's"
        assert page.history_button.mapTo(page, QPoint()).x() > edge(page.which)
        page.which.segment(2).click()
        assert not page.editor.isVisible() and page.pane.isVisible()
        person.press(Key.Key_Return)
        assert person.focused() is page.pane.view
        person.press(Key.Key_L)
        assert page.pane.lists and person.focused() is page.pane.list
        person.press(Key.Key_L)
        page.which.segment(1).click()
        person.window.resize(1000, 700)
        await until(lambda: not page.pane.isVisible())
        assert page.editor.isVisible() and not page.which.segment(1).isEnabled()
        person.window.resize(1440, 900)
        await until(page.pane.isVisible)


@on_window_loop
async def test_w61_a_workflow_is_made_copied_and_thrown_away(tmp_path: Path) -> None:
    """A new one, and each that ships, has no problems."""
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await until(page.copy_button.isVisible)
        assert not page.save_button.isVisible()  # one of the two is the primary one
        shipped = [row.name for row in page.gallery.files.rows if row.path]
        for name in shipped:
            await choose(page, name)
            assert page.editor.isReadOnly() and not page.file.checked.problems
        person.click(page.copy_button)
        own = tmp_path / "studio" / "workflows"
        await until(lambda: page.document is not None and page.document.path.parent == own)
        assert not page.editor.isReadOnly() and page.document is not None
        copied = page.document.path
        page.editor.setFocus()
        person.type("#")
        copied.unlink()
        await page._load(copied)  # as what a save lists afterwards, when it comes so late
        assert page.document.path == copied
        await page.create()
        await until(lambda: page.document is not None and page.document.path.stem == "new-workflow")
        await until(lambda: page.file.is_checked)
        assert not page.file.checked.problems and nodes(page) == ["look", "report"]
        page.gallery.setFocus()
        QTest.keyClick(page.gallery, Key.Key_Delete)
        await until(lambda: page.notice.text == "new-workflow.md is in the trash.")
        assert not (own / "new-workflow.md").exists()
        person.click(page.notice.buttons[0])
        await until((own / "new-workflow.md").exists)


@on_window_loop
async def test_w61_steps_are_changed_in_the_graph(tmp_path: Path) -> None:
    """W-11: added, connected, renamed and removed by key and mouse, each one step of undo."""
    write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Updates")
        before = page.editor.text()
        view = page.pane.view
        view.setFocus(Qt.FocusReason.TabFocusReason)
        assert page.pane.current == "plan"
        person.press(Key.Key_A)
        await until(lambda: nodes(page) == ["plan", "step", "notes", "test", "ok"], "a new step")
        assert page.pane.current == "step" and ("plan", "step") in page.pane.graph.edges

        person.press(Key.Key_F2)
        assert person.focused() is page.edits.name.field
        person.type("gather")
        person.press(Key.Key_Return)
        await until(lambda: page.pane.current == "gather", "the new name")
        assert person.focused() is view

        # An edge is drawn with Shift and the mouse, and taken away in the menu of needs.
        start, end = view.place_of("gather"), view.place_of("notes")
        QTest.mousePress(view, Qt.MouseButton.LeftButton, SHIFT, start)
        QTest.mouseMove(view, end)
        QTest.mouseRelease(view, Qt.MouseButton.LeftButton, SHIFT, end)
        await until(lambda: ("gather", "notes") in page.pane.graph.edges, "the edge")
        assert "needs: gather" in page.editor.text()
        page.pane.choose("test")
        page.edits.toggle_need("notes", "test")
        await until(lambda: ("notes", "test") not in page.pane.graph.edges, "no edge")

        # What cannot be done says why, and changes nothing.
        page.edits.toggle_need("test", "test")
        assert page.notice.text == "A step can only need another one."

        page.pane.choose("gather")
        person.press(Key.Key_Delete)
        await until(lambda: "gather" not in nodes(page), "it is gone")
        for _ in range(5):
            person.press(Key.Key_Z, CTRL)
        await until(lambda: page.editor.text() == before, "all undone, change by change")
        person.press(Key.Key_Z, CTRL)
        assert page.editor.text() == before
        page.pane.choose("ok")
        page.edits.show_menu("ok", view.mapToGlobal(view.place_of("ok")))
        menu = await until(QApplication.activePopupWidget, what="the menu")
        assert isinstance(menu, QMenu)
        words = [action.text().split("\t")[0] for action in menu.actions()]
        assert words == ["Add step after this", "Needs", "Rename…", "Delete step", "Breakpoint"]
        menu.close()

        await choose(page, "Review")
        assert not page.edits.add_button.isVisible()
        view.setFocus()
        person.press(Key.Key_A)
        assert not page.document or not page.document.edited


@on_window_loop
async def test_w61_the_properties_of_a_step_change_only_their_own_words(tmp_path: Path) -> None:
    """W-11: each is one undo, comments stay, and wrong input is told and written nowhere."""
    file = write_files(tmp_path)
    text = UPDATES.replace("    need: plan\n", "    needs: plan\n")
    file.write_bytes(text.encode())
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Updates")
        properties = page.properties

        step = "notes"

        async def written(before: str, after: str) -> None:
            wanted = text.replace(before, after)
            await until(lambda: page.editor.text() == wanted, f"{after} is written")
            await until(lambda: page.file.is_checked)
            page.editor.undo()
            await until(lambda: page.editor.text() == text and page.file.is_checked, "the undo")
            page._step_chosen(step)

        def enter(field: Field, words: str) -> None:
            field.setFocus()
            field.selectAll()
            person.type(words)
            person.press(Key.Key_Return)

        page._step_chosen(step)
        assert properties.isVisible() and properties.title.text() == "notes"
        assert properties.lines.text() == "lines 7 to 9"
        assert properties.agent.current == "Writer" and properties.model.current == "-"
        await person.choose(properties.agent, "Coder")
        await written("agent: Writer", "agent: Coder")
        enter(properties.limit, "2 h")
        await written("    agent: Writer\n", "    agent: Writer\n    timeout: 2h\n")
        enter(properties.limit, "soon")
        assert properties.limit.error and page.editor.text() == text
        enter(properties.budget, "0.5")
        await written("    agent: Writer\n", "    agent: Writer\n    budget: {dollars: 0.5}\n")
        await until(lambda: properties._needs[0].isVisible())
        person.click(properties._needs[0])
        await written("    needs: plan\n    agent: W", "    agent: W")

        step = "test"
        page._step_chosen(step)
        assert not properties.agent.isVisible() and properties.target.text() == "make test"
        assert properties.when.font().family() == page.theme.font("code").family()
        enter(properties.most, "0")
        assert properties.most.error and page.editor.text() == text
        enter(properties.most, "2")
        await written("max: 3", "max: 2")
        enter(properties.target, "make check")
        await written("run: make test", "run: make check")
        await person.choose(properties.redo, "notes")
        await written("from: plan", "from: notes")
        await person.choose(properties.redo, "Never")
        await written("    redo: {from: plan, when: steps.plan.text == '', max: 3}\n", "")
        person.click(properties.stop)
        assert properties.stop.isChecked() and page.stops[file] == {"test"}
        person.click(properties.edit)
        assert person.focused() is page.editor

        await choose(page, "Research")  # comes along
        page._step_chosen(page.pane.graph.nodes[0].id)
        assert properties.isVisible() and not properties.agent.isEnabled()


OUTER = """\
---
name: Outer
steps:
  - {id: plan, agent: Writer, prompt: 'Plan it'}
  - {id: below, needs: plan, workflow: middle}
  - {id: each, for_each: [a, b], workflow: middle}
  - {id: gone, workflow: nowhere}
---
"""
MIDDLE = """\
---
name: Middle
steps:
  - {id: read, agent: Writer, prompt: Read it}
  - {id: deep, needs: read, workflow: inner}
---
"""
INNERMOST = """\
---
name: Inner
steps:
  - {id: last, run: make test}
---
"""


@on_window_loop
async def test_w62_the_workflow_of_a_step_unfolds_in_the_graph(tmp_path: Path) -> None:
    """Two deep, by key; what is inside is another file's, and Enter opens that one."""
    folder = write_files(tmp_path).parent
    for name, text in (("outer", OUTER), ("middle", MIDDLE), ("inner", INNERMOST)):
        (folder / f"{name}.md").write_text(text)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Outer")
        view = page.pane.view

        def folds() -> list[str]:
            return [node.fold for node in page.pane.graph.nodes]

        await until(lambda: folds() == ["", "folded", "folded", ""], "what is inside of one step")
        view.setFocus(Qt.FocusReason.TabFocusReason)
        page.pane.choose("below")
        person.press(Key.Key_F)
        await until(lambda: folds() == ["", "open", "", "folded", "folded", ""], "both files")
        person.press(Key.Key_Down)
        person.press(Key.Key_Down)
        assert page.pane.current == "below/deep"
        assert page.editor.text()[page.editor.caret :].startswith("{id: below")
        assert page.properties.isVisible() and page.properties.lines.text() == "middle.md"
        person.press(Key.Key_F)
        assert nodes(page)[1:5] == ["below", "below/read", "below/deep", "below/deep/last"]

        before = page.editor.text()
        person.press(Key.Key_Delete)
        person.press(Key.Key_B)
        assert page.editor.text() == before and "file of its own" in page.notice.text
        page.editor.go_to(page.editor.text().index("Plan it"))
        assert page.pane.current == "plan"
        page.editor.setFocus()
        person.type("Better: ")
        about = "Better: Plan it"
        await until(lambda: page.pane.graph.nodes[0].about == about, "it is drawn anew")
        assert len(nodes(page)) == 7, "the fold stays while the text is changed"

        await choose(page, "Middle")
        await until(lambda: folds() == ["", "folded"], "each file has its own")
        await choose(page, "Outer")
        assert len(nodes(page)) == 7
        view.setFocus()
        page.pane.choose("below/read")
        person.press(Key.Key_Return)
        await until(lambda: page.document is not None and page.document.path.stem == "middle")
        await until(lambda: page.pane.current == "read", "its step")


@on_window_loop
async def test_w67_the_list_does_all_that_the_graph_does(tmp_path: Path) -> None:
    """The menu of each step, what a screen reader can press, and each key, without the graph."""
    write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Updates")
        pane, before = page.pane, page.editor.text()
        drawn, listed = [actions_of(pane, lists=wanted) for wanted in (False, True)]
        assert listed[0] == drawn[0] and len(drawn[0]) == 4 and all(drawn[0])
        assert listed[1] == drawn[1] - FOR_EYES and "Add step" in listed[1]

        await back_in(person, pane)
        pane.choose("plan")
        person.press(Key.Key_A)
        await until(lambda: "step" in nodes(page) and pane.current == "step", "a new step")
        assert person.focused() is pane.list, "the keys go on where the person is"
        person.press(Key.Key_F2)
        person.type("gather")
        person.press(Key.Key_Return)
        await until(lambda: pane.current == "gather", "the new name")
        assert person.focused() is pane.list
        person.press(Key.Key_N)
        menu = await until(QApplication.activePopupWidget, what="what it may need")
        assert isinstance(menu, QMenu) and pane.list.geometry().contains(
            pane.list.mapFromGlobal(menu.pos())
        )
        menu.close()
        await back_in(person, pane)
        person.press(Key.Key_B)
        assert next(one for one in pane.graph.nodes if one.id == "gather").stops
        assert "Stops before this step" in str(pane.list.currentIndex().data())
        person.press(Key.Key_Delete)
        await until(lambda: "gather" not in nodes(page), "it is gone")
        for _ in range(3):
            person.press(Key.Key_Z, CTRL)
        await until(lambda: page.editor.text() == before, "all undone")
        person.click(page.edits.list_button)
        await until(lambda: "step" in nodes(page), "a new step by its button")

        pane.choose("ok")
        person.press(Key.Key_Return)
        assert person.focused() is page.editor
        assert page.editor.text()[page.editor.caret :].startswith("id: ok")
        await choose(page, "Review")
        assert not page.edits.list_button.isVisible(), "nobody can change it"


@on_window_loop
async def test_w60_words_are_offered_and_taken_by_key(tmp_path: Path) -> None:
    write_files(tmp_path)
    async with at_window(tmp_path, "anthropic", []) as person:
        page = await page_of(person)
        await choose(page, "Updates")
        editor, text = page.editor, page.editor.text()
        editor.go_to(text.index("    agent: Writer"))
        editor.setFocus()
        person.press(Key.Key_Return)
        editor.go_to(text.index("    agent: Writer"))
        person.type("    ma")
        assert editor.completions.isVisible() and editor.completions.words == [
            "matrix: ",
            "max_parallel: ",
        ]
        assert not editor.completions.list.verticalScrollBar().maximum(), "all are in sight"
        person.press(Key.Key_Down)
        person.press(Key.Key_Return)
        assert "    max_parallel: \n    agent: Writer" in editor.text()
        person.press(Key.Key_Z, CTRL)
        assert "    ma\n" in editor.text(), "one step of undo"
        person.press(Key.Key_Space, CTRL)
        assert editor.completions.isVisible()
        person.press(Key.Key_Escape)
        assert not editor.completions.isVisible()
        editor.go_to(editor.text().index("Writer"))
        person.type("Co")
        editor.go_to(editor.text().index("Writer"))
        person.press(Key.Key_Space, CTRL)
        assert editor.completions.words == ["Coder"]
        person.press(Key.Key_Tab)
        assert "agent: CoderWriter" in editor.text()
        for move in (
            lambda: person.press(Key.Key_Up, Qt.KeyboardModifier.ShiftModifier),
            lambda: editor.go_to(0),
            lambda: editor.replace_text(f"---\n# Said outside\n{editor.text()[4:]}"),
        ):
            editor.go_to(editor.text().index("CoderWriter"))
            person.press(Key.Key_Space, CTRL)
            assert editor.completions.isVisible()
            move()
            assert not editor.completions.isVisible(), "the caret is in another place now"
        editor.go_to(editor.text().index("Writer"))
        person.type(" ")
        person.press(Key.Key_Return)
        assert not editor.completions.isVisible(), "Enter is a new line where nothing was begun"


def test_w61_a_step_of_no_known_kind_is_drawn_with_its_mistake(tmp_path: Path) -> None:
    """As a dashed node that says so, where it stands: what is not drawn is not mended."""
    text = UPDATES.replace("need:", "needs:").replace("approve:", "aprove:")
    place = PROJECT_WORKFLOWS / "updates.md"
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_text(text)
    files = find_workflows(Paths.below(tmp_path / "studio"), tmp_path, lambda kind: ())
    (row,) = (one for one in rows_of(files, (), tmp_path) if one.path == tmp_path / place)
    assert row.about == "4 steps", "the broken one is one, too"
    found = check_workflow(read_workflow_text(text), KnownNames([]))
    graph = graph_of(found, {})
    assert [node.id for node in graph.nodes] == ["plan", "notes", "test", "ok"]
    node = graph.nodes[-1]
    assert node.gate and node.wrong and node.title.startswith("ok, ")
    assert "aprove" in node.about and graph.needs("ok") == ["test"]
    place = place_of(found, "ok")
    assert place is not None and text[place[0] :].startswith("id: ok")
    assert step_at(found, text.index("aprove")) == "ok"


def test_w61_keys_times_and_conditions_have_colours(qapp: QApplication) -> None:
    theme = Theme("light")
    lines = [
        "---",
        "timeout: 5m",
        "redo: {from: code, when: not outputs.passed, max: 3}",
        "if: steps.a.outputs.ok",
        "prompt: Look, then: go",
        "---",
    ]
    document = QTextDocument("\n".join(lines))
    highlighter = FileHighlighter(theme, document)
    highlighter.rehighlight()

    def colour(line: int, words: str) -> str:
        at = lines[line].index(words)
        formats = document.findBlockByNumber(line).layout().formats()
        inks = [
            one.format.foreground().color()
            for one in formats
            if one.start <= at and at + len(words) <= one.start + one.length
        ]
        names = ("accent_text", "syntax_number", "syntax_keyword")
        return next((name for name in names if inks[-1:] == [theme.color(name)]), "")

    assert qapp and colour(1, "5m") == "syntax_number"
    assert colour(2, "from") == colour(2, "max") == "accent_text" and not colour(2, "code")
    assert colour(2, "not outputs.passed") == "syntax_keyword" == colour(3, "steps.a.outputs.ok")
    assert colour(4, "prompt") == "accent_text" and not colour(4, "then")
    theme.deleteLater()
