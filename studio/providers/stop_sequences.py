"""Stop sequences: end an answer before the first of them that it reaches.

Some APIs have no stop sequences (Responses), take a few only (Chat Completions
four, Gemini five) or not all (Anthropic none of spaces alone), and some servers
ignore them. So every adapter sends what its API takes, and cuts the reply here too.

What the provider sends is read to its end all the same: the native history
stays what it said, and what the whole of it cost is known.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from studio.domain.events import Delta, TextDelta
from studio.domain.messages import ToolCall

from .base import Reply, ReplyStream, Request


def cut_at_stop_texts(stream: ReplyStream, request: Request) -> ReplyStream:
    """The stream, cut at the request's stop texts; itself where there are none."""
    texts = [text for text in request.stop if text]
    return _Stopping(stream, texts) if texts else stream


class StopTextCutter:
    """Text up to the first stop text, however it is cut into pieces.

    The first is the one that ends first: it is complete before any other.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        """``texts`` may not be empty, nor may any of them."""
        self._texts = texts
        self._held = ""
        self.at = ""
        """The stop text that came."""

    def add(self, piece: str) -> str:
        """Take a piece; returns what can be shown now.

        What may be the beginning of a stop text is held back.
        """
        if self.at:
            return ""
        text, self._held = self._held + piece, ""
        found = [(at + len(stop), at, stop) for stop in self._texts if (at := text.find(stop)) >= 0]
        if found:
            _, at, self.at = min(found)
            return text[:at]
        held = max(_begun(text, stop) for stop in self._texts)
        shown = len(text) - held
        self._held = text[shown:]
        return text[:shown]

    def rest(self) -> str:
        """What was held back, when it turns out that no stop text comes of it."""
        held, self._held = self._held, ""
        return held


def _begun(text: str, stop: str) -> int:
    """How many characters at the end of ``text`` may begin the stop text."""
    most = min(len(text), len(stop) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(stop[:size])), 0)


def _is_cut(call: ToolCall) -> bool:
    """Whether what the model wrote is no JSON as it stands; what came parsed has no text."""
    try:
        return bool(call.raw.strip()) and not isinstance(json.loads(call.raw), dict)
    except (ValueError, RecursionError):
        return True


class _Stopping:
    """A ``ReplyStream`` that shows nothing after a stop text.

    A call or a thought between two pieces of text is no part of either, so no
    stop text reaches across. Calls that come later stay in the reply, for the
    native history has them, but it says that it ended: nothing is to run. Nor is
    a call whose arguments an API's own stop text may have cut short.
    """

    def __init__(self, stream: ReplyStream, texts: Sequence[str]) -> None:
        self._stream = stream
        self._cut = StopTextCutter(texts)

    @property
    def last_event_at(self) -> float:
        return self._stream.last_event_at

    async def __aiter__(self) -> AsyncIterator[Delta]:
        async for delta in self._stream:
            if isinstance(delta, TextDelta):
                if shown := self._cut.add(delta.text):
                    yield replace(delta, text=shown)
            elif not self._cut.at:
                if held := self._cut.rest():
                    yield TextDelta(held)
                yield delta
        if held := self._cut.rest():
            yield TextDelta(held)

    def reply(self) -> Reply:
        reply = self._stream.reply()
        if self._cut.at:
            return replace(reply, stop="end", detail="", stopped_at=self._cut.at)
        calls = [replace(one, arguments=None) if _is_cut(one) else one for one in reply.calls]
        return replace(reply, calls=calls)

    def interrupted(self) -> Reply:
        return self._stream.interrupted()

    async def aclose(self) -> None:
        await self._stream.aclose()
