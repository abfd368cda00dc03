"""Calls a tool with arguments that the person gives, and shows what comes back (section Try)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import cast

from PySide6.QtCore import QRect, QRectF, QSize, Qt, QTimer
from PySide6.QtGui import QKeySequence, QPainter, QShortcut
from PySide6.QtWidgets import (
    QHeaderView,
    QScrollArea,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from studio.domain.errors import StudioError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.questions import AskForm, ServerAnswer, ServerQuestion
from studio.mcp.lists import ServerTool
from studio.mcp.results import ServerResult, table_of
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import decimal
from studio.ui.forms.question_panel import QuestionPanel
from studio.ui.forms.schema_form import SchemaForm
from studio.ui.forms.text_area import TextArea
from studio.ui.settings.form import Slot
from studio.ui.settings.registry import SettingsTasks
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_in, tr_plural
from studio.ui.widgets import (
    Button,
    Card,
    FocusRing,
    Hairline,
    Index,
    Label,
    Mark,
    OverlayBar,
    Segmented,
    Status,
    make_transparent,
)
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import paint_text

from .tool_list import ToolFacts

Call = Callable[[str, JsonObject, AskForm], Awaitable[ServerResult]]
"""Calls what has a name with arguments; the server may ask the person meanwhile (M-19)."""
DESCRIBED = 600
"""Characters of a description that are shown."""
TALLEST = 360
"""The height of what a server asks, in pixels, before it scrolls."""


class TrialCard(Card):
    """The arguments of the chosen tool, as a form or as JSON, and its latest result."""

    def __init__(self, theme: Theme, tasks: SettingsTasks, call: Call) -> None:
        super().__init__(theme, "surface", "hair")
        self._tasks, self._call = tasks, call
        self._tool: ServerTool | None = None
        self._task: asyncio.Task[None] | None = None
        self._result: ServerResult | None = None
        self.title = Label(theme, "", "ui_strong")
        self.about = Label(theme, "", "small", "text2", wrap=True)
        self.warning = Label(theme, "", "small", "warn", wrap=True)
        self.warning.hide()
        self.kind = Segmented(theme, [tr("Form"), tr("JSON")], name=tr("How arguments are given"))
        self.kind.chosen.connect(self._kind_chosen)
        self.form: SchemaForm | None = None
        self._form = Slot()
        self.json = TextArea(theme, tr("Arguments as JSON"), "{}", lines=6)
        self.json.hide()
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.run = Button(theme, tr_in("button", "Call"), icon="play", clicked=self.start)
        self.stop = Button(theme, tr("Stop"), clicked=self._stop)
        self.stop.hide()
        self.busy = Status(theme, "", "busy")
        self.busy.hide()
        self.mark = Mark(theme, "check", "ok", 14)
        self.said = Label(theme, "", "small", "text2", wrap=True, digits=True)
        self.view = Segmented(theme, [tr("Result"), tr("For the model")], name=tr("What is shown"))
        self.view.chosen.connect(lambda _: self._show_result())
        middle = Qt.AlignmentFlag.AlignVCenter
        self._outcome = widget_of(
            row_of([(self.mark, middle), (self.said, 1), self.view], spacing=6)
        )
        self._outcome.hide()
        self.question: QuestionPanel | None = None
        self._question = Slot()
        self._question.hide()
        self.table = ResultTable(theme)
        self.table.hide()
        self.output = TextArea(theme, tr("Result"), lines=6, read_only=True, grows=True)
        self.output.hide()
        head = row_of([(self.title, 1), self.kind], spacing=8, margins=(12, 8, 12, 8))
        buttons = row_of([(self.busy, middle), STRETCH, self.stop, self.run], spacing=8)
        parts = [
            self.about,
            self.warning,
            self._form,
            self.json,
            self.problem,
            buttons,
            self._question,
            self._outcome,
        ]
        self._rest = widget_of(column_of([STRETCH]))
        parts += [self.table, (self.output, 1), (self._rest, 0)]
        body = column_of(parts, spacing=10, margins=(12, 10, 12, 12))
        column_of([head, Hairline(theme), body], spacing=0, on=self)
        for key in ("Ctrl+Return", "Ctrl+Enter"):
            shortcut = QShortcut(QKeySequence(key), self, self.start)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)

    def show_tool(self, facts: ToolFacts) -> None:
        """Offer to call a tool; what was typed for another one is gone."""
        tool, held = facts.tool, facts.off or facts.changed or bool(facts.left_out)
        lines = [facts.line] if held else []
        self.warning.show_text("\n".join([*lines, *map(tr_engine, facts.warnings)]))
        self.run.setEnabled(not held)
        self.show_call(tool, tr("Try {tool}").format(tool=tool.name))

    def show_call(self, tool: ServerTool, title: str) -> None:
        """Offer a call of a tool, or of what has arguments like one: a prompt, a resource."""
        described = tool.description.strip()
        cut = "…" if len(described) > DESCRIBED else ""
        self.about.show_text(described[:DESCRIBED] + cut)
        if self._tool == tool:
            return
        self._stop()
        self._task = None  # it takes a moment to end, and the next call need not wait
        self._show_busy(False)
        self._tool = tool
        self.title.setText(title)
        self.form = SchemaForm(self.theme, tool.schema)
        self.form.changed.connect(lambda: self._show_problem(""))
        self._form.put(self.form)
        self.json.show_text("")
        self.kind.set_current(0)
        self._show_kind()
        self._show_problem("")
        self._outcome.hide()
        self.table.hide()
        self.output.hide()
        self._rest.show()

    def start(self) -> None:
        """Call the tool with the arguments that are given."""
        if self._tool is None or self._task is not None or not self.run.isEnabled():
            return
        try:
            arguments = self._arguments()
        except ValueError as error:
            self._show_problem(str(error))
            return
        self._show_problem("")
        self._task = self._tasks.start(self._run(self._tool, arguments), cancelled_on_close=True)
        self._task.add_done_callback(self._ended)
        self.busy.set(tr("Calling…"), "busy")
        self._show_busy(True)

    def _arguments(self) -> JsonObject:
        if self.kind.current == 0 and self.form is not None:
            return self.form.value()
        text = self.json.text.strip()
        try:
            found: Json = json.loads(text) if text else {}
        except ValueError as error:
            raise ValueError(tr("This is no JSON: {why}").format(why=error)) from error
        if not isinstance(found, dict):
            raise ValueError(tr("The arguments are an object in braces."))
        return found

    async def _run(self, tool: ServerTool, arguments: JsonObject) -> None:
        began = time.monotonic()
        try:
            result = await self._call(tool.name, arguments, self._ask)
        except StudioError as error:
            result = ServerResult(str(error), is_error=True)
        if tool is self._tool:
            self._result = result
            self._show_outcome(result, time.monotonic() - began)

    async def _ask(self, question: ServerQuestion) -> ServerAnswer:
        """Show what the server asks during the call, and wait for the answer."""
        answer: asyncio.Future[ServerAnswer] = asyncio.get_running_loop().create_future()
        panel = self.question = QuestionPanel(self.theme, question)
        panel.answered.connect(lambda one: None if answer.done() else answer.set_result(one))
        panel.set_most(self.theme.px(TALLEST))
        self._question.put(panel)
        self._question.show()
        panel.appear()
        panel.take_focus()
        announce(self, panel.accessibleName(), urgent=True)
        QTimer.singleShot(0, self, lambda: self._reveal(panel))
        try:
            return await answer
        finally:
            if self.question is panel:
                self.question = None
                self._question.hide()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task is self._task:
            self._task = None
            self._show_busy(False)

    def _show_busy(self, busy: bool) -> None:
        self.busy.setVisible(busy)
        self.stop.setVisible(busy)
        self.run.setVisible(not busy)

    def _show_outcome(self, result: ServerResult, seconds: float) -> None:
        failed = result.is_error
        rows = table_of(result.structured)
        self.mark.set("circle-alert" if failed else "check", "err" if failed else "ok")
        spent = f"{decimal(seconds * 1000, 0)} ms" if seconds < 1 else f"{decimal(seconds)} s"
        words = [spent]
        if failed:
            words = [tr("Failed after {time}").format(time=spent)]
        elif rows:
            words.append(tr_plural("{count} row", "{count} rows", len(rows) - 1))
        self.said.setText(", ".join(words))
        self._outcome.show()
        self._show_result()
        announce(self, self.said.text())
        output = self.table if self.table.isVisible() else self.output
        QTimer.singleShot(0, self, lambda: self._reveal(output, self._outcome))  # in its place

    def _reveal(self, *parts: QWidget) -> None:
        """Scroll to what a long form left below the window's edge."""
        area = self.parentWidget()
        while area is not None and not isinstance(area, QScrollArea):
            area = area.parentWidget()
        if area is not None:
            for part in parts:
                area.ensureWidgetVisible(part, 0, 12)

    def _show_result(self) -> None:
        result = self._result
        if result is None:
            return
        rows = () if self.view.current else table_of(result.structured)
        self.table.setVisible(bool(rows))
        self.output.setVisible(not rows)
        self._rest.setVisible(bool(rows))
        if rows:
            self.table.show_rows(rows[0], rows[1:])
            return
        text = result.text if self.view.current else person_text(result)
        self.output.show_text(tr_engine(text) or tr("Nothing came back."))

    def _kind_chosen(self) -> None:
        """Carry what is typed over to the other way, where it can be read."""
        try:
            if self.kind.current and self.form is not None:
                self.json.show_text(json.dumps(self.form.value(), ensure_ascii=False, indent=2))
            elif self.form is not None and self.json.text.strip():
                found = json.loads(self.json.text)
                if isinstance(found, dict):
                    self.form.show_value(cast("JsonObject", found))
        except ValueError as error:
            self._show_problem(str(error))
        self._show_kind()

    def _show_kind(self) -> None:
        self._form.setVisible(self.kind.current == 0)
        self.json.setVisible(self.kind.current == 1)

    def _show_problem(self, problem: str) -> None:
        self.problem.show_text(problem)
        self.json.set_error(problem if self.kind.current else "")


class ResultTable(QTableWidget):
    """Rows of a result; the arrows move in it, Tab leaves it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setAccessibleName(tr("Result"))
        self.setEditTriggers(QTableWidget.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setItemDelegate(_Cell(theme, self))
        self.setHorizontalHeader(_Head(theme, self))
        self.verticalHeader().hide()
        make_transparent(self)
        OverlayBar(self)
        FocusRing.of(theme).follow(self)
        self._follow()
        theme.changed.connect(self._follow)

    def show_rows(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        self.clear()
        self.setColumnCount(len(columns))
        self.setHorizontalHeaderLabels(list(columns))
        self.setRowCount(len(rows))
        for y, row in enumerate(rows):
            for x, text in enumerate(row):
                self.setItem(y, x, QTableWidgetItem(text))
        self.resizeColumnsToContents()
        last, stretch = len(columns) - 1, QHeaderView.ResizeMode.Stretch
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.horizontalHeader().setSectionResizeMode(last, stretch)
        for column in range(len(columns) - 1):
            self.setColumnWidth(column, min(self._theme.px(260), self.columnWidth(column)))
        self._follow()

    def _follow(self) -> None:
        t = self._theme
        self.setFont(t.font("small"))
        tall = t.height(26)
        self.verticalHeader().setDefaultSectionSize(tall)
        rows = min(6, max(1, self.rowCount()))
        self.setFixedHeight(self.horizontalHeader().sizeHint().height() + tall * rows + 2)


class _Head(QHeaderView):
    """The names of the columns, on the ground of output."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self.setFont(theme.font("label"))

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._theme.height(26))

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        t, place = self._theme, QRectF(rect)
        painter.fillRect(place, t.color("sunken"))
        painter.fillRect(QRectF(rect.left(), rect.bottom(), rect.width(), 1), t.color("hair"))
        name = str(self.model().headerData(logicalIndex, Qt.Orientation.Horizontal) or "")
        words = place.adjusted(t.px(8), 0, -t.px(4), 0)
        paint_text(painter, t, words, name, "label", "text2", room=words.width())


class _Cell(QStyledItemDelegate):
    """A cell with a line below."""

    def __init__(self, theme: Theme, view: QTableWidget) -> None:
        super().__init__(view)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        text = str(index.data() or "")
        wide = self._theme.metrics("small").horizontalAdvance(text)
        return QSize(wide + self._theme.px(20), self._theme.height(26))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, rect = self._theme, QRectF(option.rect)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, t.color("selected"))
        painter.fillRect(QRectF(rect.left(), rect.bottom() - 1, rect.width(), 1), t.color("hair"))
        words = rect.adjusted(t.px(8), 0, -t.px(4), 0)
        text = str(index.data() or "")
        paint_text(painter, t, words, text, "small", room=words.width())


def person_text(result: ServerResult) -> str:
    """What a person sees of a result that is no table."""
    texts = [result.for_person, result.text]
    if result.structured is not None and result.text.strip() == "":
        texts.append(json.dumps(result.structured, ensure_ascii=False, indent=2))
    counts = (
        (len(result.images), lambda n: tr_plural("{count} picture", "{count} pictures", n)),
        (len(result.blobs), lambda n: tr_plural("{count} file", "{count} files", n)),
    )
    texts += [f"[{words(count)}]" for count, words in counts if count]
    return "\n\n".join(text for text in texts if text.strip())
