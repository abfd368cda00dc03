"""Question item: a card with what the agent asks, one question or several (C-24).

The choices are rows with digits. Of several questions one is open at a time. A single answer
goes out as soon as it is given; what is filled in goes out with a button.
"""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QPen

from studio.domain.questions import AskedQuestion, Choice
from studio.ui.engine_texts import tr_engine
from studio.ui.question_form import QuestionForm
from studio.ui.theme import joined
from studio.ui.transcript.model import CardAction
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.translation import tr, tr_in

from .approval_item import WaitingItem
from .base import Hit, ItemContext, PaintPass, button_row, paint_keycap

_LEFT = 56


class QuestionItem(WaitingItem):
    """The questions of one call, and the answers so far."""

    @property
    def by_keys(self) -> bool:
        """Whether keys answer it: an answer without choices is typed in the composer."""
        return len(self.block.asks) > 1 or any(one.choices for one in self.block.asks)

    @property
    def name(self) -> str:
        parts = [self._words(line) for one in self.block.asks for line in one.lines]
        return joined((*parts, tr("needs your answer")))

    def _words(self, text: str) -> str:
        """A text of the question; the program's own, about a limit, is translated."""
        return text if self.block.whole else tr_engine(text)

    def shows(self, leaf: int, block: int) -> bool:
        """The title and “Something else…” are the program's words."""
        return super().shows(leaf, block) and leaf in self._asked

    def entered(self, focused: Hit | None) -> Hit | None:
        """What Enter presses; it takes no choice back, and sends what is filled in."""
        form = self._form
        again = focused is None or (
            focused.action == "choose" and form.questions[form.open].several
        )
        if not form.at_once and again and (form.complete or form.answer(form.open)):
            return next(hit for hit in self.hits if hit.keycap == "Enter")
        return focused or self.numbered(1) or super().entered(focused)

    def numbered(self, number: int) -> Hit | None:
        """The row of the open question with a number, from 1."""
        return next((hit for hit in self.hits if hit.keycap == str(number)), None)

    def disabled_reason(self, hit: Hit, context: ItemContext) -> str:
        if hit.action == "send_answers" and not self._form.complete:
            return tr("Answer each question first.")
        return ""

    def fill_in(self, hit: Hit) -> bool:
        """Take what was pressed into the answers; whether it was anything of them."""
        match hit.action, hit.value:
            case "choose", (_, int(question), int(choice)):
                self._form.choose(question, choice)
            case "open_question", (_, int(question)):
                self._form.open = question
            case "next_question", _:
                self._form.go_on()
            case _:
                return False
        self.laid = False
        return True

    @property
    def answers(self) -> list[str]:
        """The answers so far, empty where there is none."""
        return self._form.answers

    # -- layout --------------------------------------------------------------------

    def lay(self, context: ItemContext) -> None:
        style, form = context.style, context.forms.of(self.block)
        self._form: QuestionForm = form
        self._asked: set[int] = set()
        self._marks: list[tuple[QPointF, bool, bool]] = []
        self._states: list[tuple[float, bool]] = []
        """The middles of closed questions, and whether they are answered."""
        self._hint = QRectF()
        y = self.head(self._title(), "", context)
        for number, question in enumerate(form.questions):
            if len(form.questions) > 1:
                y = self._place_head(number, question, y, context)
            else:
                y = self._ask(question, y, context, style.px(_LEFT), "text1", "body")
            if number == form.open:
                y = self._place_choices(number, question, y + style.px(8), context)
        if not form.at_once:
            y = self._place_buttons(y + style.px(8), context)
        self.height = y + style.px(8 if form.at_once else 14)

    def _title(self) -> str:
        asked = len(self.block.asks)
        if asked > 1:
            return tr("{agent} has {count} questions").format(
                agent=self.agent or tr("The agent"), count=asked
            )
        return (
            tr("{agent} asks").format(agent=self.agent) if self.agent else tr("A question for you")
        )

    def _ask(
        self,
        question: AskedQuestion,
        y: float,
        context: ItemContext,
        left: float,
        color: str,
        role: str,
    ) -> float:
        self._asked.add(len(self.leaves))
        words = self._words(question.text).replace("\n", "\u2028")
        width = context.width - left - context.style.px(16)
        return y + self.write(words, QPointF(left, y), context, width, role, color)

    def _place_head(
        self, number: int, question: AskedQuestion, y: float, context: ItemContext
    ) -> float:
        """A question of several; a closed one opens with a click, and shows its answer."""
        style, form = context.style, self._form
        left, top, shown = style.px(_LEFT), y + style.px(6), number == form.open
        answer = form.answer(number)
        y = top + style.px(6)
        role, color = ("ui_strong", "text1") if shown else ("ui", "text2" if answer else "text1")
        y = self._ask(question, y, context, left + style.px(22), color, role)
        self._states.append((top + style.px(15), bool(answer)))
        if answer and not shown:
            at, width = QPointF(left + style.px(22), y), context.width - left - style.px(38)
            y += self.write(
                answer.replace("\n", "\u2028"), at, context, width, "ui_medium", "text1"
            )
        y += style.px(6)
        if not shown:
            rect = QRectF(left - style.px(6), top, context.width - left - style.px(4), y - top)
            spoken = joined((question.text, answer or tr("not answered")))
            self.hits.append(Hit(rect, "open_question", (self.block.call_id, number), spoken))
        return y

    def _place_choices(
        self, number: int, question: AskedQuestion, y: float, context: ItemContext
    ) -> float:
        form, call, first = self._form, self.block.call_id, len(self.hits)
        for index, choice in enumerate(question.choices):
            value = (call, choice.text) if form.at_once else (call, number, index)
            hit = Hit(QRectF(), "reply" if form.at_once else "choose", value)
            y = self._place_choice(hit, choice, y, context, chosen=form.is_chosen(number, index))
        if form.at_once and not question.choices:
            style = context.style
            self._hint = QRectF(style.px(_LEFT), y, context.width, style.px(16))
            return y + style.px(20)
        own = form.words(number)
        other = Choice(
            own or (tr("Something else…") if question.choices else tr("Write an answer…"))
        )
        hit = Hit(QRectF(), "compose", (call, number))
        y = self._place_choice(hit, other, y, context, chosen=bool(own), own=not own)
        for at, hit in enumerate(self.hits[first:], 1):
            hit.keycap = str(at) if at <= 9 else ""
        return y

    def _place_choice(
        self,
        hit: Hit,
        choice: Choice,
        y: float,
        context: ItemContext,
        *,
        chosen: bool,
        own: bool = False,
    ) -> float:
        """A row for a choice, with what is said about it beside or below; returns its end."""
        style, pad = context.style, context.style.px(12)
        left, right = style.px(_LEFT), context.width - style.px(16)
        inside = left + pad + (0 if self._form.at_once else style.px(26))
        room = right - inside - pad - style.px(26)
        words, about = self._words(choice.text), choice.about
        leaves = len(self.leaves)
        if not own and len(self._form.questions) == 1:
            self._asked |= {leaves, leaves + bool(about)}
        color = "text2" if own else "text1"
        inner = self.write(words.replace("\n", "\u2028"), QPointF(), context, room, "ui", color)
        ends = [inside + style.width("ui", words) + style.px(10), 0.0]
        if about:
            beside = "\n" not in words and ends[0] + style.width("ui", about) <= inside + room
            ends = ends if beside else [inside, inner]
            tall = self.write(
                about.replace("\n", "\u2028"), QPointF(), context, room, "ui", "text2"
            )
            inner = max(inner, ends[1] + tall)
        height = max(style.theme.height(34), inner + style.px(14))
        top = y + (height - inner) / 2
        self.places[leaves] = QPointF(inside, top)
        if about:
            self.places[leaves + 1] = QPointF(ends[0], top + ends[1])
        hit.rect, hit.text = QRectF(left, y, right - left, height), self._spoken(choice, chosen)
        self.hits.append(hit)
        if not self._form.at_once:
            several = self._form.questions[self._form.open].several
            self._marks.append((QPointF(left + pad + style.px(8), y + height / 2), several, chosen))
        return y + height + style.px(6)

    def _spoken(self, choice: Choice, chosen: bool) -> str:
        words = str(Choice(self._words(choice.text), choice.about))
        return joined((words, tr("chosen"))) if chosen else words

    def _place_buttons(self, y: float, context: ItemContext) -> float:
        form, call = self._form, self.block.call_id
        others = [one for one, answer in enumerate(form.answers) if not answer and one != form.open]
        name, words = (
            ("next_question", tr("Next"))
            if others
            else ("send_answers", tr_in("a button", "Answer"))
        )
        entered = form.complete or form.answer(form.open)
        send = CardAction(name, words, "primary" if entered else "secondary")
        agent = self.agent or tr("the agent")
        leave = CardAction("leave_answers", tr("Let {agent} decide").format(agent=agent), "ghost")
        style = context.style
        actions = [(send, call, "Enter" if entered else ""), (leave, call, "")]
        self.hits += button_row(style, style.px(_LEFT), y, actions, context.width - style.px(16))
        return self.hits[-1].rect.bottom()

    # -- painting ------------------------------------------------------------------

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        self._appear(context)
        style = context.style
        self.paint_card(paint, "message-circle", context)
        for hit in self.hits:
            if hit.style == "row":
                self._paint_row(hit, paint, style)
        for middle, several, chosen in self._marks:
            _paint_mark(paint.painter, middle, style, several=several, chosen=chosen)
        for middle, answered in self._states:
            icon, color = ("check", "ok") if answered else ("circle-dashed", "text3")
            style.icon(paint.painter, QPointF(style.px(_LEFT + 7), middle), icon, color, 14)
        self.paint_leaves(paint, context)
        for hit in self.hits:
            if hit.style != "row":
                self.paint_action(hit, paint, context)
        if not self._hint.isEmpty():
            words = tr("Answer in the composer.")
            style.text(paint.painter, self._hint, words, "small", "text2")

    def _paint_row(self, hit: Hit, paint: PaintPass, style: PaintStyle) -> None:
        """A choice in a frame, or a closed question."""
        framed = hit.action != "open_question"
        if framed:
            style.card(paint.painter, hit.rect, "button", "control", 8)
        if hit.same(paint.hover):
            inside = hit.rect.adjusted(1, 1, -1, -1)
            over = "press" if hit.same(paint.pressed) else "hover"
            style.card(paint.painter, inside, over, None, 7)
        if hit.keycap:
            paint_keycap(hit, paint, style, primary=False)
        if hit.same(paint.focus):
            style.focus_ring(paint.painter, hit.rect.adjusted(2, 2, -2, -2), 9)


def _paint_mark(
    painter: QPainter, middle: QPointF, style: PaintStyle, *, several: bool, chosen: bool
) -> None:
    """A box or a circle in front of a choice."""
    side = style.px(16)
    rect = QRectF(middle.x() - side / 2, middle.y() - side / 2, side, side)
    radius = style.px(4) if several else side / 2
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen if chosen else QPen(style.color("strong"), 1.5))
    painter.setBrush(style.color("accent") if chosen else Qt.BrushStyle.NoBrush)
    painter.drawRoundedRect(rect if chosen else rect.adjusted(1, 1, -1, -1), radius, radius)
    if chosen and not several:
        painter.setBrush(style.color("accent_on"))
        painter.drawEllipse(middle, style.px(3), style.px(3))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    if chosen and several:
        style.icon(painter, middle, "check", "accent_on", 12)
