"""Colours of a markdown file: keys, texts and comments above, markdown below."""

from __future__ import annotations

import re

from PySide6.QtGui import QFont, QSyntaxHighlighter, QTextCharFormat, QTextDocument

from studio.ui.theme import Theme

_KEY = re.compile(r"\s*(?:- +)?([\w-]+|\"[^\"]*\"|'[^']*')(?=:(?:\s|$))")
_INNER_KEY = re.compile(r"(?<=[{,])\s*([\w-]+)(?=:(?:\s|$))")
_CONDITION = re.compile(r"(?:^|(?<=[\s{,]))(?:when|if|done_when|check):\s+([^\s{\[|>'\"#][^,}#]*)")
_VALUES = (
    (re.compile(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'"), "syntax_string"),
    (re.compile(r"(?<=[\s:,\[])-?\d+(?:\.\d+)?[smhd]?(?=[\s,\]}]|$)"), "syntax_number"),
    (re.compile(r"\$\{\{.*?\}\}"), "syntax_keyword"),
    (re.compile(r"(?:^|(?<=\s))#.*"), "syntax_comment"),
)
_BODY = (
    (re.compile(r"^\s*(?:[-*+]|\d{1,4}[.)])(?=\s)"), "syntax_number"),
    (re.compile(r"`[^`]+`"), "syntax_string"),
    (re.compile(r"(?<![\w@])@\w[\w-]*"), "accent_text"),
    (re.compile(r"\$\{\{.*?\}\}"), "syntax_keyword"),
)
_HEADING = re.compile(r"^#{1,6}\s.*")
_STRONG = re.compile(r"\*\*[^*]+\*\*")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
MOST = 2_000
"""Characters of a line that are looked at: a stranger's file must not stop the window."""
_BEFORE, _FRONT, _BODY_STATE, _CODE = -1, 1, 2, 3


class FileHighlighter(QSyntaxHighlighter):
    """Colours one line at a time; the state of a line says which part of the file it ends in."""

    def __init__(self, theme: Theme, document: QTextDocument) -> None:
        super().__init__(document)
        self._theme = theme
        self._formats: dict[str, QTextCharFormat] = {}
        theme.changed.connect(self._recolour)

    def _recolour(self) -> None:
        self._formats.clear()
        self.rehighlight()

    def _format(self, token: str, *, strong: bool = False) -> QTextCharFormat:
        name = f"{token} strong" if strong else token
        made = self._formats.get(name)
        if made is None:
            made = self._formats[name] = QTextCharFormat()
            made.setForeground(self._theme.color(token))
            if strong:
                made.setFontWeight(QFont.Weight.DemiBold)
        return made

    def highlightBlock(self, text: str) -> None:
        text = text[:MOST]
        before = self.previousBlockState()
        dashes = text.strip().lstrip("\ufeff") == "---"
        if before == _BEFORE:
            self._whole(text, "text3")
            self.setCurrentBlockState(_FRONT if dashes else _BODY_STATE)
        elif before == _FRONT:
            if dashes:
                self._whole(text, "text3")
            else:
                self._front(text)
            self.setCurrentBlockState(_BODY_STATE if dashes else _FRONT)
        else:
            self._body(text, before)

    def _whole(self, text: str, token: str) -> None:
        self.setFormat(0, len(text), self._format(token))

    def _front(self, text: str) -> None:
        if key := _KEY.match(text):
            self.setFormat(key.start(1), len(key[1]), self._format("accent_text"))
        at = key.end() if key else 0
        if "{" in text:
            for found in _INNER_KEY.finditer(text, at):
                self.setFormat(found.start(1), len(found[1]), self._format("accent_text"))
        for found in _CONDITION.finditer(text):
            self.setFormat(found.start(1), len(found[1]), self._format("syntax_keyword"))
        for pattern, token in _VALUES:
            for found in pattern.finditer(text, at):
                self.setFormat(found.start(), len(found[0]), self._format(token))

    def _body(self, text: str, before: int) -> None:
        fence = _FENCE.match(text) is not None
        if before == _CODE or fence:
            self._whole(text, "syntax_string")
            inside = (before == _CODE) != fence
            self.setCurrentBlockState(_CODE if inside else _BODY_STATE)
            return
        self.setCurrentBlockState(_BODY_STATE)
        if _HEADING.match(text):
            self.setFormat(0, len(text), self._format("syntax_keyword", strong=True))
            return
        for pattern, token in _BODY:
            for found in pattern.finditer(text):
                self.setFormat(found.start(), len(found[0]), self._format(token))
        for found in _STRONG.finditer(text):
            self.setFormat(found.start(), len(found[0]), self._format("text1", strong=True))
