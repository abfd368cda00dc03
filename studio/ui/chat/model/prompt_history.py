"""Prompt history: walks through what the person wrote before, in this chat and then in others.

It is read from the chats; what is being written stays at its end, also when the program is killed
during a walk.
"""

from __future__ import annotations

from .message_input import MessageInput
from .open_chat import Change, OpenChat

MOST = 20
"""Messages of other chats that are read at once."""
NEWEST = 2**62
"""After all places in the database."""


class PromptHistory:
    """The texts of one walk, the latest first; the first one is what is being written.

    A text that the person changes on the way stays changed until the walk ends: with a message
    that is sent, or another chat.
    """

    def __init__(self, chat: OpenChat, message_input: MessageInput) -> None:
        self._chat, self._input = chat, message_input
        self._texts: list[str] = []
        self._seen: set[str] = set()
        self._at = 0
        self._next = NEWEST
        """Where the other chats are read on; 0 after the last message."""
        self._reading = False
        chat.subscribe(self._changed, "chat", "sent", "queue")

    def _changed(self, change: Change) -> None:
        if not change.reloaded:
            self._texts, self._seen, self._at, self._next = [], set(), 0, NEWEST

    def older(self) -> None:
        """Show the message before; those of other chats follow the first of this one."""
        if self._reading:
            return
        if not self._texts:
            self._begin()
        if self._at + 1 < len(self._texts):
            self._go_to(self._at + 1)
        elif self._next:
            self._reading = True
            self._chat.run(self._read_on(self._texts))

    def newer(self) -> None:
        """Show the message after, at the end what was being written."""
        if self._at:
            self._go_to(self._at - 1)
        else:
            self._input.take_up()

    def _begin(self) -> None:
        from studio.domain.blocks import UserBlock

        self._texts, session = [self._input.text], self._chat.session
        blocks = session.transcript.blocks if session is not None else ()
        said = [one.text for one in blocks if isinstance(one, UserBlock) and not one.by_agent]
        self._add(said[::-1])

    def _add(self, texts: list[str]) -> None:
        for text in texts:
            if text.strip() and text not in self._seen:
                self._seen.add(text)
                self._texts.append(text)

    def _go_to(self, at: int) -> None:
        self._texts[self._at] = self._input.text
        if not self._at:
            self._input.set_aside()
        self._at = at
        if at:
            self._input.set_text(self._texts[at])
        else:
            self._input.take_up()

    async def _read_on(self, texts: list[str]) -> None:
        try:
            engine, session = self._chat.engine, self._chat.session
            here = session.info.id if session is not None else ""
            while engine is not None and self._next and self._texts is texts:
                before = len(texts)
                found, following = await engine.store.prompts(self._next, here, MOST)
                if self._texts is not texts:
                    return
                self._next = following
                self._add(found)
                if len(texts) > before:
                    break
        finally:
            self._reading = False
        if self._texts is texts and self._at + 1 < len(texts):
            self._go_to(self._at + 1)
