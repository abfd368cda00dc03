"""Colours of code, a few lines at a time.

Lexing goes on where the lines before ended, so a string over many lines keeps
its colour, and what was lexed once is kept. Pygments is loaded in a thread on
first use; until then code is shown plain.
"""

from __future__ import annotations

from functools import lru_cache
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

from PySide6.QtCore import QObject, Signal

from studio.ui.markdown.blocks import utf16
from studio.ui.widgets.thread_signal import ThreadSignal

LINES = 8
"""Lines lexed at once; what is written now costs its own line, and these when that ends."""

State: TypeAlias = tuple[str, ...]
Spans: TypeAlias = tuple[tuple[int, int, str], ...]
_ROOT: State = ("root",)
_ALIASES = {"": "text", "plaintext": "text", "txt": "text", "shell": "bash", "console": "bash"}


class CodeColours(QObject):
    """Hands out token colours; ``loaded`` is emitted when a language's can be had.

    Making a lexer compiles its many patterns, tens of milliseconds: that is
    done in the thread, too.
    """

    loaded = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._known: set[str] = set()
        self._asked: set[str] = set()
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._thread: Thread | None = None
        queue = self._queue
        self.destroyed.connect(lambda: queue.put(None))

    def can(self, language: str) -> bool:
        """Whether code in a language can be coloured now; if not, ``loaded`` will tell."""
        if language in self._known:
            return True
        if language not in self._asked:
            self._asked.add(language)
            self._queue.put(language)
            if self._thread is None:
                lexed = ThreadSignal()
                lexed.emitted.connect(self.loaded)
                work = self._queue, self._known, lexed
                self._thread = Thread(target=_load, args=work, name="lexers", daemon=True)
                self._thread.start()
        return False

    def spans(self, language: str, text: str, state: State) -> tuple[Spans, State]:
        """Start, length (UTF-16) and colour token of each coloured piece; the state after.

        ``text`` ends with the line's end, unless it is the last line.
        """
        spans: list[tuple[int, int, str]] = []
        base, lines = 0, text.split("\n")
        last = len(lines) - 1  # the line that is written now: those above it are lexed once
        for at in [*range(0, last, LINES), last]:
            piece = "\n".join(lines[at : min(at + LINES, last)] or lines[last:])
            if at < last:
                piece += "\n"
            found, state = _lex(language, piece, state)
            spans += [(base + start, size, token) for start, size, token in found]
            base += utf16(piece)
        return tuple(spans), state


def _load(queue: SimpleQueue[str | None], known: set[str], lexed: ThreadSignal) -> None:
    while (language := queue.get()) is not None:
        _lex(language, "x", _ROOT)
        known.add(language)
        lexed.emit(language)
    lexed.end()


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    name = language.lower().lstrip("{.").rstrip("}")
    try:
        return get_lexer_by_name(_ALIASES.get(name, name), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(maxsize=64)
def _token(kind: Any) -> str:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    if kind in Comment:
        return "syntax_comment"
    if kind in Keyword or kind in Operator.Word or kind in Name.Tag:
        return "syntax_keyword"
    if kind in String:
        return "syntax_string"
    if kind in Number:
        return "syntax_number"
    if kind in Name.Function or kind in Name.Class or kind in Name.Decorator:
        return "accent_text"
    return ""


@lru_cache(maxsize=4096)
def _lex(language: str, text: str, state: State) -> tuple[Spans, State]:
    from pygments.lexer import ExtendedRegexLexer, LexerContext, RegexLexer

    lexer = _lexer(language)
    if lexer is None:
        return (), _ROOT
    out: list[tuple[int, int, str]] = []
    after = _ROOT
    tokens: Any
    read: Any = ExtendedRegexLexer.get_tokens_unprocessed  # works on any RegexLexer
    context = LexerContext(text, 0, list(state))
    try:
        if isinstance(lexer, RegexLexer):
            # This form of the loop tells the state it ends in.
            tokens = list(read(lexer, context=context))
            after = tuple(context.stack) or _ROOT
        else:
            tokens = lexer.get_tokens_unprocessed(text)
    except (TypeError, KeyError, AttributeError, IndexError):
        tokens = lexer.get_tokens_unprocessed(text)  # a lexer with its own loop
        after = _ROOT
    ascii_text = text.isascii()
    for start, kind, words in tokens:
        token = _token(kind)
        if token and words:
            at = start if ascii_text else utf16(text[:start])
            out.append((at, len(words) if ascii_text else utf16(words), token))
    return tuple(out), after
