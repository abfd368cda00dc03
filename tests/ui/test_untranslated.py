"""No text on screen escapes the look-up: in a marked language all of ours stand in brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QAction, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)

from studio.providers.registry import PROVIDER_TITLES
from studio.simulator import Call, Text, Think, Turn
from studio.ui.chat.model.model_choices import ModelChoice
from studio.ui.pages import registry
from studio.ui.settings.pages.provider_models import ModelList
from studio.ui.settings.registry import PAGES
from studio.ui.transcript.items.approval_item import ApprovalItem
from studio.workflows.workflow_files import find_workflows
from support.languages import language
from support.waiting import until
from support.window import CTRL, Key, Person, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]

INSIDE = re.compile(r"⟦[^⟦⟧]*⟧")
OURS = re.compile(r"[A-Za-z]{2,}")
NAMES = (
    *PROVIDER_TITLES.values(), "Agent Studio", "sim-model", "English", "Deutsch", "JetBrains Mono",
    "Inter", "Tavily", "Brave Search", "SearXNG", "OK", "PySide6, Qt", "Lucide", "ISC, MIT", "LGPL-3.0",
    "PySide6, Qt (GNU GPL)", "GPL-3.0", "latex2mathml", "MIT", "SQLCipher", "BSD-3-Clause", "OFL-1.1",
)  # fmt: skip
"""What is called the same in every language."""
CODE = re.compile(
    r"https?://\S*|AIza…|studio\.local|return |wait\(|\S+\.(?:py|md|yaml|txt|gguf)\b|\.\w+/|[\w.-]*/[\w./-]+|(?:run|read|fetch)\([^)]*\)"
    r"|\b(?:agent|model|folder|tool|before|after|has|in):\S*"
    r"|&?\b(?:Ctrl|Alt|Shift|Esc|Del|F\d+|Enter|Return)\b(?:\+\S+)?|sk-\S*|BSA…|tvly-…|#[0-9a-f]{6}"
)


def escaped(text: str, content: tuple[str, ...]) -> str:
    """What of a text was never looked up; empty for nothing."""
    before = ""
    while before != text:
        before, text = text, INSIDE.sub(" ", text)
    if text.endswith("…") and any(one.startswith(text[:-1].rstrip()) for one in content):
        return ""
    text = CODE.sub(" ", text)
    for known in sorted((*NAMES, *content), key=len, reverse=True):
        text = text.replace(known, " ").replace(known.lower(), " ")
    return " ".join(OURS.findall(text))


def texts(widget: QWidget) -> Iterator[tuple[str, str]]:
    """All that a widget shows or says of itself, with where it is from."""
    if type(widget).__name__ == "_Swatch":
        return  # the names of drawings and hues, as they stand in a file
    for kind in ("text", "title", "placeholderText", "windowTitle", "toolTip", "accessibleName",
                 "accessibleDescription", "informativeText", "tabText"):  # fmt: skip
        value = getattr(widget, kind, None)
        if kind == "text" and isinstance(widget, QLineEdit | QPlainTextEdit | QTextEdit):
            continue  # the person's
        if callable(value) and kind != "tabText" and isinstance(found := value(), str):
            yield f"{type(widget).__name__}.{kind}", found
    for action in widget.actions():
        yield f"{type(widget).__name__}.action", action.text()
        yield f"{type(widget).__name__}.action tip", action.toolTip() if action.text() else ""
    shows_names = isinstance(widget, ModelList) or type(widget).__name__ == "Gallery"
    if isinstance(widget, QAbstractItemView) and not shows_names and (model := widget.model()):
        yield from rows(type(widget).__name__, model)


def rows(name: str, model: QAbstractItemModel) -> Iterator[tuple[str, str]]:
    for row in range(model.rowCount(QModelIndex())):
        for role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole,
                     Qt.ItemDataRole.AccessibleTextRole):  # fmt: skip
            value = model.index(row, 0).data(role)
            if isinstance(value, str):
                yield f"{name} row", value


class Seen:
    """Collects what is painted and said, and keeps what was not looked up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.escaped: dict[str, str] = {}
        self.content: tuple[str, ...] = ("Coder",)
        self._where = ""
        self._seen: set[str] = set()
        painted = QPainter.drawText

        def draw(painter: QPainter, *arguments: Any) -> Any:
            for one in arguments:
                if isinstance(one, str):
                    self._check(f"{self._where}: painted", one)
            return painted(painter, *arguments)

        monkeypatch.setattr(QPainter, "drawText", draw)

    def _check(self, where: str, text: str) -> None:
        if text in self._seen:
            return
        self._seen.add(text)
        if "<orientatio" in text or text.startswith("orientation"):
            return  # what the model was told, as it was
        if ("…" in text and text.count("⟦") != text.count("⟧")) or re.match(r"[~/].*…", text):
            return  # elided inside the brackets, or a path
        if left := escaped(text, self.content):
            self.escaped.setdefault(f"{left}  ({text[:60]!r})", where)

    def look(self, where: str) -> None:
        """Look at all windows as they are."""
        self._where = where
        for window in QApplication.topLevelWidgets():
            if not window.isVisible():
                continue
            window.grab()
            for widget in (window, *window.findChildren(QWidget)):
                for kind, text in texts(widget):
                    self._check(f"{where}: {kind}", text)
            for action in window.findChildren(QAction):
                self._check(f"{where}: action", action.text())


WORKFLOW = """\
---
name: Αβγ
steps:
  - {id: a, title: Αβγ, agent: Coder, prompt: Αβγ}
  - {id: b, title: Δε, agent: Coder, prompt: Δε, needs: a, for_each: [1], redo: {from: a, when: 1, max: 2}}
  - {id: c, needs: b, approve: Ζη}
---
"""
SCRIPT = [
    Turn(
        Think("Αβγ."),
        Text("Δεζ."),
        Call("read", {"path": "1.txt"}),
        Call("run", {"command": "echo 1"}),
    ),
    Turn(Text("Ηθι.")),
]


@on_window_loop
async def test_no_text_on_screen_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "1.txt").write_text("1\n2\n")
    workflows = tmp_path / "work" / ".agents" / "workflows"
    workflows.mkdir(parents=True)
    (workflows / "1.md").write_text(WORKFLOW)
    with language("marked"):
        seen = Seen(monkeypatch)
        async with at_window(tmp_path, "anthropic", SCRIPT) as person:
            agents = (await person.engine.agents()).by_name
            seen.content = (str(tmp_path), tmp_path.name, "work", workflows.name, "echo 1",
                            *agents,
                            *(agent.description for agent in agents.values()),
                            *person.engine.tools(),
                            *(name.capitalize() for name in person.engine.tools()),
                            *(name.replace("_", " ").capitalize()
                              for name in person.engine.tools()))  # fmt: skip
            for one in find_workflows(
                person.engine.paths, None, person.engine.services.sources.pack_places
            ):
                assert one.workflow is not None
                seen.content += (one.workflow.name, one.workflow.description)
            seen.look("new chat")
            await a_chat(person, seen)
            for entry in registry.PAGES:
                person.window.pages.show_page(entry.key)
                await until(lambda: not person.window._tasks, "the page is read")
                seen.look(entry.key)
            person.window.preferences.open()
            dialog = person.window.preferences.dialog
            assert dialog is not None
            for page in PAGES:
                dialog.open_page(page.key)
                seen.look(f"settings, {page.key}")
            dialog.close()
    assert not seen.escaped, "\n".join(f"{where}: {what}" for what, where in seen.escaped.items())


async def a_chat(person: Person, seen: Seen) -> None:
    """A question of permission, then the whole turn, with what its items say."""
    person.composer.setFocus()
    person.composer.editor.setPlainText("Αβγ")
    person.press(Key.Key_Return)
    await until(lambda: person.view.canvas.waiting(), "a question")
    person.view.flush()
    person.window._inspector.toggle()
    seen.look("question")
    await person.click_hit(ApprovalItem, "allow_once")
    await person.done()
    for item in person.view.canvas.items:
        seen._check("transcript", item.name)
        for hit in item.hits:
            seen._check("transcript", hit.text)
    for tab in range(3):
        inspector = person.window.inspector
        assert inspector is not None
        inspector.show_page(tab)
        seen.look(f"inspector {tab}")
    seen.look("chat")
    for key in (Key.Key_K, Key.Key_F):
        person.composer.setFocus()
        person.press(key, CTRL)
        seen.look(f"Ctrl+{key.name}")
        person.press(Key.Key_Escape)
    for sign in "@/":
        person.composer.setFocus()
        person.type(sign)
        await until(lambda: person.window.completion and person.window.completion.isVisible())
        seen.look(f"after {sign}")
        person.composer.set_text("")
    person.composer.model.open()
    picker = person.window.chat.menus.picker
    assert picker is not None
    seen.content += tuple(
        row.info.title for row in picker.models.rows if isinstance(row, ModelChoice)
    )
    seen.look("models")
    picker.close()
