"""Pages that packs declare: in the sidebar, with records that are added, changed, deleted (X-7)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox

from studio.extensions.packs.installed import InstalledPacks
from studio.ui.pages.pack_page import DeclaredPage
from studio.ui.widgets import Combo, Field
from support.pack_files import OURS, write_pack
from support.waiting import until
from support.window import alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

SQL = "CREATE TABLE deed (id INTEGER PRIMARY KEY, title TEXT, cents NUMERIC, kind TEXT, done INT);"
PAGE = """
title: Deeds
icon: file-text
table: deed
list: [title, kind]
detail: [title, cents, done]
form:
  title: {required: true}
  cents: {label: Amount, kind: number}
  kind: {choices: [sale, gift]}
actions:
  - {title: Sign, set: {done: 1}}
  - {title: Delete, delete: true}
"""


def texts(page: DeclaredPage) -> list[object]:
    return [row["title"] for row in page.model.rows]


def fill(page: DeclaredPage, **values: str) -> None:
    for name, text in values.items():
        field = page.fields[name]
        assert isinstance(field, Field)
        field.setText(text)
    page.buttons["save"].click()


@on_window_loop
async def test_x7_a_declared_page_lists_adds_changes_and_deletes_records(tmp_path: Path) -> None:
    """X-7: also what is missing is told, and the page goes with its pack."""
    files = {f"{OURS}/schema/001.sql": SQL, f"{OURS}/pages/deeds.yaml": PAGE,
             f"{OURS}/pages/broken.yaml": "title: [", f"{OURS}/pages/evil.yaml":
             'title: x\ntable: "deed; DROP TABLE deed"\nlist: [a]'}  # fmt: skip
    source = write_pack(tmp_path / "pack", files)  # type: ignore[arg-type]
    async with at_window(tmp_path, "anthropic", []) as person:
        packs, sidebar = person.engine.services.get(InstalledPacks), person.window.sidebar
        packs.add(packs.look(str(source)))
        await until(lambda: "pack:office/deeds" in sidebar._rows)
        assert not any("broken" in key or "evil" in key for key in sidebar._rows)
        sidebar._rows["pack:office/deeds"].click()
        page = person.window.pages.currentWidget()
        assert isinstance(page, DeclaredPage)
        await until(lambda: page.title.text() == "Deeds")
        await until(lambda: page.none.text() == "There are no records yet.")
        page.new.click()
        fill(page, cents="x")
        await until(lambda: "Title is missing" in page.problem.text())
        fill(page, title="Sale of a house", cents="1250,50")  # no kind is chosen
        await until(lambda: texts(page) == ["Sale of a house"])
        assert page.none.isHidden()
        await until(lambda: "edit" in page.buttons)
        page.buttons["edit"].click()
        field = page.fields["title"]
        assert isinstance(field, Field)
        field.setText("Sale of the house")
        field.returnPressed.emit()
        await until(lambda: texts(page) == ["Sale of the house"])
        await until(lambda: "Sign" in page.buttons)
        page.new.click()
        kind = page.fields["kind"]
        assert isinstance(kind, Combo)
        kind.set_current("gift")
        fill(page, title="A garden")
        await until(lambda: len(texts(page)) == 2)
        page.field.setText("gift")
        await until(lambda: texts(page) == ["A garden"])
        await until(lambda: "edit" in page.buttons)
        page.buttons["edit"].click()
        fill(page, title="A large garden")
        await until(lambda: texts(page) == ["A large garden"])
        await until(lambda: "Sign" in page.buttons)
        page.buttons["Sign"].click()
        page.buttons["Delete"].click()
        (box,) = person.window.findChildren(QMessageBox)
        box.button(QMessageBox.StandardButton.Yes).click()
        await until(lambda: texts(page) == [])
        page.field.clear()
        await until(lambda: texts(page) == ["Sale of the house"])
        records = packs.get("office").open_records()
        rows = records.read("SELECT id, cents, kind, done FROM deed")
        records.close()
        assert rows == [{"id": 1, "cents": 1250.5, "kind": None, "done": None}]
        packs.switch("office", on=False)
        await until(lambda: "pack:office/deeds" not in sidebar._rows)


@on_window_loop
async def test_x7_what_is_typed_stays_while_the_list_changes(tmp_path: Path) -> None:
    """X-7: while it is filtered, the page is left, or another record is looked at."""
    files = {f"{OURS}/schema/001.sql": SQL, f"{OURS}/pages/deeds.yaml": PAGE}
    source = write_pack(tmp_path / "pack", files)  # type: ignore[arg-type]
    async with at_window(tmp_path, "anthropic", []) as person:
        packs, pages = person.engine.services.get(InstalledPacks), person.window.pages
        packs.add(packs.look(str(source)))
        await until(lambda: "pack:office/deeds" in person.window.sidebar._rows)
        records = packs.get("office").open_records()
        for title in ("First", "Second"):
            records.write("INSERT INTO deed (title) VALUES (?)", title)
        records.close()
        pages.show_page("pack:office/deeds", "2")  # as an address of the pack does
        page = pages.currentWidget()
        assert isinstance(page, DeclaredPage)
        await until(lambda: page.chosen == 2 and "edit" in page.buttons)

        def typed() -> str:
            field = page.fields["title"]
            assert isinstance(field, Field)
            return field.text()

        page.buttons["edit"].click()
        field = page.fields["title"]
        assert isinstance(field, Field)
        field.setText("Second, longer")
        page.field.setText("Second")
        await until(lambda: texts(page) == ["Second"])
        page.field.setText("First")
        await until(lambda: texts(page) == ["First"])
        page.field.clear()
        await until(lambda: len(texts(page)) == 2)
        pages.show_chat()
        pages.show_page("pack:office/deeds")
        await until(lambda: page._work is not None and page._work.done())
        assert typed() == "Second, longer"
        page.list.setCurrentIndex(page.model.index(0))  # another record
        await until(lambda: page.chosen == 1 and "edit" in page.buttons)
        page.new.click()
        assert typed() == ""
        page.list.setCurrentIndex(page.model.index(1))
        await until(lambda: page.chosen == 2 and "edit" in page.buttons)
        page.buttons["edit"].click()
        assert typed() == "Second, longer"
        page.buttons["save"].click()
        await until(lambda: texts(page) == ["First", "Second, longer"])
