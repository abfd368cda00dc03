"""The page of drafts, and a draft's card: deleted, moved, met by another hand (T-5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialog, QPlainTextEdit

from studio.domain.blocks import DraftBlock
from studio.domain.sessions import DraftEntry
from studio.simulator import Call, Text, Turn
from studio.tools.drafts.diff import DiffLine, diff
from studio.tools.drafts.three_way_merge import three_way
from studio.ui.pages.drafts.diff_view import split, three, unified
from studio.ui.pages.drafts.draft_list import heading, whole_place
from studio.ui.pages.drafts.page import DraftsPage, foot_of
from studio.ui.theme import Theme
from studio.ui.transcript.items.draft_item import DraftItem, FoldLeaf
from studio.ui.transcript.items.files_item import FilesItem
from studio.ui.widgets import Button
from support.languages import language
from support.pixels import pixels
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, in_focus, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

SCRIPT = [
    Turn(
        Call("edit", {"path": "a.txt", "old": "two", "new": "2"}),
        Call("delete", {"path": "b.txt"}),
        Call("move", {"path": "c.bin", "to": "new/d.bin"}),
    ),
    Turn(Text("Three changes wait.")),
]


async def drafted(person: Person) -> None:
    for name, text in (("a.txt", "one\ntwo\nthree\nfour\n"), ("b.txt", "bee\n")):
        (person.folder / name).write_text(text)
    (person.folder / "c.bin").write_bytes(b"\0sea")
    person.say("Tidy up")
    await person.done()


def test_only_a_file_has_a_folder(qapp: QApplication) -> None:
    """KZ-5: a draft of a pack's kind is listed by its title, which may have a slash."""
    values = ("s", "Urteil", "Helena", "/files", "d", "Berufung (1/26)", "write", "", "waiting", "")
    frist = DraftEntry(*values, created=0.0, noun="Frist")  # type: ignore[arg-type]
    assert heading(frist) == whole_place(frist) == "Berufung (1/26)"
    file = DraftEntry(*values, created=0.0)  # type: ignore[arg-type]
    assert (heading(file), whole_place(file)) == ("Write 26)", "/files/Berufung (1/26)")


async def page_of(person: Person) -> DraftsPage:
    person.press(Key.Key_4, CTRL)
    page = await until(
        lambda: next(
            (p for p in [person.window.pages.currentWidget()] if isinstance(p, DraftsPage)), None
        )
    )
    await until(lambda: page.detail.shown)
    return page


async def shows(page: DraftsPage, title: str) -> None:
    await until(lambda: page.detail.title.accessibleName() == title, what=title)


def note_height(page: DraftsPage) -> float:
    """How far down the page the note stands, from 0 to 1."""
    area, note = page.detail.area, page.detail.note
    return note.mapTo(area, note.rect().center()).y() / max(1, area.height())


def offered(page: DraftsPage) -> list[str]:
    return [name for name, button in page.detail.buttons.items() if not button.isHidden()]


def paths(page: DraftsPage) -> list[str]:
    return [entry.path for entry in page.list.drafts.entries]


@on_window_loop
async def test_drafts_are_decided_by_keys_alone(tmp_path: Path) -> None:
    """T-5, KZ-37, and the keys of the page: J, K, X, A, D with a reason, Ctrl+Z."""
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        page = await page_of(person)
        await until(lambda: person.focused() is page.list)
        await shows(page, "Move c.bin")
        assert paths(page) == ["c.bin", "b.txt", "a.txt"]
        assert offered(page) == ["discard", "approve"]
        assert "not text" in page.detail.note.text()
        person.press(Key.Key_J)
        await shows(page, "Delete b.txt")
        assert page.detail.buttons["approve"].text() == "Approve and delete"
        assert [row.cells[0].text for row in page.detail.changes.rows if row.cells[0]] == ["bee"]
        person.press(Key.Key_X)
        person.press(Key.Key_K)
        person.press(Key.Key_X)
        await shows(page, "2 drafts selected")
        person.press(Key.Key_A)
        await until(lambda: paths(page) == ["a.txt"])
        assert not (person.folder / "b.txt").exists()
        assert (person.folder / "new" / "d.bin").read_bytes() == b"\0sea"
        person.press(Key.Key_Z, CTRL)
        await until((person.folder / "b.txt").exists)
        await until((person.folder / "c.bin").exists)
        await shows(page, "Write a.txt")
        assert offered(page) == ["discard", "edit", "approve"]
        person.press(Key.Key_D)
        await until(lambda: person.focused() is page.detail.reason)
        person.press(Key.Key_Escape)
        assert not page.detail.asks_why and paths(page) == ["a.txt"]
        await until(lambda: person.focused() is page.list)
        person.press(Key.Key_D)
        page.detail.reason.setText("Not  this file")
        person.press(Key.Key_Return)
        await until(lambda: paths(page) == [])
        await until(lambda: page.detail.note.text() == "No draft waits for you.")
        assert offered(page) == []
        await until(lambda: 0.3 < note_height(page) < 0.5)
        person.press(Key.Key_A)  # nothing to approve
        page.which.set_current(1)
        page.which.chosen.emit(1)
        await until(lambda: len(paths(page)) == 3)
        await shows(page, "Write a.txt")
        assert page.detail.note.text() == "Discarded."
        assert page.detail.why.text() == "Not this file"
        await until(lambda: page.detail.card.y() < 100)


@on_window_loop
async def test_a_key_while_the_list_is_read_does_not_keep_it_from_being_shown(
    tmp_path: Path,
) -> None:
    """T-5"""
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        page = await page_of(person)
        page.which.set_current(1)
        page.which.chosen.emit(1)
        person.press(Key.Key_J)
        await until(lambda: paths(page) == [])
        await until(lambda: page.detail.note.text() == "Nothing was decided yet.")


@on_window_loop
async def test_a_small_window_shows_the_list_or_a_draft(tmp_path: Path) -> None:
    """At the largest text size nothing is cut, and nobody approves what they do not see."""
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        title = person.window.chat.header.title
        person.window.theme.set(scale=1.6)
        await until(lambda: title.width() >= title.sizeHint().width())
        page = await page_of(person)
        person.window.resize(1000, 640)
        detail = page.detail
        await until(lambda: detail.list_button.isVisible() and not page.list.isVisible())
        person.press(Key.Key_J)
        await shows(page, "Delete b.txt")
        buttons = [one for one in detail.buttons.values() if one.isVisible()]
        await until(lambda: all(one.width() >= one.sizeHint().width() for one in buttons))
        places = [one.geometry() for one in buttons]
        assert len(places) == 2 and not places[0].intersects(places[1])
        assert all(place.right() < detail.width() for place in places)
        person.click(detail.list_button)
        assert page.list.isVisible() and not detail.isVisible() and person.focused() is page.list
        person.press(Key.Key_A)
        assert detail.isVisible() and paths(page) == ["c.bin", "b.txt", "a.txt"]
        person.click(detail.list_button)
        at = page.list.visualRect(page.list.drafts.index(2)).center()
        QTest.mouseClick(page.list.viewport(), Qt.MouseButton.LeftButton, pos=at)
        await shows(page, "Write a.txt")
        assert detail.isVisible() and not page.list.isVisible()


@on_window_loop
async def test_no_button_is_cut_off_in_german_with_the_largest_text(tmp_path: Path) -> None:
    """The words of the buttons are longest there: those that can be told by icons become icons."""
    with language("de"):
        async with at_window(tmp_path, "anthropic", SCRIPT) as person:
            await drafted(person)
            person.window.theme.set(scale=1.6)
            page = await page_of(person)
            person.window.resize(1000, 640)
            detail, buttons = page.detail, page.detail.buttons
            person.press(Key.Key_J)
            person.press(Key.Key_J)
            await until(buttons["edit"].isVisible)
            shown = [one for one in buttons.values() if one.isVisible()]
            assert len(shown) == 3
            await until(lambda: buttons["discard"].folded and buttons["edit"].folded)
            places = [one.geometry() for one in shown]
            await until(lambda: all(one.geometry().right() < detail.width() for one in shown))
            assert all(one.width() >= one.sizeHint().width() for one in shown), places
            assert buttons["discard"].toolTip() == "Verwerfen"
            face = buttons["edit"].grab().toImage()
            assert len(set(pixels(face))) > 4, "an icon is painted"


@on_window_loop
async def test_a_conflict_shows_three_sides_and_the_way_out(tmp_path: Path) -> None:
    """T-5: never overwritten; the merged text becomes a new draft."""
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        page = await page_of(person)
        person.press(Key.Key_J)
        person.press(Key.Key_J)
        await shows(page, "Write a.txt")
        (person.folder / "a.txt").write_text("one\ntwo\nthree\nFOUR\n")
        person.click(page.detail.buttons["approve"])
        await until(lambda: offered(page) == ["discard", "edit", "merge"])
        assert "a.txt changed since the draft was made" in page.detail.why.text()
        rows = [tuple(cell and cell.text for cell in row.cells) for row in page.detail.changes.rows]
        assert ("two", "two", "2") in rows
        assert ("four", "FOUR", "four") in rows
        assert (person.folder / "a.txt").read_text() == "one\ntwo\nthree\nFOUR\n"
        page.detail.sides.segment(1).click()
        rows = [row.cells[0] for row in page.detail.changes.rows]
        assert [(row.kind, row.text) for row in rows if row][1:3] == [("del", "two"), ("add", "2")]
        person.press(Key.Key_A)
        await until(lambda: "approve" in offered(page))
        person.press(Key.Key_A)
        await until(lambda: "a.txt" not in paths(page))
        assert (person.folder / "a.txt").read_text() == "one\n2\nthree\nFOUR\n"


@on_window_loop
async def test_both_changed_one_line_and_the_person_decides(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        (person.folder / "a.txt").write_text("one\nTWO\nthree\nfour\n")
        (person.folder / "b.txt").write_text("mine\n")
        drafts = person.session.drafts.waiting()
        await person.session.review.decide_all("approve", [draft.id for draft in drafts[:2]])
        await until(lambda: person.item(DraftItem))
        items = [i for i in person.view.canvas.items if isinstance(i, DraftItem)]
        assert "not written" in items[0].name
        assert [hit.action for hit in items[0].hits] == ["toggle", "resolve"]
        person.view.item_actions.draft_action.emit(drafts[0].id, "resolve")
        page = await until(
            lambda: next(
                (p for p in [person.window.pages.currentWidget()] if isinstance(p, DraftsPage)),
                None,
            )
        )
        await shows(page, "Write a.txt")
        await until(lambda: offered(page) == ["discard", "edit", "merge"])
        assert not page.detail.buttons["merge"].isEnabled()
        assert "Both changed" in page.detail.buttons["merge"].toolTip()
        person.press(Key.Key_A)
        person.press(Key.Key_E)
        dialog = await until(
            lambda: next(
                (
                    w
                    for w in QApplication.topLevelWidgets()
                    if isinstance(w, QDialog) and w.isVisible()
                ),
                None,
            )
        )
        editor = dialog.findChild(QPlainTextEdit)
        assert editor.toPlainText().count("TWO") == editor.toPlainText().count(">>>>>>> Draft") == 1
        editor.setPlainText("one\ntwo and 2\nthree\nfour\n")
        next(b for b in dialog.findChildren(Button) if b.text() == "Keep as draft").click()
        await until(lambda: "approve" in offered(page))
        person.window.activateWindow()  # the offscreen platform forgets who was active
        await until(lambda: person.focused() is page.list)
        person.press(Key.Key_A)
        await until(lambda: "a.txt" not in paths(page))
        assert (person.folder / "a.txt").read_text() == "one\ntwo and 2\nthree\nfour\n"
        if page.list.entry.path != "b.txt":
            person.press(Key.Key_J)
        await shows(page, "Delete b.txt")
        assert offered(page) == ["discard", "anew"]
        person.press(Key.Key_A)
        await until(lambda: "approve" in offered(page))
        person.press(Key.Key_A)
        await until(lambda: not (person.folder / "b.txt").exists())


@on_window_loop
async def test_cards_say_what_they_do(tmp_path: Path) -> None:
    """A deletion and a move in the transcript; the sidebar counts what waits."""
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        await until(lambda: person.window.sidebar._rows["drafts"]._count == 3)
        names = [i.name for i in person.view.canvas.items if isinstance(i, DraftItem)]
        assert names[1].startswith("Draft that deletes, b.txt")
        assert names[2].startswith("Draft that moves, c.bin → new/d.bin")
        assert person.hit(DraftItem, "edit") is None
        await person.click_hit(DraftItem, "approve")
        await until((person.folder / "new" / "d.bin").exists)
        await until(lambda: person.blocks(DraftBlock)[-1].draft.status == "approved")
        await until(lambda: person.window.sidebar._rows["drafts"]._count == 2)
        await until(lambda: person.says("Draft that moves, c.bin → new/d.bin, 0 lines added"))
        await until(lambda: person.hit(DraftItem, "undo") is None)
        await person.click_hit(FilesItem, "undo_files")
        await until((person.folder / "c.bin").exists)


@on_window_loop
async def test_several_drafts_are_approved_and_undone_at_once(tmp_path: Path) -> None:
    """Above the composer while more than one waits; one Undo takes all of them back."""
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        strip, folder = person.window.chat.strip, person.folder
        await until(lambda: strip.text.startswith("3 drafts wait."))
        person.click(person.strip_button("Review each"))
        await until(lambda: isinstance(person.window.pages.currentWidget(), DraftsPage))
        person.press(Key.Key_1, CTRL)
        await until(lambda: person.window.pages.currentWidget() is person.window.chat)
        person.click(person.strip_button("Approve all 3"))
        await until((folder / "new" / "d.bin").exists)
        await until(lambda: [b.draft.status for b in person.blocks(DraftBlock)] == 3 * ["approved"])
        assert not (folder / "b.txt").exists()
        assert "2" in (folder / "a.txt").read_text()
        await until(lambda: not strip.isVisible())

        def undos() -> list[str]:
            person.view.flush()
            hits = [hit for item in person.view.canvas.items for hit in item.hits]
            return [hit.action for hit in hits if hit.text == "Undo"]

        await until(lambda: undos() == ["undo_files"])
        await person.click_hit(FilesItem, "undo_files")
        await until((folder / "b.txt").exists)
        await until((folder / "c.bin").exists)
        assert "two" in (folder / "a.txt").read_text()


@on_window_loop
async def test_the_page_follows_what_an_agent_does_meanwhile(tmp_path: Path) -> None:
    script = [
        *SCRIPT,
        Turn(Call("write", {"path": "e.txt", "content": "x\n" * 1000})),
        Turn(Text(".")),
    ]
    async with at_window(tmp_path, "anthropic", script) as person:
        await drafted(person)
        person.composer.setFocus()
        person.say("One more")
        page = await page_of(person)
        await until(lambda: paths(page)[:1] == ["e.txt"] and len(paths(page)) == 4)
        await person.done(2)
        assert in_focus(page.list), "the chat that is not on screen leaves the keyboard"
        person.press(Key.Key_K)
        person.press(Key.Key_K)
        person.press(Key.Key_K)
        await shows(page, "Write e.txt")
        changes = page.detail.changes
        assert len(changes._laid) == 400
        QTest.mouseClick(changes, Qt.MouseButton.LeftButton, pos=changes._more.center().toPoint())
        assert len(changes._laid) == 1000
        person.click(page.detail.chat, QPoint(5, 5))
        await until(lambda: person.window.pages.currentWidget() is person.window.chat)


def test_rows_of_two_and_three_columns() -> None:
    lines = diff("a\nb\nc\n", "a\nB\nx\nc\n")
    assert [tuple(c and c.text for c in row.cells) for row in split(lines)] == [
        ("a", "a"),
        ("b", "B"),
        (None, "x"),
        ("c", "c"),
    ]
    assert [row.cells[0].text for row in unified(lines) if row.cells[0]] == [
        "a",
        "b",
        "B",
        "x",
        "c",
    ]
    base = "".join(f"{n}\n" for n in range(20))
    rows = three(three_way(base, base.replace("5\n", "five\n", 1), base + "20\n").hunks)
    changed = [
        [cell and (cell.kind, cell.text) for cell in row.cells]
        for row in rows
        if any(cell is None or cell.kind != "same" for cell in row.cells)
    ]
    assert changed == [
        [("del", "5"), ("add", "five"), ("same", "5")],
        [None, None, ("add", "20")],
    ]
    assert (
        sum(row.fold.count for row in rows if row.fold)
        + sum(row.fold is None and row.cells[0] is not None for row in rows)
        == 20
    )


def test_the_words_of_a_fold_and_a_foot_are_in_the_language(qapp: QApplication) -> None:
    theme = Theme()
    with language("de"):
        fold = FoldLeaf(DiffLine("fold", 1, 1, "1,200 unchanged lines", count=1200), 0)
        assert fold.block.text == "1.200 unveränderte Zeilen"
        foot = foot_of(theme)
        wide, narrow = QSize(400, 42), QSize(150, 42)
        drawn: list[int] = []
        for size in (wide, narrow):
            foot.resize(size)
            image = foot.grab().toImage()
            ground = image.pixelColor(0, 0)
            right = {(size.width() - 1, y) for y in range(image.height())}
            assert all(image.pixelColor(*place) == ground for place in right), "nothing is cut"
            drawn.append(sum(pixel != ground.rgba() for pixel in pixels(image)))
        assert drawn[0] > drawn[1] > 0
    foot.deleteLater()
    theme.deleteLater()


@on_window_loop
async def test_a_patch_is_one_card(tmp_path: Path) -> None:
    """C-8: with its files and one decision; each is edited alone, and a row once it is decided."""
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Delete File: b.txt\n"
    script = [
        Turn(Call("apply_patch", {"input": f"{patch}*** End Patch\n"})),
        Turn(Text("One patch waits.")),
    ]
    async with at_window(tmp_path, "anthropic", script) as person:
        await drafted(person)
        cards = [i for i in person.view.canvas.items if isinstance(i, DraftItem)]
        assert len(cards) == 1 and cards[0].name.startswith(
            "Patch of 2 files; Draft, a.txt, 1 line"
        )
        said = [(hit.action, hit.text) for hit in cards[0].hits if hit.style != "row"]
        assert said == [
            ("show", "Show on the page of drafts"),
            ("edit", "Edit…"),
            ("show", "Show on the page of drafts"),
            ("approve", "Approve all 2 files"),
            ("discard", "Discard all"),
        ]
        assert cards[0].source() == "a.txt\n one\n-two\n+2\n three\n four\n\nb.txt\n-bee"
        await person.click_hit(DraftItem, "show")
        page = await until(
            lambda: isinstance(p := person.window.pages.currentWidget(), DraftsPage) and p
        )
        await until(lambda: "a.txt" in page.detail.title._text)
        person.press(Key.Key_Escape)
        assert person.window.pages.shows_chat and person.composer.editor.hasFocus()
        await person.click_hit(DraftItem, "approve")
        await until(lambda: not (person.folder / "b.txt").exists())
        await until(lambda: not person.session.drafts.waiting())
        assert (person.folder / "a.txt").read_text() == "one\n2\nthree\nfour\n"
        await until(lambda: [hit.action for hit in cards[0].hits] == ["toggle", "toggle"])
        tall = cards[0].height
        await person.click_hit(DraftItem, "toggle")
        await until(lambda: cards[0].height > tall and cards[0].leaves)
        (found,) = (i for i in person.view.canvas.items if isinstance(i, DraftItem))
        assert found is cards[0] and not found.waiting


@on_window_loop
async def test_the_strip_is_as_tall_as_its_words_need(tmp_path: Path) -> None:
    """U-1: also once the text has another size, at which its buttons leave them other room."""
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        await drafted(person)
        window, strip = person.window, person.window.chat.strip
        await until(lambda: strip.text.startswith("3 drafts wait."))
        label = strip._label

        def fits() -> bool:
            words = label.heightForWidth(label.width())
            tall = max(words, strip._buttons[0].sizeHint().height())
            return label.height() >= words and strip.height() == tall + 2 * window.theme.px(8)

        await until(fits)
        for scale, size in ((1.6, QSize(1000, 640)), (1.0, QSize(1440, 900))):
            window.theme.set(scale=scale)
            window.resize(size)
            await until(lambda size=size: window.size() == size)
            await until(fits)
