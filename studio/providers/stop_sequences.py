"""Stop sequences: end an answer before the first of them that it reaches.

Some APIs have no stop sequences (Responses), take a few only (Chat Completions
four, Gemini five) or not all (Anthropic none of spaces alone), and some servers
ignore them. So every adapter sends what its API takes, and the driver cuts here too.

What the provider sends is read to its end all the same: the native history
stays what it said, and what the whole of it cost is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from studio.domain.events import Delta, TextDelta
from studio.domain.messages import ToolCall

from .base import Reply
from .tool_arguments import is_whole_object


class StopTextCutter:
    """Text up to the first stop text, however it is cut into pieces.

    The first is the one that ends first: it is complete before any other.

    A call or a thought between two pieces of text is no part of either, so no
    stop text reaches across. Calls that come later stay in the reply, for the
    native history has them, but it says that it ended: nothing is to run. Nor is
    a call whose arguments an API's own stop text may have cut short.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        """None of the ``texts`` may be empty; without any, everything passes as it is."""
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

    def shown(self, deltas: Iterable[Delta]) -> Iterable[Delta]:
        """What of these is shown: nothing after a stop text."""
        return self._until_stop(deltas) if self._texts else deltas

    def _until_stop(self, deltas: Iterable[Delta]) -> Iterable[Delta]:
        for delta in deltas:
            if isinstance(delta, TextDelta):
                if shown := self.add(delta.text):
                    yield replace(delta, text=shown)
            elif not self.at:
                if held := self.rest():
                    yield TextDelta(held)
                yield delta

    def ended(self, reply: Reply) -> Reply:
        """The whole reply, with the stop text that it came to."""
        if self.at:
            return replace(reply, stop="end", detail="", stopped_at=self.at)
        if not self._texts:
            return reply
        calls = [replace(one, arguments=None) if _is_cut(one) else one for one in reply.calls]
        return replace(reply, calls=calls)


def _begun(text: str, stop: str) -> int:
    """How many characters at the end of ``text`` may begin the stop text."""
    most = min(len(text), len(stop) - 1)
    return next((size for size in range(most, 0, -1) if text.endswith(stop[:size])), 0)


def _is_cut(call: ToolCall) -> bool:
    """Whether what the model wrote is no JSON as it stands; what came parsed has no text."""
    return bool(call.raw.strip()) and not is_whole_object(call.raw)
