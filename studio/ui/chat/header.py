"""Header: the line above a chat, with its title, its folder and the inspector's switch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, QSize, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.theme import Theme, elided, joined
from studio.ui.translation import tr
from studio.ui.widgets import IconButton, PaintedButton, Segmented, Tag, plain_tip
from studio.ui.widgets.layouts import STRETCH, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_text

if TYPE_CHECKING:
    from studio.domain.sessions import SessionInfo


class Title(PaintedWidget):
    """The chat's title, cut to what fits."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._text = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Expanding)

    def set_text(self, text: str) -> None:
        self._text = text
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        metrics = self.theme.metrics("heading")
        return QSize(metrics.horizontalAdvance(self._text) + 4, metrics.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(80, self.sizeHint().width()), self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        paint_text(painter, self.theme, rect, self._text, "heading", room=rect.width())


class FactButton(PaintedButton):
    """A quiet fact about the chat with its icon; a click does something about it."""

    def __init__(self, theme: Theme, icon: str, tooltip: str, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self._icon = icon
        self.setToolTip(plain_tip(tooltip))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_fact(self, text: str, name: str = "") -> None:
        """``name`` is what a screen reader says, where that is more than the text."""
        self.setText(text)
        self.setAccessibleName(name or text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        t = self.theme
        return QSize(
            t.px(16) + t.px(6) + t.metrics("small").horizontalAdvance(self.text()) + 2 * t.px(6),
            t.px(28),
        )

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(60), self.theme.px(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        self.paint_overlay(painter, rect)
        side = t.px(16)
        mark = QRectF(t.px(6), (rect.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, self._icon, "text2")
        words = QRectF(mark.right() + t.px(6), 0, rect.width(), rect.height())
        text = elided(t.metrics("small"), self.text(), rect.width() - words.x(), middle=True)
        paint_text(painter, t, words, text, "small", "text2")


class Header(PaintedWidget):
    """48 pixels and a hairline."""

    folder_clicked = Signal()
    subject_clicked = Signal()
    parent_clicked = Signal(str)
    """The id of the chat that this one was branched from."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(theme, parent)
        self.title = Title(theme, self)
        self.folder = FactButton(theme, "folder", tr("Choose another folder"), self)
        self.subject = FactButton(theme, "layers", tr("Show what this chat is about"), self)
        self.subject.hide()
        self.origin = FactButton(theme, "git-branch", tr("Open the chat this one came from"), self)
        self.origin.hide()
        self._parent_id = ""
        self.demo = Tag(theme, tr("Demo"), parent=self)
        self.demo.hide()
        self.which = Segmented(
            theme,
            [tr("Chat"), tr("Graph")],
            name=tr("View"),
            parent=self,
            icons=("message-circle", "workflow"),
        )
        self.which.hide()
        self.inspector = IconButton(theme, "panel-right", tr("Inspector"), parent=self)
        self.inspector.setCheckable(True)
        self.alone = IconButton(theme, "maximize-2", tr("Show only the chat"), parent=self)
        self.close_chat = IconButton(theme, "x", tr("Close the chat beside the page"), parent=self)
        self.set_beside(False)
        self.folder.clicked.connect(self.folder_clicked)
        self.subject.clicked.connect(self.subject_clicked)
        self.origin.clicked.connect(lambda: self.parent_clicked.emit(self._parent_id))
        facts = [self.folder, self.subject, self.origin, self.demo]
        row_of(
            [self.title, *facts, STRETCH, self.which, self.inspector, self.alone, self.close_chat],
            spacing=theme.px(8),
            folding=(self.which,),
            margins=(theme.px(20), 0, theme.px(10), 1),
            on=self,
        )

    def show_session(self, info: SessionInfo, folder: str, demo: bool) -> None:
        """Show a session; ``folder`` is its folder as a person reads it."""
        self.title.set_text(info.title or tr("New chat"))
        self.folder.set_fact(folder, joined((tr("Folder"), folder)))
        self.demo.setVisible(demo)

    def show_new(self) -> None:
        """Show a chat that has not begun."""
        self.title.set_text(tr("New chat"))
        self.demo.hide()

    def set_beside(self, beside: bool) -> None:
        """Show what is needed beside a page, or alone."""
        self.folder.setVisible(not beside)
        self.inspector.setVisible(not beside)
        self.alone.setVisible(beside)
        self.close_chat.setVisible(beside)

    def show_subject(self, title: str) -> None:
        """Show what the chat is about; empty hides it."""
        self.subject.setVisible(bool(title))
        self.subject.set_fact(title, tr("About {title}").format(title=title))
        self.subject.setMinimumWidth(min(self.subject.sizeHint().width(), self.theme.px(130)))

    def show_parent(self, info: SessionInfo | None, *, works_for: bool = False) -> None:
        """Show the chat that this one was branched from, or works for; None hides it."""
        self.origin.setVisible(info is not None)
        if info is not None:
            self._parent_id = info.id
            words = tr("Works for {title}") if works_for else tr("Branched from {title}")
            self.origin.set_fact(words.format(title=info.title or tr("New chat")))

    def sizeHint(self) -> QSize:
        return QSize(400, self.theme.px(48) + 1)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(0, self.height() - 1, self.width(), 1, self.theme.color("hair"))
