"""The rows of the General page about the desktop: who opens links, and the quick question."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import subprocess
import sys

from PySide6.QtGui import QGuiApplication

from studio.storage.installation import start_command
from studio.ui.app import global_key, link_registration
from studio.ui.app.second_start import QUICK_ASK
from studio.ui.settings.form import FormCard
from studio.ui.settings.registry import SettingsTasks
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button
from studio.workflows import at_login


def quick_ask_command() -> str:
    """What asks a quick question from anywhere, also where the program is not on the path."""
    words = [*start_command(), QUICK_ASK]
    if shutil.which("agent-studio"):
        words[0] = "agent-studio"
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


class DesktopRows(FormCard):
    """A button that registers the program for its links, and a command for the person's key."""

    def __init__(self, theme: Theme, tasks: SettingsTasks) -> None:
        super().__init__(theme)
        self._tasks = tasks
        self.register = Button(theme, tr("Register"), clicked=self._register)
        if link_registration.can_register():
            words = tr("Open agent-studio links with this program")
            line = tr("Links to chats and settings, from other programs and web pages.")
            self.add(words, self.register, line)
        self.command = quick_ask_command()
        self.copy = Button(theme, tr("Copy command"), icon="copy", clicked=self._copy)
        words = tr(
            "This system gives programs no key. Give this command one in its settings: {command}"
        )
        if global_key.way():
            words = tr("The page Shortcuts gives it a key. This command does the same: {command}")
        self.add(tr("Quick question"), self.copy, words.format(command=self.command))
        line = tr("Without a window. It begins what is due of workflows whose triggers are on.")
        self.at_login = self.add_toggle(tr("Begin runs from login on"), self._switch_login, line)
        self.at_login.show_value(at_login.is_on())

    def _switch_login(self, on: bool) -> None:
        self.at_login.setEnabled(False)  # or two changes at once, of which either may be the last
        self._tasks.start(self._switched_login(on))

    async def _switched_login(self, on: bool) -> None:
        try:
            await asyncio.to_thread(at_login.switch_on if on else at_login.switch_off)
        except OSError as error:
            problem = tr("What runs from login on could not be changed ({why}).")
            self._tasks.on_problem(problem.format(why=error.strerror or error))
        self.at_login.show_value(await asyncio.to_thread(at_login.is_on))
        self.at_login.setEnabled(True)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command)

    def _register(self) -> None:
        self._tasks.start(self._registered())

    async def _registered(self) -> None:
        try:
            await asyncio.to_thread(link_registration.register)
        except OSError as error:
            problem = tr("The links could not be registered ({why}).")
            self._tasks.on_problem(problem.format(why=error.strerror or error))
        else:
            self.register.set_text(tr("Registered"))
