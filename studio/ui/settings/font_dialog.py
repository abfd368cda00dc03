"""A dialog in which a person chooses one of the fonts of the computer."""

from __future__ import annotations

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QSize,
    QSortFilterProxyModel,
    QStringListModel,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontDatabase, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QDialog, QListView, QWidget

from studio.ui.theme import Theme, typefaces
from studio.ui.translation import tr
from studio.ui.widgets import Button, Field, FocusRing, OverlayBar
from studio.ui.widgets.layouts import STRETCH, column_of, row_of

PARTS = tuple(f"{family} " for family in typefaces.SHIPPED)
"""How single weights of the fonts that ship are called, which some systems list as families."""


class _Families(QStringListModel):
    """Names of fonts, each in its own letters. A font is loaded when its row is seen."""

    def __init__(self, theme: Theme, names: list[str], parent: QWidget) -> None:
        super().__init__(names, parent)
        self._theme = theme

    def data(
        self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if role == Qt.ItemDataRole.FontRole:
            font = QFont(super().data(index, Qt.ItemDataRole.DisplayRole))
            font.setPixelSize(self._theme.font("body").pixelSize())
            return font
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(0, self._theme.height(30))
        return super().data(index, role)


class FontDialog(QDialog):
    """Lists the fonts with Latin letters; ``code``: only those of one width.

    ``picked`` gives the family that the person chose.
    """

    picked = Signal(str)

    def __init__(self, theme: Theme, current: str, parent: QWidget, *, code: bool) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Code font") if code else tr("Font"))
        self.resize(theme.px(380), theme.px(460))
        self._sorted = QSortFilterProxyModel(self)
        self._sorted.setSourceModel(_Families(theme, _families(code), self))
        self._sorted.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.field = Field(theme, tr("Search fonts"), icon="search")
        self.field.textChanged.connect(self._filter)
        self.list = QListView()
        self.list.setModel(self._sorted)
        self.list.setUniformItemSizes(True)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setAccessibleName(tr("Fonts"))
        self.list.doubleClicked.connect(self._pick)
        OverlayBar(self.list)
        FocusRing.of(theme).follow(self.list)
        self.use = Button(theme, tr("Use font"), "primary", clicked=self._pick)
        cancel = Button(theme, tr("Cancel"), clicked=self.reject)
        foot = row_of([STRETCH, cancel, self.use], spacing=8)
        column_of([self.field, (self.list, 1), foot], spacing=10, margins=(14, 14, 14, 14), on=self)
        self._select(current)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows go down the list while a name is typed; Enter uses the font."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._pick()
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            row = self.list.currentIndex().row() + step
            self._show_row(min(max(row, 0), self._sorted.rowCount() - 1))
        else:
            super().keyPressEvent(event)

    def _filter(self, text: str) -> None:
        self._sorted.setFilterFixedString(text)
        self._show_row(0)

    def _select(self, family: str) -> None:
        found = self._sorted.match(self._sorted.index(0, 0), Qt.ItemDataRole.DisplayRole, family)
        self._show_row(found[0].row() if found else 0)

    def _show_row(self, row: int) -> None:
        index = self._sorted.index(row, 0)
        self.list.setCurrentIndex(index)
        self.list.scrollTo(index)
        self.use.setEnabled(index.isValid())

    def _pick(self) -> None:
        index = self.list.currentIndex()
        if index.isValid():
            self.picked.emit(index.data())
            self.accept()


def _families(code: bool) -> list[str]:
    latin = QFontDatabase.WritingSystem.Latin
    return [
        name
        for name in QFontDatabase.families(latin)
        if not QFontDatabase.isPrivateFamily(name)
        and not name.startswith(PARTS)
        and (not code or QFontDatabase.isFixedPitch(name))
    ]
