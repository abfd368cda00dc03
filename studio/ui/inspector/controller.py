"""Keeps the inspector up to date with the chat on screen."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer

from studio.ui.app.window_layout import WindowLayout
from studio.ui.chat.page import ChatPage
from studio.ui.theme import Theme

from .chat_costs import ChatCosts, chat_costs

if TYPE_CHECKING:
    from studio.agent.context import ContextUsage
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.events import Event

    from .inspector import Inspector


class InspectorController(QObject):
    """Makes the inspector when it is first wanted, then tells it what happens.

    ``later`` runs a coroutine on the event loop.
    """

    def __init__(
        self,
        theme: Theme,
        sides: WindowLayout,
        chat: ChatPage,
        later: Callable[[Coroutine[Any, Any, Any]], object],
    ) -> None:
        super().__init__(sides)
        self._theme, self._sides, self._chat, self._later = theme, sides, chat, later
        self.studio: Engine | None = None
        self.inspector: Inspector | None = None
        self._began: float | None = None
        self._spent = ChatCosts()
        self._context: ContextUsage | None = None
        self._epoch: int | None = None
        """The epoch of the history that is looked at; None follows the newest."""
        self._looks = self._shown_look = 0
        """The numbers of the newest look, and of the one that is shown."""
        self._clock = QTimer(self)
        self._clock.setInterval(1000)
        self._clock.timeout.connect(self._tick)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(100)
        self._soon.timeout.connect(self._read)
        sides.changed.connect(self._shown)
        chat.event_seen.connect(self._seen)
        chat.model.subscribe(lambda _: self._read(), "summary")
        chat.header.inspector.clicked.connect(self.toggle)

    def toggle(self) -> None:
        from .inspector import Inspector

        if self.inspector is None:
            self.inspector = Inspector(self._theme)
            self.inspector.epoch_wanted.connect(self._show_epoch)
            self.inspector.cap.given.connect(self._cap)
            self.inspector.run.summarise.clicked.connect(self._chat.model.actions.summarise)
            self._sides.set_inspector(self.inspector)
        self._sides.show_inspector(not self._sides.inspector_shown)

    def begin(self) -> None:
        """Another chat is on screen."""
        self._began = None
        self._spent, self._epoch, self._context = ChatCosts(), None, None
        if self.inspector is not None:
            self.inspector.clear_events()
            if self._chat.session is None:
                self.inspector.clear()
        self._read()

    def stop(self) -> None:
        self._clock.stop()
        self._soon.stop()

    def _shown(self) -> None:
        shown = self._sides.inspector_shown
        self._chat.header.inspector.setChecked(shown)
        if shown:
            self._clock.start()
            self._read()
        else:
            self.stop()

    def _seen(self, event: Event) -> None:
        from studio.domain.events import TurnStarted

        from .facts import event_line

        if isinstance(event, TurnStarted):
            self._began = time.monotonic()
        session = self._chat.session
        if self.inspector is None or session is None:
            return
        if line := event_line(event, session):
            self.inspector.add_event(time.time(), *line)
            if not self._soon.isActive():
                self._soon.start()

    def _tick(self) -> None:
        """A second has passed: the run's clock goes on."""
        session = self._chat.session
        if session is not None and session.running:
            self._show(session)

    def _show(self, session: Session) -> None:
        from studio.agent.usage_accounting import session_caps

        from .facts import run_facts

        if self.studio is not None and self.inspector is not None:
            model = self.studio.model(session.info.provider, session.info.model)
            summing = self._chat.model.actions.summarising(session)
            facts = run_facts(
                session, model, self._spent, self._began, self._context, summing=summing
            )
            self.inspector.set_run(facts)
            caps = session_caps(session.info, self.studio.settings.values)
            self.inspector.cap.show_cap(caps.dollars)

    def _cap(self, dollars: float) -> None:
        """The person says what this chat may cost."""
        from studio.agent.usage_accounting import session_caps

        session, studio = self._chat.session, self.studio
        if session is not None and studio is not None:
            caps = session_caps(session.info, studio.settings.values)
            self._later(session.change(caps=replace(caps, dollars=dollars)))

    def _read(self) -> None:
        session = self._chat.session
        if self._sides.inspector_shown and session is not None and self.studio is not None:
            self._later(self._look(self.studio, session))

    def _show_epoch(self, number: int) -> None:
        self._epoch = number
        self._read()

    async def _look(self, studio: Engine, session: Session) -> None:
        from .facts import history_facts, request_rows
        from .history_page import HistoryFacts

        self._looks = number = self._looks + 1
        spent = await chat_costs(studio, session.info.id)
        epochs = await studio.store.epochs(session.info.id)
        if self._epoch is not None and epochs and self._epoch == epochs[-1].number:
            self._epoch = None
        context = await session.memory.context()
        native = await studio.store.native(session.info.id, self._epoch)
        # Several may be on their way, and an older one come later than a newer.
        if (
            self.inspector is not None
            and session is self._chat.session
            and number > self._shown_look
        ):
            self._shown_look = number
            self._spent, self._context = spent, context
            self._show(session)
            self.inspector.set_requests(request_rows(spent))
            self.inspector.set_history(
                HistoryFacts() if native is None else history_facts(native, epochs)
            )
