"""Keeps the inspector up to date with the chat on screen."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer

from studio.ui.app.window_layout import WindowLayout
from studio.ui.chat.page import ChatPage
from studio.ui.formatting import folder_name
from studio.ui.theme import Theme

if TYPE_CHECKING:
    from studio.agent.context.compaction import ContextUsage
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.events import Event
    from studio.ui.pages.page import Run

    from .facts import ChatCosts
    from .inspector import Inspector


class InspectorController(QObject):
    """Makes the inspector when it is first wanted, and fills it from the chat on screen.

    ``later`` runs a coroutine on the event loop.
    """

    def __init__(
        self,
        theme: Theme,
        sides: WindowLayout,
        chat: ChatPage,
        later: Run,
    ) -> None:
        super().__init__(sides)
        self._theme, self._sides, self._chat, self._later = theme, sides, chat, later
        self.engine: Engine | None = None
        self.inspector: Inspector | None = None
        self._begun: float | None = None
        """When the running turn began, by ``time.monotonic``."""
        self._costs: ChatCosts | None = None
        self._context: ContextUsage | None = None
        self._epoch: int | None = None
        """The epoch of the history that is shown; None follows the newest."""
        self._listed: Session | None = None
        """The session whose stored events are listed; later ones follow as they come."""
        self._listing: Session | None = None
        """The session whose stored events are being read."""
        self._reads = self._shown_read = 0
        """The numbers of the newest reading, and of the one that is shown."""
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self._show_time)
        self._read_timer = QTimer(self, singleShot=True, interval=100)
        self._read_timer.timeout.connect(self._read)
        sides.changed.connect(self._on_layout)
        chat.event_seen.connect(self._on_event)
        chat.model.subscribe(lambda _: self._read(), "summary")
        chat.agents.changed.connect(self._show_agents)
        chat.header.inspector.clicked.connect(self.toggle)

    def toggle(self) -> None:
        from .inspector import Inspector

        if not self._sides.inspector_fits_page:
            return
        if self.inspector is None:
            self.inspector = Inspector(self._theme)
            self.inspector.epoch_wanted.connect(self._show_epoch)
            self.inspector.cap.given.connect(self._save_cap)
            self.inspector.run.summarise.clicked.connect(self._chat.model.actions.summarise)
            self._sides.set_inspector(self.inspector)
            self._show_agents()
        self._sides.show_inspector(not self._sides.inspector_shown)

    def _show_agents(self) -> None:
        from studio.ui.chat.child_agents import facts_of

        if self.inspector is not None:
            icon_of = self._chat.model.options.agent_icon
            self.inspector.agents.show_facts(facts_of(self._chat.agents.members, icon_of))

    def show_chat(self) -> None:
        """Show another chat."""
        self._begun = self._costs = self._epoch = self._context = None
        self._listed = None
        if self.inspector is not None:
            self.inspector.clear()
        self._read()

    def stop(self) -> None:
        self._clock.stop()
        self._read_timer.stop()

    def _on_layout(self) -> None:
        shown = self._sides.inspector_shown
        self._chat.header.inspector.setChecked(shown)
        if shown:
            self._clock.start()
            self._read()
        else:
            self.stop()

    def _on_event(self, event: Event) -> None:
        from studio.domain.events import TurnStarted

        from .facts import event_rows

        if isinstance(event, TurnStarted):
            self._begun = time.monotonic()
        session = self._chat.session
        if self.inspector is None or session is None:
            return
        self.inspector.plan.set(session.transcript.plan)
        for row in event_rows([(time.time(), event)], session):
            if session is self._listed:
                self.inspector.events.add(row)
            if not self._read_timer.isActive():
                self._read_timer.start()

    def _show_time(self) -> None:
        session = self._chat.session
        if session is not None and session.running:
            self._show(session)

    def _show(self, session: Session) -> None:
        from studio.agent.turn_budgets import session_caps

        from .facts import ChatCosts, run_facts

        if self.engine is not None and self.inspector is not None:
            model = self.engine.model(session.info.provider, session.info.model)
            summing = self._chat.model.actions.summarising(session)
            costs = self._costs or ChatCosts()
            facts = run_facts(
                session,
                model,
                costs,
                self._begun,
                self._context,
                folder=folder_name(session.info.folder, self.engine.paths),
                summing=summing,
            )
            self.inspector.run.set(facts)
            self.inspector.plan.set(session.transcript.plan)
            caps = session_caps(session.info, self.engine.settings.values)
            self.inspector.cap.show_cap(caps.dollars)

    def _save_cap(self, dollars: float) -> None:
        """Save what this chat may cost."""
        from studio.agent.turn_budgets import session_caps

        session, engine = self._chat.session, self.engine
        if session is not None and engine is not None:
            caps = session_caps(session.info, engine.settings.values)
            self._later(session.change(caps=replace(caps, dollars=dollars)))

    def _read(self) -> None:
        session = self._chat.session
        if self._sides.inspector_shown and session is not None and self.engine is not None:
            self._later(self._read_chat(self.engine, session))
            if session not in (self._listed, self._listing):
                self._listing = session
                self._later(self._list_events(self.engine, session))

    async def _list_events(self, engine: Engine, session: Session) -> None:
        """List what is stored, and what comes while it is read."""
        from .events_page import KEPT_EVENTS
        from .facts import event_rows

        seen: list[Event] = []
        end = session.subscribe(lambda envelope: seen.append(envelope.event))
        try:
            stored = await engine.store.recent_events(session.info.id, KEPT_EVENTS)
            # The lines of many drafts take a while to count.
            rows = await asyncio.to_thread(event_rows, stored, session)
        finally:
            end()
            if self._listing is session:
                self._listing = None
        if self.inspector is None or session is not self._chat.session or self._listed is session:
            return
        newest = [event for _, event in stored[-len(seen) :]] if seen else []
        late = [(time.time(), event) for event in seen if event not in newest]
        self._listed = session
        self.inspector.events.set([*rows, *event_rows(late, session)])

    def _show_epoch(self, number: int) -> None:
        self._epoch = number
        self._read()

    async def _read_chat(self, engine: Engine, session: Session) -> None:
        from studio.domain.sessions import Caller

        from .board_list import read_board
        from .facts import chat_costs, history_facts, request_rows
        from .history_page import HistoryFacts

        self._reads = number = self._reads + 1
        costs = await chat_costs(engine, session.info.id)
        epochs = await engine.store.epochs(session.info.id)
        if self._epoch is not None and epochs and self._epoch == epochs[-1].number:
            self._epoch = None
        context = await session.context.usage()
        board = await read_board(engine.services.boards, Caller("session", session.info.id))
        native = await engine.store.native(session.info.id, self._epoch)
        if native is not None:
            gate = engine.services.gate(session.info.subject)
            items = await gate.as_sent(native.items, native.provider, session.info.model)
            native = replace(native, items=items)
        # Several readings may run at once, and an older one end after a newer.
        if (
            self.inspector is not None
            and session is self._chat.session
            and number > self._shown_read
        ):
            self._shown_read = number
            self._costs, self._context = costs, context
            self._show(session)
            self.inspector.board.show_board(board)
            self.inspector.requests.set(request_rows(costs))
            history = HistoryFacts() if native is None else history_facts(native, epochs)
            self.inspector.history.set(history)
