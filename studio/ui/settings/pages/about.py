"""The About page: versions, licences of what ships, and facts for a bug report."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from PySide6 import __version__ as pyside_version
from PySide6.QtCore import QLibraryInfo, Qt, QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication

from studio import __version__
from studio.agent.updates import read_release
from studio.providers.registry import PROVIDER_TITLES
from studio.storage.crash_reports import CrashReports
from studio.storage.installation import installation
from studio.storage.paths import resources
from studio.ui.app.updates import ask_now, whats_new
from studio.ui.engine_texts import tr_engine
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Button, Label, Logo
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.layouts import column_of, row_of, widget_of
from studio.ui.widgets.text_dialog import TextDialog

LICENCES = (
    ("PySide6, Qt", "LGPL-3.0", "licences/LICENSE-LGPL-3.0"),
    ("PySide6, Qt (GNU GPL)", "GPL-3.0", "licences/LICENSE-GPL-3.0"),
    ("latex2mathml", "MIT", "licences/LICENSE-latex2mathml"),
    ("Lucide", "ISC, MIT", "icons/LICENSE-lucide"),
    ("Inter, JetBrains Mono", "OFL-1.1", "fonts/LICENSE-OFL"),
    ("SQLCipher", "BSD-3-Clause", "licences/LICENSE-SQLCipher"),
)
"""What ships with the program, its licence, and the file with the text in ``resources``."""


def report(services: SettingsServices, installed: str) -> str:
    """Facts for a bug report, without keys, addresses, names of folders or words of chats.

    ``installed`` is the way in which the program was.
    """
    screen = QGuiApplication.primaryScreen()
    values = services.values
    lines = {
        "Agent Studio": __version__,
        "Python": platform.python_version(),
        "Qt": f"{qVersion()}, PySide6 {pyside_version}",
        "System": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "Window system": QGuiApplication.platformName(),
        "Screen": f"{screen.size().width()}×{screen.size().height()}, {screen.devicePixelRatio()}×",
        "Look": f"{values.theme}, {values.text_size}%, {values.accent}, {values.density}",
        "Language": values.language,
        "Providers": ", ".join(sorted(set(services.engine.connected) & set(PROVIDER_TITLES))),
        "Installed": installed,
        "Qt build": QLibraryInfo.build(),
    }
    return "\n".join(f"{name}: {value}" for name, value in lines.items())


class AboutPage(SettingsPage):
    """What this program is, and where to look when it goes wrong."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(theme, tr("About"), tr("Work with AI agents."))
        self._services = services
        name = Label(theme, f"Agent Studio {__version__}", "title")
        words = tr("Python {python}, Qt {qt}. Apache-2.0.").format(
            python=platform.python_version(), qt=qVersion()
        )
        self.versions = Label(theme, words, "ui", "text2", wrap=True)
        text = widget_of(column_of([name, self.versions], spacing=2))
        self.column.addLayout(row_of([Logo(theme), (text, 1)], spacing=14))
        self._release = read_release(services.engine.paths.resources)
        self._add_updates()
        self._add_help()
        self._add_licences()
        self.column.addStretch(1)

    def _add_updates(self) -> None:
        rows, release = FormCard(self.theme), self._release
        line = tr("This program was built without an address to ask.")
        if release.asks:
            line = tr(
                "Asks {host} for one signed file and sends nothing about you. Nothing is installed."
            ).format(host=urlsplit(release.address).hostname)
        self.updates = rows.add_toggle(tr("Look for newer versions once a day"), self._switch, line)
        self.updates.setEnabled(release.asks)
        self.look = Button(self.theme, tr("Look now"), clicked=self._look)
        self.look.setEnabled(release.asks)
        self.found = rows.add(tr("Newest version"), self.look)
        self.found.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        if release.changes:
            self.new = Button(self.theme, tr("Show"), clicked=self._show_new)
            rows.add(tr("What is new"), self.new)
        self.add_group(tr("Updates"), rows)

    def _switch(self, on: bool) -> None:
        self._services.values.look_for_updates = on
        self.changed.emit()

    def _look(self) -> None:
        self.look.setEnabled(False)
        self._services.tasks.start(self._tell_newest(), cancelled_on_close=True)

    async def _tell_newest(self) -> None:
        try:
            text = await ask_now(self._services.engine, self._services.values, self._release)
            self.found.setText(text)
            self.found.show()
            announce(self.found, text)
            self.changed.emit()
        finally:
            self.look.setEnabled(True)

    def _show_new(self) -> None:
        whats_new(self, self.theme, self._release.changes).open()

    def _add_help(self) -> None:
        rows = FormCard(self.theme)
        self.copy = Button(self.theme, tr("Copy"), clicked=self._copy)
        line = tr("Versions and system. No keys, no words of your chats, no names of folders.")
        rows.add(tr("For a bug report"), self.copy, line)
        paths = self._services.engine.paths
        for title, folder in ((tr("Data folder"), paths.data), (tr("Logs"), paths.logs)):
            url = QUrl.fromLocalFile(str(folder))
            button = Button(
                self.theme,
                tr("Open folder"),
                clicked=lambda _on=False, url=url: QDesktopServices.openUrl(url),
            )
            rows.add(title, button)
        self.column.addWidget(rows)
        self._crashes = CrashReports(paths.logs)
        self._services.tasks.start(self._look_for_crash(rows), cancelled_on_close=True)

    async def _look_for_crash(self, rows: FormCard) -> None:
        if await asyncio.to_thread(self._crashes.path.is_file):
            self.crash = Button(self.theme, tr("Show"), clicked=self._show_crash)
            line = tr("It is on this computer alone. Read it before you give it to somebody.")
            rows.add(tr("Last crash"), self.crash, line)
            self.tab_in_order()

    def _show_crash(self) -> None:
        title = tr("Last crash")
        self._services.tasks.start(self._show(title, self._crashes.read), cancelled_on_close=True)

    async def _show(self, title: str, read: Callable[[], str], spoken: str = "") -> None:
        text = await asyncio.to_thread(read)
        TextDialog(self, self.theme, title, text, spoken=spoken).open()

    def _add_licences(self) -> None:
        rows = FormCard(self.theme)
        self.licences: dict[str, Button] = {}
        for name, licence, file in LICENCES:
            button = self.licences[file] = Button(self.theme, tr("Show"))
            button.clicked.connect(
                lambda _on=False, name=name, file=file: self._show_licence(name, file)
            )
            rows.add(name, button, licence)
        self.add_group(tr("Licences of what ships"), rows)

    def _copy(self) -> None:
        self._services.tasks.start(self._copy_report(), cancelled_on_close=True)

    async def _copy_report(self) -> None:
        installed = await asyncio.to_thread(installation)
        QGuiApplication.clipboard().setText(report(self._services, installed.kind))
        self.copy.set_text(tr("Copied"))

    def refresh(self) -> None:
        self.updates.show_value(self._release.asks and self._services.values.look_for_updates)
        self.copy.set_text(tr("Copy"))
        if self._release.asks and (refused := self._services.values.updates_refused):
            self.found.setText(tr_engine(refused))
            self.found.show()

    def _show_licence(self, name: str, file: str) -> None:
        spoken = joined((tr("Licences of what ships"), name))
        read = partial((resources() / file).read_text, encoding="utf-8")
        self._services.tasks.start(self._show(name, read, spoken), cancelled_on_close=True)
