"""The model of the chat pane, driven without Qt: a real engine against the simulator."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from studio.domain.aio import BackgroundTasks
from studio.domain.blocks import TextBlock, UserBlock
from studio.domain.errors import ConfigurationError
from studio.domain.messages import File
from studio.simulator import Call, RequestView, Script, Text, Turn, stall, status
from studio.ui.chat.model import recent_chats
from studio.ui.chat.model.chat_model import ChatModel
from studio.ui.chat.model.open_chat import Change, OpenChat
from studio.ui.chat.model.turn_runner import TurnRunner
from studio.ui.chat.model.unsent import UnsentBuffer
from support.engine_home import EngineHome, engine_home
from support.waiting import until

COMPATIBLE = "openai-compatible"
HANGS = Turn(Text("I am on it."), faults=[stall(at=-1)])
NO_QT = """
import importlib, pkgutil, sys
for name in ("PySide6", "shiboken6", "qasync"):
    sys.modules[name] = None
import studio.ui.chat.model as model
import studio.ui.transcript.model, studio.ui.transcript.height_index
names = [module.name for module in pkgutil.iter_modules(model.__path__)]
for name in names:
    importlib.import_module(f"studio.ui.chat.model.{name}")
print(len(names))
"""


class Pane:
    """A chat pane without widgets: the model, and what it told."""

    def __init__(self, home: EngineHome) -> None:
        self.home = home
        self.problems: list[str] = []
        self.runner = TurnRunner(lambda error: self.problems.append(str(error)), lambda *_: None)
        self.tasks = BackgroundTasks()
        unsent = UnsentBuffer(self.tasks.start)
        self.model = ChatModel(self.runner, self.problems.append, unsent)
        self.changes: list[Change] = []
        self.model.subscribe(self.changes.append)

    @property
    def parts(self) -> list[str]:
        return [change.part for change in self.changes]

    @property
    def texts(self) -> list[str]:
        """What was said by the person and the agent."""
        session = self.model.session
        blocks = session.transcript.blocks if session is not None else ()
        return [block.text for block in blocks if isinstance(block, UserBlock | TextBlock)]

    async def say(self, text: str) -> None:
        turns = self.parts.count("turn")
        self.model.input.set_text(text)
        self.model.input.send()
        await until(
            lambda: (
                (session := self.model.session) is not None
                and (session.running or self.parts.count("turn") > turns)
            )
        )

    async def done(self) -> None:
        await until(lambda: self.model.input.state == "idle" and not self.runner.running)


@contextlib.asynccontextmanager
async def pane(tmp_path: Path, script: Script) -> AsyncIterator[Pane]:
    """A new chat of an engine whose provider is the simulator."""
    async with engine_home(tmp_path, COMPATIBLE, script) as home:
        values = home.engine.settings.values
        values.default_provider, values.default_model[COMPATIBLE] = COMPATIBLE, "sim-model"
        shown = Pane(home)
        shown.model.attach(home.engine)
        await shown.model.start_new(COMPATIBLE, folder=str(home.folder))
        await shown.model.options.found()
        try:
            yield shown
        finally:
            shown.runner.close()
            shown.runner.stop_all()
            await shown.runner.finish()
            await shown.model.finish()
            await shown.tasks.aclose()


def test_the_model_is_free_of_qt() -> None:
    done = subprocess.run([sys.executable, "-c", NO_QT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 10


async def test_the_first_message_makes_the_session_and_is_answered(tmp_path: Path) -> None:
    async with pane(tmp_path, [Turn(Text("Hello."))]) as chat:
        model = chat.model
        assert model.session is None and model.placeholder == "Ask, or describe a task"
        assert (model.options.provider, model.options.model_id) == (COMPATIBLE, "sim-model")
        await chat.say("Hi")
        assert model.input.text == "" and model.placeholder == "Add a follow-up"
        await chat.done()
        assert chat.texts == ["Hi", "Hello."] and not chat.problems
        first = chat.parts.index
        assert first("chat") < first("sent") < first("event") < first("turn")
        assert model.session is not None and model.session.info.folder == str(chat.home.folder)


async def test_a_message_that_cannot_be_sent_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def in_use() -> None:
        raise ConfigurationError("In use.")

    async with pane(tmp_path, []) as chat:
        notes = chat.home.folder / "notes.md"
        notes.write_text("# Notes\n")
        chat.model.attachments.add([notes])
        await until(lambda: not chat.model.attachments.reading)
        monkeypatch.setattr(chat.model.external, "ensure_free", in_use)
        chat.model.input.set_text("Read this")
        chat.model.input.send()
        assert chat.model.input.text == "" and chat.model.input.state == "running"
        chat.model.input.set_text("and that")
        await until(lambda: chat.problems == ["In use."])
        assert chat.model.input.text == "Read this\nand that" and chat.model.input.state == "idle"
        assert [item.name for item in chat.model.attachments.items] == ["notes.md"]
        assert chat.model.input.ready and chat.model.session is None


@pytest.mark.parametrize("begins", [False, True])
async def test_a_message_comes_back_whatever_kept_its_turn_from_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    """G-2: also an error that nobody foresaw, before the chat is asked or as it begins."""

    async def broken(*_: object) -> None:
        raise OSError("The disk is gone.")

    async with pane(tmp_path, [Turn(Text("Hello."))]) as chat:
        await chat.say("Hi")
        await chat.done()
        if begins:
            monkeypatch.setattr(chat.home.engine.services, "agents", broken)
        else:
            monkeypatch.setattr(chat.model.external, "ensure_free", broken)
        chat.model.input.set_text("@Coder again")
        chat.model.input.send()
        assert chat.model.input.text == ""
        await until(lambda: chat.model.input.text == "@Coder again")
        await until(lambda: chat.model.input.state == "idle")
        assert chat.texts == ["Hi", "Hello."]


async def test_chats_of_long_ago_take_no_memory_and_go_on_when_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """H-5: all of a chat is stored. One that works, or has a message that waits, stays open."""
    monkeypatch.setattr(recent_chats, "KEPT", 1)

    def script(view: RequestView) -> Turn:
        return HANGS if view.last_user == "Hang" else Turn(Text(f"{view.last_user}."))

    async with pane(tmp_path, script) as chat:
        model, ids = chat.model, list[str]()
        sessions = chat.home.engine.sessions
        for text in ("Hang", "First", "Second"):
            await model.start_new(COMPATIBLE, folder=str(chat.home.folder))
            await chat.say(text)
            assert model.session is not None
            ids.append(model.session.info.id)
            if text != "Hang":
                await until(lambda: model.input.state == "idle")
        works, first, second = ids
        await until(lambda: sorted(sessions._open) == sorted((works, second)))
        model.open(await sessions.open(first))
        assert chat.texts == ["First", "First."]
        await chat.say("More")
        await until(lambda: model.input.state == "idle")
        assert chat.texts == ["First", "First.", "More", "More."]
        await until(lambda: sorted(sessions._open) == sorted((works, first)))
        chat.runner.stop(works)
        await until(lambda: not chat.runner.works_on(works))
        model.open(await sessions.open(second))
        await until(lambda: list(sessions._open) == [second])
        assert not chat.problems


async def test_messages_wait_while_a_turn_runs_and_can_be_taken_back(tmp_path: Path) -> None:
    async with pane(tmp_path, [HANGS, Turn(Text("Second."))]) as chat:
        model = chat.model
        await chat.say("First")
        await until(lambda: model.session and model.session.transcript.steps)
        for words in ("Wait", "Now"):
            model.input.set_text(words)
            model.queue.add(now=words == "Now")
        assert [(one.text, one.steers) for one in model.queue.messages] == [
            ("Wait", False),
            ("Now", True),
        ]
        assert model.queue.running and model.input.text == ""
        model.queue.take_back(model.queue.messages[0].id)
        assert model.input.text == "Wait"  # the input was empty
        model.input.set_text("Typed")
        model.queue.take_back(model.queue.messages[0].id)
        assert model.input.text == "Typed" and not model.queue.messages  # it was not
        model.stop()
        await chat.done()
        assert not model.queue.running


async def test_words_answer_the_open_question_or_refuse_a_permission(tmp_path: Path) -> None:
    asks = Turn(Call("run", {"command": "touch made"}), stop="tool_use")
    async with pane(tmp_path, [asks, Turn(Text("Then not."))]) as chat:
        model = chat.model
        await chat.say("Make a file")
        await until(lambda: model.input.state == "waiting")
        assert "tell Coder what to do instead" in model.placeholder and "state" in chat.parts
        model.input.set_text("Leave it")
        model.input.send()
        await until(lambda: "Then not." in chat.texts)
        await chat.done()
        assert not (chat.home.folder / "made").exists()
        assert chat.texts == ["Make a file", "Leave it", "Then not."]


async def test_an_edited_message_goes_to_another_version(tmp_path: Path) -> None:
    script = [Turn(Text("One.")), Turn(Text("Two.")), Turn(Text("Other."))]
    async with pane(tmp_path, script) as chat:
        model = chat.model
        for words in ("First", "Second"):
            await chat.say(words)
            await chat.done()
        before = model.session
        assert model.recovery.recall() and model.input.text == "Second"
        assert model.status is not None and model.status.kind == "editing"
        model.input.set_text("")
        assert model.status is None  # its text is deleted: it is not edited any more
        model.recovery.recall()
        await chat.say("Different")
        await until(lambda: "Other." in chat.texts)
        await chat.done()
        assert model.session is not before and before is not None
        assert chat.texts == ["First", "One.", "Different", "Other."]
        turn_id = model.recovery._messages[-1].turn_id
        found = await until(lambda: model.versions.of(turn_id, "message"))
        assert found.beside(-1) == before.info.id and model.parent is None
        assert model.versions.of(turn_id, "answer") is None


async def test_a_failed_turn_is_tried_again(tmp_path: Path) -> None:
    async with pane(tmp_path, [Turn(Text("Late."), faults=[status(500, times=1)])]) as chat:
        await chat.say("Go")
        await chat.done()
        assert chat.texts == ["Go"]
        chat.model.recovery.retry()
        await until(lambda: "Late." in chat.texts)
        await chat.done()


async def test_what_the_person_chooses_is_kept_in_the_session(tmp_path: Path) -> None:
    async with pane(tmp_path, [Turn(Text("Yes."))]) as chat:
        model = chat.model
        model.options.choose_turn_mode("background")
        await chat.say("Go")
        await chat.done()
        assert model.session is not None and model.options.turn_mode == "background"
        chat.changes.clear()
        model.options.choose_permission_mode("plan")
        model.options.choose_model(COMPATIBLE, "other")
        await until(lambda: model.session and model.session.info.model == "other")
        assert model.session.info.permission_mode == "plan"
        assert {"chosen", "session", "options"} <= set(chat.parts)
        await model.start_new(COMPATIBLE)
        assert model.session is None and model.options.permission_mode == "ask"
        assert model.options.turn_mode is None


async def test_settings_reach_a_new_chat_until_something_is_chosen(tmp_path: Path) -> None:
    async with pane(tmp_path, []) as chat:
        options, values = chat.model.options, chat.home.engine.settings.values
        values.default_permission_mode = "plan"
        options.settings_changed()
        assert options.permission_mode == "plan"
        options.choose_permission_mode("auto")
        options.settings_changed()
        assert options.permission_mode == "auto"


async def test_a_folder_with_rules_is_asked_about_until_it_is_put_off_or_trusted(
    tmp_path: Path,
) -> None:
    async with pane(tmp_path, []) as chat:
        folder = chat.home.folder / "strange"
        (folder / ".agents").mkdir(parents=True)
        (folder / ".agents" / "permissions.yaml").write_text("allow:\n  - run(ls *)\n")
        chat.model.options.choose_folder(str(folder))
        await until(lambda: chat.model.status is not None)
        assert chat.model.status is not None and chat.model.status.kind == "trust"
        chat.model.trust.put_off()
        assert chat.model.status is None
        await chat.model.start_new(COMPATIBLE)
        assert chat.model.status is not None  # put off for one chat only
        chat.model.trust.trust(str(folder))
        await until(lambda: chat.model.status is None)


async def test_trust_that_is_given_while_the_folder_is_read_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with pane(tmp_path, []) as chat:
        folder, rules = chat.home.folder / "strange", chat.home.engine.rules
        (folder / ".agents").mkdir(parents=True)
        (folder / ".agents" / "permissions.yaml").write_text("allow:\n  - run(ls *)\n")
        chat.model.options.choose_folder(str(folder))
        await until(lambda: chat.model.status is not None)
        was_read, go_on, trusted = asyncio.Event(), asyncio.Event(), rules.trusted

        async def slow(path: Path) -> str:
            found = await trusted(path)
            was_read.set()
            await go_on.wait()
            return found

        monkeypatch.setattr(rules, "trusted", slow)
        chat.model.trust.refresh()
        await was_read.wait()
        await rules.trust(folder)
        chat.model.trust.refresh()
        go_on.set()
        await until(lambda: chat.model.status is None)


async def test_a_chat_that_another_program_continued_is_shown_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [Turn(Text("Here.")), Turn(Text("There."))]
    async with pane(tmp_path, script) as chat:
        model = chat.model
        await chat.say("Go")
        await chat.done()
        shown = model.session
        assert shown is not None
        sessions = chat.home.engine.sessions
        other = await sessions.branch(shown.info.id)
        monkeypatch.setattr(sessions, "open", AsyncMock(return_value=other))
        await model.external.refresh()
        assert model.session is other and model.status is not None
        assert model.status.kind == "went_on"
        assert any(change.reloaded for change in chat.changes)
        await chat.say("More")
        await until(lambda: model.status is None)
        await chat.done()


async def test_files_are_named_and_counted_and_refused_by_the_model(tmp_path: Path) -> None:
    async with pane(tmp_path, []) as chat:
        attachments = chat.model.attachments
        (chat.home.folder / "a.txt").write_text("a")
        attachments.add([chat.home.folder / "a.txt", chat.home.folder / "missing.txt"])
        assert attachments.reading and not chat.model.input.whole
        assert attachments.send_remark == "The files are still being read"
        await until(lambda: not attachments.reading)
        good, missing = attachments.items
        assert good.state == "ready" and isinstance(good.block, File)
        assert missing.state == "error" and missing.problem
        assert chat.model.input.ready and not chat.model.input.text
        attachments.remove(missing)
        taken = chat.model.input.take()
        assert taken.parts == [good.block] and not attachments.items

        names = {
            ".env": "PORT=1",
            ".env.example": "PORT=",
            "use.py": f'key = "sk-ant-{"a1B2" * 12}"',
        }
        for name, text in names.items():
            (chat.home.folder / name).write_text(text)
        attachments.add([chat.home.folder / name for name in names])
        await until(lambda: not attachments.reading)
        states = {item.name: item.state for item in attachments.items}
        assert states == {".env": "secret", ".env.example": "ready", "use.py": "secret"}
        assert "a key or a password" in attachments.items[0].problem and chat.model.input.ready


async def test_changes_made_by_listeners_are_told_after_the_change_they_follow() -> None:
    chat = OpenChat(TurnRunner(lambda error: None, lambda *_: None), lambda problem: None)
    told: list[tuple[str, str]] = []

    def first(change: Change) -> None:
        told.append(("first", change.part))
        if change.part == "chat":
            chat.notify("options")

    chat.subscribe(first)
    end = chat.subscribe(lambda change: told.append(("second", change.part)))
    chat.show(None)
    assert told == [
        ("first", "chat"),
        ("second", "chat"),
        ("first", "options"),
        ("second", "options"),
    ]
    end()
    chat.notify("queue")
    assert told[-1] == ("first", "queue")


async def test_a_listener_that_fails_keeps_no_change_from_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    chat = OpenChat(TurnRunner(lambda error: None, lambda *_: None), lambda problem: None)
    told: list[str] = []

    def fails(change: Change) -> None:
        raise RuntimeError("broken")

    chat.subscribe(fails)
    chat.subscribe(lambda change: told.append(change.part))
    chat.notify("queue")
    assert told == ["queue"] and "a listener of the chat failed" in caplog.text


async def test_a_listener_hears_of_the_parts_it_named_until_it_ends() -> None:
    chat = OpenChat(TurnRunner(lambda error: None, lambda *_: None), lambda problem: None)
    told: list[str] = []
    end = chat.subscribe(lambda change: told.append(change.part), "queue", "state")
    for part in ("queue", "options", "state"):
        chat.notify(part)
    end()
    end()
    chat.notify("queue")
    assert told == ["queue", "state"]


async def test_g3_a_models_title_is_looked_up_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-3: each frame may ask for it; the person's own name for it shows when it is applied (P-5)."""
    async with pane(tmp_path, [Turn(Text("Hello."))]) as shown:
        engine, asked = shown.home.engine, list[str]()
        look = engine.model

        def counted(provider: str, model: str):
            asked.append(model)
            return look(provider, model)

        monkeypatch.setattr(engine, "model", counted)
        titles = [shown.model.model_title(COMPATIBLE, "odd-model") for _ in range(3)]
        assert titles == ["odd-model"] * 3 and asked == ["odd-model"]
        engine.settings.values.models[f"{COMPATIBLE}/odd-model"] = {"name": "Odd"}
        shown.model.options.settings_changed()
        await until(lambda: shown.model.model_title(COMPATIBLE, "odd-model") == "Odd")
