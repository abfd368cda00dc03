"""The Budgets page: caps of tokens and money, and what was spent (L-14)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio.storage.config.settings import Settings
from studio.ui.formatting import dollars as dollars_text
from studio.ui.settings.amount_field import WIDTH, AmountRows, dollars, requests, tokens
from studio.ui.settings.bars import FillBar, Part, ShareBar
from studio.ui.settings.form import SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Card, Column, Label
from studio.ui.widgets.layouts import STRETCH, column_of, row_of

if TYPE_CHECKING:
    from studio.agent.usage_costs import UsageTotal

NEARLY = 0.85
"""Of a cap, from which on an agent is told to come to an end."""
MOST_MODELS = 5
"""Models that have a part of their own in the bar of the month."""


class CapRows(AmountRows):
    """What turns, chats, days and months may use. Each cap is checked before each request."""

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme, settings)
        for title, name, line in (
            (tr("One turn"), "turn", tr("With all agents that work for it.")),
            (tr("One chat"), "session", tr("A chat’s own limit in the inspector goes before.")),
            (tr("One day"), "day", tr("All chats together, from midnight on.")),
            (tr("One month"), "month", tr("All chats together, from the first of the month on.")),
        ):
            amounts = (f"{name}_tokens", tokens, 0), (f"{name}_dollars", dollars, 0)
            self.add_amounts(title, *amounts, line=line)
            if name == "turn":
                line = tr("In the mode for large work. You are asked ahead of it.")
                self.add_amounts(tr("One long turn"), ("long_dollars", dollars, 0), line=line)
        line = tr("Requests of all chats together.")
        self.add_amounts(tr("One hour"), ("requests_per_hour", requests, 0), line=line)


class SpentCard(Card):
    """What was spent today, beside the caps, and this month, by model."""

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__(theme, "surface", "hair")
        self._settings = settings
        self.today = Label(theme, "", "ui_strong", digits=True)
        self.left = Label(theme, "", "small", "text2", digits=True)
        self.day_bar = FillBar(theme)
        self.month = Label(theme, "", "ui_strong", digits=True)
        self.gap = Label(theme, "", "small", "text2", digits=True)
        self.month_bar = ShareBar(theme)
        column_of(
            [
                row_of([Label(theme, tr("Today"), "ui_medium"), STRETCH, self.today]),
                self.day_bar,
                self.left,
                14,
                row_of([Label(theme, tr("This month"), "ui_medium"), STRETCH, self.month]),
                self.month_bar,
                self.gap,
            ],
            spacing=6,
            margins=(14, 12, 14, 12),
            on=self,
        )
        self.show_spent({}, {})

    def show_spent(self, today: dict[str, UsageTotal], month: dict[str, UsageTotal]) -> None:
        """Both by model."""
        from studio.agent.usage_costs import total

        values, spent = self._settings, total(today.values())
        self.today.setText(_amount(spent))
        share, words = _share(spent, values.day_dollars, values.day_tokens)
        self.left.setText(words or tr("Today has no limit."))
        ink = "err" if share >= 1 else "warn" if share >= NEARLY else "accent"
        self.day_bar.show_share(share, words, ink)
        self.day_bar.setVisible(bool(words))
        spent = total(month.values())
        self.month.setText(_amount(spent))
        share, words = _share(spent, values.month_dollars, values.month_tokens)
        estimate = tr("Estimate") if spent.estimate else ""
        self.gap.show_text(joined((words, estimate, _gap(spent))))
        self.month_bar.show_parts(_parts(month), share if words else 1.0)
        self.month_bar.setVisible(bool(month))


class BudgetsPage(SettingsPage):
    """Caps, and what was spent."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme, tr("Budgets"), tr("A request that would go beyond a limit is not sent.")
        )
        self._services = services
        self.spent = SpentCard(theme, services.values)
        self.column.addWidget(self.spent)
        self.caps = CapRows(theme, services.values)
        self.caps.changed.connect(self.changed)
        self.caps.changed.connect(self._load)
        heads = [Label(theme, tr("Limits"), "ui_strong"), STRETCH]
        for words in (tr("Tokens"), tr("Money")):
            head = Column(theme, WIDTH)
            at_right = Qt.AlignmentFlag.AlignRight
            column_of([(Label(theme, words, "small", "text2"), at_right)], on=head)
            heads.append(head)
        row = row_of(heads, spacing=8, margins=(0, 0, 14 + 9, 0))
        self.column.addLayout(column_of([row, self.caps], spacing=6))
        self.column.addStretch(1)

    def show_at(self, name: str) -> None:
        """Focus the field of a limit."""
        field: QWidget | None = self.caps.fields.get(name)
        if field is not None:
            field.setFocus()

    def refresh(self) -> None:
        self.caps.refresh()
        self._load()

    def _load(self) -> None:
        self._services.tasks.start(self._show_spent(), cancelled_on_close=True)

    async def _show_spent(self) -> None:
        midnight = datetime.now().replace(hour=0, minute=0, second=0, microsecond=0)
        costs = self._services.engine.usage_costs
        today = await costs.spent("model", since=midnight.timestamp())
        month = await costs.spent("model", since=midnight.replace(day=1).timestamp())
        self.spent.show_spent(today, month)


def _amount(spent: UsageTotal) -> str:
    return tr("{money} · {tokens}").format(
        money=dollars_text(spent.cost), tokens=tokens(spent.usage.total)
    )


def _share(spent: UsageTotal, money: float, most_tokens: int) -> tuple[float, str]:
    """How much of its nearest cap is used, and that in words; 0 and no words without a cap."""
    caps = [
        (spent.cost, money, dollars_text(money)),
        (spent.usage.total, most_tokens, tokens(most_tokens)),
    ]
    shares = [(used / cap, text) for used, cap, text in caps if cap]
    if not shares:
        return 0.0, ""
    share, text = max(shares)
    return share, tr("{percent}% of {limit}").format(percent=round(share * 100), limit=text)


def _gap(spent: UsageTotal) -> str:
    if not spent.unpriced:
        return ""
    return tr_plural(
        "{count} request has no known price", "{count} requests have no known price", spent.unpriced
    )


def _parts(spent: dict[str, UsageTotal]) -> list[Part]:
    """The dearest models; by tokens where nothing has a price."""
    priced = any(one.cost for one in spent.values())

    def part(name: str, size: float) -> Part:
        return Part(name, dollars_text(size) if priced else tokens(size), size)

    sizes = {name: one.cost if priced else one.usage.total for name, one in spent.items()}
    ordered = sorted(((size, name) for name, size in sizes.items() if size), reverse=True)
    parts = [part(name, size) for size, name in ordered[:MOST_MODELS]]
    if others := sum(size for size, _ in ordered[MOST_MODELS:]):
        parts.append(part(tr("Others"), others))
    return parts
