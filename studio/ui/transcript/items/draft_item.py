"""Draft item: a card with the diff of a draft, to be approved or discarded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QPainter, QTextLayout

from studio.domain.blocks import DraftBlock, FilesBlock, TranscriptBlock
from studio.domain.drafts import Draft, DraftDescription, FileDraft
from studio.domain.sessions import DraftEntry
from studio.tools.drafts.diff import DiffLine, unfold, unified_diff
from studio.ui.engine_texts import tr_engine
from studio.ui.markdown.blocks import Block, utf16
from studio.ui.transcript.model import CardAction, ItemSpan
from studio.ui.transcript.paint_style import LEFT, RIGHT, PaintStyle
from studio.ui.transcript.text.highlight import CodeColours, Spans
from studio.ui.transcript.text.leaf import Leaf
from studio.ui.transcript.text.text_layout import LineLayout, TextFormat, coloured
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets.painting import paint_tag, tag_width

from .base import Hit, Item, ItemContext, PaintPass, button_row, paint_button

MOST_LINES = 60
"""Rows of all diffs of a card before “Show all”."""
LEAST_LINES = 12
"""Rows of the diff of each file, however many there are."""
EDIT = CardAction("edit", tr_later("Edit…"))
_DONE = {
    "approved": ("check", "ok", tr_later("Written")),
    "discarded": ("x", "text2", tr_later("Discarded")),
    "superseded": ("history", "text2", tr_later("Replaced by a newer draft")),
    "conflict": ("triangle-alert", "warn", tr_later("Not written")),
    "undone": ("undo-2", "text2", tr_later("Undone")),
}
ICONS = {"write": "file-pen-line", "delete": "trash-2", "move": "arrow-right"}
APPROVE = {
    "write": tr_later("Approve and write"),
    "delete": tr_later("Approve and delete"),
    "move": tr_later("Approve and move"),
}
WRITTEN = {"write": tr_later("Written"), "delete": tr_later("Deleted"), "move": tr_later("Moved")}
_UNTOUCHED = {
    "write": tr_later("Nothing is written until you approve."),
    "delete": tr_later("Nothing is deleted until you approve. You can undo it."),
    "move": tr_later("Nothing is moved until you approve."),
}
_DOING = {
    "write": tr_later("Draft"),
    "delete": tr_later("Draft that deletes"),
    "move": tr_later("Draft that moves"),
}
LABEL = 220
"""Pixels of a draft's name beside which there is room for a tag."""
_TAGS = {"write": tr_later("Draft"), "delete": tr_later("Delete"), "move": tr_later("Move")}
LANGUAGES = {
    "py": "python", "js": "javascript", "ts": "typescript", "tsx": "tsx", "jsx": "jsx",
    "rs": "rust", "go": "go", "c": "c", "h": "c", "cpp": "cpp", "java": "java", "rb": "ruby",
    "sh": "bash", "toml": "toml", "yaml": "yaml", "yml": "yaml", "json": "json", "css": "css",
    "ipynb": "python",
    "html": "html", "sql": "sql", "md": "markdown", "kt": "kotlin", "swift": "swift",
}  # fmt: skip


_LATER = {
    "approved": CardAction("undo", tr_later("Undo"), "ghost"),
    "conflict": CardAction("resolve", tr_later("Resolve…"), "ghost"),
}
"""What can still be done about a draft that waits no more."""


def icon_of(about: DraftDescription) -> str:
    return "file-plus" if about.is_new else ICONS[about.action]


def outcome_of(draft: Draft | DraftEntry) -> tuple[str, str, str]:
    """Icon, colour and words of what became of a draft."""
    icon, color, words = _DONE[draft.status]
    return icon, color, WRITTEN[draft.action] if draft.status == "approved" else words


class DiffLeaf(Leaf):
    """One row of the diff, or one side of it: then with one number."""

    def __init__(
        self, line: DiffLine, spans: Spans = (), side: Literal["both", "old", "new"] = "both"
    ) -> None:
        super().__init__(Block("code", line.text))
        self.line, self.spans, self.side = line, spans, side

    def lay(self, style: PaintStyle, width: float) -> None:
        self.width = width
        tall = style.code_block_line
        self.left = style.px(79 if self.side == "both" else 51)
        self.lines = LineLayout(
            self.block.text.expandtabs(4) if "\t" in self.block.text else self.block.text,
            style.font("code"),
            tall,
            TextFormat(self._formats(style)),
            anywhere=True,
        )
        self.lines.lay(max(40.0, width - self.left - style.px(12)))
        self.height = max(tall, self.lines.height)
        self.laid = True

    def _formats(self, style: PaintStyle) -> list[QTextLayout.FormatRange]:
        line = self.line
        out: list[QTextLayout.FormatRange] = []
        self._marks: list[tuple[int, int]] = []
        if "\t" in line.text:
            return out
        for start, size, token in self.spans:
            out.append(coloured(start, size, style.color(token)))
        for low, high in line.marks:
            start, size = utf16(line.text[:low]), utf16(line.text[low:high])
            out.append(coloured(start, size, style.color("text1")))
            self._marks.append((start, size))
        return out

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        line, tall = self.line, style.code_block_line
        if line.kind in ("add", "del"):
            ground = style.color(f"{line.kind}_bg")
            painter.fillRect(QRectF(0, y, self.width, self.height), ground)
        for start, size in self._marks:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(style.color(f"{line.kind}_word"))
            for rect in self.lines.rects(start, start + size):
                middle = y + rect.center().y()
                high = style.px(18)
                painter.drawRoundedRect(
                    QRectF(self.left + rect.left() - 1, middle - high / 2, rect.width() + 2, high),
                    3,
                    3,
                )
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        numbers = {
            "both": ((line.old_no, 29), (line.new_no, 57)),
            "old": ((line.old_no, 29),),
            "new": ((line.new_no, 29),),
        }[self.side]
        for number, right in numbers:
            if number is not None:
                box = QRectF(0, y, style.px(right), tall)
                style.text(painter, box, str(number), "tiny_code", "text3", RIGHT)
        sign = {"add": ("+", "ok"), "del": ("−", "err")}.get(line.kind)
        if sign:
            box = QRectF(self.left - style.px(14), y, style.px(12), tall)
            style.text(painter, box, sign[0], "code", sign[1])
        self.lines.paint(painter, self.left, y, style, selected)

    def layouts(self) -> list[tuple[QPointF, LineLayout]]:
        return [(QPointF(self.left, 0), self.lines)]

    def position(self, x: float, y: float) -> int:
        return self.lines.position(x - self.left, y)


class FoldLeaf(Leaf):
    """“22 unchanged lines”."""

    def __init__(self, line: DiffLine, index: int) -> None:
        words = tr_plural("{count} unchanged line", "{count} unchanged lines", line.count)
        super().__init__(Block("code", words))
        self.index = index

    def texts(self) -> list[str]:
        return []  # it only counts the lines that it hides

    def lay(self, style: PaintStyle, width: float) -> None:
        self.width, self.height, self.laid = width, style.px(26), True

    def paint(
        self, painter: QPainter, y: float, style: PaintStyle, selected: tuple[int, int] | None
    ) -> None:
        painter.fillRect(QRectF(0, y, self.width, self.height), style.color("sunken"))
        middle = QPointF(style.px(40), y + self.height / 2)
        style.icon(painter, middle, "unfold-vertical", "text3", 14)
        line = QRectF(style.px(77), y, self.width - style.px(90), self.height)
        style.text(painter, line, self.block.text, "small", "text2")


def colour(
    lines: Sequence[DiffLine], path: str, colours: CodeColours
) -> tuple[dict[int, Spans], bool]:
    """Colours of rows by their index, for both sides of the change as whole texts.

    Also whether these are all: the language may still be loading.
    """
    spans: dict[int, Spans] = {}
    language = LANGUAGES.get(path.rpartition(".")[2].lower(), "")
    if not language:
        return spans, True
    if not colours.can(language):
        return spans, False
    for kinds in (("same", "del"), ("same", "add")):
        state: tuple[str, ...] = ("root",)
        for index, line in enumerate(lines):
            if line.kind == "fold":
                state = ("root",)
            elif line.kind in kinds:
                found, state = colours.spans(language, line.text + "\n", state)
                spans[index] = tuple(s for s in found if s[0] < utf16(line.text))
    return spans, True


class FilePart:
    """One draft of a card: what it changes, and its lines once they were asked for."""

    def __init__(self, block: DraftBlock) -> None:
        self.block = block
        self._lines: list[DiffLine] | None = None

    @property
    def draft(self) -> Draft:
        return self.block.draft

    @property
    def waiting(self) -> bool:
        return self.draft.status == "waiting"

    @cached_property
    def about(self) -> DraftDescription:
        return self.draft.describe()

    @cached_property
    def counts(self) -> tuple[int, int]:
        """Lines added and removed."""
        kinds = [line.kind for line in self.lines()]
        return kinds.count("add"), kinds.count("del")

    def lines(self) -> list[DiffLine]:
        if self._lines is None:
            self._lines = unified_diff(self.draft) if self.about.rewrites else []
        return self._lines

    def unfold(self, index: int) -> None:
        self._lines = unfold(self.lines(), index, self.about.compared()[1])

    @property
    def name(self) -> str:
        added, removed = self.counts
        state = tr("waiting for you") if self.waiting else tr(outcome_of(self.draft)[2]).lower()
        counts = tr_plural(
            "{count} line added, {removed} removed",
            "{count} lines added, {removed} removed",
            added,
            removed=removed,
        )
        return f"{tr(_DOING[self.draft.action])}, {self.draft.label}, {counts}, {state}"

    def source(self) -> str:
        sign = {"add": "+", "del": "-", "same": " "}
        lines = [f"{sign[ln.kind]}{ln.text}" for ln in self.lines() if ln.kind != "fold"]
        return "\n".join([self.draft.label, *lines])


class DraftItem(Item[DraftBlock]):
    """A draft, or those of a patch: of each file path, counts and the diff, and below them what
    may be done; one row for each file that is decided."""

    def __init__(self, span: ItemSpan, blocks: Sequence[TranscriptBlock], agent: str) -> None:
        super().__init__(span, blocks, agent)
        self._parts: dict[int, FilePart] = {}
        self._of_leaf: list[int] = []
        """The index of the block that each leaf shows."""
        self._heads: list[tuple[QRectF, FilePart]] = []

    @property
    def parts(self) -> list[FilePart]:
        for index in range(self.span.first, self.span.last):
            block = self.blocks[index]
            if index not in self._parts and isinstance(block, DraftBlock):
                self._parts[index] = FilePart(block)
        return [self._parts[index] for index in range(self.span.first, self.span.last)]

    @property
    def waiting(self) -> bool:
        return any(part.waiting for part in self.parts)

    def _undone_with_turn(self, draft: Draft) -> bool:
        """Whether the row of the turn's files has the Undo for this draft, too."""
        paths = set(draft.paths) if isinstance(draft, FileDraft) else None
        if draft.status != "approved" or not paths:
            return False
        return any(
            isinstance(block, FilesBlock)
            and block.turn_id == self.block.turn_id
            and paths <= set(block.paths)
            for block in self.blocks[self.span.last :]
        )

    def _together(self, draft: Draft) -> int:
        """How many files wait for one decision, this one too."""
        patch = draft.patch if isinstance(draft, FileDraft) else ""
        drafts = [block.draft for block in self.blocks if patch and isinstance(block, DraftBlock)]
        files = [one for one in drafts if isinstance(one, FileDraft) and one.status == "waiting"]
        return sum(one.patch == patch for one in files) or 1

    @property
    def name(self) -> str:
        names = [part.name for part in self.parts]
        if len(names) == 1:
            return names[0]
        count = tr_plural("Patch of {count} file", "Patch of {count} files", len(names))
        return "; ".join([count, *names])

    def source(self) -> str:
        return "\n\n".join(part.source() for part in self.parts)

    def shows(self, leaf: int, block: int) -> bool:
        return self._of_leaf[leaf] == block

    def row(self, block: int) -> QRectF:
        """The row of a file, by the index of its block."""
        rows = [row for row, _ in self._heads] if self.laid else []
        index = block - self.span.first
        return rows[index] if index < len(rows) else QRectF(0, 0, 1, self.height)

    def estimate(self, context: ItemContext) -> float:
        if not self.waiting:
            return context.style.px(38) * len(self.parts)
        rows = 0
        for part in self.parts:
            text = part.about.after or part.about.before or ""
            rows += min(self._most, text.count("\n")) if part.about.rewrites else 0
        return context.style.px(82 + 38 * len(self.parts)) + rows * 20.0

    @property
    def _most(self) -> int:
        """Rows of each diff before “Show all”."""
        return max(MOST_LINES // (self.span.last - self.span.first), LEAST_LINES)

    def unfold(self, block: int, index: int) -> None:
        """Show the lines of a fold in the diff of a block."""
        self._parts[block].unfold(index)
        self.laid = False

    def lay(self, context: ItemContext) -> None:
        self.leaves, self.places, self.hits, self._of_leaf, self._heads = [], [], [], [], []
        self.coloured = True
        y = 0.0
        for index, part in enumerate(self.parts, self.span.first):
            y = self._lay_part(index, part, y, context)
        first = next((part for part in self.parts if part.waiting), None)
        self._foot = y
        if first is not None:
            y = self._lay_foot(first, y, context)
        self.height = y

    def _lay_part(self, index: int, part: FilePart, y: float, context: ItemContext) -> float:
        """Lay out one file from a height on; returns where it ends."""
        style, block = context.style, part.block
        lines = part.lines()
        row = QRectF(0, y, context.width, style.theme.height(38))
        self._heads.append((row, part))
        y = row.bottom()
        if not part.waiting:
            self.hits.append(Hit(row, "toggle", id(block), part.name))
        button, end = self._head_button(part), context.width - style.px(36)
        if part.waiting:
            side = style.px(26)
            place = QRectF(0, 0, side, side)
            place.moveCenter(QPointF(context.width - style.px(21), row.center().y()))
            words = tr("Show on the page of drafts")
            self.hits.append(Hit(place, "show", part.draft.id, words, "icon", "maximize-2"))
            end = place.left() - style.px(10)
        if button is not None:
            (hit,) = button_row(style, 0, 0, [(button, part.draft.id, "")])
            hit.rect.moveTopRight(QPointF(end, row.center().y() - hit.rect.height() / 2))
            self.hits.append(hit)
        if not part.waiting and id(block) not in context.opened:
            return y
        y += 1
        whole = id(block) in context.whole or len(lines) <= self._most + 10
        shown = lines if whole else lines[: self._most]
        spans, coloured_all = colour(shown, part.about.file_name, context.colours)
        self.coloured = self.coloured and coloured_all
        for number, line in enumerate(shown):
            if line.kind == "fold":
                leaf: Leaf = FoldLeaf(line, number)
                rect = QRectF(1, y, context.width - 2, style.px(26))
                self.hits.append(Hit(rect, "unfold", (index, number), leaf.block.text))
            else:
                leaf = DiffLeaf(line, spans.get(number, ()))
            self._of_leaf.append(index)
            y += self.place(leaf, QPointF(1, y), context, context.width - 2)
        if not whole:
            text = tr_plural(
                "Show {count} more line", "Show {count} more lines", len(lines) - len(shown)
            )
            rect = QRectF(style.px(79), y, style.width("small_medium", text), style.px(28))
            self.hits.append(Hit(rect, "show_all", id(block), text, "link"))
            y += style.px(28)
        return y + (style.px(3) if lines else 0)

    def _head_button(self, part: FilePart) -> CardAction | None:
        """What may be done about one file alone, in its row."""
        if part.waiting:
            alone = len(self.parts) == 1 or not part.about.editable
            return None if alone else replace(EDIT, style="ghost")
        return None if self._undone_with_turn(part.draft) else _LATER.get(part.draft.status)

    def _lay_foot(self, part: FilePart, y: float, context: ItemContext) -> float:
        """Lay out what is decided about all files, by way of the first that waits."""
        style, draft = context.style, part.draft
        y += 1 + style.px(10)
        together = self._together(draft)
        approve, discard = APPROVE[draft.action], tr("Discard")
        untouched = tr(_UNTOUCHED[draft.action])
        if together > 1:
            approve = tr_plural("Approve {count} file", "Approve all {count} files", together)
            discard = tr("Discard all")
            untouched = tr("The files of this patch are changed together or not at all.")
        buttons = [CardAction("approve", approve, "primary")]
        buttons += [EDIT] if part.about.editable and len(self.parts) == 1 else []
        buttons += [CardAction("discard", discard, "ghost")]
        offered = [(each, draft.id, "") for each in buttons]
        made = button_row(style, style.px(12), y, offered, context.width - style.px(12))
        self.hits += made
        y = made[-1].rect.bottom() + style.px(10)
        self._note = tr_engine(part.block.detail) or untouched
        left = made[-1].rect.right() + style.px(12)
        width = context.width - style.px(15) - left
        low = self._foot + 1
        broken = made[-1].rect.top() > made[0].rect.top()
        if broken or style.width("small", self._note) > width:
            left, low = style.px(14), y - style.px(4)
            y += style.px(20)
            width = context.width - style.px(15) - left
        self._note_rect = QRectF(left, low, width, y - low)
        self._warns = bool(part.block.detail)
        return y

    # -- painting --------------------------------------------------------------------

    def paint(self, paint: PaintPass, context: ItemContext) -> None:
        style, painter = context.style, paint.painter
        card = QRectF(0, 0, context.width, self.height)
        waiting = self.waiting
        radius = 10 if self.leaves else 8
        style.card(painter, card, "surface" if waiting else None, None, radius)
        for hit in self.hits:
            if hit.action == "toggle" and hit.same(paint.hover):
                style.card(painter, hit.rect.adjusted(1, 1, -1, -1), "hover", None, radius - 1)
        self.paint_leaves(paint, context)
        for index, (row, _) in enumerate(self._heads):
            if index:
                style.hairline(painter, 1, row.top(), context.width - 2)
            below = self._heads[index + 1][0].top() if index + 1 < len(self._heads) else self._foot
            if below > row.bottom():
                style.hairline(painter, 1, row.bottom(), context.width - 2)
        style.card(painter, card, None, "control", radius)
        for row, part in self._heads:
            self._paint_head(row, part, paint, context)
        if waiting:
            style.hairline(painter, 1, self._foot, context.width - 2)
            color = "warn" if self._warns else "text2"
            side = RIGHT if self._note_rect.top() == self._foot + 1 else LEFT
            style.text(painter, self._note_rect, self._note, "small", color, side)
        for hit in self.hits:
            if hit.style == "link":
                style.text(painter, hit.rect, hit.text, "small_medium", "accent_text", LEFT)
            elif hit.style == "row":
                if hit.action == "unfold" and hit.same(paint.hover):
                    painter.fillRect(hit.rect, style.color("hover"))
                if hit.same(paint.focus):
                    style.focus_ring(painter, hit.rect.adjusted(4, 4, -4, -4), 7)
            else:
                paint_button(hit, paint, style)

    def _paint_head(
        self, row: QRectF, part: FilePart, paint: PaintPass, context: ItemContext
    ) -> None:
        style, painter, block, draft = context.style, paint.painter, part.block, part.draft
        middle = row.center().y()
        style.icon(painter, QPointF(style.px(21), middle), icon_of(part.about), "text2", 16)
        right = row.right() - style.px(15)
        if not part.waiting:
            opened = id(block) in context.opened
            chevron = "chevron-down" if opened else "chevron-right"
            style.icon(painter, QPointF(right - style.px(5), middle), chevron, "text2", 14)
            right -= style.px(22)
        for hit in self.hits:
            if hit.style != "row" and row.contains(hit.rect):
                right = min(right, hit.rect.left() - style.px(2))
        added, removed = part.counts
        for text, color, present in ((f"−{removed}", "err", removed), (f"+{added}", "ok", added)):
            if present or (part.about.rewrites and not (added or removed)):
                width = style.width("small_strong", text)
                box = QRectF(right - width, row.top(), width, row.height())
                style.text(painter, box, text, "small_strong", color, RIGHT)
                right -= width + style.px(10)
        if not part.waiting:
            mark, color, words = outcome_of(draft)
            words = tr_engine(block.detail) or tr(words)
            width = min(style.width("ui", words), context.width * 0.45)
            box = QRectF(right - width, row.top(), width, row.height())
            style.text(painter, box, words, "ui", "text2", RIGHT)
            right -= width + style.px(8)
            style.icon(painter, QPointF(right - style.px(7), middle), mark, color, 14)
            right -= style.px(22)
        tag = tr(_TAGS[draft.action])
        if part.about.is_new:
            tag = tr("New file") if part.about.noun == "file" else tr("New record")
        left = style.px(38)
        room = QRectF(left, row.top(), right - left, row.height())
        beside = room.adjusted(0, 0, -tag_width(style.theme, tag) - style.px(10), 0)
        # In a narrow chat its name comes first: that it writes is what icon and figures say too.
        tagged = draft.action != "write" or beside.width() >= min(
            style.px(LABEL), style.width("code", draft.label)
        )
        used = style.text(
            painter,
            beside if tagged else room,
            draft.label,
            "code",
            "text1",
            LEFT,
            Qt.TextElideMode.ElideMiddle,
        )
        if tagged:
            paint_tag(painter, style.theme, QPointF(left + used + style.px(10), middle), tag)
