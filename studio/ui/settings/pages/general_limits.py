"""Limits of turns and costs, and the target of traces, on the General page (L-11, L-14, L-15)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent

from studio.storage.config.settings import Settings
from studio.ui.settings.form import FormCard
from studio.ui.theme import Theme
from studio.ui.widgets import Field, Toggle, plain_tip
from studio.ui.widgets.layouts import row_of, widget_of

NO_LIMIT = "No limit"
_NUMBER = re.compile(r"\$?\s*(\d[\d,]*(?:\.\d+)?|\.\d+)\s*(k|m)?\s*[a-z]*\.?", re.IGNORECASE)
_SIZES = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_amount(text: str) -> float | None:
    """“$5”, “200,000 tokens”, “1.5M”; 0 for “No limit” and for nothing; None for anything else."""
    text = text.strip()
    if not text or text.lower() == NO_LIMIT.lower():
        return 0.0
    found = _NUMBER.fullmatch(text)
    return float(found[1].replace(",", "")) * _SIZES[(found[2] or "").lower()] if found else None


class AmountField(Field):
    """A number with its unit, not below ``minimum``; 0 is no limit.

    ``entered`` gives what the person typed.
    """

    entered = Signal(float)

    def __init__(
        self, theme: Theme, name: str, unit: Callable[[float], str], minimum: float
    ) -> None:
        super().__init__(theme, name=name)
        self._unit, self._minimum, self._value = unit, minimum, 0.0
        self.setAlignment(Qt.AlignmentFlag.AlignRight)
        self.editingFinished.connect(self._parse)
        theme.changed.connect(self._set_width)
        self._set_width()

    def set_value(self, value: float) -> None:
        self._value = value
        self.setText(self._unit(value) if value else NO_LIMIT)
        self.set_error()

    def _set_width(self) -> None:
        self.setFixedWidth(self.theme.px(116))

    def _parse(self) -> None:
        value = parse_amount(self.text())
        if value is None or value > 1e12 or value < self._minimum:
            self.set_error(f"Type a number, for example {self._unit(max(self._minimum, 5))}.")
            self.setToolTip(plain_tip(self.error))
            return
        self.setToolTip("")
        changed = value != self._value
        self.set_value(value)
        if changed:
            self.entered.emit(value)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.selectAll()


def steps(value: float) -> str:
    return f"{value:.0f} steps" if value >= 2 else "1 step"


def seconds(value: float) -> str:
    return f"{value:g} s"


def tools(value: float) -> str:
    return f"{value:.0f} tools" if value >= 2 else "1 tool"


def tokens(value: float) -> str:
    return f"{value:,.0f} tokens"


def dollars(value: float) -> str:
    return f"${value:,.2f}"


def requests(value: float) -> str:
    return f"{value:,.0f} requests" if value >= 2 else "1 request"


class LimitRows(FormCard):
    """When turns end, and what they may use. ``changed`` is emitted after each change."""

    changed = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme)
        self._settings = settings
        self.fields: dict[str, AmountField] = {}
        """By the name of the setting in ``Settings``."""
        self._add("Inline turns", ("inline_steps", steps, 1), ("inline_seconds", seconds, 1),
                  line="They hand back to you after this.")  # fmt: skip
        self._add("Background turns", ("background_steps", steps, 1),
                  ("background_seconds", seconds, 1))  # fmt: skip
        self._add("At the same time", ("parallel_tools", tools, 1), line="Of one reply.")
        for title, name in (("One turn", "turn"), ("One chat", "session"), ("One day", "day")):
            line = "Costs are estimates." if name == "turn" else ""
            self._add(
                title, (f"{name}_tokens", tokens, 0), (f"{name}_dollars", dollars, 0), line=line
            )
        self._add("One hour", ("requests_per_hour", requests, 0))
        self.toggles: dict[str, Toggle] = {}
        """By the name of the setting."""
        for name, title, line in (
            ("summarise", "Sum up long chats", "When they outgrow the model’s context."),
            ("notify", "Notify me", "When a chat out of sight is done or needs me."),
        ):
            self.toggles[name] = self.add_toggle(title, partial(self._store, name), line)

    def refresh(self) -> None:
        for name, field in self.fields.items():
            if not field.typing:
                field.set_value(getattr(self._settings, name))
        for name, toggle in self.toggles.items():
            toggle.show_value(getattr(self._settings, name))

    def _add(
        self, title: str, *limits: tuple[str, Callable[[float], str], float], line: str = ""
    ) -> None:
        row = row_of(spacing=8)
        for name, unit, minimum in limits:
            field = self.fields[name] = AmountField(
                self.theme, f"{title}, {unit.__name__}", unit, minimum
            )
            field.entered.connect(partial(self._store, name))
            row.addWidget(field)
        self.add(title, widget_of(row), line)

    def _store(self, name: str, value: float) -> None:
        old = getattr(self._settings, name)
        setattr(self._settings, name, type(old)(value))
        self.changed.emit()


class TraceRows(FormCard):
    """Where spans are sent. ``changed`` is emitted after each change."""

    changed = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme)
        self._settings = settings
        placeholder = "https://collector.example/v1/traces"
        self.endpoint = Field(theme, placeholder, name="Send traces to")
        self.endpoint.editingFinished.connect(self._endpoint_entered)
        about = "OpenTelemetry over HTTP. Empty for nowhere."
        self.add("Send traces to", self.endpoint, about, least=300)
        about = "What you and the models write goes out too."
        self.content = self.add_toggle("With contents", self._content_set, about)

    def refresh(self) -> None:
        self.endpoint.set_unless_typing(self._settings.trace_endpoint)
        self.content.show_value(self._settings.trace_content)
        self.content.setEnabled(bool(self._settings.trace_endpoint))

    def _endpoint_entered(self) -> None:
        text = self.endpoint.text().strip()
        if text and not _is_address(text):
            self.endpoint.set_error("Type an address that begins with https:// or http://.")
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
