"""The Budgets page: caps, and what was spent today and this month (L-14)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.simulator import Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.settings.amount_field import dollars, parse_amount, seconds, tokens
from studio.ui.settings.pages.budgets import BudgetsPage
from support.languages import language
from support.waiting import until
from support.window import alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def priced(file: SettingsFile) -> None:
    file.values.default_model["anthropic"] = "claude-sonnet-5-5"


@on_window_loop
async def test_l14_what_was_spent_stands_beside_the_caps(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", [Turn(Text("Hi."))], setup=priced) as person:
        person.say("Hello")
        await person.done()
        person.engine.settings.values.day_tokens = 100
        person.window.preferences.open("budgets")
        dialog = person.window.preferences.dialog
        assert dialog is not None
        page = dialog.pages["budgets"]
        assert isinstance(page, BudgetsPage)
        spent = await person.engine.usage_costs.spent("model")
        (model,), (used,) = spent, spent.values()
        count = f"{used.usage.total:,} tokens"
        await until(lambda: count in page.spent.today.text(), "today is counted")
        assert count in page.spent.month.text() and page.spent.month.text().startswith("$0.")
        assert model in page.spent.month_bar.accessibleName()
        percent = f"{round(used.usage.total)}%"
        assert page.spent.left.text().startswith(percent), page.spent.left.text()

        field = page.caps.fields["day_tokens"]
        field.setText("1k")
        field.editingFinished.emit()
        assert person.engine.settings.values.day_tokens == 1000
        await until(lambda: not page.spent.left.text().startswith(percent))
        assert "1,000 tokens" in page.spent.left.text()
        assert "%" not in page.spent.gap.text()  # the month has no limit at first
        plain = page.spent.month_bar.grab().toImage()
        field = page.caps.fields["month_tokens"]
        field.setText("10k")
        field.editingFinished.emit()
        assert person.engine.settings.values.month_tokens == 10_000
        share = f"{round(used.usage.total / 100)}% of 10,000 tokens"
        await until(lambda: page.spent.gap.text().startswith(share), "the month has a limit")
        capped = page.spent.month_bar.grab().toImage()
        end = capped.rect().right() * 3 // 4, 3
        assert capped.pixelColor(*end) != plain.pixelColor(*end) == plain.pixelColor(9, 3)
        for name in ("day_tokens", "day_dollars"):
            page.caps.fields[name].setText("")
            page.caps.fields[name].editingFinished.emit()
        await until(lambda: page.spent.left.text() == "Today has no limit.")
        assert page.spent.day_bar.isHidden()


def test_amounts_are_read_as_the_language_writes_them() -> None:
    with language("en"):
        for text, value in (
            ("$5", 5), ("5.50", 5.5), ("200,000 tokens", 200_000), ("1.5M", 1_500_000),
            ("20 k", 20_000), ("No limit", 0), ("", 0), (".5", 0.5), ("30 s", 30),
        ):  # fmt: skip
            assert parse_amount(text) == value, text
        for wrong in ("many", "5,5", "-3", "1e9", "5 6", "$", "NaN"):
            assert parse_amount(wrong) is None, wrong
    with language("de"):
        for text, value in (("5,50 $", 5.5), ("200.000", 200_000), ("1,5M", 1_500_000)):
            assert parse_amount(text) == value, text
        assert parse_amount("5.50") is None  # neither money nor thousands


@pytest.mark.parametrize("name", ["en", "de"])
def test_what_a_field_shows_can_be_read_back(name: str) -> None:
    with language(name):
        for unit, value in ((seconds, 0.5), (seconds, 1e6), (dollars, 2.5), (tokens, 1_234_567)):
            assert parse_amount(unit(value)) == value, unit(value)
