"""At the window: what a turn changed, undone and done again (T-5); what a chat has seen (T-7)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt, QUrl, Slot
from PySide6.QtGui import QAccessible, QDesktopServices, QHelpEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from studio.domain.blocks import FilesBlock
from studio.domain.events import FilesChanged, FilesRestored, TextDelta, TurnComplete, TurnStarted
from studio.domain.messages import Text as Words
from studio.simulator import Call, Text, Turn
from studio.ui.app.actions import Action
from studio.ui.chat.file_viewer import FileViewer
from studio.ui.transcript.items.base import Hit
from studio.ui.transcript.items.files_item import MOST_PATHS, FilesItem
from support.transcript_window import TranscriptWindow, shown
from support.waiting import until
from support.window import (
    CTRL,
    SHIFT,
    Key,
    Person,
    alone,
    at_window,
    on_window_loop,
    place_of,
)

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell"),
]
__all__ = ["alone", "shown"]
PROVIDER = "openai-compatible"
_LEFT = Qt.MouseButton.LeftButton


def runs(command: str) -> Turn:
    return Turn(Call("run", {"command": command}), stop="tool_use")


DONE = Turn(Text("Done."), stop="end")


async def allow(person: Person) -> None:
    question = await until(
        lambda: person.window.chat.session and person.session.transcript.questions
    )
    person.session.answer_permission(question[0].id, "once")


async def works(person: Person, words: str, turns: int) -> None:
    """A turn whose one command is allowed, to its end."""
    person.composer.setFocus()
    person.say(words)
    await allow(person)
    await person.done(turns)


def files(person: Person) -> list[FilesBlock]:
    return person.blocks(FilesBlock)


def offered(item: FilesItem) -> list[str]:
    return [hit.text for hit in item.hits if hit.style in ("ghost", "secondary")]


def hit_of(item: FilesItem, action: str) -> Hit:
    return next(hit for hit in item.hits if hit.action == action)


def point(person: Person, item: FilesItem, action: str) -> QPoint:
    index = person.view.canvas.index(item)
    assert index is not None
    return place_of(person.view, index, hit_of(item, action).rect)


def enabled(person: Person) -> tuple[bool, bool]:
    actions = person.window.menu_actions.by_action
    return actions[Action.UNDO_FILES].isEnabled(), actions[Action.REDO_FILES].isEnabled()


@on_window_loop
async def test_a_turn_is_undone_and_done_again(tmp_path: Path) -> None:
    """T-5: by the row's button, by keys on the row, by the menu."""
    script = [runs("printf 1 > a.py; printf 2 > b.py; rm old.py"), DONE]
    async with at_window(tmp_path, PROVIDER, script) as person:
        (person.folder / "old.py").write_text("old")
        assert enabled(person) == (False, False)
        await works(person, "Tidy up", 1)
        item = await until(lambda: person.item(FilesItem))
        assert item.name == "Changed 3 files, a.py, b.py, old.py"
        assert offered(item) == ["Undo"] and enabled(person) == (True, False)

        await person.click_hit(FilesItem, "undo_files")
        await until(lambda: files(person)[0].undone)
        assert [path.name for path in person.folder.iterdir()] == ["old.py"]
        person.view.flush()
        assert item.name.endswith("undone") and offered(item) == ["Redo"]
        assert enabled(person) == (False, True)

        person.view.setFocus()
        person.press(Key.Key_Z, CTRL | SHIFT)  # the row kept the focus
        await until(lambda: not files(person)[0].undone)
        assert (person.folder / "a.py").read_text() == "1"
        person.view.flush()
        person.press(Key.Key_Z, CTRL)
        await until(lambda: files(person)[0].undone)

        actions = person.window.menu_actions.by_action
        actions[Action.REDO_FILES].trigger()
        await until(lambda: not files(person)[0].undone)
        actions[Action.UNDO_FILES].trigger()
        await until(lambda: files(person)[0].undone)
        assert [path.name for path in person.folder.iterdir()] == ["old.py"]


@on_window_loop
async def test_what_changed_since_is_left_and_said(tmp_path: Path) -> None:
    """T-5: a later turn is undone first, another hand's work is left alone."""
    script = [
        runs("printf 1 > a.py; printf 1 > b.py"), DONE,
        runs("printf 2 > a.py"), DONE,
    ]  # fmt: skip
    async with at_window(tmp_path, PROVIDER, script) as person:
        await works(person, "First", 1)
        await works(person, "Second", 2)
        person.view.flush()
        first, second = (i for i in person.view.canvas.items if isinstance(i, FilesItem))
        person.window.chat.model.actions.undo_files(first.block.turn_id, "undo")
        await until(lambda: first.block.left)
        person.view.flush()
        assert first.block.undone and not (person.folder / "b.py").exists()
        assert "left alone, because changed since: a.py" in first.name
        assert offered(first) == ["Redo", "Undo the later turn first"]
        QTest.mouseClick(
            person.view.viewport(),
            _LEFT,
            pos=point(person, first, "undo_later"),
        )
        await until(lambda: second.block.undone and not first.block.left)
        assert not list(person.folder.iterdir())

        person.window.chat.model.actions.undo_files(first.block.turn_id, "redo")
        await until(lambda: not first.block.undone)
        (person.folder / "b.py").write_text("mine")
        person.window.chat.model.actions.undo_files(first.block.turn_id, "undo")
        await until(lambda: first.block.left)
        person.view.flush()
        assert first.block.left == ("b.py",) and offered(first) == ["Undo again", "Redo"]
        (person.folder / "b.py").write_text("1")
        person.view.canvas_viewport.focus_on(person.view.canvas.index(first))  # type: ignore[arg-type]
        person.view.setFocus()
        person.press(Key.Key_Z, CTRL)
        await until(lambda: not first.block.left)
        assert not list(person.folder.iterdir())


@on_window_loop
async def test_not_while_a_turn_runs(tmp_path: Path) -> None:
    script = [runs("printf 1 > a.py"), DONE, runs("printf 2 > a.py"), DONE]
    async with at_window(tmp_path, PROVIDER, script) as person:
        await works(person, "First", 1)
        person.composer.setFocus()
        person.say("Second")
        await until(lambda: person.session.transcript.questions)
        person.view.flush()
        item = next(i for i in person.view.canvas.items if isinstance(i, FilesItem))
        undo = hit_of(item, "undo_files")
        assert enabled(person) == (False, False)
        why = "Wait until the turn ends, or stop it first."
        assert item.disabled_reason(undo, person.view.context) == why
        person.view.canvas_viewport.focus.item, person.view.canvas_viewport.focus.hit = item, undo
        focused = person.view.accessible.focusChild()
        assert focused is not None and focused.text(QAccessible.Text.Name) == "Undo"
        assert focused.text(QAccessible.Text.Description) == why
        person.view.canvas_viewport.reveal(person.view.canvas.index(item))  # type: ignore[arg-type]
        place = point(person, item, "undo_files")
        port = person.view.viewport()
        QTest.mouseClick(port, _LEFT, pos=place)
        QApplication.sendEvent(
            port, QHelpEvent(QEvent.Type.ToolTip, place, port.mapToGlobal(place))
        )
        assert QToolTip.text() == why
        QToolTip.hideText()
        person.session.stop()
        await person.done(2)
        assert (person.folder / "a.py").read_text() == "1" and not files(person)[0].undone
        await until(lambda: not item.disabled_reason(undo, person.view.context))
        assert enabled(person) == (True, False)


class Viewer(QObject):
    """What the system would open files with."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Path] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.seen.append(Path(url.toLocalFile()))


@on_window_loop
async def test_a_path_is_shown_and_never_run(tmp_path: Path) -> None:
    command = "mkdir -p src Evil.app; echo 1 > notes.txt; echo 1 > src/run.py; echo 1 > Evil.app/x"
    viewer, root = Viewer(), tmp_path / "work"
    async with at_window(tmp_path, PROVIDER, [runs(command), DONE]) as person:
        QDesktopServices.setUrlHandler("file", viewer, "open")
        try:
            await works(person, "Go", 1)
            item = await until(lambda: person.item(FilesItem))
            assert not [hit for hit in item.hits if hit.action == "open_path"]
            await person.click_hit(FilesItem, "toggle")
            assert hit_of(item, "toggle").text.endswith("expanded")
            for hit in [hit for hit in item.hits if hit.action == "open_path"]:
                person.view.item_actions.do(item, hit)
            await until(lambda: len(viewer.seen) == 3)
            # A program is shown in its folder; a folder that is a program, in the one around it.
            assert set(viewer.seen) == {root / "notes.txt", root / "src", root}
        finally:
            QDesktopServices.unsetUrlHandler("file")
        (root / "notes.txt").unlink()
        opening = FileViewer()
        assert await opening.show(str(root), "notes.txt") == "notes.txt is no longer there."
        (root / "out").symlink_to(tmp_path)
        assert await opening.show(str(root), "out/studio") == "out/studio is no longer there."
        assert await opening.show(str(root), "../studio")


# -- the row by itself ---------------------------------------------------------------


def end(shown: TranscriptWindow, turn: str, *paths: str) -> FilesItem:
    shown.tell(TurnStarted("s", turn, (Words("Go"),), "Coder", "p", "Model", "inline"))
    shown.tell(TextDelta("Done."), FilesChanged(turn, paths), TurnComplete("done"))
    shown.view.turned()
    shown.view.flush()
    return next(i for i in reversed(shown.view.canvas.items) if isinstance(i, FilesItem))


def test_a_turn_that_changed_nothing_shows_no_row(shown: TranscriptWindow) -> None:
    item = end(shown, "t1")
    assert (item.height, item.hits, item.name) == (0.0, [], "")
    shown.tell(FilesChanged("t1", ("a.py",)))
    assert item.height > 0 and item.name == "Changed 1 file, a.py"
    shown.tell(FilesChanged("t1", ()))
    assert item.height == 0.0


def test_many_paths_are_listed_on_demand_and_rows_far_away_are_not_laid_out(
    shown: TranscriptWindow,
) -> None:
    paths = [f"src/module_{n}.py" for n in range(60)]
    item = end(shown, "t0", *paths)
    shown.click("toggle")
    links = [hit for hit in item.hits if hit.action == "open_path"]
    assert len(links) == MOST_PATHS and hit_of(item, "show_all").text == "Show 40 more"
    assert item.name.endswith("and 40 more") and item.source().count("\n") == 60
    shown.view.item_actions.do(item, hit_of(item, "show_all"))
    shown.view.flush()
    assert len([hit for hit in item.hits if hit.action == "open_path"]) == 60
    for number in range(400):
        end(shown, f"t{number + 1}", "a.py", "b.py")
    items = [i for i in shown.view.canvas.items if isinstance(i, FilesItem)]
    shown.view.scroller.drop_far()
    assert len(items) == 401 and sum(i.laid for i in items) < 100
    assert shown.view.canvas.total == pytest.approx(
        70 + sum(i.height + g for i, g in zip(shown.view.canvas.items, shown.view.canvas._gaps, strict=True))
    )  # fmt: skip


def test_a_screen_reader_and_the_keyboard_know_the_row(shown: TranscriptWindow) -> None:
    asked: list[tuple[str, str]] = []
    shown.view.item_actions.files_action.connect(lambda turn, what: asked.append((turn, what)))
    item = end(shown, "t1", "a.py", "b.py")
    index = shown.view.canvas.index(item)
    assert index is not None
    child = shown.view.accessible.child(index)
    assert child is not None
    assert child.text(QAccessible.Text.Name) == "Changed 2 files, a.py, b.py"
    shown.view.canvas_viewport.focus_on(index)
    shown.view.setFocus()
    shown.key(Key.Key_Tab)
    button = shown.view.accessible.focusChild()
    assert button is not None and button.text(QAccessible.Text.Name) == "Undo"
    assert button.parent() is child and button.state().focused and not child.state().focused
    shown.key(Key.Key_Return)
    assert asked == [("t1", "undo")]
    shown.tell(FilesRestored("t1", True, ("a.py",), ("b.py",)))
    assert "undone" in item.name and "left alone, because changed since: b.py" in item.name
    shown.key(Key.Key_Z, CTRL | SHIFT)
    shown.key(Key.Key_Z, CTRL)
    assert asked[1:] == [("t1", "redo"), ("t1", "undo")]
    shown.key(Key.Key_Up)
    shown.key(Key.Key_Z, CTRL)
    assert len(asked) == 3, "only the row with the focus"


def test_a_damaged_chat_offers_nothing(shown: TranscriptWindow) -> None:
    end(shown, "t1", "a.py")
    shown.view.set_transcript(shown.transcript, read_only=True)
    shown.view.flush()
    item = next(i for i in shown.view.canvas.items if isinstance(i, FilesItem))
    assert item.height > 0 and offered(item) == []


# -- what a chat has seen ----------------------------------------------------------------


@on_window_loop
async def test_the_run_page_says_what_was_seen(tmp_path: Path) -> None:
    """T-7: calm, and only when something was."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("private")
    script = [Turn(Call("read", {"path": "notes.txt"}), stop="tool_use"), DONE]
    async with at_window(tmp_path, PROVIDER, script) as person:
        person.press(Key.Key_I, CTRL)
        inspector = await until(lambda: person.window.inspector)
        run = inspector.run
        tall = run.sizeHint().height()
        assert not run._facts.seen and "seen" not in run.accessibleName()
        person.composer.setFocus()
        person.say("What do the notes say?")
        await person.done()
        await until(lambda: ("private files", "notes.txt") in run._facts.seen)
        assert "seen private files" in run.accessibleName()
        assert run.sizeHint().height() > tall and run.sources.startswith("Private files: notes.txt")
        run.grab()
        place = run._seen_at.center().toPoint()
        QApplication.sendEvent(run, QHelpEvent(QEvent.Type.ToolTip, place, run.mapToGlobal(place)))
        assert QToolTip.text() == run.sources
        QToolTip.hideText()
        words = [row.text for row in inspector.events.rows]
        assert "Saw private files: notes.txt" in words
