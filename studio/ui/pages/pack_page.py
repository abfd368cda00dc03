"""A page that a pack declares: a list of its records, one of them, its form and actions (X-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QFrame,
    QListView,
    QMessageBox,
    QScrollArea,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from shiboken6 import isValid

from studio.domain.errors import StudioError
from studio.extensions.packs.installed import InstalledPacks
from studio.ui.engine_texts import tr_engine
from studio.ui.forms.text_area import TextArea
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import (
    Button,
    Check,
    Combo,
    Field,
    FocusRing,
    Index,
    Label,
    MenuItem,
    OverlayBar,
    message_box,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import paint_ends

from .page import Page, Run

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.domain.extensions import Value
    from studio.extensions.packs.pages import Action, FormField, PackPage, PageRecords, PageSpec

    Row = dict[str, Value]

WIDTH = 160
"""Pixels of the list at least, beside what is shown of one record."""
NOT_GIVEN = "\0"
"""The key of the line of a menu that chooses nothing."""


class RecordModel(QAbstractListModel):
    """The records that are listed; the first column is the headline."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.spec: PageSpec | None = None

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's own default)
        return 0 if parent.isValid() else len(self.rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self.spec is None:
            return None
        texts = [shown(self.rows[index.row()].get(one)) for one in self.spec.listed]
        if role == Qt.ItemDataRole.UserRole:
            return texts
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return joined(texts)
        return None

    def show_rows(self, spec: PageSpec, rows: list[Row]) -> None:
        self.beginResetModel()
        self.spec, self.rows = spec, rows
        self.endResetModel()


class _Line(QStyledItemDelegate):
    """Two lines: the first column, and the others."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(120, self._theme.px(46))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t = self._theme
        rect = QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, t.color("selected"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, t.color("hover"))
        first = QRectF(rect.x() + t.px(10), rect.y() + t.px(4), 0, t.px(20))
        first.setRight(rect.right() - t.px(10))
        headline, *others = index.data(Qt.ItemDataRole.UserRole)
        paint_ends(painter, t, first, (headline or "–", "ui", "text1"))
        below = first.translated(0, t.px(19))
        paint_ends(painter, t, below, ("  ·  ".join(filter(None, others)), "small", "text2"))


class DeclaredPage(Page):
    """The records of one page of a pack. ``key`` is the page's id among those of all packs."""

    def __init__(self, theme: Theme, engine: Engine, run: Run, key: str) -> None:
        super().__init__(theme, engine, run)
        self.key = key
        self.page: PackPage | None = None
        self._records: PageRecords | None = None
        self.chosen: Value = None
        """The key of the record that is shown."""
        self.fields: dict[str, QWidget] = {}
        """Those of the form that is filled in; none while a record is only shown."""
        self._edited: Value = None
        """The record that is filled in; None for a new one."""
        self._typed: dict[Value, dict[str, str]] = {}
        """What was typed about records whose forms were left for another record."""
        self.buttons: dict[str, Button] = {}
        """The actions of the record that is shown, by their titles."""
        self.title = Label(theme, "", "title")
        self.about = Label(theme, "", "small", "text2", wrap=True)
        self.field = Field(theme, tr("Filter by words"), icon="search")
        self.field.offer_clear()
        self.field.textChanged.connect(self._filter)
        self.new = Button(theme, tr("New…"), "primary", clicked=lambda: self._show_form(None))
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.none = Label(theme, "", "ui", "text2", wrap=True)
        self.none.hide()
        self.model = RecordModel()
        self.list = QListView()
        self.list.setModel(self.model)
        self.list.setItemDelegate(_Line(theme))
        self.list.setUniformItemSizes(True)
        self.list.setMouseTracking(True)
        self.list.setMinimumWidth(theme.px(WIDTH))
        self.list.viewport().setAutoFillBackground(False)
        self.list.selectionModel().currentChanged.connect(self._choose)
        self._bar = OverlayBar(self.list)
        FocusRing.of(theme).follow(self.list)
        self.side = column_of(spacing=0)
        self._held: QWidget | None = None
        words = column_of([self.title, self.about], spacing=2)
        column_of(
            [
                row_of([(words, 1), (self.new, Qt.AlignmentFlag.AlignVCenter)], spacing=8),
                self.field,
                self.problem,
                self.none,
                (row_of([(self.list, 1), (self.side, 2)], spacing=16), 1),
            ],
            spacing=8,
            margins=(24, 24, 24, 16),
            on=self,
        )

    def open(self, *target: str) -> None:
        """``target`` is the key of a record."""
        self._replace(self._open(next(filter(None, target), "")))

    def _filter(self) -> None:
        """Show what has the words; a page that is being opened goes on with that."""
        self._replace(self._list() if self._records is not None else self._open())

    async def finish(self) -> None:
        if self._records is not None:
            await asyncio.to_thread(self._records.records.close)

    async def _open(self, wanted: str = "") -> None:
        """Read the page's file again: its pack may have been updated."""
        from studio.extensions.packs.pages import find_pages

        packs = self._engine.services.get(InstalledPacks)
        pages, problems = await asyncio.to_thread(find_pages, packs)
        page = next((one for one in pages if one.id == self.key), None)
        if page is None:
            self._said(" ".join(problems) or tr("This page is not there any more."))
            self.model.show_rows(self.model.spec, []) if self.model.spec else None
            return
        if page != self.page:
            await self.finish()
            self._records = await self._doing(page.open)
            self.page = page
            self.title.setText(page.spec.title)
            self.about.setText(tr("From the pack {name}").format(name=page.pack.name))
            self.list.setAccessibleName(page.spec.title)
            self.new.setVisible(bool(page.spec.form))
            self.fields, self._typed = {}, {}
            self._put([])
        if wanted:
            self.field.setText("")
            self._leave_for_another()
            self.chosen = wanted
        await self._list()

    async def _list(self) -> None:
        if self._records is None:  # it cannot be opened
            return
        records, spec = self._records, self._records.spec
        rows = await self._doing(partial(records.list, self.field.text()))
        if rows is None or not isValid(self):
            return
        self.model.show_rows(spec, rows)
        searched = bool(self.field.text().strip())
        none = tr("Nothing found.") if searched else tr("There are no records yet.")
        self.none.show_text("" if rows else none)
        keys = [row[spec.key] for row in rows]
        if self.chosen not in keys and isinstance(self.chosen, str):  # an address has only texts
            self.chosen = next((one for one in keys if str(one) == self.chosen), self.chosen)
        at = keys.index(self.chosen) if self.chosen in keys else -1
        if at >= 0:
            self.list.setCurrentIndex(self.model.index(at))

    def _choose(self, index: Index) -> None:
        if index.isValid() and self._records is not None:
            chosen = self.model.rows[index.row()][self._records.spec.key]
            if self.fields and chosen == self.chosen:  # it is listed anew while it is filled in
                return
            self._leave_for_another()
            self.chosen = chosen
            self._run(self._show(self.chosen))

    def _leave_for_another(self) -> None:
        """Another record is wanted: what is typed about this one is there when it is edited."""
        if self.fields:
            self._typed[self._edited] = {name: _text(one) for name, one in self.fields.items()}
            self.fields = {}

    async def _show(self, id: Value) -> None:
        """Show one record, with its actions."""
        assert self._records is not None
        records, spec = self._records, self._records.spec
        row = await self._doing(partial(records.get, id))
        if row is None or id != self.chosen or not isValid(self) or self.fields:
            return
        t = self._theme
        parts: list[Any] = []
        for one in spec.shown:
            value = Label(t, shown(row.get(one)) or "–", "ui", wrap=True)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            label = Label(t, spec.label(one), "small", "text2")
            parts.append(column_of([label, value], spacing=1))
        self.buttons = {}
        if spec.form:
            edit = Button(t, tr("Edit…"), clicked=lambda: self._show_form(row))
            self.buttons["edit"] = edit
        for action in spec.actions:
            kind = "danger" if action.delete else "secondary"
            self.buttons[action.title] = Button(
                t, action.title, kind, clicked=partial(self._wants, id, action)
            )
        self._put([*parts, row_of([*self.buttons.values(), STRETCH], spacing=8), STRETCH])

    def _show_form(self, row: Row | None) -> None:
        """Fill in a record: a new one, or the one that is shown."""
        assert self._records is not None
        spec, t = self._records.spec, self._theme
        parts: list[Any] = []
        id = row[spec.key] if row else None
        self._leave_for_another()
        self._edited = id
        typed = self._typed.pop(id, {})

        def save() -> None:
            self._run(self._save(id))

        for one in spec.form:
            value = typed.get(one.name, row.get(one.name) if row else None)
            made = self.fields[one.name] = _field(t, one, value, save)
            optional = "" if one.required else tr("(optional)")
            label = f"{one.label} {optional}".rstrip()
            head = [] if one.kind == "yes" else [Label(t, label, "small", "text2")]
            parts.append(column_of([*head, made], spacing=2))
        self.buttons = {
            "save": Button(t, tr("Save"), "primary", clicked=save),
            "cancel": Button(t, tr("Cancel"), "ghost", clicked=lambda: self._leave_form(id)),
        }
        self._put([*parts, row_of([*self.buttons.values(), STRETCH], spacing=8), STRETCH])
        next(iter(self.fields.values())).setFocus(Qt.FocusReason.OtherFocusReason)

    def _leave_form(self, id: Value) -> None:
        self._said("")
        self.fields = {}
        if id is None:
            self._put([])
        else:
            self._run(self._show(id))

    async def _save(self, id: Value) -> None:
        assert self._records is not None
        texts = {name: _text(one) for name, one in self.fields.items()}
        saved = await self._doing(partial(self._records.save, id, texts))
        if saved is not None and isValid(self):
            self.chosen, self.fields = saved, {}
            await self._list()
            await self._show(saved)

    def _wants(self, id: Value, action: Action) -> None:
        if not action.delete:
            self._run(self._act(id, action))
            return
        box = message_box(self.window(), tr("Delete this record?"), action.title)
        box.setStandardButtons(QMessageBox.StandardButton.Yes | QMessageBox.StandardButton.Cancel)
        box.accepted.connect(lambda: self._run(self._act(id, action)))
        box.open()

    async def _act(self, id: Value, action: Action) -> None:
        assert self._records is not None
        await self._doing(partial(self._records.act, id, action))
        if action.delete and isValid(self):
            self.chosen = None
            self._put([])
        await self._list()

    def _put(self, parts: list[Any]) -> None:
        """Show these beside the list."""
        if self._held is not None:
            self._held.hide()
            self.side.removeWidget(self._held)
            self._held.deleteLater()
        self._held = area = QScrollArea()
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        inner = widget_of(column_of(parts, spacing=12, margins=(0, 0, 12, 0)))
        area.setWidget(inner)
        for ground in (area.viewport(), inner):
            ground.setAutoFillBackground(False)
        self.side.addWidget(area)

    async def _doing(self, work: Callable[[], Any]) -> Any:
        """Do it in a thread; what goes wrong is told, and the result is None."""
        try:
            found = await asyncio.to_thread(work)
        except StudioError as error:
            if isValid(self):
                self._said(tr_engine(str(error)))
            return None
        if isValid(self):
            self._said("")
        return found

    def _said(self, words: str) -> None:
        self.problem.show_text(words)


def shown(value: Value) -> str:
    """A column's value in words."""
    if value is None:
        return ""
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return str(value)


def _field(theme: Theme, one: FormField, value: Value, entered: Callable[[], object]) -> QWidget:
    text = shown(value)
    if one.kind == "yes":
        check = Check(theme, one.label)
        check.setChecked(bool(value))
        return check
    if one.choices:
        combo = Combo(theme, one.label, tr("Not given"))
        items = [] if one.required else [MenuItem(NOT_GIVEN, tr("Not given"))]
        choices = dict.fromkeys((*one.choices, text) if text else one.choices)
        combo.set_items([*items, *(MenuItem(each, each) for each in choices)])
        combo.set_current(text)
        return combo
    if one.kind == "text":
        area = TextArea(theme, one.label, lines=5)
        area.show_text(text)
        return area
    field = Field(theme, "2026-11-26" if one.kind == "date" else "", name=one.label)
    field.setText(text)
    field.returnPressed.connect(entered)
    return field


def _text(widget: QWidget) -> str:
    if isinstance(widget, Check):
        return "yes" if widget.isChecked() else ""
    if isinstance(widget, Combo):
        return "" if widget.current == NOT_GIVEN else widget.current
    if isinstance(widget, TextArea):
        return widget.text
    assert isinstance(widget, Field)
    return widget.text()
