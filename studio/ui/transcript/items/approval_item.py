"""Approval item: a card that asks for a permission, and what all cards that wait share."""

from __future__ import annotations

import re
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF

from studio.domain.blocks import ToolBlock, TranscriptBlock
from studio.domain.permissions import Answer, Question, Rule, escaped
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import joined
from studio.ui.transcript.model import CardAction, ItemSpan
from studio.ui.transcript.paint_style import PaintStyle
from studio.ui.transcript.text.code_leaf import OutputLeaf
from studio.ui.translation import tr, tr_later

from .base import (
    Hit,
    Item,
    ItemContext,
    PaintPass,
    button_row,
    button_width,
    paint_button,
)

_FACTS = {
    "folder": "folder",
    "command": "terminal",
    "network": "globe",
    "sandbox": "triangle-alert",
    "limit": "clock",
    "time": "clock",
    "server": "server",
    "file": "file",
}


def fact_icon(name: str, value: str) -> str:
    """The icon of a fact by its name; one that says there is no network has its own."""
    if name.lower() == "network" and value.lower().startswith("no"):
        return "wifi-off"
    return _FACTS.get(name.lower(), "info")


SCOPES: tuple[tuple[Answer, str], ...] = (
    ("folder", tr_later("in this folder")),
    ("session", tr_later("in this chat")),
    ("always", tr_later("everywhere")),
)
"""Where “Always” may count; the first unless the person says otherwise."""
NAMED = 3
"""Other calls a rule would have allowed that are named; the rest are counted."""
_LONGEST = 28
"""Characters of a name in a button."""


def rule_name(rule: Rule) -> str:
    """What “Always allow” names: the program of a command, the host of a page, or the tool."""
    if rule.pattern == "*":
        return rule.tool.replace("_", " ")
    name = _plain(rule.pattern.removesuffix(" *").removesuffix("/*"))
    if host := re.match(r"https?://([^/]+)", name):
        name = host[1]
    elif not rule.pattern.endswith("*"):
        name = tr("exactly this") if len(name) > _LONGEST else name
    if len(name) > _LONGEST:
        name = f"…{name[-_LONGEST:]}"
    return tr("{name} with network").format(name=name) if rule.tool == "network" else name


def names(rules: Sequence[Rule]) -> str:
    """The same for several rules, or how many they are."""
    first, *others = map(rule_name, rules)
    if not others:
        return first
    named = tr("{one} and {other}").format(one=first, other=others[-1])
    if len(others) == 1 and len(named) <= _LONGEST:
        return named
    return tr("these {number}").format(number=len(rules))


def scope(rule: Rule) -> str:
    """What a rule allows, in words."""
    if rule.pattern == "*":
        return tr("every call of {tool}").format(tool=rule.tool)
    name = _plain(rule.pattern)
    if rule.pattern.endswith(" *"):
        name = _plain(rule.pattern[:-2])
        words = name if " " not in name else tr("“{name}” with any arguments").format(name=name)
    elif escaped(name) == rule.pattern and len(name) > _LONGEST:
        words = tr("exactly this")
    else:
        words = tr("“{name}”").format(name=name)
    return tr("{name} with network").format(name=words) if rule.tool == "network" else words


def _plain(pattern: str) -> str:
    """A pattern without the brackets that keep a character from standing for others."""
    return re.sub(r"\[([*?[])\]", r"\1", pattern)


def covered(calls: Sequence[str]) -> list[str]:
    """Which other calls of this chat the rules would have allowed, in a line; none for none."""
    if not calls:
        return []
    named = [call.replace("\n", " ") for call in calls[-NAMED:]]
    words = tr("Would also have allowed: {calls}").format(calls=", ".join(named))
    if (more := len(calls) - len(named)) > 0:
        words = tr("{words} and {number} more").format(words=words, number=more)
    return [words]


GUARD = 0.4
"""Seconds after a card appeared in which it ignores keys: they were meant for something else."""
PAUSE = 1.0
"""Seconds without typing after which keys are meant for a card."""


class WaitingItem(Item[ToolBlock]):
    """A raised card with a tile, a title and buttons."""

    def __init__(self, span: ItemSpan, blocks: Sequence[TranscriptBlock], agent: str) -> None:
        super().__init__(span, blocks, agent)
        self.shown_at: float | None = None
        """When it was first painted, or later if the person was typing then.

        Keys are ignored for a moment after.
        """

    def deaf(self, now: float) -> bool:
        """Whether it ignores keys yet."""
        return self.shown_at is None or now - self.shown_at < GUARD

    def typed_over(self, now: float) -> None:
        """The person types, not meaning the card: it ignores keys until they pause."""
        self.shown_at = now + PAUSE - GUARD

    def _appear(self, context: ItemContext) -> None:
        if self.shown_at is None:
            self.shown_at = max(context.now(), context.typed_at + PAUSE - GUARD)

    def entered(self, focused: Hit | None) -> Hit | None:
        """What Enter presses: the place with the focus, or the first one."""
        return focused or next(iter(self.hits), None)

    def estimate(self, context: ItemContext) -> float:
        return context.style.px(191)

    def head(self, title: str, text: str, context: ItemContext) -> float:
        style = context.style
        self.leaves, self.places, self.hits = [], [], []
        left, y = style.px(56), float(style.px(13))
        width = context.width - left - style.px(16)
        y += self.write(title, QPointF(left, y), context, width, "heading", "text1") - style.px(2)
        if text:
            at = QPointF(left, y - style.px(1))
            y += self.write(text.replace("\n", "\u2028"), at, context, width, "ui")
        return y

    def paint_card(self, paint: PaintPass, icon: str, context: ItemContext) -> None:
        style = context.style
        card = QRectF(0, 0, context.width, self.height)
        style.card(paint.painter, card, "raised", "warn_line", 10)
        side = style.px(28)
        tile = QRectF(style.px(16), style.px(14), side, side)
        style.tile(paint.painter, tile, icon, "warn", "warn_soft", 16)


class ApprovalItem(WaitingItem):
    """“Coder wants to run a command”."""

    @property
    def question(self) -> Question:
        question = self.block.question
        assert question is not None
        return question

    @property
    def name(self) -> str:
        if self.block.question is None:
            return ""
        question = self.question
        about = (tr_engine(question.title), question.reason, question.detail)
        facts = (tr_engine(value) for _, value in question.facts)
        return joined(
            (*about, *facts, tr_engine(question.why).rstrip("."), tr("needs your answer"))
        )

    def lay(self, context: ItemContext) -> None:
        if self.block.question is None:
            self.height = 0.0
            return
        question, style = self.question, context.style
        y = self.head(tr_engine(question.title), question.reason, context)
        left, right = style.px(56), context.width - style.px(16)
        y += style.px(7)
        leaf = OutputLeaf(question.detail, color="text1")
        pad = style.px(10)
        top = y
        y += style.px(9)
        y += self.place(leaf, QPointF(left + pad, y), context, right - left - 2 * pad)
        y += style.px(9)
        self._box = QRectF(left, top, right - left, y - top)
        self._facts: list[tuple[str, str, QRectF]] = []
        if question.facts:
            y += style.px(7)
            y = self._place_facts(question.facts, left, right, y, context)
        self._why: QPointF | None = None
        if question.why:
            y += style.px(5)
            self._why = QPointF(left + style.px(7), y + style.px(9))
            at = QPointF(left + style.px(20), y)
            y += self.write(tr_engine(question.why), at, context, right - at.x(), "small")
        y += style.px(10)
        y = self._place_buttons(question, left, right, y, style)
        if question.always:
            y += style.px(7)
            y = self._place_rules(question, left, right, y, context)
        self.height = y + style.px(12)

    def _place_buttons(
        self, question: Question, left: float, right: float, y: float, style: PaintStyle
    ) -> float:
        tall = style.theme.height(28)
        actions = [(CardAction("allow_once", tr("Allow once"), "primary"), question.id, "Enter")]
        if question.always:
            words = tr("Always allow {names}").format(names=names(question.always))
            actions.append((CardAction("allow_always", words), question.id, "A"))
        beside = tall + style.px(2) if question.always else 0  # of the button that names where
        self.hits = button_row(style, left, y, actions, right - beside)
        y = self.hits[-1].rect.top()
        if question.always:
            beside = self.hits[-1].rect
            where = QRectF(beside.right() + style.px(2), y, tall, tall)
            self.hits.append(
                Hit(
                    where,
                    "scopes",
                    question.id,
                    tr("Where “Always” counts"),
                    "icon",
                    "chevron-down",
                )
            )
        width = button_width(style, tr("Deny"), "D")
        if self.hits[-1].rect.right() + style.px(8) > right - width:
            y += tall + style.px(8)
        deny = QRectF(right - width, y, width, tall)
        self.hits.append(Hit(deny, "deny", question.id, tr("Deny"), "secondary", keycap="D"))
        return y + tall

    def _place_rules(
        self, question: Question, left: float, right: float, y: float, context: ItemContext
    ) -> float:
        """What “Always” covers, the rules as they are kept, and what else they would allow."""
        rules, width, where = question.always, right - left, SCOPES[0][1]
        first = rules[0]
        words = tr("Always covers {scope} {where}. You can change it in Settings.")
        if len(rules) > 1:
            words = tr("Always adds these {number} rules {where}. You can change them in Settings.")
        words = words.format(scope=scope(first), number=len(rules), where=tr(where))
        above = first.pattern == escaped(question.detail)  # it says all that the rule would
        y += self.write(words, QPointF(left, y), context, width)
        if not above:
            written = OutputLeaf("\n".join(map(str, rules)))
            y += self.place(written, QPointF(left, y), context, width)
        for line in filter(None, [tr_engine(question.warning), *covered(question.covers)]):
            y += self.write(line, QPointF(left, y), context, width)
        return y

    def _place_facts(
        self,
        facts: tuple[tuple[str, str], ...],
        left: float,
        right: float,
        y: float,
        context: ItemContext,
    ) -> float:
        style = context.style
        x, tall = left, style.px(18)
        for name, value in facts:
            icon = fact_icon(name, value)
            value = context.folder_name(value) if name == "folder" else tr_engine(value)
            width = style.px(20) + style.width("small", value)
            if x > left and x + width > right:
                x, y = left, y + tall + style.px(2)
            rect = QRectF(x, y, min(width, right - x) + 1, tall)
            self._facts.append((icon, value, rect))
            x += width + style.px(16)
        return y + tall

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        if self.block.question is None or not self.hits:
            return
        style = context.style
        self._appear(context)
        self.paint_card(paint, "shield-question-mark", context)
        style.card(paint.painter, self._box, "sunken", None, 6)
        self.paint_leaves(paint, context)
        for icon, value, rect in self._facts:
            middle = QPointF(rect.left() + style.px(7), rect.center().y())
            style.icon(paint.painter, middle, icon, "text2", 14)
            style.text(paint.painter, rect.adjusted(style.px(20), 0, 1, 0), value, "small", "text2")
        if self._why is not None:
            style.icon(paint.painter, self._why, "info", "text2", 14)
        for hit in self.hits:
            paint_button(hit, paint, style)
