"""The audit in the window: read, filtered, exported (L-15)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QApplication

from studio.simulator import Call, Text, Turn
from studio.ui.pages.audit import PAGE, AuditPage
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

SCRIPT = [
    Turn(Call("read", {"path": "a.txt"}), Call("read", {"path": "missing.txt"})),
    Turn(Text("Done.")),
]


async def page_of(person: Person) -> AuditPage:
    person.window.menu_actions.by_page["audit"].trigger()
    page = await until(
        lambda: p if isinstance(p := person.window.pages.currentWidget(), AuditPage) else None
    )
    await until(lambda: page.count.text())
    return page


async def fill(person: Person, count: int) -> None:
    await person.engine.database.write(
        lambda db: db.executemany(
            """INSERT INTO audit (session_id, turn_id, call_id, agent, tool, effect, target,
            arguments, at, state, decided_by, seconds, summary) VALUES
            ('gone', 't', ?, 'Coder', 'run', 'act', ?, '{"command": "pytest"}', ?, ?, 'you, once',
            1.5, 'exit 0')""",
            [(f"c{n}", f"pytest -q tests/test_{n}.py", 1.7e9 + n, "denied" if n == 7 else "done")
             for n in range(count)],
        )
        and None
    )  # fmt: skip


@on_window_loop
async def test_calls_are_read_filtered_and_exported(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        (person.folder / "a.txt").write_text("a")
        await fill(person, PAGE + 50)
        person.say("Read it")
        await person.done()
        page = await page_of(person)
        assert page.count.text() == f"{PAGE + 52} calls" and page.model.rowCount() == PAGE
        words = [page.model.index(n).data(Qt.ItemDataRole.AccessibleTextRole) for n in range(PAGE)]
        assert any("read  a.txt" in text and "Coder" in text for text in words[:2])
        assert "allowed: you, once" in words[5] and "exit 0" in words[5]

        page.list.scrollToBottom()
        await until(lambda: page.model.rowCount() == PAGE + 52)
        assert page.model.whole

        page.list.setCurrentIndex(page.model.index(3))
        assert page.details.isVisible() and '"command": "pytest"' in page.details.toPlainText()
        if folder := os.environ.get("AGENT_STUDIO_SCREENSHOTS"):
            person.window.resize(QSize(1440, 900))
            page.list.scrollToTop()
            QApplication.processEvents()
            person.window.grab().save(str(Path(folder) / "audit.png"))

        assert person.focused() is page.field
        person.type("test_7")
        await until(lambda: page.count.text() == "11 calls")
        page.state.chosen.emit("denied")
        await until(lambda: page.count.text() == "1 call")
        assert "denied by you" in page.model.index(0).data(Qt.ItemDataRole.DisplayRole)

        file = tmp_path / "audit.jsonl"
        await page.save(file)
        [line] = file.read_text().splitlines()
        assert json.loads(line)["state"] == "denied" and str(file) in page.count.text()

        page.list.doubleClicked.emit(page.model.index(0))
        await until(lambda: page.count.text() == "This chat was deleted.")
        page.field.setText("a.txt")
        page.state.chosen.emit("any")
        await until(lambda: page.count.text() == "1 call")
        page.list.doubleClicked.emit(page.model.index(0))
        await until(lambda: person.window.pages.currentWidget() is person.window.chat)


@on_window_loop
async def test_an_empty_audit_says_so(tmp_path: Path) -> None:
    async with at_window(tmp_path, "anthropic", SCRIPT) as person:
        page = await page_of(person)
        assert page.count.text() == "0 calls" and not page.export.isEnabled()
