"""Variant card: what one variant of an eval came to, beside the baseline (W-58)."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter

from studio.domain.evals import EvalReport
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Label, Tag
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded
from studio.workflows.evals.figures import Difference, VariantFigures, figures

from .eval_facts import VERDICTS, figure_words, variant_title


class IntervalBar(PaintedWidget):
    """A rate on a line from 0 to 100 %, its interval, and the baseline's rate dashed."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._figures: VariantFigures | None = None
        self._baseline: float | None = None
        self.setFixedHeight(theme.px(18))

    def show_figures(self, found: VariantFigures, baseline: float | None) -> None:
        self._figures, self._baseline = found, baseline
        rate, interval, of, _ = figure_words(found)
        self.setAccessibleName(f"{rate}, {interval}" if found.cases else of)
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, found = self.theme, self._figures
        if found is None:
            return
        middle, wide = rect.center().y(), rect.width()
        line = QRectF(rect.x(), middle - t.px(2), wide, t.px(4))
        paint_rounded(painter, line, 2, t.color("track"))
        if not found.cases:
            return
        left, right = rect.x() + found.low * wide, rect.x() + found.high * wide
        within = QRectF(left, line.y(), right - left, line.height())
        faint = QColor(t.color("accent_text"))
        faint.setAlphaF(0.5)
        paint_rounded(painter, within, 2, faint)
        mark = QRectF(rect.x() + found.rate * wide - t.px(1), rect.y() + t.px(3), t.px(3), t.px(12))
        paint_rounded(painter, mark, 1, t.color("accent_text"))
        if self._baseline is not None:
            x, side = rect.x() + self._baseline * wide, t.px(3)
            for at in range(3):
                dash = QRectF(x, rect.y() + t.px(2) + at * t.px(5), t.px(1), side)
                paint_rounded(painter, dash, 0, t.color("text2"))


class VariantCard(PaintedWidget):
    """One variant: its rate, what it costs, and what the figures say beside the baseline."""

    def __init__(self, theme: Theme, letter: str) -> None:
        super().__init__(theme)
        self.letter = letter
        self.title = ElidedLabel(theme, "", "ui_strong", "text1", middle=False)
        self.model = ElidedLabel(theme, "")
        self.tag = Tag(theme, "")
        self.rate = Label(theme, "", "display", digits=True)
        self.interval = ElidedLabel(theme, "", "small digits", middle=False)
        self.of = Label(theme, "", "small", "text2", digits=True)
        self.cost = Label(theme, "", "small", "text2", digits=True)
        self.bar = IntervalBar(theme)
        head = row_of([(self.title, 1), self.tag], 8)
        rate = row_of([self.rate, (self.interval, 1)], 8)
        parts = [head, self.model, rate, self.bar, self.of, self.cost]
        column_of(parts, spacing=4, margins=(16, 12, 16, 12), on=self)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, 8, t.color("surface"), t.color("hair"))

    def show_variant(
        self, report: EvalReport, variant: str, against: Difference | None, baseline: float | None
    ) -> None:
        found = figures(report, variant)
        self.title.set_text(f"{self.letter}  {variant_title(report, variant)}")
        self.model.set_text(report.models.get(variant, ""))
        self.tag.setVisible(against is None or against.cases > 0)
        if against is None:
            self.tag.set(tr("Baseline"), "accent")
        else:
            kind, word, icon = VERDICTS[against.verdict]
            self.tag.set(tr(word), kind, icon)
        rate, interval, of, cost = figure_words(found)
        self.rate.setText(rate)
        self.interval.set_text(interval)
        self.of.setText(of)
        self.cost.setText(cost)
        self.bar.show_figures(found, baseline)
