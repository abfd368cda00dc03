"""Shows how a tool changed since it was allowed (M-15)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QSizePolicy

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text
from studio.mcp.lists import ServerTool
from studio.tools.drafts.diff import DiffLine, diff
from studio.ui.engine_texts import tr_engine
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Button, Card, Label
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_text

MOST_LINES = 60
"""Of a difference: what a server may write is long."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a server says otherwise than before, in lines; ``name`` is the tool's.

    ``pin`` is of what is shown here.
    """

    name: str
    pin: str
    title: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    flags: tuple[str, ...] = ()
    """What is odd about it as it is now."""


class ChangedToolCard(Card):
    """One tool that is withheld until the person saw the difference."""

    accepted = Signal(object)
    kept_off = Signal(str)

    def __init__(self, theme: Theme, change: Change) -> None:
        super().__init__(theme, "raised", "warn_line")
        self.change = change
        name = change.name
        line = tr("Agents do not get it until you have seen the difference.")
        self.accept = Button(
            theme, tr("Accept"), "primary", clicked=lambda: self.accepted.emit(change)
        )
        self.keep_off = Button(theme, tr("Keep off"), clicked=lambda: self.kept_off.emit(name))
        for button in (self.accept, self.keep_off):
            button.setAccessibleName(joined((button.text(), name)))
        if not name:  # to show it, still without a parent, would open a window
            self.keep_off.hide()
        words = column_of(
            [
                Label(theme, change.title, "ui_strong", wrap=True),
                Label(theme, line, "small", "text2", wrap=True),
                *(Label(theme, tr_engine(one), "small", "warn", wrap=True) for one in change.flags),
            ],
            spacing=1,
        )
        middle = Qt.AlignmentFlag.AlignVCenter
        tile = IconTile(theme, "git-compare-arrows", "warn")
        head = row_of(
            [(tile, middle), (words, 1), (self.accept, middle), (self.keep_off, middle)],
            spacing=10,
            margins=(12, 10, 12, 10),
        )
        before, after = ("\n".join(lines) + "\n" for lines in (change.before, change.after))
        rows = diff(before, after, context=0)
        self.difference = DifferenceView(theme, [row for row in rows if row.kind in ("add", "del")])
        column_of([head, self.difference], spacing=0, margins=(1, 1, 1, 1), on=self)
        flags = " ".join(map(tr_engine, change.flags))
        said = (f"{change.title}.", flags, self.difference.accessibleName())
        self.setAccessibleName(" ".join(filter(None, said)))


class DifferenceView(PaintedWidget):
    """Lines that went and came, with the words in them that differ."""

    def __init__(self, theme: Theme, lines: Sequence[DiffLine]) -> None:
        super().__init__(theme)
        self.lines = lines[:MOST_LINES]
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        signs = {"add": tr("Added"), "del": tr("Removed")}
        self.setAccessibleName(". ".join(f"{signs[row.kind]}: {row.text}" for row in self.lines))

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        rows = sum(len(self._pieces(line, width)) for line in self.lines)
        return rows * self._tall + (6 if rows else 0)

    def sizeHint(self) -> QSize:
        wide = max(self.width(), self.theme.px(300))
        return QSize(wide, self.heightForWidth(wide))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(160), self.heightForWidth(max(self.width(), 160)))

    @property
    def _tall(self) -> int:
        return max(self.theme.px(19), self.theme.metrics("code").height())

    def _pieces(self, line: DiffLine, width: int) -> list[tuple[int, str]]:
        """The line in pieces that fit, each with where it begins."""
        t = self.theme
        letters = max(8, int((width - t.px(36)) / max(1, t.metrics("code").horizontalAdvance("m"))))
        text = line.text or " "
        return [(at, text[at : at + letters]) for at in range(0, len(text), letters)]

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, tall = self.theme, self._tall
        metrics = t.metrics("code")
        painter.save()
        corner = QPainterPath()
        corner.addRoundedRect(rect.adjusted(0, -20, 0, 0), 9, 9)
        painter.setClipPath(corner)
        y = 0.0
        for number, line in enumerate(self.lines):
            pieces = self._pieces(line, int(rect.width()))
            last = number == len(self.lines) - 1
            ground = QRectF(0, y, rect.width(), tall * len(pieces) + (6 if last else 0))
            painter.fillRect(ground, t.color(f"{line.kind}_bg"))
            sign = "+" if line.kind == "add" else "-"
            paint_text(painter, t, QRectF(t.px(10), y, t.px(12), tall), sign, "code")
            for at, piece in pieces:
                for low, high in line.marks:
                    low, high = max(low - at, 0), min(high - at, len(piece))
                    if low < high:
                        x = t.px(24) + metrics.horizontalAdvance(piece[:low])
                        wide = metrics.horizontalAdvance(piece[low:high])
                        mark = QRectF(x, y + 1, wide, tall - 2)
                        painter.fillRect(mark, t.color(f"{line.kind}_word"))
                paint_text(painter, t, QRectF(t.px(24), y, rect.width(), tall), piece, "code")
                y += tall
        painter.restore()


def tool_lines(tool: ServerTool) -> list[str]:
    """All that pins a tool, in lines: what it says of itself, its arguments, its claims."""
    lines = [line for line in (tool.title, *tool.description.splitlines()) if line.strip()]
    required = tool.schema.get("required")
    lines += _properties(tool.schema, required if isinstance(required, list) else [])
    rest = {
        key: value
        for key, value in tool.schema.items()
        if key not in ("properties", "required", "type", "$schema", "title")
    }
    lines += [f"{key}: {_short(value)}" for key, value in rest.items()]
    if tool.output_schema:
        lines.append(tr("result: {schema}").format(schema=_short(tool.output_schema)))
    return lines + [f"{key}: {_short(value)}" for key, value in sorted(tool.annotations.items())]


def _properties(schema: JsonObject, required: Sequence[Json]) -> Iterator[str]:
    for name, value in as_object(schema.get("properties")).items():
        about = dict(as_object(value))
        words = [_short(about.pop("type", None) or "any")]
        if name in required:
            words.append(tr("required"))
        if "default" in about:
            words.append(tr("default {value}").format(value=_short(about.pop("default"))))
        if told := as_text(about.pop("description", None)):
            words.append(told)
        words += [f"{key} {_short(one)}" for key, one in about.items() if key != "title"]
        yield f"{name}: {', '.join(words)}"


def _short(value: Json) -> str:
    import json

    if isinstance(value, str):
        return " ".join(value.split())
    return json.dumps(value, ensure_ascii=False)
