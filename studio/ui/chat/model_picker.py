"""Model picker: the list over the composer in which a model is looked for and chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import (
    QEvent,
    QObject,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QGuiApplication,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QRegion,
)
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.formatting import context_size, dollars, price
from studio.ui.theme import Theme, elided, joined
from studio.ui.theme.mirroring import mirrored_row, put
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Button, HeadedList, HeadedView, Index, Segmented
from studio.ui.widgets.painting import (
    PaintedWidget,
    keycaps_width,
    paint_keycaps,
    paint_rounded,
    paint_tag,
    paint_text,
    tag_width,
)
from studio.ui.widgets.shadow import cast_shadow

from .model.model_choices import Kind, ModelChoice, matching

WIDTH, FIELD, FOOT, ROW, HEADING, PAD = 520, 44, 37, 36, 26, 6
MOST_ROWS = 9
"""Rows seen at once."""
KINDS: tuple[Kind, ...] = ("all", "local", "vision")


class ChoiceList(HeadedList[ModelChoice]):
    """Models, the favourites first."""

    def show(self, found: Sequence[ModelChoice]) -> None:
        favourites = [one for one in found if one.favourite]
        others = [one for one in found if not one.favourite]
        rows = [tr("Favourites"), *favourites] if favourites else []
        if others:
            rows += [tr_plural("{count} model", "{count} models", len(others)), *others]
        self.set_rows(rows)

    def describe(self, row: ModelChoice) -> str:
        return _described(row)


def _abilities(choice: ModelChoice) -> list[tuple[str, bool | None, str]]:
    info = choice.info
    return [
        ("wrench", info.tools, tr("tools")),
        ("eye", info.images, tr("pictures")),
        ("brain", info.reasoning, tr("thinking")),
    ]


def _price(choice: ModelChoice) -> str:
    info = choice.info
    return tr("Free") if choice.local else price(info.input_price, info.output_price)


def fact_columns(theme: Theme, choice: ModelChoice) -> list[tuple[str, float]]:
    """Price and context window with the widths of their columns, which no language outgrows."""
    size = context_size(choice.info.context_window)
    columns = (_price(choice), price(0.075, 0.3)), (size, context_size(200_000))
    metrics = theme.metrics("small")
    return [(words, metrics.horizontalAdvance(widest) + theme.px(6)) for words, widest in columns]


def _described(choice: ModelChoice) -> str:
    return joined(
        (
            choice.info.title,
            choice.provider_title,
            tr("favourite") if choice.favourite else "",
            tr("used here") if choice.used else "",
            *(word for _, able, word in _abilities(choice) if able),
            context_size(choice.info.context_window),
            _price(choice),
        )
    )


class ChoiceRow(QStyledItemDelegate):
    """Paints a model: star, name, provider; at the right abilities, context and price."""

    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        model = isinstance(index.data(ChoiceList.RowRole), ModelChoice)
        return QSize(100, self._theme.height(ROW if model else HEADING))

    def star(self, rect: QRectF) -> QRectF:
        """Where the star of a row is."""
        side = self._theme.px(16)
        return QRectF(rect.left() + self._theme.px(14), rect.center().y() - side / 2, side, side)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, rect = self._theme, QRectF(option.rect)
        row = index.data(ChoiceList.RowRole)
        if isinstance(row, str):
            place = rect.adjusted(t.px(14), t.px(4), -t.px(14), 0)
            paint_text(painter, t, place, row, "label", "text2")
            return
        if not isinstance(row, ModelChoice):
            return
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            paint_rounded(painter, rect.adjusted(6, 0, -6, 0), 6, t.color("accent_soft"))
        icon, ink = ("star-filled", "warn") if row.favourite else ("star", "text3")
        t.paint_icon(painter, self.star(rect), icon, ink)
        right = self._paint_facts(painter, row, rect)
        left = rect.left() + t.px(38)
        tag = tr("Used here") if row.used else ""
        end = right - (tag_width(t, tag) + t.px(8) if tag else 0)
        room = end - left - t.px(12)
        role = "ui_medium" if chosen else "ui"
        title = elided(t.metrics(role), row.info.title, room)
        paint_text(painter, t, QRectF(left, rect.top(), room, rect.height()), title, role)
        left += t.metrics(role).horizontalAdvance(title) + t.px(10)
        if end - left > t.px(30):
            whose = elided(t.metrics("small"), row.provider_title, end - left)
            place = QRectF(left, rect.top(), end - left, rect.height())
            paint_text(painter, t, place, whose, "small", "text2")
            left += t.metrics("small").horizontalAdvance(whose) + t.px(8)
        if tag:
            paint_tag(painter, t, QPointF(left, rect.center().y()), tag, "neutral")

    def _paint_facts(self, painter: QPainter, row: ModelChoice, rect: QRectF) -> float:
        """Columns that are in the same place in each row; returns where they begin."""
        t = self._theme
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        end = rect.right() - t.px(14)
        for words, wide in fact_columns(t, row):
            place = QRectF(end - wide, rect.top(), wide, rect.height())
            paint_text(painter, t, place, words, "small digits", "text2", right)
            end -= wide + t.px(6)
        side = t.px(14)
        for icon, able, _ in reversed(_abilities(row)):
            end -= side
            if able:
                box = QRectF(end, rect.center().y() - side / 2, side, side)
                t.paint_icon(painter, box, icon, "text2")
            end -= t.px(12)
        return end


class Purpose(NamedTuple):
    """What a model is chosen for: an icon, what the field says, and what Enter does."""

    icon: str
    words: str
    does: str


USE = Purpose("search", tr_later("Choose a model"), tr_later("Choose"))
RETRY = Purpose("rotate-ccw", tr_later("Retry with another model"), tr_later("Retry"))


class ModelPicker(PaintedWidget):
    """A pop-up with a field, the models and what the keys do.

    ``chosen`` tells provider and model, ``starred`` the key of a model whose star was pressed;
    ``settings_wanted`` that the person wants other providers.
    """

    chosen = Signal(str, str)
    starred = Signal(str)
    settings_wanted = Signal()
    closed = Signal()

    def __init__(
        self,
        theme: Theme,
        choices: Callable[[], Sequence[ModelChoice]],
        parent: QWidget,
        purpose: Purpose = USE,
    ) -> None:
        super().__init__(theme, parent)
        self.setWindowFlags(Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._choices, self._purpose = choices, purpose
        self._estimate = ""
        self._beside, self._below = QRect(), False
        self.field = QLineEdit(self)
        self.field.setProperty("plain", True)
        self.field.setPlaceholderText(tr(purpose.words))
        self.field.setAccessibleName(tr(purpose.words))
        self.kind = Segmented(theme, (tr("All"), tr("Local"), tr("Vision")), name=tr("Show"))
        self.kind.setParent(self)
        self.models = ChoiceList(self)
        self.row = ChoiceRow(theme, self)
        self.list = HeadedView(self.models, lambda _: self.row, self.field, self)
        self.list.setAccessibleName(tr("Models"))
        self.providers = Button(theme, tr("Providers…"), "ghost", parent=self)
        self.list.viewport().installEventFilter(self)
        self.field.installEventFilter(self)
        self.field.textChanged.connect(self._search)
        self.kind.chosen.connect(lambda _: self._search())
        self.providers.clicked.connect(self._leave)
        theme.changed.connect(self._follow)

    def open(self, at: QRect, estimate: str, *, below: bool = False) -> None:
        """Show it at a place on the screen, above that or below it if there is room.

        ``estimate`` says what the next request costs at least.
        """
        self._estimate, self._beside, self._below = estimate, at, below
        self.field.clear()
        self.kind.set_current(0)
        self._search()
        self.list.choose(lambda one: one.used)
        self._fit()
        cast_shadow(self)
        self.show()
        self.field.setFocus(Qt.FocusReason.PopupFocusReason)
        self.list.scrollToTop()
        self.list.choose(lambda one: one is self.current)  # it may be out of view

    def refresh(self) -> None:
        """Show the models anew: one of them became a favourite, or a list arrived."""
        if self.isVisible():
            chosen = self.current
            self._search()
            self.list.choose(lambda one: chosen is not None and one.key == chosen.key)

    @property
    def current(self) -> ModelChoice | None:
        return self.list.current

    def take(self) -> None:
        """Choose the current model."""
        if (one := self.current) is not None:
            self.close()
            self.chosen.emit(one.provider, one.info.id)

    def _leave(self) -> None:
        self.close()
        self.settings_wanted.emit()

    # List

    def _search(self) -> None:
        kind = KINDS[self.kind.current]
        self.models.show(matching(self._choices(), self.field.text(), kind))
        self.list.choose()
        self.update()

    # Look

    def _follow(self) -> None:
        self.list.scheduleDelayedItemsLayout()
        if self.isVisible():
            self._fit()

    def _fit(self) -> None:
        """Take the size that the present text size needs, and its place on the screen."""
        t, at = self.theme, self._beside
        self.field.setFont(t.font("body"))
        width = t.px(WIDTH)
        rows = self.list.rows_height(MOST_ROWS + 1)
        height = t.height(FIELD) + t.height(FOOT) + 2 * PAD + max(t.height(ROW), rows)
        screen = (QGuiApplication.screenAt(at.center()) or self.screen()).availableGeometry()
        over, under = at.top() - height - 4, at.bottom() + 5
        fits = under + height <= screen.bottom() if self._below else over < screen.top()
        top = under if fits else over
        left = max(screen.left(), min(at.x(), screen.right() - width))
        top = max(screen.top(), min(top, screen.bottom() - height))
        self.setGeometry(left, top, width, height)
        self._place()

    def _place(self) -> None:
        t, width = self.theme, self.width()
        field, foot = t.height(FIELD), t.height(FOOT)
        kind = self.kind.sizeHint()
        put(
            self.kind,
            width - t.px(10) - kind.width(),
            (field - kind.height()) // 2,
            kind.width(),
            kind.height(),
        )
        left = t.px(38)
        end = width - t.px(10) - kind.width()
        put(self.field, left, 4, end - left - t.px(8), field - 8)
        top = field + PAD
        put(self.list, 1, top, width - 2, self.height() - foot - PAD - top)
        hint = self.providers.sizeHint()
        put(
            self.providers,
            width - t.px(8) - hint.width(),
            self.height() - foot + (foot - hint.height()) // 2,
            hint.width(),
            hint.height(),
        )
        path = QPainterPath()
        path.addRoundedRect(QRectF(self.rect()), 10, 10)
        self.setMask(QRegion(path.toFillPolygon().toPolygon()))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        painter.fillRect(rect, t.color("raised"))
        paint_rounded(painter, rect, 10, t.color("raised"), t.color("control"))
        field, foot = t.height(FIELD), t.height(FOOT)
        side = t.px(16)
        mark = QRectF(t.px(14), (field - side) / 2, side, side)
        t.paint_icon(painter, mark, self._purpose.icon, "text2")
        hair = t.color("hair")
        painter.fillRect(QRectF(1, field, rect.width() - 2, 1), hair)
        painter.fillRect(QRectF(1, rect.height() - foot, rect.width() - 2, 1), hair)
        if not self.models.rows:
            place = QRectF(self.list.geometry()).adjusted(t.px(14), 0, -t.px(14), 0)
            paint_text(painter, t, place, tr("Nothing found."), "ui", "text2")
        x, middle = float(t.px(12)), rect.height() - foot / 2
        words = (
            ("Enter", tr(self._purpose.does)),
            ("Ctrl+D", tr("Favourite")),
            ("", self._estimate),
        )
        for keys, text in words:
            if keys:
                paint_keycaps(painter, t, QPointF(x, middle), keys)
                x += keycaps_width(t, keys) + t.px(7)
            width = t.metrics("small").horizontalAdvance(text)
            place = QRectF(x, rect.height() - foot, width + 2, foot)
            paint_text(painter, t, place, text, "small", "text2")
            x += width + t.px(14)

    # Keys and mouse

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.closed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            return self._key(event)
        if (
            isinstance(event, QMouseEvent)
            and event.type() == QEvent.Type.MouseButtonRelease
            and event.button() == Qt.MouseButton.LeftButton
        ):
            index = self.list.indexAt(event.position().toPoint())
            if self.list.choice(index) is not None:
                self.list.setCurrentIndex(index)
                rect = self.list.visualRect(index)
                star = self.row.star(QRectF(rect)).adjusted(-6, -8, 4, 8).toRect()
                star = QStyle.visualRect(self.layoutDirection(), rect, star)
                if star.contains(event.position().toPoint()):
                    self._star()
                else:
                    self.take()
                return True
        return False

    def _star(self) -> None:
        if (one := self.current) is not None:
            self.starred.emit(one.key)

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key == Qt.Key.Key_Escape:
            self.close()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.take()
        elif key == Qt.Key.Key_D and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            self._star()
        else:
            return self.list.key(event)
        return True


def estimate(dollars_: float | None) -> str:
    """What reading the conversation once costs: About $0.09."""
    if dollars_ is None or dollars_ < 0.005:
        return ""
    return tr("About {price}").format(price=dollars(dollars_))
