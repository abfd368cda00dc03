"""Markdown on a terminal, while it is still being written."""

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

from studio.cli.console import visible

CHUNK = 60
"""Lines of one code block that are printed together; what a redraw may cost at most."""
MUCH = 4_000
"""Characters of one block, from which on its beginning is printed before its end is there."""
LONG = 12_000
"""Characters of one block that are laid out; a longer one is printed as it was written."""


class MarkdownStream:
    """Words as they come, cut into blocks that will not change any more.

    What is cut off can be printed for good; ``rest`` is the block that is still
    being written. The work is linear in the words: a block is only read again
    when it has grown by a quarter.
    """

    def __init__(self) -> None:
        self.rest = ""
        self._parser = MarkdownIt().enable("table").enable("strikethrough")
        self._next = 0

    def add(self, text: str) -> list[str]:
        """Take more words; returns the blocks that are whole by now, as markdown."""
        self.rest += text
        if "\n" not in text or len(self.rest) < self._next:
            return []
        blocks = self._cut()
        self._next = len(self.rest) + len(self.rest) // 4
        return blocks

    def end(self) -> list[str]:
        """What is left, when nothing more comes."""
        rest, self.rest, self._next = self.rest, "", 0
        return [rest] if rest.strip() else []

    def _cut(self) -> list[str]:
        """All blocks but the last, and the beginning of that if it is long."""
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
    """Without a frame, so that it can be copied and be printed in parts."""

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
    """Makes text with a terminal's codes of what should be shown; only our own codes are in it."""

    def __init__(self, *, colours: bool) -> None:
        self._colours = colours

    def markdown(self, text: str, width: int) -> str:
        """The lines of a block of markdown, each ended; codes in it are shown, not obeyed."""
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
    """Without codes that markdown made itself, of ``&#x202e;`` for example, and without padding."""
    for line in Segment.split_lines(segments):
        parts = [Segment(visible(text), style) for text, style, control in line if not control]
        while parts and not parts[-1].text.strip():
            parts.pop()
        if parts:
            parts[-1] = Segment(parts[-1].text.rstrip(), parts[-1].style)
        yield from parts
        yield Segment.line()
