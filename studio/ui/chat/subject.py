"""Subject: shows what a chat is about, a thing of a pack, in the header and above a new chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiboken6 import isValid

from studio.processes.daemon_thread import in_daemon_thread
from studio.ui.translation import tr

if TYPE_CHECKING:
    from studio.ui.widgets import Label

    from .header import Header
    from .model.chat_model import ChatModel


class SubjectFact:
    """Keeps the header's subject, and the heading over a new chat, as the chat's options say."""

    def __init__(self, model: ChatModel, header: Header, heading: Label) -> None:
        self._model, self._header, self._heading = model, header, heading
        self._shown = ""
        model.subscribe(lambda _: self._show(), "options", "engine", "chat")

    def _show(self) -> None:
        subject = self._model.options.subject
        if subject == self._shown or (subject and self._model.engine is None):
            return
        self._shown = subject
        self._tell(subject)
        if subject:
            self._model.run(self._look_up(subject))

    async def _look_up(self, subject: str) -> None:
        engine = self._model.engine
        assert engine is not None
        packs = engine.services.packs
        found = (await in_daemon_thread(lambda: packs.resolve([subject]))).get(subject)
        if isValid(self._header) and subject == self._shown:
            self._tell(found.title if found is not None else subject)

    def _tell(self, title: str) -> None:
        self._heading.setText(title or tr("What are we working on?"))
        self._header.show_subject(title)
