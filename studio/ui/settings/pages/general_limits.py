"""Limits of turns, and the target of traces, on the General page (L-11, L-15)."""

from __future__ import annotations

from functools import partial
from urllib.parse import urlsplit

from PySide6.QtCore import Signal

from studio.storage.config.settings import Settings
from studio.ui.settings.amount_field import AmountRows, seconds, steps, tools
from studio.ui.settings.form import FormCard
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Field, Toggle, plain_tip


class LimitRows(AmountRows):
    """When turns end, and what is done in the background meanwhile."""

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme, settings)
        self.add_amounts(
            tr("Inline turns"), ("inline_steps", steps, 1), ("inline_seconds", seconds, 1),
            line=tr("They hand back to you after this."),
        )  # fmt: skip
        self.add_amounts(
            tr("Background turns"),
            ("background_steps", steps, 1),
            ("background_seconds", seconds, 1),
        )
        self.add_amounts(
            tr("Long turns"), ("long_steps", steps, 1), ("long_seconds", seconds, 1),
            line=tr("Commands take none of it, and you are asked before they end."),
        )  # fmt: skip
        self.add_amounts(
            tr("At the same time"), ("parallel_tools", tools, 1), line=tr("Of one reply.")
        )
        self.toggles: dict[str, Toggle] = {}
        """By the name of the setting."""
        for name, title, line in (
            ("summarise", tr("Sum up long chats"), tr("When they outgrow the model’s context.")),
            ("notify", tr("Notify me"), tr("When a chat out of sight is done or needs me.")),
            (
                "sounds",
                tr("Play a sound"),
                tr("When a chat or run out of sight is done or needs me."),
            ),
        ):
            self.toggles[name] = self.add_toggle(title, partial(self._set, name), line)

    def refresh(self) -> None:
        super().refresh()
        for name, toggle in self.toggles.items():
            toggle.show_value(getattr(self._settings, name))

    def _set(self, name: str, on: bool) -> None:
        setattr(self._settings, name, on)
        self.changed.emit()


class TraceRows(FormCard):
    """Where spans are sent. ``changed`` is emitted after each change."""

    changed = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme)
        self._settings = settings
        placeholder = "https://collector.example/v1/traces"
        self.endpoint = Field(theme, placeholder, name=tr("Send traces to"))
        self.endpoint.editingFinished.connect(self._endpoint_entered)
        about = tr("OpenTelemetry over HTTP. Empty for nowhere.")
        self.add(tr("Send traces to"), self.endpoint, about, least=300)
        about = tr("What you and the models write goes out too.")
        self.content = self.add_toggle(tr("With contents"), self._content_set, about)

    def refresh(self) -> None:
        self.endpoint.set_unless_typing(self._settings.trace_endpoint)
        self.content.show_value(self._settings.trace_content)
        self.content.setEnabled(bool(self._settings.trace_endpoint))

    def _endpoint_entered(self) -> None:
        text = self.endpoint.text().strip()
        if text and not _is_address(text):
            self.endpoint.set_error(tr("Type an address that begins with https:// or http://."))
            self.endpoint.setToolTip(plain_tip(self.endpoint.error))
        elif text != self._settings.trace_endpoint:
            self._settings.trace_endpoint = text
            self.endpoint.set_error()
            self.endpoint.setToolTip("")
            self.refresh()
            self.changed.emit()

    def _content_set(self, on: bool) -> None:
        self._settings.trace_content = on
        self.changed.emit()


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
