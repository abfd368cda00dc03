"""The desktop is told when a chat out of sight is done or needs an answer.

The notification service is a real one on a private bus: it speaks the protocol,
and the test presses its buttons.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from studio.domain.blocks import ToolBlock
from studio.domain.events import AwaitingReply, TextDelta, TurnComplete
from studio.domain.sessions import SessionInfo
from studio.simulator import Call, RequestView, Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.app.notifications import notification_text
from support.desktop_bus import bus, desktop
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop

pytestmark = [
    pytest.mark.usefixtures("alone"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="D-Bus is of Linux"),
]
__all__ = ["alone", "bus"]
COMPATIBLE = "openai-compatible"
INFO = SessionInfo("s", "Fix flaky retry test", "/", "Coder", "p", "m", "ask", 0.0, 0.0)


def runs() -> Turn:
    return Turn(Call("run", {"command": "true"}), stop="tool_use")


async def leave(person: Person, words: str) -> None:
    """Say something, and look at another page before anything can come of it."""
    person.composer.setFocus()
    person.say(words)
    person.window.pages.show_page("drafts")
    assert not person.window.pages.shows_chat
    await until(lambda: person.window.runner.running)


async def works_unseen(person: Person, words: str) -> None:
    """A turn that cannot be over before the person looks at another chat."""
    await leave(person, words)
    (session,) = person.window.runner.running
    await until(lambda: session.transcript.questions)
    person.window.new_chat()
    await until(lambda: person.window.chat.session is None)
    session.answer_permission(session.transcript.questions[0].id, "once")


def test_what_is_told_has_no_contents() -> None:
    assert notification_text(AwaitingReply("c", "secret?"), INFO) == "Coder needs your answer"
    assert notification_text(TurnComplete("done", "secret"), INFO) == "Fix flaky retry test is done"
    assert notification_text(TurnComplete("error", "secret"), INFO) == "Fix flaky retry test failed"
    ended = notification_text(TurnComplete("money_limit", "secret"), INFO)
    assert ended == "Fix flaky retry test stopped at a limit"
    assert (
        notification_text(TurnComplete("cancelled"), INFO)
        == notification_text(TextDelta("x"), INFO)
        == ""
    )


@on_window_loop
async def test_a_chat_out_of_sight_asks_is_opened_by_a_click_and_is_done(
    tmp_path: Path, bus: str
) -> None:
    script = [runs(), Turn(Text("Fine."))]
    async with desktop() as seen, at_window(tmp_path, COMPATIBLE, script) as person:
        await leave(person, "First")
        await until(lambda: seen.shown == {1: "Coder needs your answer"})
        _app, replaces, icon, _text, body, actions, hints, _time = seen.bodies[0]
        assert (replaces, icon, body, actions) == (0, "agent-studio", "", ["default", "Open"])
        assert hints == {"desktop-entry": ("s", "agent-studio")}
        await seen.press(1)
        await until(lambda: person.window.pages.shows_chat)
        assert person.session.info.title == "First"
        person.window.new_chat()
        await until(lambda: person.window.chat.session is None)
        (session,) = person.window.runner.running
        session.answer_permission(session.transcript.questions[0].id, "once")
        await until(lambda: seen.shown.get(2) == "First is done")
        await person.open_chat("First")
        await until(lambda: 2 not in seen.shown)  # it was seen


@on_window_loop
async def test_nothing_is_told_of_what_is_on_screen_or_where_it_is_not_wanted(
    tmp_path: Path, bus: str
) -> None:
    script = [Turn(Text("One.")), runs(), Turn(Text("Two.")), runs(), Turn(Text("Last."))]
    async with desktop() as seen, at_window(tmp_path, COMPATIBLE, script) as person:
        person.say("First")
        await person.done()
        person.engine.settings.values.notify = False
        person.say("Again")
        await until(lambda: person.session.transcript.questions)
        person.window.new_chat()
        await until(lambda: person.window.chat.session is None)
        (session,) = person.window.runner.running
        session.answer_permission(session.transcript.questions[0].id, "once")
        await until(lambda: not session.running)
        person.engine.settings.values.notify = True
        await leave(person, "Second")
        await until(lambda: person.program.notifier._shown)
        assert [body[3] for body in seen.bodies] == ["Coder needs your answer"]
    assert not seen.shown  # the window took back what it had told


@on_window_loop
async def test_l13_a_turn_that_the_next_tier_takes_over_is_no_news(
    tmp_path: Path, bus: str
) -> None:
    def play(view: RequestView) -> Turn:
        if view.model == "big":
            return Turn(Text("Nothing."))
        asks = "Ready?" not in str(view.body)
        return Turn(Call("ask", {"question": "Ready?"}) if asks else Call("list", {"path": "."}))

    def setup(file: SettingsFile) -> None:
        file.values.routing = True
        file.values.tiers = {"small": f"{COMPATIBLE}/tiny", "large": f"{COMPATIBLE}/big"}

    async with desktop() as seen, at_window(tmp_path, COMPATIBLE, play, setup=setup) as person:
        await leave(person, "What is here?")
        await until(lambda: seen.shown == {1: "Coder needs your answer"})
        (session,) = person.window.runner.running
        call = next(b for b in session.transcript.blocks if isinstance(b, ToolBlock))
        session.answer_question(call.call_id, "Yes")
        await until(lambda: "What is here? is done" in seen.shown.values())
        assert session.info.model == "big" and len(seen.bodies) == 2


@on_window_loop
async def test_without_a_service_all_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", f"unix:path={tmp_path}/nowhere")
    async with at_window(tmp_path, COMPATIBLE, [runs(), Turn(Text("One."))]) as person:
        await works_unseen(person, "First")
        await until(lambda: person.status("First") == "unread")
        await person.open_chat("First")
        await until(lambda: person.window.chat.session is not None)
        person.press(Key.Key_Escape)


@on_window_loop
async def test_a_bus_without_a_service_is_no_trouble(tmp_path: Path, bus: str) -> None:
    async with at_window(tmp_path, COMPATIBLE, [runs(), Turn(Text("One."))]) as person:
        await works_unseen(person, "First")
        await until(lambda: person.status("First") == "unread")
        assert person.window.banner.isHidden()


@on_window_loop
async def test_w68_a_sound_is_played_only_where_it_is_wanted(
    tmp_path: Path, bus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off at first; on it is played for what is told, once, and not for what is seen."""
    played: list[str] = []
    monkeypatch.setattr(QApplication, "beep", lambda: played.append("beep"))
    async with desktop() as seen, at_window(tmp_path, COMPATIBLE, []) as person:
        tell = person.window.pages.notified.emit
        values = person.engine.settings.values
        assert not values.sounds
        tell("run:1", "Story, run 1 needs your answer")
        await until(lambda: len(seen.bodies) == 1)
        assert not played
        values.sounds = True
        tell("run:1", "Story, run 1 is done")
        assert played == ["beep"]
        tell("run:1", "")
        assert played == ["beep"], "what was seen is taken back in silence"
        values.notify = False
        tell("run:2", "Story, run 2 failed")
        assert played == ["beep"] * 2
