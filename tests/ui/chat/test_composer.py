"""At the window: the composer has room for its text in the frame in which that changes."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage, QRegion
from PySide6.QtWidgets import QApplication, QWidget

from studio.agent.engine import Engine
from studio.domain.run_events import RunStarted
from studio.simulator import Call, Text, Turn
from studio.storage.runs import NewRun, RunStore
from studio.ui.chat.composer import MOST_LINES
from studio.ui.pages.workflows.page import WorkflowsPage
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
LONG = "A sentence that is long enough for several lines of the composer at any text size. " * 9


def fits(person: Person, lines: int) -> None:
    """Nothing is painted over the buttons, and all lines can be seen, ten at most."""
    composer, page = person.composer, person.window.chat
    editor = composer.editor
    assert editor.geometry().bottom() < composer.send.geometry().top()
    assert composer.send.geometry().bottom() < composer.height()
    assert composer.geometry().bottom() < page.height()
    assert editor.height() >= min(lines, MOST_LINES) * editor.fontMetrics().lineSpacing()
    if lines <= MOST_LINES:
        assert not editor.verticalScrollBar().maximum(), (lines, editor.height())


@pytest.mark.parametrize("text_size", [100, 160])
@on_window_loop
async def test_it_grows_and_shrinks_with_its_text(tmp_path: Path, text_size: int) -> None:
    def setup(file: object) -> None:
        file.values.text_size = text_size  # type: ignore[attr-defined]

    async with at_window(tmp_path, "anthropic", [Turn(Text("Yes."))], setup=setup) as person:
        for _ in range(2):  # a new chat, then one that has begun
            editor = person.composer.editor
            one = person.composer.height()
            for lines in (8, 1, 30, 2, 10):
                editor.selectAll()
                editor.insertPlainText("\n".join(map(str, range(lines))))
                fits(person, lines)
            editor.selectAll()
            editor.insertPlainText(LONG)
            fits(person, 2)
            editor.clear()
            assert person.composer.height() == one
            person.composer.setFocus()
            person.say("Go")
            await person.done()


@pytest.mark.parametrize("text_size", [100, 160])
@on_window_loop
async def test_it_ends_where_the_chat_above_it_ends(tmp_path: Path, text_size: int) -> None:
    """In a small window the margins of both grow with the text."""

    def setup(file: object) -> None:
        file.values.text_size = text_size  # type: ignore[attr-defined]

    script = [Turn(Text("Yes."))]
    async with at_window(tmp_path, "anthropic", script, setup=setup, size=(1000, 640)) as person:
        person.say("Go")
        await person.done()
        canvas = person.view.canvas_viewport
        right = canvas.column_left + canvas.context.width
        assert abs(right - (person.composer.x() + person.composer.width())) <= 2


@on_window_loop
async def test_only_what_can_be_done_in_the_folder_is_offered(tmp_path: Path) -> None:
    def offered() -> list[str]:
        return [row.text() for row in person.window.chat.suggestions._rows]

    async with at_window(tmp_path, "anthropic", [], folder=tmp_path / "plain") as person:
        await until(lambda: offered())
        assert [text.split(" in ")[0] for text in offered()] == ["Explain what is"]
        (tmp_path / "project" / ".git").mkdir(parents=True)
        (tmp_path / "project" / "below").mkdir()
        person.window.chat.model.options.choose_folder(str(tmp_path / "project" / "below"))
        await until(lambda: len(offered()) == 2)
        assert offered()[1].startswith("Review my uncommitted changes in ")
        own = person.engine.paths.data / "chats"
        person.window.chat.model.options.choose_folder(str(own))
        await until(lambda: offered() == [])


@on_window_loop
async def test_the_workflow_that_ran_last_in_the_folder_is_offered(tmp_path: Path) -> None:
    """W-68: a click asks for its inputs; one whose file is gone is not offered."""
    file = tmp_path / "studio" / "workflows" / "release.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\nname: Release\nsteps:\n- {id: look, agent: Coder}\n---\n")
    folder = tmp_path / "plain"

    async def prepare(engine: Engine) -> None:
        for number, source in enumerate((str(file), str(tmp_path / "gone.md"))):
            started = RunStarted(f"r{number}", "Release", "d", source, str(folder))
            await RunStore(engine.database).create(NewRun(started, "steps"), 5.0 + number)

    async with at_window(tmp_path, "anthropic", [], folder=folder, prepare=prepare) as person:
        rows = person.window.chat.suggestions._rows
        await until(lambda: [row.text() for row in rows] == ["Run release.md"])
        await until(lambda: rows[0].isVisible())
        person.click(rows[0])
        page = await until(
            lambda: isinstance(one := person.window.pages.currentWidget(), WorkflowsPage) and one
        )
        await until(lambda: page.document is not None and page.document.path == file)


@on_window_loop
async def test_what_stands_in_the_empty_composer_is_of_this_chat(tmp_path: Path) -> None:
    """It follows what is pending in the chat on screen, at once, and the text size."""
    asks = Turn(Call("ask", {"question": "Which one?", "choices": ["Red", "Blue"]}))
    async with at_window(tmp_path, "anthropic", [asks, Turn(Text("Red it is."))]) as person:
        editor, window = person.composer.editor, person.window

        def stands(text: str) -> bool:
            """Whether this is on screen, painted no later than anything else."""
            QApplication.processEvents()
            seen = window.screen().grabWindow(window.winId()).toImage()
            place = QRect(editor.mapTo(window, QPoint()), editor.size())
            words = editor.rect().adjusted(4, 0, 0, 0)  # without the caret
            return editor.placeholder == text and seen.copy(place).copy(words) == drawn().copy(
                words
            )

        def drawn() -> QImage:
            """The editor as it would be painted now, on its ground."""
            image = QImage(editor.size(), QImage.Format.Format_RGB32)
            image.fill(window.theme.color("raised"))
            flags = QWidget.RenderFlag.DrawChildren
            editor.render(image, QPoint(), QRegion(), flags)
            return image

        def ink() -> int:
            """Rows of pixels that the words take."""
            text, image = editor.placeholder, drawn()
            editor.placeholder = ""
            without = drawn()
            editor.placeholder = text
            columns = range(image.width())
            return sum(
                any(image.pixel(x, y) != without.pixel(x, y) for x in columns)
                for y in range(image.height())
            )

        assert stands("Ask, or describe a task")
        small = ink()
        window.theme.set(scale=1.6)
        assert ink() > 1.25 * small
        window.theme.set(scale=1.0)
        person.say("Choose")
        pending = "Answer above, or tell Coder what to do instead"
        await until(lambda: person.composer.state == "waiting" and stands(pending))
        window.new_chat()
        await until(lambda: person.window.chat.session is None)
        assert stands("Ask, or describe a task")
        await person.open_chat("Choose")
        await until(lambda: person.window.chat.session is not None)
        assert stands(pending) and person.view.hasFocus()
        person.view.context.now = lambda: 1e9
        person.press(Key.Key_1)
        await person.done()
        assert stands("Add a follow-up") and editor.hasFocus()
        person.type("x")
        assert not editor._overlay.shows_text


@on_window_loop
async def test_what_is_written_keeps_its_size_after_zoom(tmp_path: Path) -> None:
    """The style sheet looks at the message for the first time when it is sent."""
    async with at_window(tmp_path, "anthropic", [Turn(Text("One."))]) as person:
        person.window.theme.set(scale=1.6)
        person.say("Go")
        await person.done()
        size = person.window.theme.font("body").pixelSize()
        assert person.composer.editor.font().pixelSize() == size
        person.type("On")
        line = person.composer.editor.fontMetrics().height()
        assert line > size and person.composer.editor.height() >= line


@on_window_loop
async def test_what_was_sent_is_seen_before_its_turn_begins(tmp_path: Path) -> None:
    """G-1: “Working…” never stands where the message will be, which would push it down."""
    async with at_window(tmp_path, "anthropic", [Turn(Text("Yes.")), Turn(Text("No."))]) as person:
        frames: list[tuple[bool, list[str]]] = []

        def look(_: object) -> None:
            person.view.flush()
            outgoing = person.view.canvas_viewport.outgoing
            names = [item.name for item in outgoing.items] if outgoing is not None else []
            frames.append((person.view.context.running, names))

        person.window.chat.model.subscribe(look, "sent")
        for turn, words in enumerate(("Are you there?", "And now?"), 1):
            person.say(words)
            await person.done(turn)
            assert len(frames) == turn
            running, (said, above_answer) = frames[-1]
            assert not running and said == f"You: {words}" and "Coder" in above_answer
            assert person.view.canvas_viewport.outgoing is None
            assert person.says(words)


@on_window_loop
async def test_the_caret_has_the_accents_colour(tmp_path: Path) -> None:
    """It is two pixels wide, and only where the keyboard is."""
    flash = QApplication.cursorFlashTime()
    QApplication.setCursorFlashTime(0)
    try:
        async with at_window(tmp_path, "anthropic", [], theme="dark") as person:
            editor, accent = person.composer.editor, person.window.theme.color("accent_text")
            person.type("Where")

            def columns() -> list[int]:
                image = editor.grab().toImage()
                y = editor.cursorRect().center().y()
                wide = range(image.width())
                return [x for x in wide if image.pixelColor(x, y) == accent]

            left = editor.cursorRect().left()
            await until(lambda: columns() == [left, left + 1])
            person.window.sidebar.field.setFocus()
            await until(lambda: not columns())
    finally:
        QApplication.setCursorFlashTime(flash)


@on_window_loop
async def test_end_in_the_empty_composer_leads_to_the_end_of_the_chat(tmp_path: Path) -> None:
    """G-3, picture 17: the pill of new messages names the key, which works where one writes."""
    async with at_window(tmp_path, "anthropic", [Turn(Text(LONG * 9))]) as person:
        person.say("Hello")
        await person.done()
        viewport, scroller = person.view.canvas_viewport, person.view.scroller
        person.composer.setFocus()
        for text, at_end in (("", True), ("half a thought", False)):
            person.composer.set_text(text)
            viewport.scroll_to(0)
            viewport.fresh = True
            viewport.find_pill()
            assert viewport.pill is not None and viewport.pill[0].keys == "End"
            person.press(Key.Key_End)
            assert (scroller.value == scroller.most > 0) is at_end, text
