"""The About page: versions, licences of what ships, and facts for a bug report."""

from __future__ import annotations

import platform

from PySide6 import __version__ as pyside_version
from PySide6.QtCore import QLibraryInfo, QUrl, qVersion
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QDialog, QPlainTextEdit

from studio import __version__
from studio.providers.registry import PROVIDER_TITLES
from studio.storage.crash_reports import CrashReports
from studio.storage.installation import installation
from studio.storage.paths import resources
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Button, FocusRing, Label, Logo, OverlayBar
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

LICENCES = (
    ("PySide6, Qt", "LGPL-3.0", ""),
    ("Lucide", "ISC, MIT", "icons/LICENSE-lucide"),
    ("Inter, JetBrains Mono", "OFL-1.1", "fonts/LICENSE-OFL"),
)
"""What ships with the program, its licence, and the file with the text in ``resources``."""


def report(services: SettingsServices) -> str:
    """Facts for a bug report, without keys, addresses, names of folders or words of chats."""
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
        "Installed": installation().kind,
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
        self._add_help()
        self._add_licences()
        self.column.addStretch(1)

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
        self._crashes = CrashReports(paths.logs)
        if self._crashes.path.is_file():
            self.crash = Button(self.theme, tr("Show"), clicked=self._show_crash)
            line = tr("It is on this computer alone. Read it before you give it to somebody.")
            rows.add(tr("Last crash"), self.crash, line)
        self.column.addWidget(rows)

    def _show_crash(self) -> None:
        box = TextDialog(self, tr("Last crash"), self._crashes.read())
        box.open()

    def _add_licences(self) -> None:
        rows = FormCard(self.theme)
        self.licences: dict[str, Button] = {}
        for name, licence, file in LICENCES:
            if not file:
                rows.add(name, Label(self.theme, licence, "ui", "text2"))
                continue
            button = self.licences[file] = Button(self.theme, tr("Show"))
            button.clicked.connect(
                lambda _on=False, name=name, file=file: self._show_licence(name, file)
            )
            rows.add(name, button, licence)
        self.add_group(tr("Licences of what ships"), rows)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(report(self._services))
        self.copy.set_text(tr("Copied"))

    def refresh(self) -> None:
        self.copy.set_text(tr("Copy"))

    def _show_licence(self, name: str, file: str) -> None:
        text = (resources() / file).read_text(encoding="utf-8")
        box = TextDialog(self, name, text, joined((tr("Licences of what ships"), name)))
        box.open()


class TextDialog(QDialog):
    """A long text: a licence, a report. ``spoken`` is its name for a screen reader."""

    def __init__(self, page: AboutPage, name: str, text: str, spoken: str = "") -> None:
        super().__init__(page.window())
        self.setWindowTitle(name)
        theme = page.theme
        self.resize(theme.px(620), theme.px(520))
        self.text = QPlainTextEdit(text)
        self.text.setReadOnly(True)
        self.text.setFont(theme.font("code"))
        self.text.setAccessibleName(spoken or name)
        OverlayBar(self.text)
        FocusRing.of(theme).follow(self.text)
        close = Button(theme, tr("Close"), clicked=self.accept)
        foot = row_of([STRETCH, close])
        column_of([(self.text, 1), foot], spacing=10, margins=(14, 14, 14, 14), on=self)
        self.finished.connect(self.deleteLater)
