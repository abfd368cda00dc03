"""Markdown on a terminal: cuts a stream into finished blocks, and renders blocks as text."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import ClassVar

from markdown_it import MarkdownIt
from rich.console import Console as Painter
from rich.console import ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Heading, Markdown, MarkdownElement
from rich.segment import Segment, Segments
from rich.syntax import Syntax
from rich.text import Text
from rich.theme import Theme

from studio.agent.permission.invisible_characters import visible

CHUNK = 60
"""Lines of a code block that are printed together; limits what a redraw costs."""
MUCH = 4_000
"""Characters of a block from which on its beginning is printed before its end has come."""
LONG = 12_000
"""Characters of the longest block that is rendered; a longer one is printed as it is."""


class MarkdownStream:
    """Cuts streamed text into blocks that will not change any more.

    ``rest`` is the block that is still being written. The work is linear in the text,
    because a block is only parsed again when it has grown by a quarter.
    """

    def __init__(self) -> None:
        self.rest = ""
        self._parser = MarkdownIt().enable("table").enable("strikethrough")
        self._next = 0

    def add(self, text: str) -> list[str]:
        """Add text; returns the blocks that are finished now, as markdown."""
        self.rest += text
        if "\n" not in text or len(self.rest) < self._next:
            return []
        blocks = self._cut()
        self._next = len(self.rest) + len(self.rest) // 4
        return blocks

    def end(self) -> list[str]:
        """The last block, at the end of the stream."""
        rest, self.rest, self._next = self.rest, "", 0
        return [rest] if rest.strip() else []

    def _cut(self) -> list[str]:
        """Cut off all blocks but the last, and the beginning of that one if it is long."""
        blocks: list[str] = []
        lines = self.rest.split("\n")
        tops = [
            t for t in self._parser.parse(self.rest) if t.level == 0 and t.map and t.nesting >= 0
        ]
        if not tops:
            return blocks
        last = tops[-1]
        assert last.map is not None
        start = last.map[0]
        if start:
            blocks += _nonempty("\n".join(lines[:start]))
        lines = lines[start:]
        if last.type == "fence" and len(lines) > CHUNK + 1:
            fence = lines[0]
            body = lines[1:-1]  # the last line may not be whole
            cut = len(body) - len(body) % CHUNK
            close = last.markup
            blocks += [
                "\n".join([fence, *body[at : at + CHUNK], close]) for at in range(0, cut, CHUNK)
            ]
            lines = [fence, *body[cut:], lines[-1]]
        elif len("\n".join(lines)) > MUCH:
            # Where something begins at the margin: an item, a row, a quoted line.
            at = next((n for n in range(len(lines) - 1, 0, -1) if lines[n][:1].strip()), 0)
            blocks += _nonempty("\n".join(lines[:at]))
            head = lines[:2] if last.type == "table_open" and at > 2 else []
            lines = [*head, *lines[at:]]
        self.rest = "\n".join(lines)
        return blocks


def _nonempty(text: str) -> list[str]:
    return [text] if text.strip() else []


class _Heading(Heading):
    LEVEL_ALIGN: ClassVar = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Code(CodeBlock):
    """A code block without a frame, so that it can be copied and printed in parts."""

    def __rich_console__(self, console: Painter, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        yield Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=(0, 2))


class _Markdown(Markdown):
    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": _Heading,
        "fence": _Code,
        "code_block": _Code,
    }


class AnsiPainter:
    """Renders text and markdown with terminal codes; codes inside the text are made visible."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def markdown(self, text: str, width: int) -> str:
        """The lines of a block of markdown, each with its line end."""
        if len(text) > LONG:
            return self.plain(text, width)
        made = _Markdown(visible(text), code_theme="ansi_dark", hyperlinks=False)
        return self.lines(made, width)

    def plain(self, text: str, width: int, style: str = "") -> str:
        return self.lines(Text(visible(text), style), width)

    def lines(self, what: RenderableType, width: int) -> str:
        painter = Painter(
            file=io.StringIO(),
            width=max(width, 10),
            force_terminal=True,
            color_system="standard",
            no_color=not self._colours,
            highlight=False,
            emoji=False,
            markup=False,
            legacy_windows=False,
            theme=_THEME,
        )
        with painter.capture() as captured:
            painter.print(Segments(_harmless(painter.render(what))), end="")
        return captured.get()


_THEME = Theme({"markdown.code": "cyan", "markdown.h1": "bold underline", "markdown.h2": "bold"})


def _harmless(segments: Iterable[Segment]) -> Iterable[Segment]:
    """Remove padding, and codes that come from markdown itself such as ``&#x202e;``."""
    for line in Segment.split_lines(segments):
        parts = [Segment(visible(text), style) for text, style, control in line if not control]
        while parts and not parts[-1].text.strip():
            parts.pop()
        if parts:
            parts[-1] = Segment(parts[-1].text.rstrip(), parts[-1].style)
        yield from parts
        yield Segment.line()
