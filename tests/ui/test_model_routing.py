"""At the window: routing is chosen in the settings and seen in the chat (L-13); events in words."""

from __future__ import annotations

import typing
from pathlib import Path

import pytest

from studio.agent.prompts import LAST_STEP, NEARLY_OUT, TAKE_OVER
from studio.agent.session.event_channel import EventEnvelope
from studio.domain import events
from studio.domain.blocks import AgentBlock, NoticeBlock
from studio.domain.events import (
    Exposed,
    FilesChanged,
    FilesRestored,
    MessageQueued,
    PermissionResolved,
    Pinned,
    Routed,
    Steered,
    Summarised,
    Told,
)
from studio.domain.messages import Text as Words
from studio.simulator import Call, RequestView, Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.inspector.facts import TOPIC_TEXTS, event_line
from studio.ui.settings.dialog import SettingsDialog
from studio.ui.theme.icons import Icons
from support.event_samples import SAMPLES
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]
PROVIDER = "openai-compatible"


def models(file: SettingsFile) -> None:
    file.values.own_models[PROVIDER] = ["tiny", "big"]


def says_who(view: RequestView) -> Turn:
    return Turn(Text(f"{view.model} here."))


async def opened(person: Person) -> SettingsDialog:
    person.window.preferences.open("general")
    dialog = await until(lambda: person.window.preferences.dialog)
    assert isinstance(dialog, SettingsDialog)
    await until(dialog.isActiveWindow)
    return dialog


@on_window_loop
async def test_routing_is_chosen_in_the_settings_and_seen_in_the_chat(tmp_path: Path) -> None:
    """L-13: off by default; with a model for each tier; each choice is a row in the chat."""
    async with at_window(tmp_path, PROVIDER, says_who, setup=models) as person:
        values = person.engine.settings.values
        dialog = await opened(person)
        rows = dialog.pages["general"].routing
        assert not rows.on.isChecked() and not values.routing
        assert not any(combo.isEnabled() for combo in (rows.asked, *rows.tiers.values()))
        assert rows.asked.text() == "Rules alone" and rows.tiers["small"].text() == "Not set"
        rows.ensurePolished()
        dialog.pages["general"].ensureWidgetVisible(rows.asked)
        person.click(rows.on)
        assert values.routing and rows.tiers["small"].isEnabled()
        await person.choose(rows.tiers["small"], "tiny")
        await person.choose(rows.tiers["large"], "big")
        await person.choose(rows.asked, "tiny")
        assert values.tiers == {"small": f"{PROVIDER}/tiny", "large": f"{PROVIDER}/big"}
        assert values.routing_model == f"{PROVIDER}/tiny"
        assert rows.tiers["small"].accessibleName() == "Small model, tiny"
        await person.choose(rows.asked, "Rules alone")
        assert values.routing_model == ""
        file = person.engine.paths.settings
        saved = SettingsFile(file)
        await until(lambda: file.exists() and "big" in file.read_text())
        assert (await saved.load()).tiers == values.tiers
        dialog.close()

        person.window.activateWindow()
        await until(person.window.isActiveWindow)
        person.press(Key.Key_I, CTRL)
        inspector = await until(lambda: person.window.inspector)
        person.composer.setFocus()
        person.say("What is this?")
        await person.done()
        (notice,) = person.blocks(NoticeBlock)
        assert notice.text == "This looks like a quick question, so tiny answers at once."
        (agent,) = person.blocks(AgentBlock)
        assert agent.model == "tiny" and person.says("tiny here.")
        assert person.composer.model.text() == "tiny", "what the next message goes to"
        assert f"Routed. {notice.text}" in [row.text for row in inspector.events.rows]
        assert person.session.info.model == "tiny" and not person.session.info.model_chosen


@on_window_loop
async def test_between_two_tiers_the_composer_shows_that_work_goes_on(tmp_path: Path) -> None:
    """L-13: to the person it is one message that is worked on, and can be stopped."""

    def play(view: RequestView) -> Turn:
        circles = view.model == "tiny" and "Whirl" in str(view.body)
        return Turn(Call("list", {"path": "."})) if circles else says_who(view)

    def setup(file: SettingsFile) -> None:
        models(file)
        file.values.routing = True
        file.values.tiers = {"small": f"{PROVIDER}/tiny", "large": f"{PROVIDER}/big"}

    async with at_window(tmp_path, PROVIDER, play, setup=setup) as person:
        person.say("Hello")
        await person.done()
        ends: list[tuple[str, str]] = []

        def heard(envelope: EventEnvelope) -> None:
            event = envelope.event
            if isinstance(event, events.TurnComplete):
                ends.append((event.reason, person.composer.state))

        person.session.subscribe(heard)  # after the window did, so that it knows already
        person.say("Whirl?")
        await until(lambda: len(ends) == 2)
        assert ends == [("stalled", "running"), ("done", "idle")]
        await until(lambda: person.says("big here."))


@on_window_loop
async def test_the_menus_lead_to_the_providers(tmp_path: Path) -> None:
    async with at_window(tmp_path, PROVIDER, [], setup=models) as person:
        dialog = await opened(person)
        rows = dialog.pages["general"].routing
        person.click(rows.on)
        await person.choose(rows.tiers["cloud"], "Providers and models")
        assert dialog.pages["providers"].isVisible() and person.engine.settings.values.tiers == {}


@on_window_loop
async def test_every_event_has_words(tmp_path: Path) -> None:
    """L-2: what happens can be read and filtered in the inspector, without code's names."""
    small = {"TextDelta", "ReasoningDelta", "CallStarted", "ToolOutput"}
    small |= {"StepStarted", "ToolQueued", "CallChanged", "ToolStarted"}  # listed when they end
    async with at_window(tmp_path, PROVIDER, [Turn(Text("Hi."))]) as person:
        person.say("Hello")
        await person.done()
        session, icons = person.session, Icons()

        def line(event: events.Event) -> str:
            shown = event_line(event, session)
            assert shown is not None
            icon, words, figure = shown
            assert icons.known(icon), icon
            return f"{words} | {figure}" if figure else words

        for event in SAMPLES:
            name = type(event).__name__
            assert (event_line(event, session) is None) == (name in small), name
            assert name in small or line(event).strip(), name
        assert set(TOPIC_TEXTS) == set(typing.get_args(events.Topic))
        said = (Words("Also the tests"),)
        for shown, words in (
            (line(MessageQueued("m", said)), "Message queued"),
            (line(Steered(said)), "Message given to the running turn"),
            (
                line(Summarised("s", "Text", 4, 120_000, 9_000)),
                "Summed up what was said before | 120k → 9.0k",
            ),
            (line(Pinned(0, True)), "Pinned a message"),
            (
                line(Exposed("untrusted", "https://example.com/a")),
                "Saw words from outside: https://example.com/a",
            ),
            (
                line(Routed("inline", "p", "m", "Small.", "p/tiny", cost=0.002)),
                "Routed. Small. Asked p/tiny. | $0.0020",
            ),
            (line(FilesChanged("t", ("a.py", "b.py", "c.py"))), "Changed a.py and 2 more files"),
            (
                line(FilesRestored("t", True, ("a.py",), ("b.py",))),
                "Undid changes of a.py, left b.py alone",
            ),
            (line(FilesRestored("t", False, (), ("b.py",))), "Put nothing back, left b.py alone"),
            (line(PermissionResolved("q", "folder")), "Allowed in this folder"),
            (line(PermissionResolved("q", "always")), "Allowed everywhere"),
            (line(Told("wrap_up", LAST_STEP)), "Told that this is the last step"),
            (line(Told("wrap_up", NEARLY_OUT)), "Told that the limit is near"),
            (line(Told("stall", "Stop.")), "Asked for a final answer"),
            (line(Told("stall", TAKE_OVER)), "Told to take over from a model that got stuck"),
        ):
            assert shown.startswith(words), shown
