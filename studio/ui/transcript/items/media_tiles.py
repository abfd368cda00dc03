"""Media tiles: pictures and files that the person attached or a tool returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QPainter

from studio.domain.messages import File, Image
from studio.ui.formatting import byte_size, number
from studio.ui.transcript.paint_style import LEFT, PaintStyle
from studio.ui.translation import tr
from studio.ui.widgets.thumbnails import extent, fitted, paint_image

from .base import Hit, ItemContext, PaintPass

SIDE = 240
"""Pixels of a picture's longer side."""
ROW = 150
"""Pixels of the height of pictures that lie side by side."""
LEAST = 28
"""Pixels of a picture's shorter side: a thin one keeps a place to click."""
GAP = 8


@dataclass(frozen=True, slots=True)
class MediaTile:
    """A picture or file where it lies; ``caption`` describes it."""

    part: Image | File
    rect: QRectF
    caption: str


def described(part: Image | File) -> str:
    """``Picture, 640 × 480, 31 kB``; ``notes.txt, 2 kB``."""
    weight = byte_size(len(part.data))
    if isinstance(part, File):
        return f"{part.name}, {weight}"
    about = extent(part.data)
    if not about.isValid():
        return tr("Picture, {weight}").format(weight=weight)
    return tr("Picture, {width} × {height}, {weight}").format(
        width=number(about.width()), height=number(about.height()), weight=weight
    )


def arrange(
    parts: Sequence[Image | File], width: float, style: PaintStyle
) -> tuple[list[MediaTile], float, float]:
    """Pictures side by side, files below, from (0, 0); with the width and height of all."""
    gap, tiles = style.px(GAP), list[MediaTile]()
    x = y = widest = tall = 0.0
    pictures = [part for part in parts if isinstance(part, Image)]
    files = [part for part in parts if isinstance(part, File)]
    high = style.px(SIDE if len(pictures) == 1 else ROW)
    for part in (*pictures, *files):
        words = described(part)
        box = _extent(part, words, width, high, style)
        if tiles and (x + box.width() > width or isinstance(part, File)):
            x, y, tall = 0.0, y + tall + gap, 0.0
        tiles.append(MediaTile(part, QRectF(x, y, box.width(), box.height()), words))
        x += box.width() + gap
        widest, tall = max(widest, x - gap), max(tall, float(box.height()))
    return tiles, widest, y + tall


def moved(tiles: Sequence[MediaTile], by: QPointF) -> list[MediaTile]:
    return [MediaTile(tile.part, tile.rect.translated(by), tile.caption) for tile in tiles]


def hits(tiles: Sequence[MediaTile]) -> list[Hit]:
    return [
        Hit(
            tile.rect,
            "open_file",
            tile.part,
            tr("Open {caption}").format(caption=tile.caption),
            "link",
        )
        for tile in tiles
    ]


def paint_tiles(tiles: Sequence[MediaTile], paint: PaintPass, context: ItemContext) -> None:
    style = context.style
    for tile, hit in zip(tiles, hits(tiles), strict=True):
        if tile.rect.bottom() < paint.top or tile.rect.top() > paint.bottom:
            continue
        over = hit.same(paint.hover)
        if isinstance(tile.part, Image):
            _paint_picture(tile, tile.part, paint.painter, context, over)
        else:
            fill = "button" if not over else "segment"
            style.card(paint.painter, tile.rect, fill, "control", 6)
            _paint_file(tile, paint.painter, style)
        if hit.same(paint.focus):
            style.focus_ring(paint.painter, tile.rect, 8)


def _extent(part: Image | File, words: str, width: float, high: int, style: PaintStyle) -> QSize:
    if isinstance(part, File):
        wide = style.px(34) + style.width("small", words) + style.px(12)
        return QSize(round(min(width, wide)), style.theme.height(28))
    found = extent(part.data)
    if not found.isValid():
        return QSize(style.px(120), style.px(80))
    most = QSize(round(min(style.px(SIDE), width)), high)
    return fitted(found, most).expandedTo(QSize(style.px(LEAST), style.px(LEAST))).boundedTo(most)


def _paint_picture(
    tile: MediaTile, part: Image, painter: QPainter, context: ItemContext, over: bool
) -> None:
    style, rect = context.style, tile.rect
    ratio = painter.device().devicePixelRatioF()
    image = context.thumbnails.get(part, round(style.px(SIDE) * ratio))
    if image is None or image.isNull():
        style.card(painter, rect, "sunken", "hair", 8)
        style.icon(painter, rect.center(), "image", "text3", 16)
        return
    # A thin or small picture lies in the middle of its box.
    scale = min(rect.width() / image.width(), rect.height() / image.height(), 1.0)
    target = QRectF(0, 0, image.width() * scale, image.height() * scale)
    target.moveCenter(rect.center())
    style.card(painter, rect, "sunken", None, 8)
    paint_image(painter, target, image, QRectF(image.rect()), 8)
    if over:
        style.card(painter, rect, "hover", None, 8)
    style.card(painter, rect, None, "control" if over else "hair", 7.5)


def _paint_file(tile: MediaTile, painter: QPainter, style: PaintStyle) -> None:
    rect = tile.rect
    style.icon(
        painter, QPointF(rect.left() + style.px(18), rect.center().y()), "file-text", "text2"
    )
    line = rect.adjusted(style.px(34), 0, -style.px(10), 0)
    style.text(painter, line, tile.caption, "small", "text1", LEFT)
