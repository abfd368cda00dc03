"""The server beside the window: its switch, its page, its process (S-3, S-4)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from studio.agent.engine import Engine
from studio.simulator import Text, Turn
from studio.storage.config.keychain import KeychainUnavailable
from studio.storage.config.server_token import VARIABLE, ServerToken
from studio.ui.app import server_process as module
from studio.ui.app.server_process import ServerProcess
from studio.ui.settings.pages.server import ServerPage
from support.local_site import free_port
from support.vault import Vault
from support.waiting import HANG, until
from support.window import Key, Person, alone, at_window, message, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def listens(port: int) -> bool:
    with socket.socket() as asking:
        asking.settimeout(HANG)
        return asking.connect_ex(("127.0.0.1", port)) == 0


def post(base: str, token: str, model: str = "ollama/sim-model") -> tuple[int, dict]:
    """A client's request; the status, and what the answer says."""
    asked = {"model": model, "messages": [{"role": "user", "content": "Hi"}]}
    head = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{base}/chat/completions", json.dumps(asked).encode(), head)
    try:
        with urllib.request.urlopen(request, timeout=HANG) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


async def saved(engine: Engine) -> None:
    """The child reads the settings from the disk."""
    await engine.settings.save()


async def page_of(person: Person) -> ServerPage:
    """The page, once nothing else is under way."""
    catalogue = person.engine.catalogue
    await until(lambda: catalogue.listing("ollama").state in ("ready", "failed"))
    person.window.preferences.open("server")
    dialog = person.window.preferences.dialog
    assert dialog is not None
    return dialog.pages["server"]


def kept(person: Person) -> dict[str, object]:
    """The settings as they are on the disk."""
    file = person.window.settings.path
    return json.loads(file.read_text()) if file.exists() else {}


@on_window_loop
async def test_the_switch_runs_the_server_and_clients_are_answered(tmp_path: Path) -> None:
    """S-3: a client is answered by the agent, through the process beside the window."""
    port = free_port()

    def setup(file) -> None:
        file.values.server_port = port

    script = [Turn(Text("Hello Alice"))]
    async with at_window(tmp_path, "ollama", script, setup=setup) as person:
        page = await page_of(person)
        await until(lambda: page.isVisible())
        assert page.status.accessibleName() == "Off" and not page.on.isChecked()
        assert page.base.text() == f"http://127.0.0.1:{port}/v1"
        page.on.click()
        beside = person.program.server.process
        await until(lambda: beside.state == "running")
        assert beside.address == f"http://127.0.0.1:{port}"
        assert page.status.accessibleName() == "Running"
        mark = person.window.sidebar.server
        assert mark.isVisible() and beside.address in mark.toolTip()
        assert kept(person)["server_on"] is True

        await until(lambda: page.token.copy.isEnabled())
        assert beside.token not in page.token.shown.text(), "masked unless it is asked for"
        page.token.show_it.click()
        assert page.token.shown.text() == beside.token
        page.token.copy.click()
        token = QGuiApplication.clipboard().text()
        assert token == beside.token
        refused, _ = await asyncio.to_thread(post, page.base.text(), "wrong")
        status, said = await asyncio.to_thread(post, page.base.text(), token)
        assert (refused, status) == (401, 200), said
        assert said["choices"][0]["message"]["content"] == "Hello Alice"
        await until(lambda: person.chats(), what="the request is a chat in the list")

        page.on.click()
        await until(lambda: beside.state == "off")
        assert not listens(port) and not mark.isVisible()
        await until(lambda: kept(person)["server_on"] is False)


@on_window_loop
async def test_it_starts_with_the_window_and_ends_with_it(tmp_path: Path) -> None:
    port = free_port()

    def setup(file) -> None:
        file.values.server_port, file.values.server_on = port, True

    async with at_window(tmp_path, "ollama", [], setup=setup, prepare=saved) as person:
        assert person.program.ready.done()
        assert person.program.server.process.state in ("starting", "running")
        await until(lambda: person.program.server.process.state == "running")
        assert listens(port)
    assert not listens(port)


@on_window_loop
async def test_one_that_cannot_listen_says_why_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST", 0.2)
    taken = socket.socket()
    taken.bind(("127.0.0.1", 0))
    taken.listen()
    port = taken.getsockname()[1]

    def setup(file) -> None:
        file.values.server_port, file.values.server_on = port, True

    async with at_window(tmp_path, "ollama", [], setup=setup, prepare=saved) as person:
        page, beside = await page_of(person), person.program.server.process
        await until(lambda: beside.state == "failed")
        assert f"Port {port} is taken" in beside.problem and "Next try in" in beside.problem
        assert page.about.text() == beside.problem
        assert page.status.accessibleName() == "Not running"
        assert beside.problem in person.window.sidebar.server.toolTip()
        taken.close()
        await until(lambda: beside.state == "running")


SCRIPT = """
import json, os, sys
print(json.dumps({"address": f"http://127.0.0.1:{os.getpid()}"}), flush=True)
sys.stdin.read()
"""


def child(script: str) -> ServerProcess:
    return ServerProcess((sys.executable, "-c", script))


@on_window_loop
async def test_one_that_dies_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST", 0.05)
    beside, states = child(SCRIPT), []
    beside.changed.connect(lambda: states.append(beside.state))
    beside.start()
    await until(lambda: beside.state == "running")
    first = beside.address
    os.kill(int(first.rpartition(":")[2]), signal.SIGKILL)
    await until(lambda: beside.state == "running" and beside.address != first)
    assert states == ["starting", "running", "failed", "starting", "running"]

    beside.start()  # the settings changed
    second = beside.address
    await until(lambda: beside.state == "running" and beside.address != second)
    await beside.aclose()
    assert beside.state == "off" and beside.address == ""
    beside.deleteLater()


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("print('hello', flush=True); input()", "has no address"),
        ('print(\'{"error": "No luck today."}\', flush=True)', "No luck today."),
        ("import sys; sys.exit('password=hunter2 is wrong')", "is wrong"),
        ("raise SystemExit(3)", "exit code 3"),
    ],
)
@on_window_loop
async def test_what_is_wrong_is_said_without_secrets(
    monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    monkeypatch.setattr(module, "FIRST", 30.0)
    beside = child(script)
    beside.start()
    await until(lambda: beside.state == "failed")
    assert says in beside.problem and "hunter2" not in beside.problem
    await beside.aclose()
    beside.deleteLater()


@on_window_loop
async def test_a_program_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST", 30.0)
    beside = ServerProcess(("/no/such/program",))
    beside.start()
    await until(lambda: beside.state == "failed")
    assert beside.problem
    await beside.aclose()
    beside.deleteLater()


@on_window_loop
async def test_one_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GRACE", 0.2)
    stubborn = 'print(\'{"address": "x"}\', flush=True)\nimport time\nwhile True: time.sleep(9)'
    beside = child(stubborn)
    beside.start()
    await until(lambda: beside.state == "running")
    await asyncio.wait_for(beside.aclose(), HANG)
    assert beside.state == "off"
    beside.deleteLater()


@on_window_loop
async def test_the_page_keeps_what_is_set_and_says_what_is_wrong(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        page, values = await page_of(person), person.window.settings.values
        await until(lambda: page.isVisible())

        page.port.setText("99999")
        page.port.editingFinished.emit()
        assert values.server_port == 8765 and "1 to 65535" in page.problem.text()
        page.port.setText("9123")
        page.port.editingFinished.emit()
        assert values.server_port == 9123 and not page.problem.isVisible()
        assert page.base.text() == "http://127.0.0.1:9123/v1"

        assert "Only programs on this computer" in page.where.text()
        page.host.setText("0.0.0.0")
        page.host.editingFinished.emit()
        assert values.server_host == "0.0.0.0" and "Other computers" in page.where.text()

        page.hosts.setText("studio.local, box")
        page.hosts.editingFinished.emit()
        page.origins.setText("example.org")
        page.origins.editingFinished.emit()
        assert values.server_hosts == ["studio.local", "box"]
        assert values.server_origins == [] and "https://example.org" in page.problem.text()
        page.origins.setText("https://example.org/")
        page.origins.editingFinished.emit()
        assert values.server_origins == ["https://example.org"]

        page.steps.click()
        page.keep.click()
        page.words.click()
        assert "and the token" in page.connecting.text()
        page.asks.click()
        assert "and the token" in page.connecting.text(), "beyond this computer it always counts"
        page.host.setText("localhost")
        page.host.editingFinished.emit()
        assert "They need no token" in page.connecting.text()
        assert values.server_steps
        assert not (values.server_keep or values.server_words or values.server_token)

        folder = str(tmp_path)
        page._use(folder)
        assert values.server_folder == folder and page.forget.isVisible()
        page.forget.click()
        assert values.server_folder == "" and "empty folder" in page.folder.text()
        await until(lambda: kept(person).get("server_folder") == "")
        assert kept(person)["server_port"] == 9123


@on_window_loop
async def test_rules_for_clients_are_added_and_removed(tmp_path: Path) -> None:
    """T-7, S-4: what clients may have agents do is the person's to say."""
    async with at_window(tmp_path, "ollama", []) as person:
        rules, values = (await page_of(person)).rules, person.window.settings.values
        await until(lambda: rules.isVisible())
        rules.field.setText("fly(*)")
        rules.add()
        assert "There is no tool fly" in rules.problem.text() and not values.server_rules
        rules.field.setText("run(pytest *)")
        rules.field.setFocus()
        person.window.preferences.dialog.activateWindow()  # type: ignore[union-attr]
        rules.button.click()
        assert values.server_rules == {"allow": ["run(pytest *)"]}
        rules.verdict.set_current("deny")
        rules.field.setText("fetch")
        rules.add()
        rules.field.setText("fetch")
        rules.add()
        assert values.server_rules == {"allow": ["run(pytest *)"], "deny": ["fetch"]}
        rules.removes["allow run(pytest *)"].click()
        assert values.server_rules == {"allow": [], "deny": ["fetch"]}
        await until(lambda: kept(person).get("server_rules") == {"allow": [], "deny": ["fetch"]})


@on_window_loop
async def test_the_token_is_made_kept_in_the_keychain_and_renewed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-4: it is nowhere else, unless it is given; then it is shown, and not renewed here."""
    memory = Vault()

    async def prepare(engine) -> None:
        engine.keychain._backend = memory

    async with at_window(tmp_path, "ollama", [], prepare=prepare) as person:
        row = (await page_of(person)).token
        await until(lambda: row.copy.isEnabled())
        first = memory.kept["agent-studio", "server"]
        assert len(first) > 40 and row.shown.text().endswith(first[-4:])
        assert first not in row.shown.text()
        row.renew.click()
        box = await until(message)
        assert "Every client needs the new one" in box.informativeText()
        next(b for b in box.buttons() if b.text() == "Renew").click()
        await until(lambda: memory.kept["agent-studio", "server"] != first)
        second = memory.kept["agent-studio", "server"]
        await until(lambda: row.shown.text().endswith(second[-4:]))
        monkeypatch.setenv(VARIABLE, "given-0123456789abcdef")
        row._stored = ServerToken(row._keychain, tmp_path)
        await row.load()
        assert row.shown.text().endswith("cdef") and not row.renew.isEnabled()
        assert VARIABLE in row.remark.text() and row.remark.isVisible()
    files = [p for p in (tmp_path / "studio").rglob("*") if p.is_file()]
    assert files
    assert not any(t.encode() in p.read_bytes() for p in files for t in (first, second))


@on_window_loop
async def test_the_mark_in_the_sidebar_opens_the_page(tmp_path: Path) -> None:
    async with at_window(tmp_path, "ollama", []) as person:
        sidebar = person.window.sidebar
        await page_of(person)
        person.window.preferences.dialog.close()  # type: ignore[union-attr]
        assert not sidebar.server.isVisible()
        sidebar.show_server("running", "http://127.0.0.1:1")
        sidebar.server.click()
        dialog = person.window.preferences.dialog
        assert dialog is not None and dialog.pages["server"].isVisible()
        assert QApplication.activeModalWidget() is None
        person.press(Key.Key_Escape)


@on_window_loop
async def test_keys_that_no_keychain_has_reach_the_server_and_nobody_else(tmp_path: Path) -> None:
    """P-4: through its input alone; also one that is typed while it runs."""
    port = free_port()

    def setup(file) -> None:
        file.values.server_port = port

    def script(view: Any) -> Turn:
        return Turn(Text("Hello"))

    async with at_window(tmp_path, "anthropic", script, setup=setup) as person:
        person.engine.settings.values.server_on = True
        await saved(person.engine)
        person.program.server.apply_settings()
        beside = person.program.server.process
        await until(lambda: beside.state == "running")
        base, model = f"{beside.address}/v1", "anthropic/sim-model"

        status, said = await asyncio.to_thread(post, base, beside.token, model)
        assert status == 200, said
        first = person.engine.keychain.session["anthropic"]
        process = Path(f"/proc/{beside._process.processId()}")
        for file in ("environ", "cmdline"):
            assert first.encode() not in (process / file).read_bytes()
        with contextlib.suppress(KeychainUnavailable):
            await person.engine.keychain.delete("anthropic")
        while (answer := await asyncio.to_thread(post, base, beside.token, model))[0] == 200:
            pass  # it has not heard of it yet
        assert answer[0] == 502 and "key" in answer[1]["error"]["message"], answer
        person.engine.keychain.keep_for_session("anthropic", "sk-test-another-0123456789")
        while (answer := await asyncio.to_thread(post, base, beside.token, model))[0] == 502:
            pass
        assert answer[0] == 200, answer
