"""Subject: shows what a chat is about, a thing of a pack: in the header, above a new chat, and its
state below the message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shiboken6 import isValid

from studio.processes.daemon_thread import in_daemon_thread
from studio.ui.translation import tr

if TYPE_CHECKING:
    from studio.tools.packs.sources import Mark
    from studio.ui.widgets import Label

    from .composer import Composer
    from .header import Header
    from .model.chat_model import ChatModel


class SubjectFact:
    """Keeps the header's subject, the heading over a new chat and the marks below the message, as
    the chat's options say.

    The marks, such as who may read it, are looked up again with each turn, and when the person
    comes to the message: a page or another program may have changed them.
    """

    def __init__(
        self, model: ChatModel, header: Header, heading: Label, composer: Composer
    ) -> None:
        self._model, self._header, self._heading = model, header, heading
        self._composer = composer
        self._shown = ""
        model.subscribe(lambda _: self._show(), "options", "engine", "chat")
        model.subscribe(lambda _: self._again(), "turn")
        composer.appeared.connect(self._again)
        composer.editor.focus_changed.connect(self._again)

    def _show(self) -> None:
        subject = self._model.options.subject
        if subject == self._shown or (subject and self._model.engine is None):
            return
        self._shown = subject
        self._tell(subject)
        if subject:
            self._model.run(self._look_up(subject))

    def _again(self) -> None:
        if self._shown and self._model.engine is not None:
            self._model.run(self._look_up(self._shown))

    async def _look_up(self, subject: str) -> None:
        engine = self._model.engine
        assert engine is not None
        packs = engine.services.packs
        found = (await in_daemon_thread(lambda: packs.resolve([subject]))).get(subject)
        if isValid(self._header) and subject == self._shown:
            self._tell(found.title if found else subject, found.marks if found else ())

    def _tell(self, title: str, marks: tuple[Mark, ...] = ()) -> None:
        self._heading.setText(title or tr("What are we working on?"))
        self._header.show_subject(title)
        self._composer.show_marks(marks)
