"""Fields for amounts with a unit, such as “5 steps”, “200,000 tokens” and “$5.00”."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent

from studio.storage.config.settings import Settings
from studio.ui import formatting
from studio.ui.settings.form import FormCard
from studio.ui.theme import Theme, joined
from studio.ui.translation import locale, tr, tr_later, tr_plural
from studio.ui.widgets import Field, plain_tip
from studio.ui.widgets.layouts import row_of, widget_of

_NUMBER = re.compile(
    r"\$?\s*([\d.,'’\s]*\d|[.,]\d+)\s*(k|m|tsd\.|mio\.)?\s*(?:[^\W\d]+\.?|\$)?", re.IGNORECASE
)
_SIZES = {"": 1, "k": 1_000, "m": 1_000_000, "tsd.": 1_000, "mio.": 1_000_000}
LARGEST = 1e12
WIDTH = 116
"""Pixels of a field."""


def no_limit() -> str:
    return tr("No limit")


def parse_amount(text: str) -> float | None:
    """“$5”, “200,000 tokens”, “1.5M”; 0 for “No limit” and for nothing; None for anything else.

    The number is written as the person's language writes it.
    """
    text = text.strip()
    if not text or text.lower() == no_limit().lower():
        return 0.0
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    value, right = locale().toDouble(found[1])
    return value * _SIZES[(found[2] or "").lower()] if right else None


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

    @property
    def value(self) -> float:
        """The amount that was entered last."""
        return self._value

    def set_value(self, value: float) -> None:
        self._value = value
        self.setText(self._unit(value) if value else no_limit())
        self.set_error()

    def _set_width(self) -> None:
        self.setFixedWidth(self.theme.px(WIDTH))

    def _parse(self) -> None:
        value = parse_amount(self.text())
        if value is None or value > LARGEST or value < self._minimum:
            example = self._unit(max(self._minimum, 5))
            self.set_error(tr("Type a number, for example {example}.").format(example=example))
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
    return tr_plural("{count} step", "{count} steps", round(value))


def seconds(value: float) -> str:
    return tr("{number} s").format(number=formatting.plain(value))


def minutes(value: float) -> str:
    return tr("{number} min").format(number=formatting.plain(value))


def tools(value: float) -> str:
    return tr_plural("{count} tool", "{count} tools", round(value))


def tokens(value: float) -> str:
    return tr_plural("{count} token", "{count} tokens", round(value))


def dollars(value: float) -> str:
    return formatting.dollars(value)


def requests(value: float) -> str:
    return tr_plural("{count} request", "{count} requests", round(value))


def cycles(value: float) -> str:
    return tr_plural("{count} cycle", "{count} cycles", round(value))


def tries(value: float) -> str:
    return tr_plural("{count} try", "{count} tries", round(value))


_NOUNS: dict[Callable[[float], str], str] = {
    steps: tr_later("steps"),
    seconds: tr_later("seconds"),
    tools: tr_later("tools"),
    tokens: tr_later("tokens"),
    dollars: tr_later("dollars"),
    requests: tr_later("requests"),
    cycles: tr_later("cycles"),
}
"""What a field of each unit counts."""


class AmountRows(FormCard):
    """A card of amounts of the settings. ``changed`` is emitted after each change."""

    changed = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme)
        self._settings = settings
        self.fields: dict[str, AmountField] = {}
        """By the name of the setting in ``Settings``."""

    def add_amounts(
        self, title: str, *amounts: tuple[str, Callable[[float], str], float], line: str = ""
    ) -> None:
        """Add a row with a field for each setting, its unit and its minimum."""
        row = row_of(spacing=8)
        for name, unit, minimum in amounts:
            words = joined((title, tr(_NOUNS[unit])))
            field = self.fields[name] = AmountField(self.theme, words, unit, minimum)
            field.entered.connect(partial(self._store, name))
            row.addWidget(field)
        self.add(title, widget_of(row), line)

    def refresh(self) -> None:
        """Show the current settings, except where the person is typing."""
        for name, field in self.fields.items():
            if not field.typing:
                field.set_value(getattr(self._settings, name))

    def _store(self, name: str, value: float) -> None:
        old = getattr(self._settings, name)
        setattr(self._settings, name, type(old)(value))
        self.changed.emit()
