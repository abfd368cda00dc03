"""A row for each server: what it is, how it is, its switch, and what helps where it failed."""

from __future__ import annotations

import re
import time
from base64 import b64decode
from functools import lru_cache

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QImage, QMouseEvent
from PySide6.QtWidgets import QWidget

from studio.agent.servers.facts import shown_start
from studio.mcp.entries import ServerEntry
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_count
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, IconButton, Label, Status, Toggle, plain_tip
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.thumbnails import extent, thumbnail

from .mending import ON_ITS_PAGE, cure_text
from .server_facts import ServerFacts

SIDE, MOST_SIDE = 64, 512
"""Pixels of a picture as it is drawn, and as a server may send it."""
_ICONS = (
    ("database", r"postgres|sqlite|mysql|sql|database|mongo|redis|\bdb\b"),
    ("calendar", r"calendar|cal\b"),
    ("app-window", r"browser|playwright|puppeteer|chrome"),
    ("folder", r"filesystem|files?\b"),
    ("git-branch", r"\bgit(hub|lab)?\b"),
    ("brain", r"memory|thinking"),
    ("clock", r"\btime\b"),
    ("search", r"search|tavily|perplexity"),
)


def icon_of(entry: ServerEntry) -> str:
    """An icon by the server's name, or by how it is reached."""
    for icon, pattern in _ICONS:
        if re.search(pattern, entry.name.lower().replace("_", " ")):
            return icon
    return "terminal" if entry.command else "globe"


def picture_of(facts: ServerFacts) -> QImage | None:
    """The picture that a server says is its icon, if it is a small one (M-20)."""
    address = facts.lists.icon if facts.lists is not None else ""
    return _picture(address) if address else None


@lru_cache(maxsize=64)
def _picture(address: str) -> QImage | None:
    try:
        data = b64decode(address.partition(",")[2], validate=True)
    except ValueError:
        return None
    size = extent(data)
    if not size.isValid() or max(size.width(), size.height()) > MOST_SIDE:
        return None  # a few bytes may be millions of pixels
    image = thumbnail(data, SIDE)
    return None if image.isNull() else image


class ServerRow(QWidget):
    """One server in the list of all."""

    switched = Signal(bool)
    opened = Signal()
    log_wanted = Signal()
    restart_wanted = Signal()
    sign_in_wanted = Signal()
    """The person wants to sign in, or not to any more."""
    uv_wanted = Signal()
    """The person wants what starts the server to be fetched."""
    mend_wanted = Signal()
    """The person wants to type what is missing or wrong."""
    look_wanted = Signal()
    """The person wants to see what changed."""

    def __init__(self, theme: Theme, facts: ServerFacts) -> None:
        super().__init__()
        self.theme, self.facts = theme, facts
        name = facts.entry.name
        self.tile = IconTile(theme, icon_of(facts.entry))
        self.title = Label(theme, name, "ui_strong")
        self.line = ElidedLabel(theme, "", "small", "text2")
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.status = Status(theme)
        self.log = Button(theme, tr("Show log"), clicked=self.log_wanted.emit)
        self.restart = Button(theme, tr("Start"), clicked=self.restart_wanted.emit)
        self.sign_in = Button(theme, tr("Sign in"), clicked=self.sign_in_wanted.emit)
        self.look = Button(theme, tr("Look…"), clicked=self.look_wanted.emit)
        self.uv = Button(theme, tr("Fetch uv"), clicked=self.uv_wanted.emit)
        self.mend = Button(theme, "", clicked=self.mend_wanted.emit)
        for button in (self.log, self.restart, self.sign_in, self.look, self.uv, self.mend):
            button.setAccessibleName(joined((button.text().removesuffix("…"), name)))
            button.hide()
        self.toggle = Toggle(theme, tr("Server {name}").format(name=name))
        self.toggle.toggled.connect(self.switched)
        self.open = IconButton(
            theme,
            "chevron-right",
            tr("Open {name}").format(name=name),
            24,
            14,
            clicked=self.opened.emit,
        )
        middle = Qt.AlignmentFlag.AlignVCenter
        words = column_of([self.title, self.line], spacing=0)
        parts = [(self.tile, middle), (words, 1), (self.status, middle), (self.log, middle)]
        parts += [
            (self.restart, middle),
            (self.sign_in, middle),
            (self.look, middle),
            (self.uv, middle),
            (self.toggle, middle),
        ]
        row = row_of([*parts, (self.open, middle)], spacing=10)
        self._below = row_of([(self.problem, 1), (self.mend, middle)], spacing=10)
        column_of([row, self._below], spacing=2, margins=(0, 10, 0, 10), on=self)
        theme.changed.connect(self._indent)
        self._indent()
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.show_facts(facts)

    def _indent(self) -> None:
        """Have what is wrong begin where the name does."""
        self._below.setContentsMargins(self.theme.px(26) + 10, 0, 0, 0)

    def show_facts(self, facts: ServerFacts) -> None:
        self.facts = facts
        words, look = state_words(facts)
        failed = facts.state.kind == "failed"
        self.tile.set(icon_of(facts.entry), picture_of(facts))
        self.line.set_text(shown_start(facts.entry))
        shown = failed or facts.state.kind == "sign_in"
        self.problem.show_text(tr_engine(facts.doctor) if shown else "")
        self.status.set(words, look)
        self.status.setToolTip(plain_tip(facts.state.line))
        self.log.setVisible(failed and facts.logged)
        self.restart.setVisible(failed and not facts.needs_uv)
        self.uv.setVisible(facts.needs_uv)
        self.sign_in.setVisible(bool(facts.sign_in))
        self.mend.setVisible(shown and facts.cure in ON_ITS_PAGE)
        button = self.sign_in if facts.sign_in else self.mend
        button.set_text(cure_text(facts))
        button.setAccessibleName(joined((cure_text(facts).removesuffix("…"), facts.entry.name)))
        self.look.setVisible(facts.withheld or (bool(facts.changes) and not failed))
        self.toggle.show_value(facts.entry.on)
        self.setAccessibleName(joined((facts.entry.name, words, self.problem.text())))

    def show_fetching(self, fetching: bool) -> None:
        """Show that uv is being fetched, or is not any more."""
        self.uv.setEnabled(not fetching)
        words = (tr("Fetching uv…"), "busy") if fetching else state_words(self.facts)
        self.status.set(*words)

    def show_seconds(self) -> None:
        """Count on while it starts."""
        if self.facts.state.kind in ("starting", "waiting"):
            self.status.set(*state_words(self.facts))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        if event.button() == Qt.MouseButton.LeftButton and self.rect().contains(event.pos()):
            self.opened.emit()


def state_words(facts: ServerFacts, *, long: bool = False) -> tuple[str, str]:
    """How a server is, in words and as the look of its mark; the long form has the tokens."""
    state = facts.state
    if state.kind == "failed":
        return _failure(facts), "err"
    if facts.withheld:
        return tr("Changed"), "warn"
    if state.kind == "off":
        return tr("Off"), "off"
    if state.kind == "starting":
        return tr("Starting, {seconds} s").format(seconds=_seconds(state.since)), "busy"
    if state.kind == "waiting":
        return tr("Starts again, {seconds} s").format(seconds=_seconds(state.since)), "busy"
    if state.kind == "sign_in":
        return tr("Sign in needed"), "warn"
    if state.kind == "signing_in":
        return tr("Waits for your browser"), "busy"
    if count := len(facts.changes):
        return tr_plural("{count} tool changed", "{count} tools changed", count), "warn"
    if facts.lists is None:
        return tr("Tools not known yet"), "off"  # it may have failed when it was started
    tools = tr_plural("{count} tool", "{count} tools", len(facts.lists.tools))
    if not long:
        return tools, "ok"
    how = tr("Running") if state.kind == "running" else tr("Ready")
    return joined((how, tools, tokens_text(facts.tokens))), "ok"


def _failure(facts: ServerFacts) -> str:
    code = facts.state.fault.code if facts.state.fault is not None else None
    if code is not None:
        return tr("Exited with code {code}").format(code=code)
    return tr("Failed")


def tokens_text(tokens: int) -> str:
    return tr("{count} tokens").format(count=short_count(tokens))


def _seconds(since: float) -> int:
    return max(0, int(time.time() - since))
