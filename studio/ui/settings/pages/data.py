"""The Data page: where data lies and how much, export, import with a preview, deletion."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Sequence
from contextlib import suppress
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QLocale, QStringListModel, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFileDialog,
    QListView,
    QMessageBox,
)

from studio.domain.errors import StudioError
from studio.storage.paths import Paths
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import number, short_path
from studio.ui.settings.bars import FillBar, Part, ShareBar
from studio.ui.settings.chats_dialog import ChatsDialog
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.translation import locale, tr, tr_plural
from studio.ui.widgets import (
    Button,
    Card,
    Combo,
    Label,
    MenuItem,
    OverlayBar,
    make_transparent,
    message_box,
)
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

if TYPE_CHECKING:
    from studio.agent.chat_files import ChatImporter, ExportForm, ImportCandidate
    from studio.domain.sessions import SessionInfo

KEPT = (0, 7, 30, 90)
"""Days that a deleted chat can be brought back; 0 is until the window closes."""
AGES = (30, 90, 365)
"""Days after which a chat may be called old."""
DAY = 86_400.0
BUSY = ("running", "waiting")
"""States of chats that are not deleted: a turn runs in them."""
CHATS, ONE_FORM = "*.zip", {"json": "*.json", "md": "*.md"}


def sizes(paths: Paths) -> dict[str, int]:
    """Bytes by kind: chats, undo, outputs, logs, other. Blocks: it looks at every file."""
    found: dict[str, int] = dict.fromkeys(("chats", "undo", "outputs", "logs", "other"), 0)
    seen: set[Path] = set()
    for folder in (paths.logs, paths.cache, paths.config, paths.data):
        for file in folder.rglob("*") if folder.is_dir() else ():
            if file in seen or file.is_symlink() or not file.is_file():
                continue
            seen.add(file)
            try:
                found[_kind(file, paths)] += file.stat().st_size
            except OSError:
                continue  # gone meanwhile
    return found


def _kind(file: Path, paths: Paths) -> str:
    if file.name.startswith(paths.database.name):
        return "chats"
    if file.name.startswith(paths.snapshots.name):
        return "undo"
    if file.is_relative_to(paths.cache / "outputs"):
        return "outputs"
    return "logs" if file.is_relative_to(paths.logs) else "other"


def size_text(count: int) -> str:
    """Bytes as “412 MB”."""
    form = QLocale.DataSizeFormat.DataSizeSIFormat
    return locale().formattedDataSize(count, 0 if count < 1_000_000 else 1, form)


class PlaceCard(Card):
    """Where data lies, how much there is, and of what kind."""

    def __init__(self, theme: Theme, paths: Paths) -> None:
        super().__init__(theme, "surface", "hair")
        self._paths = paths
        self.whole = Label(theme, "", "ui_strong", digits=True)
        self.path = ElidedLabel(theme, short_path(str(paths.data)), "code", "text2")
        self.open = Button(theme, tr("Open folder"), clicked=self._open)
        self.bar = ShareBar(theme)
        top = row_of([self.whole, STRETCH, self.path, self.open], spacing=10)
        column_of([top, self.bar], spacing=10, margins=(14, 12, 14, 12), on=self)

    def show_sizes(self, found: dict[str, int], chats: int) -> None:
        """``found`` as ``sizes`` returns it."""
        words = tr_plural(
            "{size} in {count} chat",
            "{size} in {count} chats",
            chats,
            size=size_text(sum(found.values())),
        )
        self.whole.setText(words)
        names = {
            "chats": tr("Chats"),
            "undo": tr("Undo"),
            "outputs": tr("Long outputs"),
            "logs": tr("Logs"),
            "other": tr("Other"),
        }
        self.bar.show_parts(
            [Part(names[kind], size_text(size), size) for kind, size in found.items() if size]
        )

    def _open(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._paths.data)))


class PreviewCard(Card):
    """What a file would bring. Nothing of it is stored before the person says so."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "sunken", "hair")
        self.candidates: list[ImportCandidate] = []
        self.path = Path()
        self.file = Label(theme, "", "ui_medium", wrap=True)
        self.facts = Label(theme, "", "small", "text2", wrap=True, digits=True)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self.hide)
        self.take = Button(theme, "", "primary")
        self.show_list = Button(theme, tr("Show list"), "link", clicked=self._toggle)
        self.titles = QStringListModel(self)
        self.list = QListView()
        self.list.setModel(self.titles)
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setAccessibleName(tr("Chats in the file"))
        self.list.setFixedHeight(theme.px(150))
        make_transparent(self.list)
        OverlayBar(self.list)
        words = column_of([self.file, self.facts], spacing=2)
        top = row_of([(widget_of(words), 1), self.show_list, self.cancel, self.take], spacing=8)
        column_of([top, self.list], spacing=8, margins=(14, 10, 14, 10), on=self)
        self.list.hide()
        self.hide()

    def show_candidates(self, path: Path, found: list[ImportCandidate]) -> None:
        self.path = path
        self.candidates = [one for one in found if one.state == "new"]
        here = sum(one.state == "here" for one in found)
        empty = sum(one.state == "empty" for one in found)
        new = len(self.candidates)
        facts = [
            tr_plural("{count} is new", "{count} are new", new),
            tr_plural("{count} is here already", "{count} are here already", here) if here else "",
            tr_plural("{count} is empty", "{count} are empty", empty) if empty else "",
        ]
        self.file.setText(path.name)
        nothing = tr("Nothing is stored yet.")
        self.facts.setText(" · ".join([*filter(None, facts), nothing]))
        self.take.set_text(tr_plural("Import {count} chat", "Import {count} chats", new))
        self.take.setEnabled(bool(new))
        self.titles.setStringList([_row(one) for one in found])
        self.list.hide()
        self.show()

    def _toggle(self) -> None:
        self.list.setVisible(self.list.isHidden())


def _row(one: ImportCandidate) -> str:
    title = one.title or tr("Without a title")
    missing = len(one.left_out)
    if one.state == "new" and not missing:
        return title
    if one.state == "new":
        why = tr_plural("{count} part is missing", "{count} parts are missing", missing)
    else:
        why = tr("here already") if one.state == "here" else tr("empty")
    return tr("{title} — {reason}").format(title=title, reason=why)


class WorkCard(Card):
    """What is being done, how far it is, and the button that ends it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, "surface", "hair")
        self.words = Label(theme, "", "ui_medium", digits=True)
        self.bar = FillBar(theme)
        self.cancel = Button(theme, tr("Cancel"))
        left = widget_of(column_of([self.words, self.bar], spacing=8))
        row_of([(left, 1), self.cancel], spacing=16, margins=(14, 10, 14, 10), on=self)
        self.hide()

    def show_progress(self, what: str, done: int, whole: int) -> None:
        words = tr("{work}: {done} of {whole}").format(
            work=what, done=number(done), whole=number(whole)
        )
        self.words.setText(words)
        self.bar.show_share(done / whole if whole else 0.0, words)
        self.show()


class DataPage(SettingsPage):
    """Everything the program keeps, and the ways in and out."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        line = tr("Everything is on this computer. Keys are in the system’s keychain.")
        super().__init__(theme, tr("Data"), line)
        self._services, self._engine = services, services.engine
        self._work: asyncio.Task[None] | None = None
        self._chooser: QFileDialog | None = None
        self._importer: ChatImporter | None = None
        self._infos: list[SessionInfo] = []
        self._bin: list[SessionInfo] = []
        self.place = PlaceCard(theme, self._engine.paths)
        self.column.addWidget(self.place)
        self.work = WorkCard(theme)
        self.work.cancel.clicked.connect(self._cancel)
        self.said = Label(theme, "", "ui", "text2", wrap=True)
        self.said.hide()
        self.column.addWidget(self.work)
        self.column.addWidget(self.said)
        self._add_bin()
        self._add_files()
        self._add_deletion()
        self.column.addStretch(1)

    def _add_files(self) -> None:
        rows = FormCard(self.theme)
        self.export_all = Button(self.theme, tr("Export…"), clicked=self._choose_archive)
        line = tr("Markdown and JSON in one zip, with agents and settings. Without keys.")
        rows.add(tr("Export everything"), self.export_all, line)
        self.export_some = Button(self.theme, tr("Choose…"), clicked=self._choose_chats)
        rows.add(tr("Export chats"), self.export_some, tr("As markdown to read, or as JSON."))
        self.import_file = Button(self.theme, tr("Choose…"), clicked=self._choose_import)
        line = tr("From Agent Studio, ChatGPT or Claude: a zip or conversations.json.")
        rows.add(tr("Import"), self.import_file, line)
        self.preview = PreviewCard(self.theme)
        self.preview.take.clicked.connect(self._import)
        self.add_group(tr("Export and import"), rows)
        self.column.addWidget(self.preview)

    def _add_bin(self) -> None:
        rows = FormCard(self.theme)
        ages = [
            MenuItem(
                str(days),
                tr_plural("{count} day", "{count} days", days)
                if days
                else tr("Until the window closes"),
            )
            for days in KEPT
        ]
        self.kept = Combo(
            self.theme, tr("Keep deleted chats"), "", 190, ages, chosen=self._keep_for
        )
        self.kept.set_current(str(self._engine.settings.values.bin_days))
        line = tr("They can be brought back as long, with all that is in them.")
        rows.add(tr("Keep deleted chats"), self.kept, line)
        self.restore = Button(self.theme, tr("Bring back…"), clicked=self._choose_deleted)
        self.empty = Button(self.theme, tr("Delete for good…"), "danger", clicked=self._ask_bin)
        control = widget_of(row_of([self.restore, self.empty], spacing=8))
        self.bin_line = rows.add(tr("Deleted chats"), control, " ")
        self.add_group(tr("Deleted chats"), rows)

    def _keep_for(self, days: str) -> None:
        self._engine.settings.values.bin_days = int(days)
        self._services.tasks.start(self._engine.settings.save())

    def _add_deletion(self) -> None:
        rows = FormCard(self.theme)
        ages = [
            MenuItem(str(days), tr_plural("{count} day", "{count} days", days)) for days in AGES
        ]
        self.age = Combo(self.theme, tr("Older than"), "", 120, ages, chosen=self.refresh)
        self.age.set_current(str(AGES[1]))
        self.delete_old = Button(self.theme, tr("Delete…"), "danger", clicked=self._ask_old)
        control = widget_of(row_of([self.age, self.delete_old], spacing=8))
        self.old_line = rows.add(tr("Chats older than"), control, " ")
        self.delete_all = Button(self.theme, tr("Delete…"), "danger", clicked=self._ask_all)
        line = tr("Settings, keys, agents and the audit stay.")
        rows.add(tr("All chats"), self.delete_all, line)
        self.add_group(tr("Delete"), rows)

    # What it shows

    def refresh(self, *_: object) -> None:
        self._services.tasks.start(self._look(), cancelled_on_close=True)

    async def _look(self) -> None:
        self._infos = await self._engine.sessions.list()
        self._bin = await self._engine.sessions.bin()
        self.bin_line.setText(tr_plural("{count} chat", "{count} chats", len(self._bin)))
        old = len(self._old)
        self.old_line.setText(tr_plural("{count} chat", "{count} chats", old))
        self._enable()
        found = await asyncio.to_thread(sizes, self._engine.paths)
        self.place.show_sizes(found, len(self._infos))

    @property
    def _idle(self) -> list[SessionInfo]:
        """Chats that may be deleted."""
        return [info for info in self._infos if info.state not in BUSY]

    @property
    def _old(self) -> list[SessionInfo]:
        before = time.time() - int(self.age.current) * DAY
        return [info for info in self._idle if info.updated < before]

    def _enable(self) -> None:
        free = self._work is None
        for button, useful in (
            (self.export_all, bool(self._infos)),
            (self.export_some, bool(self._infos)),
            (self.import_file, True),
            (self.preview.take, bool(self.preview.candidates)),
            (self.restore, bool(self._bin)),
            (self.empty, bool(self._bin)),
            (self.delete_old, bool(self._old)),
            (self.delete_all, bool(self._idle or self._bin)),
        ):
            button.setEnabled(free and useful)

    # One piece of work at a time

    def _start(self, work: Coroutine[Any, Any, str], what: str) -> None:
        """Run ``work``, which returns what to say at its end."""
        if self._work is not None:
            work.close()
            return
        self.said.hide()
        self.work.show_progress(what, 0, 0)
        self._work = self._services.tasks.start(self._do(work), cancelled_on_close=True)
        self._work.add_done_callback(lambda task: self._ended(task, work, what))
        self._enable()
        self.reveal(self.work.cancel)

    async def _do(self, work: Coroutine[Any, Any, str]) -> None:
        try:
            self.said.show_text(await work)
        except (StudioError, ValueError) as error:
            self.said.show_text(tr_engine(str(error)))

    def _ended(self, task: asyncio.Task[None], work: Coroutine[Any, Any, str], what: str) -> None:
        work.close()  # it never began if it was cancelled at once
        self._work = None
        self.work.hide()
        if task.cancelled():
            self.said.show_text(tr("{work}: stopped.").format(work=what))
        self._enable()
        self._services.chat.session_changed.emit()  # the list of chats may be another
        if self.isVisible():
            self.refresh()

    def _cancel(self) -> None:
        if self._work is not None:
            self._work.cancel()

    # Export

    def _choose_archive(self) -> None:
        name = f"agent-studio-{date.today().isoformat()}.zip"
        filters = {"zip": tr("Archive ({pattern})").format(pattern=CHATS)}
        self._choose_place(name, filters, [info.id for info in self._infos])

    def _choose_chats(self) -> None:
        dialog = ChatsDialog(
            self.theme,
            tr("Export chats"),
            self._infos,
            lambda count: tr_plural("Export {count} chat…", "Export {count} chats…", count),
            self.window(),
        )
        dialog.picked.connect(self._choose_form)
        dialog.open()

    def _choose_form(self, ids: list[str]) -> None:
        filters = {
            "md": tr("Markdown ({pattern})").format(pattern=ONE_FORM["md"]),
            "json": tr("JSON ({pattern})").format(pattern=ONE_FORM["json"]),
        }
        self._choose_place(tr("Chats") + ".md", filters, ids)

    def _choose_place(self, name: str, filters: dict[str, str], ids: Sequence[str]) -> None:
        chooser = QFileDialog(self.window(), tr("Export"), str(Path.home() / name))
        chooser.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        chooser.setNameFilters([*filters.values()])
        chooser.setDefaultSuffix(next(iter(filters)))
        chooser.filterSelected.connect(
            lambda chosen: chooser.setDefaultSuffix(
                next(form for form, words in filters.items() if words == chosen)
            )
        )
        chooser.fileSelected.connect(partial(self._export, list(ids), next(iter(filters))))
        self._open(chooser)

    def _export(self, ids: list[str], form: str, path: str) -> None:
        ending = Path(path).suffix.removeprefix(".")
        form = ending if ending in ONE_FORM and form in ONE_FORM else form
        what = tr("Exporting")
        self._start(self._write(ids, form, Path(path), what), what)  # type: ignore[arg-type]

    async def _write(self, ids: list[str], form: ExportForm, path: Path, what: str) -> str:
        from studio.agent.chat_files import export_chats

        await export_chats(self._engine, ids, form, path, partial(self.work.show_progress, what))
        return tr_plural(
            "{count} chat is in {file}",
            "{count} chats are in {file}",
            len(ids),
            file=short_path(str(path)),
        )

    # Import

    def _choose_import(self) -> None:
        chooser = QFileDialog(self.window(), tr("Import"), str(Path.home()))
        chooser.setNameFilters([tr("Conversations ({pattern})").format(pattern="*.json *.zip")])
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self.look_into)
        self._open(chooser)

    def look_into(self, path: str) -> None:
        """Show what a file would bring."""
        self.preview.hide()
        self._start(self._preview(Path(path)), tr("Reading"))

    async def _preview(self, path: Path) -> str:
        from studio.agent.chat_files import ChatImporter

        self._importer = ChatImporter(self._engine, "window")
        try:
            found = await self._importer.preview(path)
        except ValueError as error:
            why = str(error).rstrip(".")
            raise ValueError(
                tr("{file} cannot be imported: {reason}.").format(file=path.name, reason=why)
            ) from error
        self.preview.show_candidates(path, found)
        return ""

    def _import(self) -> None:
        what = tr("Importing")
        self.preview.hide()
        self._start(self._take(self.preview.path, self.preview.candidates, what), what)

    async def _take(self, path: Path, candidates: list[ImportCandidate], what: str) -> str:
        assert self._importer is not None
        taken = done = 0
        async for one in self._importer.chosen(path, candidates):
            if one.state == "new":  # another program may have it
                await self._importer.add(one)
                taken += 1
            done += 1
            self.work.show_progress(what, done, len(candidates))
        self.preview.candidates = []
        return tr_plural("{count} chat was imported.", "{count} chats were imported.", taken)

    # Deletion

    def _choose_deleted(self) -> None:
        dialog = ChatsDialog(
            self.theme,
            tr("Deleted chats"),
            self._bin,
            lambda count: tr_plural("Bring {count} chat back", "Bring {count} chats back", count),
            self.window(),
        )
        dialog.picked.connect(lambda ids: self._start(self._restore(ids), tr("Bringing back")))
        dialog.open()

    async def _restore(self, ids: list[str]) -> str:
        await self._engine.sessions.take_from_bin(ids)
        return tr_plural("{count} chat is back.", "{count} chats are back.", len(ids))

    def _ask_bin(self) -> None:
        self._ask(self._bin)

    def _ask_old(self) -> None:
        self._ask(self._old)

    def _ask_all(self) -> None:
        self._ask([*self._idle, *self._bin])

    def _ask(self, infos: Iterable[SessionInfo]) -> None:
        ids = [info.id for info in infos]
        box = message_box(
            self,
            tr("Delete chats"),
            tr_plural("Delete {count} chat?", "Delete {count} chats?", len(ids)),
            tr(
                "They cannot be brought back. Their files in your folders, settings, keys, agents "
                "and the audit stay. Chats in which a turn runs stay, too."
            ),
        )
        role = QMessageBox.ButtonRole
        delete = box.addButton(tr("Delete"), role.DestructiveRole)
        keep = box.addButton(tr("Cancel"), role.RejectRole)
        box.setDefaultButton(keep)
        delete.clicked.connect(lambda: self._start(self._delete(ids), tr("Deleting")))
        box.open()

    async def _delete(self, ids: list[str]) -> str:
        runner, gone = self._services.chat.model.runner, 0
        stored = await self._engine.sessions.list()
        busy = {info.id for info in stored if info.state in BUSY}
        for done, session_id in enumerate(ids, 1):
            if session_id in busy or any(one.info.id == session_id for one in runner.running):
                continue  # a turn began since the person was asked
            self._services.chat.deleting.emit(session_id)
            await self._engine.sessions.delete(session_id)
            gone += 1
            self.work.show_progress(tr("Deleting"), done, len(ids))
        with suppress(StudioError):  # another program uses the file: it stays as large as it is
            await self._engine.database.compact()
        return tr_plural("{count} chat was deleted.", "{count} chats were deleted.", gone)

    def _open(self, chooser: QFileDialog) -> None:
        chooser.finished.connect(chooser.deleteLater)
        self._chooser = chooser
        chooser.open()
