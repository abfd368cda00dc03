"""The tools that an agent may have, each with what happens to its calls; servers' below theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.agent.servers.server_tools import has_tool
from studio.domain.agents import Agent
from studio.domain.permissions import Rule, covers
from studio.domain.server_names import SERVER_SIGN
from studio.domain.tools import ToolSpec
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import MenuItem, PaintedButton
from studio.ui.widgets.choice import MenuButton
from studio.ui.widgets.layouts import column_of, widget_of
from studio.ui.widgets.painting import paint_tag, paint_text, tag_width

VERDICT_NAMES = {
    "allow": tr_later("Allow"),
    "ask": tr_later("Ask"),
    "deny": tr_later("Never"),
    "off": tr_later("Off"),
}
_TAGS = {"allow": "neutral", "ask": "warn", "deny": "err", "off": "neutral"}


def verdicts(values: Mapping[str, Any], tools: Sequence[ToolSpec]) -> dict[str, str]:
    """What happens to a call of each tool, as far as the file says: see ``VERDICT_NAMES``."""
    from studio.agent.permission.policy import Policy

    rules = values.get("permissions", ())
    agent = agent_of(values)
    left_out = {spec.name for spec in tools if spec.server and not has_tool(agent, spec)}
    served = (spec.name for spec in tools if spec.server and spec.name not in left_out)
    role, named = values.get("role", "all"), (*agent.tools, *served)
    policy = Policy("ask", {"agent": rules}, role=role, tools=named)
    found: dict[str, str] = {}
    for spec in tools:
        own = [rule.verdict for rule in rules if rule.pattern == "*" and _is_about(rule, spec)]
        if "deny" in own:
            found[spec.name] = "deny"
        elif spec.name in left_out or not policy.offers(spec):
            found[spec.name] = "off"
        else:
            found[spec.name] = own[-1] if own else usual_verdict(spec)
    return found


def agent_of(values: Mapping[str, Any], without: str = "") -> Agent:
    """The tools and servers that a file names, but for one tool."""
    tools = tuple(one for one in values.get("tools", ("*",)) if one != without)
    return Agent("", tools=tools, servers=values.get("servers"))


def _is_about(rule: Rule, spec: ToolSpec) -> bool:
    return rule.tool == spec.name or (
        bool(spec.server) and covers(rule.tool, spec.name, spec.server)
    )


def usual_verdict(spec: ToolSpec) -> str:
    """What happens without any rule: reading and drafting go on, the rest is asked about."""
    return "ask" if spec.effect in ("act", "note", "fetch") else "allow"


class ToolRow(MenuButton):
    """A tool and what happens to its calls; the menu changes it."""

    def __init__(self, theme: Theme, spec: ToolSpec) -> None:
        self.spec, self.verdict = spec, "allow"
        name = spec.name.partition(SERVER_SIGN)[2] if spec.server else ""
        self.title = name or spec.name.replace("_", " ").capitalize()
        super().__init__(theme, joined((spec.server, self.title)) if name else self.title)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.set_items([MenuItem(key, tr(words)) for key, words in VERDICT_NAMES.items()])

    def show_verdict(self, verdict: str) -> None:
        self.verdict = verdict
        self.set_face(tr(VERDICT_NAMES[verdict]))
        self.set_current(verdict)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.height(26))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, off = self.theme, self.verdict == "off"
        if self.isEnabled():
            self.paint_overlay(painter, rect)
        side, pad = t.px(16), t.px(6)
        box = QRectF(pad, (rect.height() - side) / 2, side, side)
        t.paint_icon(painter, box, self.spec.icon, "text3" if off else "text2")
        words = tr(VERDICT_NAMES[self.verdict])
        width = tag_width(t, words)
        at = rect.topRight() + QRectF(0, 0, 0, rect.height()).center()
        at.setX(rect.right() - pad - width)
        if off:
            end = QRectF(at.x(), 0, width - t.px(6), rect.height())
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            paint_text(painter, t, end, words, "tag", "text3", right)
        else:
            paint_tag(painter, t, at, words, _TAGS[self.verdict])
        left = box.right() + t.px(8)
        name = QRectF(left, 0, at.x() - t.px(8) - left, rect.height())
        paint_text(
            painter, t, name, self.title, "ui", "text3" if off else "text1", room=name.width()
        )


class FoldHead(PaintedButton):
    """The line with the name of something, such as a server, that opens and closes it."""

    def __init__(self, theme: Theme, icon: str, name: str) -> None:
        super().__init__(theme)
        self._icon, self._name, self._count = icon, name, ""
        self.setCheckable(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.toggled.connect(lambda _: self.set_count(self._count))
        self.set_count("")

    def set_count(self, count: str) -> None:
        self._count = count
        opened = tr("expanded") if self.isChecked() else tr("collapsed")
        self.setAccessibleName(joined(filter(None, (self._name, count, opened))))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.height(28))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        self.paint_overlay(painter, rect)
        side, pad = t.px(16), t.px(6)
        box = QRectF(pad, (rect.height() - side) / 2, side, side)
        t.paint_icon(painter, box, self._icon, "text2")
        mark = t.px(14)
        at = QRectF(rect.right() - pad - mark, (rect.height() - mark) / 2, mark, mark)
        icon = "chevron-down" if self.isChecked() else "chevron-right"
        t.paint_icon(painter, at, icon, "text2")
        width = t.metrics("small").horizontalAdvance(self._count) + 2
        count = QRectF(at.left() - pad - width, 0, width, rect.height())
        paint_text(painter, t, count, self._count, "small", "text2")
        left = box.right() + t.px(8)
        name = QRectF(left, 0, count.left() - pad - left, rect.height())
        paint_text(painter, t, name, self._name, "ui", room=name.width())


class ServerSection(QWidget):
    """A server's tools below its name; there may be many, so their rows are made when opened."""

    picked = Signal(str, str)
    """The name of a tool and a verdict, or ``off``."""

    def __init__(self, theme: Theme, server: str, specs: Sequence[ToolSpec]) -> None:
        super().__init__()
        self.specs = specs
        self.rows: dict[str, ToolRow] = {}
        """Empty until it was opened."""
        self._theme, self._usable = theme, True
        self._verdicts: Mapping[str, str] = {}
        self.head = FoldHead(theme, "plug", server)
        self._list = column_of(spacing=0, margins=(theme.px(16), 0, 0, 0))
        self._body = widget_of(self._list)
        self._body.hide()
        self.head.toggled.connect(self._open)
        column_of([self.head, self._body], spacing=0, on=self)

    def show_verdicts(self, verdicts: Mapping[str, str], *, usable: bool) -> None:
        """Show what happens to the calls; ``usable``: it can be changed."""
        self._verdicts, self._usable = verdicts, usable
        offered = sum(verdicts[one.name] not in ("off", "deny") for one in self.specs)
        words = tr("{number} of {total}").format(number=offered, total=len(self.specs))
        self.head.set_count(words)
        for name, row in self.rows.items():
            row.show_verdict(verdicts[name])
            row.setEnabled(usable)

    def _open(self, opened: bool) -> None:
        if opened and not self.rows:
            for spec in self.specs:
                row = self.rows[spec.name] = ToolRow(self._theme, spec)
                row.chosen.connect(partial(self.picked.emit, spec.name))
                self._list.addWidget(row)
            self.show_verdicts(self._verdicts, usable=self._usable)
        self._body.setVisible(opened)
