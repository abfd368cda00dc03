"""Signals of threads: where they end, and that they do."""

from __future__ import annotations

import gc
from collections.abc import Callable
from threading import Event, Thread, get_ident

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from studio.domain.messages import Image
from studio.ui.transcript.text.formulas import Formulas
from studio.ui.transcript.text.highlight import CodeColours
from studio.ui.widgets.thread_signal import ThreadSignal
from studio.ui.widgets.thumbnails import Thumbnails
from support.waiting import HANG, HANG_MS


def test_a_signal_that_a_thread_drops_last_ends_in_the_window(qtbot: QtBot) -> None:
    signal, told, may = ThreadSignal(), [], Event()
    ended: list[int] = []
    signal.emitted.connect(told.append)
    signal.destroyed.connect(lambda: ended.append(get_ident()), Qt.ConnectionType.DirectConnection)

    def work(held: ThreadSignal) -> None:
        may.wait(HANG)
        held.emit("made")
        held.end()

    thread = Thread(target=work, args=(signal,))
    thread.start()
    del signal
    gc.collect()
    may.set()
    thread.join(HANG)
    del thread
    assert not ended
    qtbot.waitUntil(lambda: bool(ended), timeout=HANG_MS)
    assert told == ["made"] and ended == [get_ident()]


@pytest.mark.parametrize(
    ("make", "ask"),
    [
        (Thumbnails, lambda made: made.get(Image("image/png", b"no picture"), 10)),
        (CodeColours, lambda made: made.can("python")),
        (Formulas, lambda made: made.find("$x$")),
    ],
)
def test_a_thread_outlives_the_object_that_began_it(
    make: Callable[[], QObject], ask: Callable[[QObject], object], qapp: QApplication, qtbot: QtBot
) -> None:
    before = set(qapp.findChildren(ThreadSignal))
    owner = make()
    ask(owner)
    assert set(qapp.findChildren(ThreadSignal)) - before
    owner.deleteLater()
    del owner
    qtbot.waitUntil(lambda: not set(qapp.findChildren(ThreadSignal)) - before, timeout=HANG_MS)
