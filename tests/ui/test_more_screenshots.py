"""Pictures of states that other tests prove: they are taken for ``make pictures`` alone."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from studio.domain.blocks import TextBlock, ToolBlock
from studio.domain.errors import StudioError
from studio.domain.permissions import Rule
from studio.mcp.entries import ServerEntry
from studio.providers.model_files.downloads import Download
from studio.providers.model_files.folder import Source
from studio.simulator import Call, HubRepo, HubSimulator, RequestView, Text, Turn
from studio.storage.config.settings import SettingsFile
from studio.ui.pages.agents.page import AgentsPage
from studio.ui.pages.needs.page import NeedsPage
from studio.ui.pages.workflows.page import WorkflowsPage
from studio.ui.pages.workflows.runs.run_inspector import HISTORY, RUN, STEP
from studio.ui.settings.dialog import SettingsDialog
from studio.ui.settings.pages.servers import ServersPage
from studio.ui.transcript.items.approval_item import ApprovalItem
from studio.ui.transcript.items.question_item import QuestionItem
from studio.ui.transcript.items.turn_items import FailureItem
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.delegation_home import delegate, results
from support.llama_server import TEMPLATE, random_gguf, random_projector
from support.mcp_servers import sdk_server
from support.photographer import (
    FINDING,
    LARGE,
    SMALL,
    USED,
    Photographer,
    allow,
    at_atlas,
    atlas,
    earlier_chats,
    fonts,
    language,
    read,
)
from support.photographer import (
    runs as run_command,
)
from support.waiting import until
from support.window import CTRL, Key, alone, at_window, message, on_window_loop
from support.workflow_home import asked_in, by_words

pytestmark = [
    pytest.mark.usefixtures("alone", "language"),
    pytest.mark.skipif(
        "AGENT_STUDIO_SCREENSHOTS" not in os.environ, reason="nobody wants the pictures"
    ),
]
__all__ = ["alone", "atlas", "language"]

REVIEWER = """\
---
name: Reviewer
description: Reviews one change at a time
model: anthropic/claude-sonnet-5-5
tools: [read, search, list, comment]
icon: scan-eye
hue: teal
---

# Reviewer

You review one change at a time. Be brief and kind.

## Steps

1. Read the diff, then each file it touches.
2. Look for wrong results first, style last.
3. Quote the line. Say what breaks, and for whom.

## Never

- Never post more than 8 comments.
- Never comment on formatting that `ruff` can fix.

Hand over to @Coder when a fix is needed.
"""
UPDATES = """\
---
name: Dependency updates
description: Updates packages one by one, and tests each
budget: {dollars: 2.00}
inputs:
  group: {type: string, default: runtime}
steps:
  - id: plan
    agent: Researcher
    prompt: List the packages of ${{ inputs.group }}
  - id: update
    needs: plan
    for_each: [httpx, rich, attrs, click]
    agent: Coder
    prompt: "Update ${{ item }}"
  - id: test
    needs: update
    run: "true"
  - id: review
    needs: test
    agent: Reviewer
    prompt: Review the updates
  - id: ok
    needs: review
    approve: Write the drafts?
---

# Prompts

## plan

Name what is old, with the newest version.
"""
ANSWERS = by_words(
    {
        "List the packages": "httpx 0.28, rich 14, attrs 25, click 8.3",
        "Update": "It is up to date, and its tests pass.",
        "Review the updates": "Nothing breaks. rich 14 drops Python 3.7.",
    }
)
WORDS = """\
# Waiting as a server asks

A client waits $w_n = b \\cdot 2^{n-1}$ seconds, see [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110)[^1].

$$E[w] = \\sum_{n=1}^{5} b \\cdot 2^{n-1} = 31\\,b$$

| Client | Default | Reads `Retry-After` |
| :-- | --: | :-: |
| httpx | 0 | no |
| urllib3 | 0 | **yes** |
| requests | 0 | yes |

- [x] Measure with a clock that never steps back
- [ ] Give the test a fake clock

> A strict server answers a knock that comes too early with a second 429.

```python
def wait_for(header: str, clock=time) -> float:
    start = clock.monotonic()  # whole seconds
    return clock.monotonic() - start
```

```diff
-    clock.sleep(delay)
+    clock.sleep(math.ceil(delay))
```

<details><summary>Other clients</summary>They do not wait.</details>

مرحبا بالعالم

[^1]: Section 10.2.3.
"""


@on_window_loop
async def test_agents(tmp_path: Path, atlas: Path) -> None:
    """11: an agent of the person's own, changed and with a mistake; preview; one that is tried."""
    own = tmp_path / "studio" / "agents"
    own.mkdir(parents=True)
    (own / "reviewer.md").write_text(REVIEWER)
    async with at_atlas(tmp_path, atlas, [Turn(Text("Line 22 sleeps too short."))]) as person:
        pictures, window = Photographer(person), person.window
        person.press(Key.Key_2, CTRL)
        page = await until(
            lambda: isinstance(one := window.pages.currentWidget(), AgentsPage) and one
        )
        await until(lambda: page.document is not None)
        page.gallery.choose(own / "reviewer.md")
        await until(lambda: page.document is not None and page.document.path.parent == own)
        page.editor.go_to(page.editor.text().index("Be brief") + 18)
        page.editor.setFocus()
        person.type(" Be exact.")
        await until(lambda: page.file.is_checked and page.foot.problems)
        await pictures.show("11-agents-edited", (LARGE, SMALL))
        page.which.segment(1).click()
        await pictures.show("11-agents-preview")
        page.which.segment(0).click()


@on_window_loop
async def test_workflows(tmp_path: Path, atlas: Path) -> None:
    """18, 19: the three ways to see a file; a run that waits, its log, a step, its end."""
    own = tmp_path / "studio" / "workflows"
    own.mkdir(parents=True)
    (own / "updates.md").write_text(UPDATES)
    async with at_atlas(tmp_path, atlas, ANSWERS) as person:
        pictures, window = Photographer(person), person.window
        person.press(Key.Key_3, CTRL)
        page = await until(
            lambda: isinstance(one := window.pages.currentWidget(), WorkflowsPage) and one
        )
        await until(lambda: page.document is not None)
        page.gallery.choose(own / "updates.md")
        await until(
            lambda: (
                page.document is not None
                and page.document.path == own / "updates.md"
                and page.file.is_checked
            )
        )
        await pictures.show("18-workflow", (LARGE, SMALL))
        for number, way in enumerate(("text", "both", "canvas")):
            if page.which.segment(number).isEnabled():
                page.which.segment(number).click()
                await pictures.show(f"18-workflow-{way}")
        person.click(page.run_button)
        await pictures.show("18-workflow-form")
        person.press(Key.Key_Return)
        view = page.run_view
        await until(lambda: view.record is not None and next(view.record.run.questions, None))
        view.show_tab(RUN)
        await pictures.show("19-run-waits", (LARGE, SMALL))
        view.lower_panes.show_pane(1)
        await pictures.show("19b-run-log")
        view.lower_panes.show_pane(0)
        view.choose("plan")
        view.show_tab(STEP)
        await pictures.show("19c-run-step")
        view.show_tab(RUN)
        for _ in ("the command", "the drafts"):
            await until(lambda: view.record is not None and next(view.record.run.questions, None))
            await until(view.inspector.run.card.isVisible)
            asked = next(view.record.run.questions)
            person.click(view.inspector.run.card.buttons[0])
            await until(lambda asked=asked: next(view.record.run.questions, None) != asked)
        await until(lambda: view.record.run.end is not None)
        await pictures.show("19-run-done")
        view.show_tab(HISTORY)
        await pictures.show("19-run-history")


@on_window_loop
async def test_questions_and_pills(tmp_path: Path, atlas: Path) -> None:
    """16: a question that is out of view; a card with several; agents that work for a chat."""
    several = [
        {"question": "Which branch?", "choices": [{"text": "main"}, {"text": "next"}]},
        {
            "question": "Which tests?",
            "choices": [{"text": "retry"}, {"text": "pool"}],
            "several": True,
        },
    ]
    script = [
        Turn(Text(f"{FINDING}\n" * 6)),
        Turn(Text(FINDING), run_command("pytest tests/test_retry.py --count 50"), usage=USED),
        Turn(Call("ask", {"questions": several}), stop="tool_use"),
        Turn(Text("Done.")),
    ]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures = Photographer(person)
        person.press(Key.Key_I, CTRL)
        person.say("Why is it flaky?")
        await person.done()
        person.composer.setFocus()
        person.say("Run it 50 times")
        await until(lambda: person.item(ApprovalItem) and person.composer.state == "waiting")
        person.view.canvas_viewport.scroll_to(0)
        await until(lambda: person.view.canvas_viewport.pill)
        await person.window.chat_list.refresh()
        await pictures.show("16-needs-you", (LARGE, SMALL))
        person.view.canvas_viewport.scroll_to_end()
        await allow(person)
        await until(lambda: person.item(QuestionItem))
        await pictures.show("16-asked")
        person.window.close()
        box = await until(message)
        await pictures.show("16-quit")
        box.reject()
        person.session.stop()
        await person.done(2)


@on_window_loop
async def test_messages(tmp_path: Path, atlas: Path) -> None:
    """27: markdown to the letter, a long message, the lists of the composer, menus, a box."""
    script = [Turn(Text(WORDS), usage=USED), Turn(Text("Yes."))]
    async with at_atlas(tmp_path, atlas, script) as person:
        pictures, window, composer = Photographer(person), person.window, person.composer
        person.say("How do clients wait?")
        await person.done()
        person.view.verticalScrollBar().setValue(0)
        await person.window.chat_list.refresh()
        await pictures.show("27-markdown", (LARGE, SMALL))
        person.view.canvas_viewport.scroll_to_end()
        await pictures.show("27-markdown-below")
        composer.setFocus()
        composer.set_text("\n".join(f"{n}. A line of a long message" for n in range(1, 15)))
        await pictures.show("14-composer-full")
        composer.set_text("")
        for name, words in (("mention", "Look at @re"), ("command", "/")):
            person.type(words)
            await until(lambda: window.completion is not None and window.completion.isVisible())
            await pictures.show(f"14-composer-{name}")
            person.press(Key.Key_Escape)
            composer.set_text("")
        person.type("A word")
        place = composer.editor.rect().center()
        asked = QContextMenuEvent(
            QContextMenuEvent.Reason.Mouse, place, composer.editor.mapToGlobal(place)
        )
        QApplication.sendEvent(composer.editor.viewport(), asked)
        menu = await until(QApplication.activePopupWidget)
        await pictures.show("27-text-menu")
        menu.close()
        composer.set_text("")
        window.menuBar().setActiveAction(window.menuBar().actions()[3])
        menu = await until(QApplication.activePopupWidget)
        await pictures.show("27-menu")
        menu.close()
        person.press(Key.Key_Slash, CTRL)
        sheet = await until(lambda: _other_window(window))
        await pictures.show("28-keys")
        sheet.close()


def _other_window(window: QWidget) -> QWidget | None:
    return next(
        (one for one in QApplication.topLevelWidgets() if one.isVisible() and one is not window),
        None,
    )


@on_window_loop
async def test_offline(tmp_path: Path, atlas: Path) -> None:
    """15: a message that waits for the network, and one behind it."""

    def offline(file) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            file.values.base_urls["openai"] = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

    async with at_window(
        tmp_path, "openai", [], folder=atlas, setup=offline, prepare=earlier_chats, fonts=fonts()
    ) as person:
        pictures, services = Photographer(person), person.engine.services
        services.retry_policy = replace(services.retry_policy, attempts=1)
        person.say("Explain the backoff")
        await until(lambda: person.hit(FailureItem, "remove_from_queue"))
        person.say("And the jitter?")
        await until(lambda: any(row.isVisible() for row in person.window.chat.queue.rows))
        await pictures.show("15-offline")
        person.click(person.window.chat.queue.rows[0].remove)
        await person.click_hit(FailureItem, "remove_from_queue")
        await until(lambda: not person.window.runner._runs)


@on_window_loop
async def test_settings_in_use(
    tmp_path: Path, atlas: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """26, 28: models here and on their way; a key that is taken; chats of another program."""
    models = tmp_path / "studio" / "model_files"
    data = random_gguf(tmp_path / "x.gguf", seed=2).read_bytes()
    eyes = random_projector(tmp_path / "eyes.gguf", seed=2).read_bytes()
    repos = {
        "mill/Heron-4B-GGUF": HubRepo({"Heron-4B-Q4_K_M.gguf": data}, TEMPLATE, rate=2000.0),
        "mill/Heron-Vision-8B-GGUF": HubRepo(
            {"Heron-Vision-8B-Q4_K_M.gguf": data, "mmproj-f16.gguf": eyes}, TEMPLATE
        ),
    }
    async with HubSimulator(repos) as hub, at_atlas(tmp_path, atlas, []) as person:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        pictures = Photographer(person)
        models = person.engine.paths.model_files
        models.mkdir(parents=True, exist_ok=True)
        (models / "Qwen3-8B-Q4_K_M.gguf").write_bytes(data)
        (models / "Gemma-3-4B-Q4_K_M.gguf").write_bytes(data)
        (models / "Gemma-3-4B-Q4_K_M.mmproj").write_bytes(eyes)
        person.engine.settings.values.default_model["builtin"] = "Qwen3-8B-Q4_K_M"
        person.window.preferences.open("local-models")
        dialog = person.window.preferences.dialog
        assert isinstance(dialog, SettingsDialog)
        page = dialog.pages["local-models"]
        await until(lambda: len(page.rows) >= 2)
        page.words.setText("heron")
        await until(lambda: len(page.results) == 2)
        page.results[0].get.click()
        await until(lambda: page.downloads)
        source = Source("mill/Ibis-14B-GGUF", "Ibis-14B-Q4_K_M.gguf", title="Ibis 14B")
        page._download_changed(
            Download(source, models, "failed", 2_100_000_000, 7_300_000_000, fault="offline")
        )
        await pictures.show("26-local-models", (LARGE, SMALL))
        page.filter.segment(3).click()
        page.ensureWidgetVisible(page.found)
        await pictures.show("26-vision")

        dialog.open_page("shortcuts")
        row = dialog.pages["shortcuts"].rows["larger_text"]
        row.edit.click()
        QTest.keyClick(row.recorder, Qt.Key.Key_B, CTRL)
        dialog.pages["shortcuts"].ensureWidgetVisible(row)
        await pictures.show("28-recorder")
        QTest.keyClick(row.recorder, Qt.Key.Key_Escape)

        dialog.open_page("data")
        data_page = dialog.pages["data"]
        said = {"sender": "human", "text": "Green?", "files": [{"file_name": "leaf.png"}]}
        chats = [{"name": name, "chat_messages": [said]} for name in ("Tea", "Leaves", "Rain")]
        foreign = tmp_path / "conversations.json"
        foreign.write_text(json.dumps(chats))
        data_page.look_into(str(foreign))
        await until(data_page.preview.isVisible)
        data_page.ensureWidgetVisible(data_page.preview)
        await pictures.show("28-import")
        data_page.delete_all.click()
        box = await until(message)
        await pictures.show("28-box")
        box.reject()
        await person.engine.local_models.downloads.aclose()
        dialog.close()


@on_window_loop
async def test_agents_that_work_for_a_chat(tmp_path: Path, atlas: Path) -> None:
    """01: rows of the agents that do tasks, and the inspector's list of them."""

    def script(view: RequestView) -> Turn:
        if "flaky" not in asked_in(view):
            return Turn(Text("Both round up to whole seconds."), usage=USED)
        if any("Both round" in text for text in results(view)):
            return Turn(Text("Researcher found that both libraries round up."), usage=USED)
        task = delegate("Researcher", "How do httpx and urllib3 read Retry-After?")
        return Turn(Text("I’ll have somebody look."), read("src/atlas/retry.py"), task)

    async with at_atlas(tmp_path, atlas, script) as person:
        pictures = Photographer(person)
        person.press(Key.Key_I, CTRL)
        person.say("`test_retry_after` is flaky on CI. Find out why and fix it.")
        await person.done()
        await until(lambda: person.blocks(ToolBlock))
        await pictures.show("01-agents-at-work", (LARGE, SMALL))


@on_window_loop
async def test_long_work(tmp_path: Path, atlas: Path) -> None:
    """C-1, C-2, C-13: a plan, commands in the background, and the question ahead of a limit."""
    items = [
        ("Reproduce the failure of test_retry_after", "done"),
        ("Find where the clock is read", "done"),
        ("Look for the same in pool.py", "dropped"),
        (
            "Measure with time.monotonic() in retry.py and give its tests a clock of their own",
            "active",
        ),
        ("Run the whole suite twenty times", "pending"),
        ("Add a line to the changelog", "pending"),
    ]
    plan = {
        "items": [{"text": text, "status": status} for text, status in items],
        "why": "pool.py never reads the clock.",
    }
    serve = "printf '%s\\n' 'Serving on http://127.0.0.1:8000' 'GET /retry 429'; sleep 3600"
    script = [
        Turn(Text("I make a plan first."), Call("plan", plan), usage=USED),
        Turn(Call("run", {"command": serve, "background": True}), usage=USED),
        Turn(Call("run", {"command": "pytest tests --count 20", "background": True}), usage=USED),
        *(Turn(read(f"src/atlas/{name}.py"), usage=USED) for name in ("retry", "client", "pool")),
    ]

    def six_steps(file: SettingsFile) -> None:
        file.values.long_steps = 6

    async with at_atlas(tmp_path, atlas, script, six_steps) as person:
        await person.engine.rules.add(Rule("allow", "run"), None)
        pictures = Photographer(person)
        person.press(Key.Key_I, CTRL)
        person.say("`test_retry_after` is flaky on CI. Find out why and fix it.")
        await until(lambda: person.item(QuestionItem) and person.window.chat.jobs.isVisible())
        await pictures.show("01-long-work", (LARGE, SMALL))
        line = person.window.chat.jobs.rows[0].line
        line.click()
        await pictures.show("01-long-work-output", (LARGE, SMALL))
        line.click()
        person.window.chat.plan.now.click()
        await pictures.show("01-long-work-plan", (LARGE, SMALL))


@on_window_loop
async def test_the_demo_of_the_first_minute(tmp_path: Path) -> None:
    """U-1: from the start through the demo to its answer in two clicks, as a row of pictures."""
    async with at_window(tmp_path, "ollama", [], first_run=True, fonts=fonts()) as person:
        pictures, window = Photographer(person), person.window
        film = [await pictures.frame()]
        person.click(window.pages.currentWidget()._start.demo)
        await until(lambda: window.pages.shows_chat and person.composer.text)
        film.append(await pictures.frame())
        person.click(person.composer.send)
        await until(lambda: person.blocks(TextBlock))
        film.append(await pictures.frame())
        await until(lambda: not person.session.running or person.session.transcript.questions)
        film.append(await pictures.frame())
        pictures.keep("00-first-minute-demo", film)
        person.session.stop()
        await until(lambda: not person.session.running)


PARTS = """\
---
name: Release notes
inputs: {tag: {type: string, default: v2.4}}
max_parallel: 5
steps:
  - {id: code, agent: Coder, desk: own, prompt: Do code.}
  - {id: guide, agent: Writer, desk: own, prompt: Do guide.}
  - {id: research, agent: Researcher, for_each: [pool, Retry-After], prompt: "Which ${{ item }}?"}
  - {id: publish, agent: Coder, prompt: Publish it.}
  - {id: ok, needs: [code, guide], approve: Write the drafts?}
---
"""


def parts(view: RequestView) -> Turn:
    """Writes, reads and asks, runs a command, as its step says."""
    done, asked = len(results(view)), asked_in(view)
    if "Do code." in asked or "Do guide." in asked:
        names = ("src/atlas/retry.py", "src/atlas/more.py") if "code" in asked else ("docs/up.md",)
        if done:
            return Turn(Text("Written."))
        return Turn(*(Call("write", {"path": one, "content": "new\n" * 9}) for one in names))
    if done > 2:
        return Turn(Text("Done."))
    if "Publish it." in asked:
        return Turn(run_command("git push origin release-2.4 --follow-tags"))
    if not done:
        return Turn(Call("search", {"pattern": "retry_after"}), read("src/atlas/retry.py"))
    choices = [
        {"text": "release-2.4", "about": "41 commits, cut on 9 May"},
        {"text": "main", "about": "58 commits, 17 after the cut"},
    ]
    question = "Which branch do the notes describe?"
    return Turn(Call("ask", {"questions": [{"question": question, "choices": choices}]}))


@on_window_loop
async def test_what_needs_you(tmp_path: Path, atlas: Path) -> None:
    """34: what waits, a question with choices, a gate, a command."""
    own = tmp_path / "studio" / "workflows"
    own.mkdir(parents=True)
    (own / "release.md").write_text(PARTS)
    async with at_atlas(tmp_path, atlas, parts) as person:
        pictures, window = Photographer(person), person.window
        runs = WorkflowRuns(person.engine)
        options = RunOptions({"tag": "v2.4"}, provider="anthropic", model="claude-sonnet-5-5")
        runner = await runs.start(own / "release.md", person.folder, options)
        work = asyncio.create_task(runner.carry_out())
        await until(lambda: len([*runner.run.questions]) >= 4, "all that waits")
        window.pages.show_page("needs")
        page = window.pages.currentWidget()
        assert isinstance(page, NeedsPage)
        await until(lambda: len(page.rows) >= 4 and page.changes.groups)
        for kind in ("reply", "permission", "approve"):
            at = next(at for at, row in enumerate(page.rows) if row.question.kind == kind)
            page.list.setCurrentIndex(page.list.model().index(at, 0))
            person.press(Key.Key_1)
            await pictures.show(f"34-needs-you-{kind}", (LARGE, SMALL))
        await runner.stop()
        await work


@on_window_loop
async def test_servers_in_the_settings(tmp_path: Path, atlas: Path) -> None:
    """07 and 25: servers that run, that ended, that are off; one with its tools."""
    async with at_atlas(tmp_path, atlas, []) as person:
        pictures = Photographer(person)
        person.window.preferences.open("mcp")
        dialog = person.window.preferences.dialog
        assert isinstance(dialog, SettingsDialog)
        page = dialog.pages["mcp"]
        assert isinstance(page, ServersPage)
        await until(page.isVisible)
        runs = replace(sdk_server(name="tickets"), on=False, approved="")
        ends = ServerEntry("calendar", sys.executable, ("-c", "raise SystemExit(1)"))
        for entry in (runs, ends, ServerEntry("browser", "npx", ("browser-server",))):
            await page.servers.change(entry)
        for entry in (runs, ends):
            with suppress(StudioError):  # it is shown in its row
                await page.servers.switch_on(entry)
        page.refresh()
        await until(lambda: len(page.rows) == 3 and page.rows["tickets"].facts.lists is not None)
        await until(lambda: page.rows["calendar"].facts.state.kind == "failed")
        await pictures.take("07-settings-mcp")
        page.show_one("tickets")
        await until(lambda: page.one.isVisible() and page.one.facts and page.one.facts.lists)
        await pictures.take("25-server")
