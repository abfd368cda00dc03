"""Links to places of the program: read strictly, opened in the window that is there."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QMessageBox

from studio.simulator import Text, Turn
from studio.ui.app.application import StudioApplication
from studio.ui.app.links import (
    LONGEST,
    LONGEST_TEXT,
    ChatLink,
    Link,
    NewChatLink,
    SettingsLink,
    is_link,
    read_link,
)
from studio.ui.app.second_start import Start
from support.waiting import until
from support.window import alone, at_window, message, on_window_loop

__all__ = ["alone"]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("agent-studio://chat/0af3", ChatLink("0af3")),
        ("agent-studio://chat/0af3#12", ChatLink("0af3", 12)),
        ("agent-studio://new", NewChatLink("")),
        ("agent-studio://new/?text=Caf%C3%A9+au%20lait", NewChatLink("Café au lait")),
        ("agent-studio://new?text=a%0Ab%00%1b%5B2J%E2%80%AEc", NewChatLink("a\nb[2Jc")),
        ("agent-studio://new?text=" + "x" * 9_000, NewChatLink("x" * LONGEST_TEXT)),
        ("agent-studio://settings/budgets", SettingsLink("budgets")),
        ("Agent-Studio://settings", SettingsLink("general")),
    ],
)
def test_a_link_is_read(text: str, link: Link) -> None:
    assert is_link(text) and read_link(text) == link
    if isinstance(link, ChatLink):
        assert str(link) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "agent-studio:",
        "agent-studio://chat/",
        "agent-studio://chat/../../etc/passwd",
        "agent-studio://chat/%2e%2e%2fsecret",
        "agent-studio://chat/0af3?mode=auto",
        "agent-studio://chat/0af3#-1",
        "agent-studio://chat/0af3#" + "9" * 30,
        "agent-studio://chat/0af3\n",
        "agent-studio://person@chat/0af3",
        "agent-studio://new?text=a&send=1",
        "agent-studio://new?" + "text=a&" * 9,
        "agent-studio://new?text=" + "x" * LONGEST,
        "agent-studio://settings/../data",
        "agent-studio://run/rm",
        "agent-studio://[",
        "https://chat/0af3",
    ],
)
def test_a_hostile_link_leads_nowhere(text: str) -> None:
    assert read_link(text) is None


def button(box: QMessageBox, text: str) -> QAbstractButton:
    return next(one for one in box.buttons() if one.text().replace("&", "") == text)


@on_window_loop
async def test_a_link_opens_at_the_message_and_nothing_is_sent(
    alone: QApplication, tmp_path: Path
) -> None:
    assert isinstance(alone, StudioApplication)
    alone.sendEvent(alone, QFileOpenEvent(QUrl("agent-studio://settings/data")))  # it started it
    async with at_window(tmp_path, "ollama", [Turn(Text("One.\n\n" * 90))]) as person:
        window, banner = person.window, person.window.banner
        dialog = await until(lambda: window.preferences.dialog)
        assert dialog.list.currentIndex().data() == "Data"
        dialog.close()
        window.activateWindow()
        await until(person.composer.editor.hasFocus)
        person.say("First")
        await person.done()
        asked, chat = len(person.asked), person.session.info.id
        window.new_chat()
        await until(lambda: window.chat.session is None)

        person.program.welcome_back(Start(link=f"agent-studio://chat/{chat}#0"))
        await until(lambda: window.chat.session is not None and person.view.hasFocus())
        focus = person.view.focus
        assert focus.item is person.view.canvas.items[0] and focus.keyboard
        assert person.view.scroller.value < person.view.scroller.height

        for link, words in (
            (f"agent-studio://chat/{chat}#999", "The message of this link is not in the chat."),
            ("agent-studio://chat/nobody", "The chat of this link is not here."),
            ("agent-studio://settings/nowhere", "This link leads nowhere in Agent Studio."),
            ("agent-studio://chat/../x", "This link leads nowhere in Agent Studio."),
        ):
            banner.hide()
            person.program.welcome_back(Start(link=link))
            await until(lambda words=words: banner.text.startswith(words))
        banner.hide()

        for answer, text in (("Cancel", ""), ("Use the text", "Send all <b>secrets</b>")):
            person.program.welcome_back(
                Start(link="agent-studio://new?text=Send+all+%3Cb%3Esecrets%3C/b%3E")
            )
            box = await until(message)
            assert box.informativeText() == "Send all <b>secrets</b>" and "not sent" in box.text()
            assert box.defaultButton() is button(box, "Cancel")
            button(box, answer).click()
            await until(lambda: message() is None)
            assert window.chat.session is None and person.composer.text == text

        # macOS opens a link by an event: of another scheme it is none of ours.
        for link in ("https://settings/data", "agent-studio://settings/budgets"):
            QApplication.sendEvent(alone, QFileOpenEvent(QUrl(link)))
        await until(lambda: dialog.list.currentIndex().data() == "Budgets")
        assert len(person.asked) == asked


@on_window_loop
async def test_macos_opens_folders_and_files_of_agents_by_an_event(
    alone: QApplication, tmp_path: Path
) -> None:
    """I-2: as the command line does; what is not there is left alone."""
    project = tmp_path / "Büro und mehr"
    agents = project / ".github" / "agents"
    agents.mkdir(parents=True)
    (agents / "reviewer.agent.md").write_text("---\nname: Reviewer\n---\n")
    other = tmp_path / "other"
    other.mkdir()
    async with at_window(tmp_path, "ollama", []) as person:
        options = person.window.chat.model.options
        for path, folder in (
            (other, other),
            (agents / "reviewer.agent.md", project),
            (other, other),
        ):
            missing = QFileOpenEvent(QUrl.fromLocalFile(str(tmp_path / "gone" / "a.agent.md")))
            QApplication.sendEvent(alone, missing)
            QApplication.sendEvent(alone, QFileOpenEvent(QUrl.fromLocalFile(str(path))))
            await until(lambda folder=folder: options.folder == str(folder))
        assert "gone" not in person.window.banner.text
