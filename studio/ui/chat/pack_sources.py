"""Pack sources: looks up what the addresses of packs in the chat on screen lead to (KZ-8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from shiboken6 import isValid

from studio.domain.pack_addresses import linked, pack_of
from studio.processes.daemon_thread import in_daemon_thread

if TYPE_CHECKING:
    from studio.domain.blocks import TranscriptBlock
    from studio.ui.transcript.view import TranscriptView

    from .model.chat_model import ChatModel
    from .model.open_chat import Change


class PackSources:
    """Gives the transcript the titles of things of packs, and tells it which are gone."""

    def __init__(self, model: ChatModel, view: TranscriptView) -> None:
        self._model, self._view = model, view
        model.subscribe(self._changed, "chat", "event")

    def _changed(self, change: Change) -> None:
        from studio.domain.events import ToolFinished, TurnComplete

        session = self._model.session
        if session is None:
            return
        blocks = session.transcript.blocks
        if change.part == "chat" or isinstance(change.event, TurnComplete):
            wanted = list(dict.fromkeys(_addresses(blocks)))  # what was there may be gone
        elif isinstance(change.event, ToolFinished) and change.block is not None:
            known = self._view.context.sources
            wanted = [one for one in _addresses([blocks[change.block]]) if one not in known]
        else:
            return
        if wanted:
            self._model.run(self._look_up(wanted))

    async def _look_up(self, wanted: list[str]) -> None:
        session = self._model.session
        if session is None:
            return
        found = await in_daemon_thread(lambda: session.resolve(wanted))
        titles = {address: one.title if one is not None else "" for address, one in found.items()}
        context = self._view.context
        if not isValid(self._view) or all(
            context.sources.get(address) == title for address, title in titles.items()
        ):
            return
        context.sources.update(titles)
        dead = frozenset(one for one, title in context.sources.items() if not title)
        context.style.dead_links = dead
        self._view.canvas_viewport.restyle()


def _addresses(blocks: Iterable[TranscriptBlock]) -> Iterable[str]:
    from studio.domain.blocks import TextBlock, ToolBlock

    for block in blocks:
        if isinstance(block, ToolBlock):
            yield from filter(pack_of, block.sources)
        elif isinstance(block, TextBlock):
            yield from linked(block.text)
