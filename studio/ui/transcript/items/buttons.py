"""Buttons: lays out and paints buttons on the canvas."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QRectF

from studio.ui.transcript.model import CardAction
from studio.ui.transcript.paint_style import CENTRE, PaintStyle

from .base import Hit, PaintPass


def button_width(look: PaintStyle, text: str, keycap: str = "") -> float:
    """How wide a button with these words and this key is."""
    width = look.width("ui_medium", text) + 2 * look.px(12)
    if keycap:
        width += _cap_width(look, keycap) + look.px(2)
    return ceil(width) + 1


def _cap_width(look: PaintStyle, keycap: str) -> float:
    side = look.px(18)
    return side if keycap == "Enter" else max(side, look.width("label", keycap) + look.px(10))


def button_row(
    look: PaintStyle, x: float, y: float, actions: Sequence[tuple[CardAction, object, str]]
) -> list[Hit]:
    """Buttons from left to right: what each does, its value, its key."""
    out: list[Hit] = []
    for action, value, keycap in actions:
        width = button_width(look, action.text, keycap)
        rect = QRectF(x, y, width, look.theme.height(28))
        out.append(Hit(rect, action.name, value, action.text, action.style, keycap=keycap))
        x += width + look.px(8)
    return out


def paint_button(hit: Hit, paint: PaintPass, look: PaintStyle) -> None:
    """A button in its state."""
    painter, rect = paint.painter, hit.rect
    over = hit.same(paint.hover)
    down = hit.same(paint.pressed) and over
    primary = hit.style == "primary" and paint.primary
    words = "accent_on" if primary else "text1"
    if hit.style in ("ghost", "icon"):
        words = "text1" if over else "text2"
        if over:
            look.card(painter, rect, "press" if down else "hover", None, 6)
    elif primary:
        look.card(painter, rect, "accent", None, 6)
        if over:
            look.card(painter, rect, "press" if down else "hover", None, 6)
    else:
        look.card(painter, rect, "button", "control", 6)
        if over:
            look.card(painter, rect.adjusted(1, 1, -1, -1), "press" if down else "hover", None, 5)
    if hit.style == "icon":
        look.icon(painter, rect.center(), hit.icon, words, 14)
    else:
        pad = look.px(12)
        inner = rect.adjusted(pad, 0, -pad, 0)
        if not hit.keycap:
            look.text(painter, inner, hit.text, "ui_medium", words, CENTRE)
        else:
            look.text(painter, inner, hit.text, "ui_medium", words)
            paint_keycap(hit, paint, look, primary)
    if hit.same(paint.focus):
        look.focus_ring(painter, rect, 9)


def paint_keycap(hit: Hit, paint: PaintPass, look: PaintStyle, primary: bool) -> None:
    side = look.px(18)
    width = _cap_width(look, hit.keycap)
    cap = QRectF(
        hit.rect.right() - look.px(6) - width, hit.rect.center().y() - side / 2, width, side
    )
    look.card(paint.painter, cap, "keycap_on_accent" if primary else "track", None, 4)
    color = "accent_on" if primary else "text2"
    if hit.keycap == "Enter":
        look.icon(paint.painter, cap.center(), "corner-down-left", color, 12)
    else:
        look.text(paint.painter, cap, hit.keycap, "label", color, CENTRE)
