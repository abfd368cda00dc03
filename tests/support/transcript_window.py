"""The transcript's canvas in a window of its own, told events by hand."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtTest import QSignalSpy, QTest
from PySide6.QtWidgets import QApplication

from studio.domain.events import Event, TurnStarted
from studio.domain.messages import Text
from studio.domain.transcript import Transcript
from studio.ui.theme import Theme
from studio.ui.transcript.view import TranscriptView
from support.waiting import HANG_MS


class TranscriptWindow:
    """A view with its transcript; ``tell`` plays an event as the window would."""

    def __init__(self, view: TranscriptView) -> None:
        self.view = view
        self.transcript = Transcript()
        view.set_transcript(self.transcript)

    def tell(self, *events: Event) -> None:
        for event in events:
            index = self.transcript.apply(event)
            if index is not None:
                self.view.changed(index)
        self.view.flush()

    def ask(self, text: str = "Hello") -> None:
        self.tell(TurnStarted("s", "t", (Text(text),), "Coder", "p", "Model", "inline"))

    def kinds(self) -> list[str]:
        return [item.span.kind for item in self.view.canvas.items]

    def point(self, action: str) -> QPoint:
        """The middle of a button, in the viewport."""
        for index, item in enumerate(self.view.canvas.items):
            for hit in item.hits:
                if hit.action == action:
                    middle = hit.rect.center() + QPointF(
                        self.view.canvas_viewport.place_of(index).topLeft()
                    )
                    return middle.toPoint()
        raise AssertionError(f"no {action} in sight")

    def click(self, action: str) -> None:
        QTest.mouseClick(self.view.viewport(), Qt.MouseButton.LeftButton, pos=self.point(action))

    def key(
        self, key: Qt.Key, modifier: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
    ) -> None:
        QTest.keyClick(self.view, key, modifier)

    def letter(self, key: Qt.Key) -> None:
        """A key of a card, after which no other follows."""
        self.key(key)
        alone = self.view._keys._alone
        assert not alone.isActive() or QSignalSpy(alone.timeout).wait(HANG_MS)

    def later(self) -> None:
        """The moment in which a card ignores keys is over."""
        self.view.grab()
        for item in self.view.canvas.items:
            if getattr(item, "shown_at", None) is not None:
                item.shown_at -= 1.0  # type: ignore[attr-defined]


@pytest.fixture
def shown(qapp: QApplication) -> Iterator[TranscriptWindow]:
    theme = Theme("light")
    view = TranscriptView(theme)
    view.resize(900, 600)
    view.show()
    QTest.qWaitForWindowExposed(view)
    yield TranscriptWindow(view)
    view.close()
    view.deleteLater()
    qapp.processEvents()
