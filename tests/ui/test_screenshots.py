"""Pictures of each state, from real sessions, in both themes."""

from __future__ import annotations

import socket
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication

from studio.domain.agents import Caps
from studio.domain.blocks import ReasoningBlock, TextBlock, ToolBlock
from studio.domain.messages import Message, ToolCall, ToolResult
from studio.domain.messages import Text as Said
from studio.domain.permissions import Rule
from studio.domain.tools import ToolSpec
from studio.simulator import Call, Text, Think, Turn, Usage, stall, status
from studio.ui.chat.suggestions import SuggestionButton
from studio.ui.pages.agents.page import AgentsPage
from studio.ui.pages.drafts.page import DraftsPage
from studio.ui.pages.search.page import SearchPage
from studio.ui.settings.dialog import SettingsDialog
from studio.ui.settings.registry import PAGES
from studio.ui.transcript.items.approval_item import ApprovalItem
from studio.ui.transcript.items.draft_item import DraftItem
from studio.ui.transcript.items.files_item import FilesItem
from studio.ui.transcript.items.turn_items import EndItem, FailureItem, RetryItem
from studio.ui.translation import tr
from support.other_program import other_program
from support.photographer import (
    CHATS,
    FINDING,
    LARGE,
    SMALL,
    USED,
    Photographer,
    allow,
    at_atlas,
    atlas,
    colour,
    earlier_chats,
    explore,
    fonts,
    has_colour,
    language,
    place_in_window,
    read,
    runs,
)
from support.waiting import HANG, until
from support.window import CTRL, SHIFT, Key, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone", "language")
__all__ = ["alone", "atlas", "language"]


@on_window_loop
async def test_main_and_tools(tmp_path: Path, atlas: Path) -> None:
    """01 and 02: an answer streams; then tools run, their details open."""
    script = [
        Turn(Think("The wait is short by 60 ms. Clocks?"), Text("I’ll read the test and the retry code first."), *explore()),
        Turn(runs("pytest tests/test_retry.py --count 20")),
        Turn(Text(FINDING + "\nBoth libraries round the header up to whole seconds. We should do the same, because rounding down makes the client knock again a moment too early, and a strict server answers that with a second 429."), faults=[stall(at=-8)], usage=USED),
        Turn(
            Think(
                "The failure needs a clock step, so a plain rerun may pass by luck. I should run "
                "it many times, then look at the five slowest tests. The pool tests open real "
                "sockets; they may be the slow part."
            ),
            *explore(),
        ),
        Turn(runs("pytest tests/test_retry.py --count 20")),
        Turn(runs("pytest -n 4 --durations=5"), runs("pytest --pdb"), usage=USED),
    ]  # fmt: skip
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures = Photographer(person)
        person.press(Key.Key_I, CTRL)
        person.say("`test_retry_after` is flaky on CI. Find out why and fix it.")
        await allow(person)
        await until(lambda: person.says("knock again"))
        await person.session.change(title="Fix flaky retry test")
        await person.window.chat_list.refresh()
        person.window.chat.model.options_changed()
        assert person.blocks(TextBlock)[-1].live
        taken = await pictures.take("01-main", (LARGE, SMALL))
        send = place_in_window(person, person.composer.send)
        assert has_colour(taken["light-1440"], send, colour("text1"))
        assert [b.state for b in person.blocks(ToolBlock)] == ["done"] * 7 + ["error"]

        person.composer.setFocus()
        person.press(Key.Key_Escape)
        await person.done()
        person.say("Run the tests again with the patch, and tell me what is slow.")
        await allow(person)
        await allow(person)
        await until(lambda: any("test_pool" in b.output for b in person.blocks(ToolBlock)[-2:]))
        view = person.view
        view.flush()
        for block in (person.blocks(ReasoningBlock)[-1], *person.blocks(ToolBlock)[-10:]):
            view.context.opened.add(id(block))
        for item in view.canvas.items[-8:]:
            item.laid = False
        inspector = person.window.inspector
        assert inspector is not None
        inspector.show_page(1)
        view.canvas_viewport.scroll_to_end()
        view.viewport().update()
        await pictures.take("02-tools")
        await until(lambda: person.session.transcript.questions)
        person.composer.setFocus()
        person.press(Key.Key_Escape)  # the command that works
        person.press(Key.Key_Escape)  # the turn
        await person.done(2)


@on_window_loop
async def test_permission_and_diff(tmp_path: Path, atlas: Path) -> None:
    """03: a draft and a question, both waiting."""
    old = "    start = clock.time()\n    delay = parse(header)\n    clock.sleep(delay)\n"
    new = (
        "    start = clock.monotonic()\n    delay = parse(header)\n    clock.sleep(math.ceil(delay))\n"
        "    # whole seconds, like httpx and urllib3\n"
    )
    edit = Call("edit", {"path": "src/atlas/retry.py", "old": old, "new": new})
    script = [
        Turn(Text("The fix is small. It uses a clock that never steps back, and rounds the delay up."), edit),
        Turn(Text("I’d like to run the test 50 times to be sure."), runs("pytest tests/test_retry.py --count 50"), usage=USED),
        Turn(Text("All 50 pass.")),
    ]  # fmt: skip
    async with at_atlas(tmp_path, atlas, script) as person:
        person.press(Key.Key_I, CTRL)
        person.say("Fix it")
        await until(lambda: person.composer.state == "waiting" and person.item(ApprovalItem))
        await person.session.change(title="Fix flaky retry test")
        await person.window.chat_list.refresh()
        person.window.chat.model.options_changed()
        taken = await Photographer(person).take("03-permission-diff", (LARGE, SMALL))
        view = place_in_window(person, person.view)
        for token in ("add_bg", "del_bg", "warn_line", "accent"):
            assert has_colour(taken["dark-1440"], view, colour(token, "dark")), token
        assert person.item(DraftItem).waiting and person.view.hasFocus()
        person.session.answer_permission(person.session.transcript.questions[0].id, "deny")
        await person.done()


@on_window_loop
async def test_settings(tmp_path: Path, atlas: Path) -> None:
    """05 and 06: providers with their keys; a list that loads, one that did not come."""
    async with at_atlas(tmp_path, atlas, []) as person:
        engine = person.engine
        engine.catalogue._patience = HANG
        engine.keychain.keep_for_session("openai", "sk-proj-0123456789abcdefhX2e")
        never = socket.create_server(("127.0.0.1", 0))  # it takes calls and says nothing
        port = never.getsockname()[1]
        urls = engine.settings.values.base_urls
        urls["openai"] = f"http://127.0.0.1:{port}/v1"
        urls["gemini"] = "http://127.0.0.1:9"
        person.window.preferences.open("providers", "anthropic")
        dialog = person.window.preferences.dialog
        assert isinstance(dialog, SettingsDialog)
        await until(lambda: engine.catalogue.listing("anthropic").state == "ready")
        pictures = Photographer(person)
        await until(dialog.isVisible)
        await pictures.take("05-settings-providers")
        sections = dialog.pages["providers"].sections
        sections["anthropic"].head.setChecked(False)
        engine.keychain.keep_for_session("gemini", "AIza0123456789abcdefghijk")
        assert sections["gemini"].key is not None
        await sections["gemini"].key.load()
        sections["gemini"].fetch_models(force=True)
        await until(lambda: engine.catalogue.listing("gemini").state == "failed")
        sections["openai"].open()
        sections["gemini"].open()
        await until(lambda: engine.catalogue.listing("openai").state == "loading")
        await pictures.take("06-settings-models")
        assert sections["openai"]._cancel.isVisible() and sections["gemini"].failure.isVisible()
        engine.catalogue.cancel("openai")
        dialog.close()
        never.close()


@on_window_loop
async def test_permissions_in_the_settings(tmp_path: Path, atlas: Path) -> None:
    """08: what agents may do, with rules and folders; then the web."""
    async with at_atlas(tmp_path, atlas, []) as person:
        engine = person.engine
        (atlas / ".agents").mkdir()
        (atlas / ".agents" / "permissions.yaml").write_text(
            "allow:\n  - run(make *)\ndeny:\n  - run(make deploy)\n"
        )
        engine.settings.values.use_folder(str(atlas))
        for rule, folder in (
            (Rule("allow", "run", "pytest *"), atlas),
            (Rule("allow", "run", "git status *"), None),
            (Rule("allow", "fetch", "https://docs.python.org/*"), None),
            (Rule("deny", "run", "git push *"), None),
            *((Rule("allow", name), None) for name in ("write", "edit", "move")),
        ):
            await engine.rules.add(rule, folder)
        person.window.preferences.open("permissions")
        dialog = person.window.preferences.dialog
        assert isinstance(dialog, SettingsDialog)
        page = dialog.pages["permissions"]
        await until(lambda: page.tools and page.rules.removes)
        page.tester.field.setText("run(git status && git push)")
        await until(lambda: page.tester.verdict.accessibleName() == tr("Refused"))
        pictures = Photographer(person)
        await pictures.take("08-settings-permissions")
        bar = page.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        await pictures.take("08b-settings-permissions")
        # The rules of a chat and its folder's files, and one that is being changed.
        chat = await engine.sessions.create(
            folder=str(atlas), agent="Coder", provider="anthropic", model="claude-sonnet-5-5"
        )
        await chat.rules.add(Rule("allow", "run", "uv run pytest *"))
        person.window.open_session(chat.info.id)
        await until(lambda: "run(uv run pytest *)" in page.rules.rules)
        page.rules.rules["run(uv run pytest *)"].click()
        bar.setValue(bar.maximum())
        await pictures.take("08c-settings-permissions")
        assert page.tools["Write files"].current == 0
        dialog.open_page("web")
        await pictures.take("08d-settings-web")
        dialog.close()
        person.window.new_chat()
        await until(lambda: person.window.chat.strip.text)
        await pictures.take("08e-trust")


@on_window_loop
async def test_first_run_and_new_chat(tmp_path: Path, atlas: Path) -> None:
    """13 and 14: the first page; an empty chat."""
    async with at_window(tmp_path, "ollama", [], first_run=True, fonts=fonts()) as person:
        page = person.window.pages.currentWidget()
        await until(
            lambda: tr("Found, {many}").format(many="") in page._start.ollama.accessibleName()
        )
        taken = await Photographer(person).take("13-first-run", (LARGE, SMALL))
        place = place_in_window(person, page._start.demo).adjusted(-4, -4, 4, 4)
        assert has_colour(taken["light-1440"], place, colour("accent_text"))
        assert has_colour(taken["dark-1440"], place, colour("accent_text", "dark"))
    home = tmp_path / "second"
    home.mkdir()
    async with at_atlas(home, atlas, []) as person:
        await until(person.composer.editor.hasFocus)
        taken = await Photographer(person).take("14-new-chat")
        place = place_in_window(person, person.composer)
        assert has_colour(taken["light-1440"], place, colour("accent_text"))
        assert person.window.chat.heading.isVisible() and len(person.chats()) == len(CHATS)


@on_window_loop
async def test_errors_and_ways_on(tmp_path: Path, atlas: Path) -> None:
    """15: a key that was rejected, a wait with its countdown, a full chat; then silence."""
    wait = status(429, times=1, retry_after=37)
    script = [
        Turn(faults=[status(401)]),
        Turn(
            Text("The backoff doubles."), faults=[status(529, times=1, retry_after=0)], usage=USED
        ),
        Turn(Text("It was 212k."), stop="context_exceeded"),
        Turn(Text("Half of the answer."), stop="max_tokens"),
        Turn(Text("At last."), faults=[wait]),
        Turn(Think("Which clock?"), Text("I look at the clock first."), faults=[stall(at=-1)]),
        Turn(Text("It reads the wall clock."), stop="context_exceeded"),
    ]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures = Photographer(person)
        person.engine.services.orientation_seconds = 0  # with it there is something to sum up
        person.press(Key.Key_I, CTRL)
        for number, words in enumerate(("Explain the backoff", "Again", "And now?", "Go on")):
            person.say(words)
            await person.done(number + 1)
        person.say("Once more")
        view = person.view
        item = await until(lambda: person.item(RetryItem) if view.canvas.items[-1].animated else 0)
        view.context.started[id(item.block)] -= 14
        taken = await pictures.take("15-errors")
        place = place_in_window(person, view)
        assert has_colour(taken["light-1440"], place, colour("warn"))
        assert has_colour(taken["light-1440"], place, colour("warn_soft"))
        assert has_colour(taken["dark-1440"], place, colour("warn_soft", "dark"))
        person.session.try_now()
        await person.done(5)
        person.engine.services.retry_policy = replace(
            person.engine.services.retry_policy, silence=0.2
        )
        person.composer.setFocus()
        person.say("Which clock does it read?")
        strip = person.window.chat.strip
        await until(strip.isVisible)
        await pictures.take("15-silence")
        await until(lambda: len(person.window.inspector.requests._rows) >= 4)  # type: ignore[union-attr]
        person.session.stop()
        await person.done(6)
        person.composer.setFocus()
        person.press(Key.Key_Up)
        await until(strip.isVisible)
        await pictures.take("15-editing")
        person.press(Key.Key_Return)
        await person.done(5)
        await until(lambda: person.hit(FailureItem, "compact"))
        await pictures.take("15-full")


@on_window_loop
async def test_damage_and_inspector(tmp_path: Path, atlas: Path) -> None:
    """A chat that can only be read; requests with a broken cache; an older history."""
    script = [
        Turn(Think("Two files."), Text("The wait is in `retry.py`."), usage=Usage(inp=9_000, out=90)),
        Turn(Text("It rounds down."), usage=Usage(inp=9_400, cache_read=9_000, out=60)),
        Turn(Text("Both round up."), usage=Usage(inp=9_800, out=40)),
    ]  # fmt: skip
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures = Photographer(person)
        person.press(Key.Key_I, CTRL)
        person.say("Where is the wait?")
        await person.done()
        person.say("How does it round?")
        await person.done(2)
        await person.session.context.compact()
        person.composer.setFocus()
        person.say("And the libraries?")
        await person.done(3)
        inspector = person.window.inspector
        assert inspector is not None
        await until(lambda: len(inspector.requests._rows) == 3)
        await pictures.take("18-requests")
        inspector.show_page(2)
        await pictures.take("18-history")
        inspector.show_page(0)
        session = person.session.info.id
    file = next((tmp_path / "studio").rglob("studio.db"))
    with closing(sqlite3.connect(file)) as db, db:
        last = db.execute(
            "SELECT max(seq) FROM transcript WHERE session_id = ?", (session,)
        ).fetchone()[0]
        db.execute(
            "UPDATE transcript SET body = 'torn' WHERE session_id = ? AND seq = ?",
            (session, last - 2),
        )
    db.close()
    async with at_window(tmp_path, "anthropic", [], folder=atlas, fonts=fonts()) as person:
        await person.open_chat("Where is the wait?")
        await until(person.window.chat.strip.isVisible)
        await Photographer(person).take("18-damage", (LARGE, SMALL))


@on_window_loop
async def test_drafts(tmp_path: Path, atlas: Path) -> None:
    """12: drafts of several chats wait; one met a changed file; some are decided."""
    old = "    start = clock.time()\n    delay = parse(header)\n    clock.sleep(delay)\n"
    new = (
        "    start = clock.monotonic()\n    delay = parse(header)\n    clock.sleep(math.ceil(delay))\n"
        "    # whole seconds, like httpx and urllib3\n"
    )
    file = atlas / "src/atlas/retry.py"
    script = [
        Turn(
            Call("delete", {"path": "tests/test_pool.py"}),
            Call("move", {"path": "src/atlas/pool.py", "to": "src/atlas/sockets.py"}),
            Call("write", {"path": "src/atlas/__init__.py", "content": '"""Atlas."""\n'}),
        ),
        Turn(Call("edit", {"path": "src/atlas/retry.py", "old": old, "new": new})),
        Turn(Text("Four changes wait for you.")),
    ]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures, window = Photographer(person), person.window
        person.say("Fix the flaky retry test, and tidy up.")
        await person.done()
        await person.session.change(title="Fix flaky retry test")
        await pictures.take("12-cards")
        person.press(Key.Key_4, CTRL)
        await until(lambda: isinstance(window.pages.currentWidget(), DraftsPage))
        page = window.pages.currentWidget()
        await until(lambda: page.detail.changes.rows)
        await pictures.take("12-drafts", (LARGE, SMALL))
        page.detail.view.set_current(1)
        page.detail.view.chosen.emit(1)
        await pictures.take("12-split")
        page.detail.view.set_current(0)
        person.press(Key.Key_J)
        person.press(Key.Key_J)
        await until(lambda: "pool.py" in page.detail.title._text)
        await pictures.take("12-move")
        person.press(Key.Key_J)
        await until(lambda: "test_pool.py" in page.detail.title._text)
        await pictures.take("12-delete")
        for _ in range(3):
            person.press(Key.Key_K)
        await until(lambda: "retry.py" in page.detail.title._text)
        text = file.read_text().replace("delay = parse(header)", "delay = parse(header) + 0.5")
        file.write_text("# Ours.\n" + text)
        person.press(Key.Key_A)
        await until(lambda: not page.detail.buttons["merge"].isHidden())
        await pictures.take("12-conflict", (LARGE, SMALL))
        page.detail.sides.set_current(1)
        page.detail.sides.chosen.emit(1)
        await pictures.take("12-conflict-merged")
        person.press(Key.Key_X)
        person.press(Key.Key_J)
        person.press(Key.Key_X)
        await until(lambda: page.detail.title._text.startswith("2 "))
        await pictures.take("12-selected")


@on_window_loop
async def test_undo_and_routing(tmp_path: Path, atlas: Path) -> None:
    """20: what turns changed, undone in part; what was seen; routing in chat and settings."""

    def setup(file) -> None:
        values = file.values
        values.routing = True
        values.own_models["anthropic"] = ["claude-haiku-5", "claude-sonnet-5-5"]
        values.tiers = {
            "small": "anthropic/claude-haiku-5",
            "large": "anthropic/claude-sonnet-5-5",
        }

    many = "mkdir -p docs; for n in 1 2 3 4 5 6; do echo $n > docs/chapter$n.md; done"
    script = [
        Turn(Text("It waits as long as the server asks."), usage=USED),
        Turn(read("src/atlas/retry.py"), runs(many)),
        Turn(Text("The chapters are there.")),
        Turn(runs("echo 2 > docs/chapter1.md; echo a > docs/new.md")),
        Turn(Text("And the first one is new.")),
        Turn(runs("echo 3 > a.md")),
        Turn(Text("Done.")),
    ]
    async with at_window(
        tmp_path,
        "anthropic",
        script,
        folder=atlas,
        setup=setup,
        prepare=earlier_chats,
        fonts=fonts(),
    ) as person:
        pictures = Photographer(person)
        person.press(Key.Key_I, CTRL)
        person.say("What is this?")
        await person.done()
        for number, words in enumerate(("Write all the chapters in docs", "Write the first anew")):
            person.composer.setFocus()
            person.say(words)
            await allow(person)
            await person.done(number + 2)
        await person.session.change(title="Chapters")
        await person.window.chat_list.refresh()
        rows = [item for item in person.view.canvas.items if isinstance(item, FilesItem)]
        await pictures.take("20-undo")
        undo = person.window.chat.model.actions.undo_files
        undo(rows[0].block.turn_id, "undo")
        await until(lambda: rows[0].block.left)
        person.view.context.opened.add(id(rows[0].block))
        person.view.canvas_viewport.lay_out_again(rows[0])
        person.view.canvas_viewport.scroll_to_end()
        await pictures.take("20-undo-left", (LARGE, SMALL))
        person.view.context.opened.clear()
        person.view.canvas_viewport.restyle()
        undo(rows[1].block.turn_id, "undo")
        await until(lambda: rows[1].block.undone)
        inspector = person.window.inspector
        assert inspector is not None
        inspector.show_page(1)
        person.composer.setFocus()
        person.say("Once more")
        await until(lambda: person.session.transcript.questions)
        await pictures.take("20-undo-running")
        person.session.stop()
        await person.done(4)
        inspector.show_page(0)
        person.window.preferences.open("general")
        dialog = person.window.preferences.dialog
        assert isinstance(dialog, SettingsDialog)
        await until(dialog.isVisible)
        dialog.pages["general"].ensureWidgetVisible(dialog.pages["general"].routing.asked)
        await pictures.take("20-routing-settings")
        dialog.close()


@on_window_loop
async def test_modes_and_limits(tmp_path: Path, atlas: Path) -> None:
    """21: messages that wait, ends that go on, limits in the settings and in the inspector."""
    script = [
        Turn(Text("I look at the clock first."), faults=[stall(at=-1)]),
        *(Turn(read(f"src/atlas/{name}.py"), usage=USED) for name in ("retry", "client", "pool")),
        *(
            Turn(Call("search", {"pattern": word}), usage=USED)
            for word in ("time", "sleep", "wait")
        ),
    ]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures = Photographer(person)
        person.press(Key.Key_I, CTRL)
        await person.choose(person.composer.agent, tr("Inline"))
        person.composer.setFocus()
        person.say("Fix the flaky retry test")
        await until(lambda: person.blocks(TextBlock) and person.session.transcript.steps)
        person.composer.setFocus()
        person.say(
            "Then run the whole suite, and tell me which of the tests took the longest time."
        )
        person.type("Look at pool.py, too")
        person.press(Key.Key_Return, CTRL)
        await pictures.take("21-queue", (LARGE, SMALL))
        person.press(Key.Key_Escape)
        await person.done()
        await pictures.take("21-queue-stopped")
        for _ in range(2):
            person.click(person.window.chat.queue.rows[0].remove)
        person.composer.set_text("")
        person.composer.setFocus()
        person.say("Go on")
        await person.done(2)
        await until(lambda: person.hit(EndItem, "go_on_background"))
        await pictures.take("21-inline-end", (LARGE, SMALL))
        await person.session.change(caps=Caps(dollars=0.01))
        await person.click_hit(EndItem, "go_on_background")
        await person.done(3)
        await until(lambda: person.hit(EndItem, "raise_cap"))
        await pictures.take("21-cap", (LARGE, SMALL))
        person.window.preferences.open("general")
        dialog = person.window.preferences.dialog
        assert isinstance(dialog, SettingsDialog)
        await until(dialog.isVisible)
        dialog.pages["general"].ensureWidgetVisible(
            dialog.pages["general"].limits.toggles["notify"]
        )
        await pictures.take("21-limits")
        dialog.pages["general"].ensureWidgetVisible(dialog.pages["general"].traces.content)
        await pictures.take("21-traces")
        dialog.close()


@on_window_loop
async def test_other_programs(tmp_path: Path, atlas: Path) -> None:
    """22: what the server asks, what a client told, chats of other doors, the server's page."""
    told = [
        Message("user", (Said("What is the weather in Oslo?"),)),
        Message("assistant", (ToolCall("c1", "get_weather", {"city": "Oslo"}),)),
        Message("user", (ToolResult("c1", "get_weather", (Said("12 degrees, rain"),)),)),
        Message("assistant", (Said("It rains in Oslo, at 12 degrees."),)),
    ]
    weather = ToolSpec("get_weather", "Weather of a city.", {"type": "object"}, external=True)
    script = [Turn(Text("One moment."), Call("get_weather", {"city": "Bergen"}), stop="tool_use")]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures, window = Photographer(person), person.window
        for door in ("terminal", "editor"):
            session = await person.engine.sessions.create(
                folder=str(atlas), agent="Coder", provider="anthropic", model="claude-sonnet-5-5",
                title=f"Begun in the {door}", origin=door,
            )  # fmt: skip
        session = await person.engine.sessions.create(
            folder=str(atlas), agent="Assistant", provider="anthropic", model="claude-sonnet-5-5",
            origin="server", told=told,
        )  # fmt: skip
        async for _ in session.turn([Said("And in Bergen?")], tools=[weather]):
            pass
        window.open_session(session.info.id)
        await until(lambda: window.chat.session and window.chat.session.info.id == session.info.id)
        await window.chat_list.refresh()
        person.press(Key.Key_I, CTRL)
        window.sidebar.show_server("running", "http://127.0.0.1:8765")
        await pictures.take("22-told")
        window.chat.model.external.state = "went_on"
        window.chat.strip.refresh()
        await pictures.take("22-went-on", (LARGE, SMALL))
        person.press(Key.Key_I, CTRL)

        async with other_program(tmp_path / "studio", session.info.id) as program:
            await program.ask(
                "q1",
                "pytest tests/test_retry.py --count 50 && git push origin main:refs/heads/nightly",
                title="Assistant wants to run a command",
                reason="To check that the fix holds.",
                why="Clients of the server may only have agents read.",
                facts=[["folder", str(atlas)], ["network", "No network"], ["limit", "2 min"]],
            )
            here = await until(lambda: window.remote_approvals)
            card = await until(lambda: here.card and here.card.isVisible() and here.card)
            first = card.asked
            await program.ask("q2", "ls")
            await until(card.more.text)
            await pictures.take("22-asked", (LARGE, SMALL))
            await person.engine.questions.answer(first.id, "deny")
            second = await until(lambda: card.asked.id != first.id and card.asked)
            assert second.question.detail == "ls"
            await person.engine.questions.answer(second.id, "deny")
            await until(lambda: not card.isVisible())

        person.engine.settings.values.server_rules = {"allow": ["run(pytest *)"]}
        window.preferences.open("server")
        dialog = window.preferences.dialog
        assert isinstance(dialog, SettingsDialog)
        await until(dialog.isVisible)
        await pictures.take("22-server")
        dialog.pages["server"].ensureWidgetVisible(dialog.pages["server"].origins)
        await pictures.take("22-server-below")
        dialog.close()


@on_window_loop
async def test_pages_and_lists(tmp_path: Path, atlas: Path) -> None:
    """04, 09, 11, 27, 28: palette, lists of the composer, find, agents, each page of settings."""
    script = [Turn(Text("**Clocks** step back. " + FINDING), usage=USED)]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures, window = Photographer(person), person.window
        person.say("Why is the test flaky? It reads a clock.")
        await person.done()
        person.press(Key.Key_F, CTRL)
        await until(window.chat.find_strip.isVisible)
        person.type("clock")
        await until(lambda: window.chat.view.finder.find is not None)
        await pictures.show("27-find")
        person.press(Key.Key_Escape)
        person.press(Key.Key_K, CTRL)
        await until(lambda: window._palette is not None and window._palette.isVisible())
        await pictures.show("04-palette")
        person.type("retry")
        await pictures.show("04-palette-typed")
        person.press(Key.Key_Escape)
        person.click(person.composer.model)
        await until(QApplication.activePopupWidget)
        await pictures.show("27-models")
        person.press(Key.Key_Escape)
        await until(lambda: QApplication.activePopupWidget() is None)
        person.press(Key.Key_2, CTRL)
        page = await until(
            lambda: isinstance(one := window.pages.currentWidget(), AgentsPage) and one
        )
        await until(lambda: page.document is not None)
        await pictures.show("11-agents")
        for entry in PAGES:
            window.preferences.open(entry.key)
            dialog = window.preferences.dialog
            assert isinstance(dialog, SettingsDialog)
            await until(dialog.isVisible)
            await pictures.show(f"28-settings-{entry.key}")
        dialog.close()


@on_window_loop
async def test_search_messages_and_groups(tmp_path: Path, atlas: Path) -> None:
    """27: hits over all chats, a message's row, its versions; groups, the bin, all keys."""
    script = [
        Turn(Text("Without **jitter** all clients come back together. " + FINDING), usage=USED),
        Turn(Text("Jitter spreads the waits evenly between zero and the cap."), usage=USED),
    ]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures, window = Photographer(person), person.window
        person.say("Why does our retry add random jitter?")
        await person.done()
        first = person.session.info.id
        person.press(Key.Key_Up)
        person.composer.set_text("Why does our retry add random jitter? Show me the maths.")
        person.press(Key.Key_Return)
        await until(lambda: person.session.info.id != first)
        await person.done()
        viewport = person.view.canvas_viewport
        viewport.focus_on(len(viewport.canvas.items) - 1)
        person.view.setFocus(Qt.FocusReason.TabFocusReason)
        await until(viewport.show_message_row)
        await pictures.show("27-row")
        engine = person.engine
        for number, group in ((1, "Release 2.4"), (2, "Release 2.4"), (3, "Maths")):
            await engine.store.update(f"chat{number}", group_name=group)
        await engine.store.update("chat4", pinned=True)
        for number in (8, 9):
            await engine.store.update(f"chat{number}", archived=True)
        await window.chat_list.refresh()
        window.sidebar.chats.closed.clear()
        await pictures.show("27-groups")
        person.press(Key.Key_F, CTRL | SHIFT)
        page = await until(
            lambda: isinstance(one := window.pages.currentWidget(), SearchPage) and one
        )
        await until(page.field.hasFocus)
        await pictures.show("27-search-empty")
        person.type("agent:Coder jitter")
        await until(lambda: page.found.lines)
        await pictures.show("27-search")
        person.type(" nowhere")
        await until(lambda: not page.found.lines and page.under.isVisible())
        await pictures.show("27-search-nothing")


@on_window_loop
async def test_the_first_minute(tmp_path: Path, atlas: Path) -> None:
    """U-1: from the start to a real answer in three clicks, as a row of pictures."""
    script = [Turn(read("src/atlas/retry.py")), Turn(Text(FINDING), usage=USED)]

    def setup(file) -> None:
        file.values.last_folder = str(atlas)

    async with at_window(
        tmp_path, "ollama", script, first_run=True, folder=atlas, setup=setup, fonts=fonts()
    ) as person:
        pictures, window = Photographer(person), person.window
        film = [await pictures.frame()]
        start = window.pages.currentWidget()._start
        found = tr("Found, {many}").format(many="")
        await until(lambda: found in start.ollama.accessibleName())
        film.append(await pictures.frame())
        person.click(start.ollama)
        offered = await until(lambda: window.chat.suggestions.findChildren(SuggestionButton))
        film.append(await pictures.frame())
        person.click(offered[-1])
        await until(lambda: person.composer.text)
        film.append(await pictures.frame())
        person.click(person.composer.send)
        await until(lambda: person.blocks(ToolBlock))
        film.append(await pictures.frame())
        await person.done()
        film.append(await pictures.frame())
        assert person.says("monotonic")
        pictures.keep("00-first-minute", film)
