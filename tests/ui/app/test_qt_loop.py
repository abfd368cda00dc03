"""The window's event loop: what qasync gets wrong is right here."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEventLoop as QtLoop
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from studio.ui.app.qt_loop import StudioLoop
from support.waiting import HANG, within


@pytest.fixture
def loop(qapp: QApplication) -> Iterator[StudioLoop]:
    loop = StudioLoop(qapp)
    asyncio.set_event_loop(loop)
    yield loop
    asyncio.set_event_loop(None)
    loop.close()


def test_timers_never_come_early(loop: StudioLoop) -> None:
    async def main() -> list[float]:
        errors: list[float] = []
        for delay in (0.0011, 0.0037, 0.01, 0.05):
            began = loop.time()
            await asyncio.sleep(delay)
            errors.append(loop.time() - began - delay)
        return errors

    assert min(loop.run_until_complete(main())) >= 0


def test_no_task_goes_on_while_the_loop_is_stopped(loop: StudioLoop) -> None:
    """Qt has its say once more when a run is over; tasks wait for the next run."""

    async def steps() -> None:
        for _ in range(100):
            assert asyncio.get_running_loop() is loop
            await asyncio.sleep(0)
        await asyncio.sleep(0.001)

    async def main() -> asyncio.Task[None]:
        return asyncio.ensure_future(steps())

    task = loop.run_until_complete(main())
    assert not task.done()
    loop.run_until_complete(asyncio.sleep(0))
    loop.run_until_complete(task)


def test_cancelled_timers_leave_nothing_behind(loop: StudioLoop) -> None:
    async def main() -> None:
        for _ in range(5000):
            loop.call_later(600, print).cancel()
        await asyncio.sleep(0)

    loop.run_until_complete(main())
    assert len(loop._heap) <= 201
    assert not loop._wake.isActive()


@pytest.mark.parametrize("first", [0.001, 600])
def test_timers_beside_cancelled_ones_come_in_order(loop: StudioLoop, first: float) -> None:
    async def main() -> list[float]:
        came: list[float] = []
        done = loop.create_future()
        now = loop.time()  # one moment for all: a pause between two calls changes no order
        loop.call_at(now + 0.02, done.set_result, None)
        for delay in (0.01, 0.003, 0.006):
            loop.call_later(first, came.append, first).cancel()
            loop.call_at(now + delay, came.append, delay)
            loop.call_later(0, came.append, 0).cancel()
        await done
        return came

    assert loop.run_until_complete(main()) == [0.003, 0.006, 0.01]


def test_calls_from_threads_keep_their_context(loop: StudioLoop) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="lost")

    async def main() -> tuple[str, int]:
        done = loop.create_future()
        context = contextvars.copy_context()
        context.run(variable.set, "kept")
        seen: list[int] = []

        def many() -> None:
            for number in range(2000):
                loop.call_soon_threadsafe(seen.append, number)
            loop.call_soon_threadsafe(lambda: done.set_result(variable.get()), context=context)

        threading.Thread(target=many).start()
        word = await done
        return word, len(seen)

    assert loop.run_until_complete(main()) == ("kept", 2000)


def test_a_nested_qt_loop_inside_a_task_only_pauses_the_others(loop: StudioLoop) -> None:
    async def main() -> list[str]:
        told: list[str] = []

        async def other() -> None:
            await asyncio.sleep(0.01)
            told.append("other")

        task = asyncio.create_task(other())
        await asyncio.sleep(0)
        nested, poll = QtLoop(), QTimer()
        poll.timeout.connect(lambda: loop._queue and nested.quit())  # the other task is due
        poll.start(1)
        nested.exec()
        poll.stop()
        told.append("dialog closed")
        await task
        return told

    assert loop.run_until_complete(main()) == ["dialog closed", "other"]


def test_calls_made_in_a_qt_loop_inside_a_callback_run_there(loop: StudioLoop) -> None:
    """The drain that runs the callback does not go on before that loop has ended."""
    seen: list[str] = []
    inner = QtLoop()

    def dialog() -> None:
        QTimer.singleShot(0, lambda: loop.call_soon(clicked))
        QTimer.singleShot(int(HANG * 500), inner.quit)  # where it would hang
        inner.exec()
        seen.append("closed")
        loop.call_soon(seen.append, "after")
        loop.call_soon(loop.stop)

    def clicked() -> None:
        seen.append("clicked")
        inner.quit()

    loop.call_soon(dialog)
    loop.run_forever()
    assert seen == ["clicked", "closed", "after"]


def test_subprocesses_threads_and_groups_work(loop: StudioLoop) -> None:
    async def main() -> tuple[bytes, int]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "print('x' * 200_000)", stdout=asyncio.subprocess.PIPE
        )
        async with asyncio.TaskGroup() as group:
            out = group.create_task(process.communicate())
            number = group.create_task(asyncio.to_thread(lambda: 42))
        return out.result()[0], number.result()

    out, number = loop.run_until_complete(main())
    assert len(out.strip()) == 200_000 and number == 42


def test_qt_paints_while_tasks_spin(loop: StudioLoop) -> None:
    async def main() -> None:
        ticks = 0

        def tick() -> None:
            nonlocal ticks
            ticks += 1

        timer = QTimer()
        timer.timeout.connect(tick)
        timer.start(1)
        async with within():
            while ticks <= 5:  # noqa: ASYNC110 (spinning is the point)
                await asyncio.sleep(0)
        timer.stop()

    loop.run_until_complete(main())


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_interrupt_is_noticed_while_nothing_else_happens(loop: StudioLoop) -> None:
    async def main() -> None:
        seen = loop.create_future()
        loop.add_signal_handler(signal.SIGINT, lambda: seen.set_result(None))
        threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT]).start()
        await asyncio.wait_for(seen, HANG)  # no other timer would wake the loop before
        loop.remove_signal_handler(signal.SIGINT)

    loop.run_until_complete(main())


@pytest.mark.skipif(os.name == "nt", reason="sockets are read in another way there")
def test_a_socket_is_read_again_with_the_notifier_that_it_had(loop: StudioLoop) -> None:
    """Also by who comes later, and by a later socket with its number; nobody hears what is left."""

    async def hear(ours: socket.socket, name: str) -> str:
        heard = loop.create_future()

        def ready() -> None:
            heard.set_result(name + ours.recv(1).decode())
            loop.remove_reader(ours.fileno())

        loop.add_reader(ours.fileno(), ready)
        async with within():
            return await heard

    async def main() -> list[str]:
        out: list[str] = []
        for name in ("first ", "later "):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                theirs.send(b"ab")  # each is asked for, though both are there
                out += [await hear(ours, name), await hear(ours, name)]
                loop.call_later(0.01, theirs.send, b"c")  # comes while it is waited for
                out.append(await hear(ours, "after "))
                assert not loop.remove_reader(ours.fileno())
        return out

    before = len(loop._readers)
    wanted = ["first a", "first b", "after c", "later a", "later b", "after c"]
    assert loop.run_until_complete(main()) == wanted
    assert len(loop._readers) <= before + 1


@pytest.mark.skipif(os.name == "nt", reason="sockets are read in another way there")
def test_what_a_socket_has_already_is_read_before_qt_gets_its_turn(loop: StudioLoop) -> None:
    """G-3: a stream that is read in turns goes through Qt once a turn, for its timer."""
    order: list[str] = []

    async def main() -> None:
        ours, theirs = socket.socketpair()
        qt = loop.create_future()

        def ready() -> None:
            order.append(ours.recv(1).decode())
            loop.remove_reader(ours.fileno())

        with ours, theirs:
            theirs.send(b"a")
            QTimer.singleShot(0, lambda: qt.set_result(order.append("Qt")))
            loop.add_reader(ours.fileno(), ready)
            async with within():
                await qt

    # Qt looks at its timers once more in a turn that takes long, on a busy computer.
    for _ in range(50):
        order.clear()
        loop.run_until_complete(main())
        if order == ["a", "Qt"]:
            return
    raise AssertionError(order)


def test_the_loop_can_be_debugged(loop: StudioLoop) -> None:
    """To ask whether it is takes no call of Python, and tells what was set last."""
    told: list[bool] = []
    for wanted in (False, True, False):
        loop.set_debug(wanted)
        told.append(loop.get_debug())
        assert bool(loop.call_soon(print)._source_traceback) is wanted  # type: ignore[attr-defined]
    assert told == [False, True, False]
