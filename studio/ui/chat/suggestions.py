"""Suggestions: offers beginnings below the composer of a new chat."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import PaintedButton
from studio.ui.widgets.layouts import STRETCH, column_of
from studio.ui.widgets.painting import paint_text


class SuggestionButton(PaintedButton):
    """One suggestion."""

    def __init__(self, theme: Theme, text: str, icon: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.setText(text)
        self.setAccessibleName(text)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._icon = icon

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(300), self.theme.px(34))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        self.paint_overlay(painter, rect)
        side = t.px(16)
        mark = QRectF(t.px(14), (rect.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, self._icon, "text2")
        words = QRectF(mark.right() + t.px(12), 0, rect.width(), rect.height())
        room = rect.width() - words.x() - t.px(8)
        paint_text(painter, t, words, self.text(), "ui", "text2", room=room)


class Suggestions(QWidget):
    """Suggested messages, the chat and the workflow used last; made again for each new chat."""

    open_wanted = Signal(str)
    run_wanted = Signal(str)
    text_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._rows: list[SuggestionButton] = []
        self._column = column_of([STRETCH], spacing=2, on=self)

    def offer(
        self,
        last: tuple[str, str] | None,
        folder: str,
        workflow: tuple[str, str],
        *,
        repository: bool,
    ) -> None:
        """``last``: id and title of the chat used last; ``folder`` is empty if none is chosen.

        ``workflow``: name and file of the one that ran last there; empty if none did.
        """
        for row in self._rows:
            row.deleteLater()
        self._rows.clear()
        if last is not None:
            row = self._add(tr("Continue “{last}”").format(last=last[1]), "rotate-ccw")
            row.clicked.connect(lambda _=False, id=last[0]: self.open_wanted.emit(id))
        offered: list[tuple[str, str]] = []
        name, file = workflow
        if name:
            row = self._add(tr("Run {name}").format(name=file), "workflow")
            row.clicked.connect(lambda _=False: self.run_wanted.emit(name))
        if folder:
            if not name:
                words = tr("Explain what is in {folder}").format(folder=folder)
                offered.append((words, "folder-open"))
            if repository:
                offered.append(
                    (
                        tr("Review my uncommitted changes in {folder}").format(folder=folder),
                        "git-pull-request-arrow",
                    )
                )
        for text, icon in offered:
            row = self._add(text, icon)
            row.clicked.connect(lambda _=False, text=text: self.text_wanted.emit(text))

    def _add(self, text: str, icon: str) -> SuggestionButton:
        row = SuggestionButton(self._theme, text, icon, self)
        self._column.insertWidget(len(self._rows), row)
        self._rows.append(row)
        return row
