"""Attaching files in the real window: chips, what the model refuses, what is sent (H-2)."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QObject, QPoint, QPointF, Qt, QUrl, Slot
from PySide6.QtGui import (
    QDesktopServices,
    QDrag,
    QDropEvent,
    QGuiApplication,
    QImage,
)
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QWidget

from studio.domain.blocks import UserBlock
from studio.domain.messages import File, Image
from studio.domain.messages import Text as Words
from studio.simulator import Text, Turn
from studio.ui.chat.attachments import AttachmentChip
from studio.ui.chat.file_viewer import safe_name
from studio.ui.transcript.items.answer_item import TextItem
from studio.ui.transcript.items.user_item import UserItem
from support.engine_home import PROTOCOLS
from support.sample_files import noise, pdf, picture
from support.waiting import until
from support.window import (
    CTRL,
    SHIFT,
    Key,
    Person,
    alone,
    at_window,
    drag_enter,
    on_window_loop,
    place_of,
)

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


@pytest.fixture(autouse=True)
def emptied_clipboard(qapp: QApplication) -> Iterator[None]:
    """Leaves nothing of Python on the clipboard: Qt would free it after Python has ended."""
    yield
    qapp.clipboard().clear()


def chips(person: Person) -> list[AttachmentChip]:
    return person.composer.attachments.chips


def copied(
    *paths: Path, image: QImage | None = None, text: str = "", png: bytes = b""
) -> QMimeData:
    """What is on the clipboard, or dragged."""
    data = QMimeData()
    if paths:
        data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    if image is not None:
        data.setImageData(image)
    if png:
        data.setData("image/png", png)
    if text:
        data.setText(text)
    return data


def drop(target: QWidget, data: QMimeData) -> bool:
    """Drag over a widget and let go; whether it was taken."""
    at, copy = QPointF(20, 20), Qt.DropAction.CopyAction
    left = Qt.MouseButton.LeftButton
    held = Qt.KeyboardModifier.NoModifier
    enter = drag_enter(at, data)
    enter.ignore()
    QApplication.sendEvent(target, enter)
    if not enter.isAccepted():
        return False
    dropped = QDropEvent(at, copy, data, left, held)
    QApplication.sendEvent(target, dropped)
    return dropped.isAccepted()


class Handler(QObject):
    """What the system opens files with."""

    def __init__(self, opened: list[Path]) -> None:
        super().__init__()
        self._opened = opened

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self._opened.append(Path(url.toLocalFile()))


async def settled(person: Person, count: int) -> list[AttachmentChip]:
    """The chips, once every file was read."""
    files = person.composer.attachments
    await until(
        lambda: len(files.chips) == count and not person.window.chat.model.attachments.reading,
        what=f"{count} files",
    )
    return files.chips


@pytest.mark.parametrize("provider", list(PROTOCOLS))
@on_window_loop
async def test_a_picture_and_a_text_reach_the_model_before_the_words(
    tmp_path: Path, provider: str
) -> None:
    """H-2, on each protocol; the next turn is accepted too."""
    script = [Turn(Text("A blue square.")), Turn(Text("Yes."))]
    async with at_window(tmp_path, provider, script) as person:
        (person.folder / "notes.md").write_text("# Größe\n")
        (person.folder / "a.png").write_bytes(picture())
        person.window.chat.composer.attachments.add_paths(
            [str(person.folder / n) for n in ("a.png", "notes.md")]
        )
        await settled(person, 2)
        assert [chip.attachment.state for chip in chips(person)] == ["ready", "ready"]
        person.say("What is this?")
        await person.done()
        assert chips(person) == [] and not person.composer.attachments.isVisible()
        (said,) = person.blocks(UserBlock)
        image, file, words = said.said
        assert (type(image), type(file)) == (Image, File)
        assert words == Words("What is this?")
        person.say("Really?")
        await person.done(2)
        assert not person.simulator.violations
        sent = json.dumps(person.exchanges[1].json, ensure_ascii=False)
        assert "# Größe" in sent or "IyBHcsO2w59lCg" in sent
        assert "iVBORw0KGgo" in sent
        if provider != "ollama":  # pictures lie beside the words there
            assert sent.index("iVBORw0KGgo") < sent.index("What is this?")
        assert person.says("Picture, 64 × 48, ") and person.says("notes.md, ")


@on_window_loop
async def test_each_way_in(tmp_path: Path) -> None:
    """The dialog, the Add button, paste of a picture and of files, drag and drop."""
    async with at_window(tmp_path, "anthropic", []) as person:
        names = [person.folder / f"{n}.txt" for n in range(4)]
        for path in names:
            path.write_text(path.name)
        dialogs = lambda: person.window.findChildren(QFileDialog)  # noqa: E731
        for number in range(2):
            if number:
                person.click(person.composer.add)
            else:
                person.press(Key.Key_A, CTRL | SHIFT)
            await until(lambda n=number: len(dialogs()) == 1, what="a dialog")
            dialogs()[0].filesSelected.emit([str(names[number])])
            dialogs()[0].close()
            await until(lambda: not dialogs())
        await settled(person, 2)
        person.window.activateWindow()
        await until(person.window.isActiveWindow)
        person.composer.setFocus()
        await until(person.composer.editor.hasFocus)
        clipboard = QGuiApplication.clipboard()
        clipboard.setMimeData(copied(names[2], text=str(names[2])))
        person.press(Key.Key_V, CTRL)
        clipboard.setMimeData(copied(image=QImage.fromData(picture("BMP", (300, 20)))))
        person.press(Key.Key_V, CTRL)
        clipboard.setMimeData(copied(png=picture(), image=QImage.fromData(picture())))
        person.press(Key.Key_V, CTRL)
        await settled(person, 5)
        assert person.composer.text == ""
        assert drop(person.window.chat, copied(names[3]))
        assert drop(person.composer.editor.viewport(), copied(names[0]))
        await settled(person, 7)
        assert [chip.attachment.name for chip in chips(person)] == [
            "0.txt", "1.txt", "2.txt", "Pasted picture", "Pasted picture 2", "3.txt", "0.txt",
        ]  # fmt: skip
        assert all(chip.attachment.state == "ready" for chip in chips(person))
        assert "300 × 20" in chips(person)[3].accessibleName()


@on_window_loop
async def test_words_are_pasted_as_words(tmp_path: Path) -> None:
    """Cells of a table come as words and as a picture: the words are meant."""
    async with at_window(tmp_path, "anthropic", []) as person:
        QGuiApplication.clipboard().setMimeData(
            copied(text="a\tb", image=QImage.fromData(picture()))
        )
        person.press(Key.Key_V, CTRL)
        assert person.composer.text == "a\tb"
        assert chips(person) == []
        assert not drop(person.window.chat, copied(text="words"))


@on_window_loop
async def test_what_cannot_be_attached_says_so_in_place(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", [Turn(Text("Hm."))]) as person:
        (person.folder / "a.zip").write_bytes(b"PK\3\4\0\0")
        (person.folder / "sub").mkdir()
        take = person.window.chat.composer.attachments.add_paths
        take([str(person.folder / "a.zip")])
        (chip,) = await settled(person, 1)
        assert chip.attachment.state == "error"
        assert "a.zip is an archive" in chip.accessibleName()
        remarks = person.composer.attachments._problems
        assert [remark.words.text() for remark in remarks] == [
            "a.zip is an archive and cannot be attached. Pictures, PDF and text files can be."
        ]
        assert remarks[0].isVisible()
        assert not person.composer.send.isEnabled()
        take([str(person.folder / "sub")])
        assert person.composer.text == "@sub/ "
        person.say("Look")
        await person.done()
        assert person.blocks(UserBlock)[0].said == (Words("@sub/ Look"),)
        assert chips(person) == []


@on_window_loop
async def test_what_the_model_refuses_is_said_before_it_is_sent(tmp_path: Path) -> None:
    """H-2; another model, another answer. Send says it and is not blocked."""
    async with at_window(tmp_path, "ollama", []) as person:
        (person.folder / "a.pdf").write_bytes(pdf("Words"))
        person.window.chat.composer.attachments.add_paths([str(person.folder / "a.pdf")])
        (chip,) = await settled(person, 1)
        assert chip.attachment.state == "refused"
        assert "refused: a.pdf: Models on Ollama cannot read PDF files." in chip.accessibleName()
        send = person.composer.send
        assert send.isEnabled()
        assert send.accessibleName() == send.toolTip().replace(" (Enter)", "")
        assert send.accessibleName() == "Send. The model refuses a.pdf"
        person.window.chat.model.options.choose_model("anthropic", "claude-sonnet-4-5")
        person.engine.keychain.keep_for_session("anthropic", "sk-ant-test-0123456789")
        person.window.chat.model.options_changed()
        await until(lambda: chip.attachment.state == "ready")
        assert send.accessibleName() == "Send"
        assert person.composer.attachments._problems == []


@on_window_loop
async def test_a_refused_file_ends_the_turn_and_is_not_lost(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", [Turn(Text("Fine."))]) as person:
        (person.folder / "a.pdf").write_bytes(pdf("Words"))
        person.window.chat.composer.attachments.add_paths([str(person.folder / "a.pdf")])
        await settled(person, 1)
        person.say("Read it")
        await until(lambda: person.says("Models on Ollama cannot read PDF files."))
        assert person.says("a.pdf, ")
        assert person.exchanges == []


@on_window_loop
async def test_a_chip_is_removed_by_mouse_and_keyboard(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        for name in ("a.txt", "b.txt"):
            (person.folder / name).write_text("x")
        plain = person.composer.height()
        person.window.chat.composer.attachments.add_paths(
            [str(person.folder / n) for n in ("a.txt", "b.txt")]
        )
        first, second = await settled(person, 2)
        assert first.remove.accessibleName() == "Remove a.txt, Text, 1 byte"
        assert person.composer.height() > plain
        for chip in (second, first):  # above the words, and before them
            person.press(Key.Key_Backtab, SHIFT)
            assert person.focused() is chip.remove
        person.composer.setFocus()
        person.click(first.remove)
        assert chips(person) == [second]
        second.remove.setFocus()
        person.press(Key.Key_Space)
        assert chips(person) == []
        await until(lambda: person.composer.height() == plain)


@on_window_loop
async def test_nothing_waits_for_a_large_picture(tmp_path: Path) -> None:
    """While a file is read the chip says so, Enter is kept for later, and the window goes on."""
    async with at_window(tmp_path, "anthropic", [Turn(Text("Noise."))] * 2) as person:
        (person.folder / "big.png").write_bytes(noise("PNG", (2400, 240)))
        person.window.chat.composer.attachments.add_paths([str(person.folder / "big.png")])
        (chip,) = chips(person)
        assert chip.attachment.state == "reading" and "reading" in chip.accessibleName()
        assert person.composer.send.accessibleName() == "Send. The files are still being read"
        person.type("What is it?")
        person.press(Key.Key_Return)
        assert person.composer.text == "What is it?"
        assert "everything is loaded" in person.composer.send.accessibleName()
        person.press(Key.Key_Escape)  # not yet after all
        assert "everything is loaded" not in person.composer.send.accessibleName()
        person.press(Key.Key_Return)
        await person.done()
        assert "2,000 × 200" in chip.attachment.about and not person.composer.text
        (request,) = person.exchanges
        assert "What is it?" in str(request.json) and "base64" in str(request.json)
        assert not person.simulator.violations

        # What is changed meanwhile, and a file that turns out to be private, are looked at first.
        (person.folder / "notes.txt").write_text("Text.")
        (person.folder / ".env").write_text("PORT=1")
        files = person.window.chat.composer.attachments
        for name, more in (("notes.txt", " more"), (".env", "")):
            files.add_paths([str(person.folder / name)])
            person.type("Go on")
            person.press(Key.Key_Return)
            person.type(more)
            await settled(person, 1)
            assert person.composer.text == f"Go on{more}" and len(person.exchanges) == 1
            person.window.chat.model.input.clear()


@on_window_loop
async def test_files_that_could_not_be_sent_come_back(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", []) as person:
        (person.folder / "a.txt").write_text("x")
        person.window.chat.composer.attachments.add_paths([str(person.folder / "a.txt")])
        await settled(person, 1)
        await person.engine.database.close()  # a chat cannot be made any more
        person.say("Go")
        await until(lambda: person.composer.text == "Go")
        assert [chip.attachment.name for chip in chips(person)] == ["a.txt"]


@on_window_loop
async def test_an_edited_message_keeps_its_files(tmp_path: Path) -> None:
    script = [Turn(Text("A square.")), Turn(Text("A blue one."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        (person.folder / "a.png").write_bytes(picture())
        (person.folder / "a.txt").write_text("x")
        person.window.chat.composer.attachments.add_paths(
            [str(person.folder / n) for n in ("a.png", "a.txt")]
        )
        await settled(person, 2)
        person.say("What is it")
        await person.done()
        first = person.session
        person.composer.setFocus()
        person.press(Key.Key_Up)
        assert person.composer.text == "What is it"
        assert [chip.attachment.name for chip in await settled(person, 2)] == ["Picture", "a.txt"]
        person.press(Key.Key_Return)
        await until(lambda: person.session is not first)
        await person.done()
        (said,) = person.blocks(UserBlock)
        assert [type(part) for part in said.said] == [Image, File, Words]
        assert not person.simulator.violations


@on_window_loop
async def test_a_click_opens_a_private_copy(tmp_path: Path) -> None:
    opened: list[Path] = []

    async with at_window(tmp_path, "anthropic", [Turn(Text("Hi."))]) as person:
        (person.folder / "run.sh").write_text("echo")
        person.window.chat.composer.attachments.add_paths([str(person.folder / "run.sh")])
        await settled(person, 1)
        person.press(Key.Key_Return)  # files alone are a message, too
        await person.done()
        handler = Handler(opened)
        QDesktopServices.setUrlHandler("file", handler, "open")
        try:
            await person.click_hit(UserItem, "open_file")
            await until(lambda: opened)
        finally:
            QDesktopServices.unsetUrlHandler("file")
        assert opened[0].read_text() == "echo"
        assert opened[0].name == "run.sh.txt"
        assert stat.S_IMODE(opened[0].parent.parent.stat().st_mode) == 0o700
    assert not opened[0].exists()


@on_window_loop
async def test_pictures_and_files_are_dragged_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a message and of an answer: as a file, and as PNG; a click still opens."""
    dropped: list[tuple[Path, bytes, int]] = []

    def let_go(drag: QDrag, *_: object) -> Qt.DropAction:  # there is nobody to drop it on
        data = drag.mimeData()
        png = bytes(data.data("image/png").data())
        dropped.append((Path(data.urls()[0].toLocalFile()), png, drag.pixmap().width()))
        return Qt.DropAction.CopyAction

    monkeypatch.setattr(QDrag, "exec", let_go)
    answer = Turn(Text("![Chart](chart.png)"))
    async with at_window(tmp_path, "anthropic", [answer]) as person:
        (person.folder / "chart.png").write_bytes(chart := picture(size=(300, 200)))
        (person.folder / "photo.jpg").write_bytes(picture("JPEG", (200, 100)))
        (person.folder / "notes.txt").write_text("words")
        names = ("photo.jpg", "notes.txt")
        person.composer.attachments.add_paths([str(person.folder / name) for name in names])
        await settled(person, 2)
        person.press(Key.Key_Return)
        await person.done()
        view = person.window.chat.view
        view.flush()
        said, told = view.canvas.items[0], view.canvas.items[-1]
        assert isinstance(said, UserItem) and isinstance(told, TextItem)
        await until(lambda: not told.awaits_picture)
        handle = person.window.windowHandle()
        photo, notes, drawn = *said.hits, *told.stops(view.context)
        for index, hit in ((0, photo), (0, notes), (len(view.canvas.items) - 1, drawn)):
            count = len(dropped)
            at = view.viewport().mapTo(person.window, place_of(view, index, hit.rect))
            button, none = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
            QTest.mousePress(handle, button, none, at)
            QTest.mouseMove(handle, at + QPoint(3, 0))
            QTest.mouseMove(handle, at + QPoint(40, 9))
            await until(lambda count=count: len(dropped) > count, what=hit.text)
            QTest.mouseRelease(handle, button, none, at + QPoint(40, 9))
        (one, png, wide), (two, nothing, _), (three, whole, _) = dropped
        assert one.read_bytes() == (person.folder / "photo.jpg").read_bytes()
        assert png.startswith(b"\x89PNG") and wide == 120
        assert two.name == "notes.txt" and two.read_text() == "words" and nothing == b""
        assert three == person.folder.resolve() / "chart.png" and whole == chart
        assert not view.selection and view.canvas_viewport.pressed is None


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (Image("image/png", b""), "picture.png"),
        (Image("image/x", b""), "picture.bin"),
        (File("a.pdf", "application/pdf", b""), "a.pdf"),
        (File("notes", "application/pdf", b""), "notes.pdf"),
        (File("notes.md", "text/markdown", b""), "notes.md"),
        (File("a.desktop", "text/plain", b""), "a.desktop.txt"),
        (File("a.pdf", "text/plain", b""), "a.pdf.txt"),
        (File("../../.bashrc", "text/plain", b""), "_.._.bashrc.txt"),
        (File("a\nb.bat", "text/plain", b""), "a_b.bat.txt"),
        (File("..", "text/plain", b""), "file.txt"),
    ],
)
def test_no_copy_is_one_that_the_system_would_run(part: Image | File, name: str) -> None:
    assert safe_name(part) == name
