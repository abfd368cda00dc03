"""The Local models page: models on this computer, and those that fit it on Hugging Face."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from PySide6.QtCore import QTimer, QUrl
from PySide6.QtGui import QDesktopServices, QHideEvent
from PySide6.QtWidgets import QLayout, QMessageBox, QWidget

from studio.agent.models.local_models import BUILT_IN, Machine
from studio.domain.errors import StudioError
from studio.providers.local_model import MISSING
from studio.providers.model_files import TOKEN, TOKEN_VARIABLES
from studio.providers.model_files.downloads import Download
from studio.providers.model_files.fit import Fit, estimated_speed, fit_of
from studio.providers.model_files.folder import BegunFile, ModelFile, Source, quantization
from studio.providers.model_files.hub import HubModel, Recommended
from studio.providers.registry import PROVIDERS
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import context_size, month, number
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.key_row import KeyOwner, KeyRow
from studio.ui.settings.registry import SettingsServices
from studio.ui.settings.rows import RowCard
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import (
    Button,
    Field,
    Label,
    Mark,
    MenuItem,
    Segmented,
    Status,
    message_box,
    plain_tip,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .local_model_rows import DownloadRow, FoundRow, ModelRow, gigabytes, speed_text

if TYPE_CHECKING:
    from studio.providers.ollama.adapter import OllamaProvider
    from studio.providers.ollama.models import StoredModel

REST_MS = 400
"""How long typing rests before the hub is asked."""
OLLAMA_SECONDS = 3.0
NAMED = 3
"""Ollama's models that its row names."""


class LocalModelsPage(SettingsPage):
    """What is installed, what is on its way, and what could be fetched."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        line = tr("They run here. Nothing you write leaves this computer.")
        super().__init__(theme, tr("Models on this computer"), line)
        self.title = tr("Local models")
        self._services, self._models = services, services.engine.local_models
        self._values = services.values
        self._machine = Machine(1, None, None)
        self._files: list[ModelFile] = []
        self._speeds: dict[str, float] = {}
        """Tokens a second of models that answered here, by their ids."""
        self._begun: dict[str, Download] = {}
        self._ollama: list[StoredModel] | None = None
        self._found: list[HubModel] = []
        self._recommended: Recommended | None = None
        self._searching: asyncio.Task[None] | None = None
        self._question: QMessageBox | None = None
        self.rows: dict[str, ModelRow] = {}
        self.downloads: dict[str, DownloadRow] = {}
        self.results: list[FoundRow] = []
        self._add_machine()
        self._add_installed()
        self.missing = Label(theme, tr_engine(MISSING), "small", "warn", wrap=True)
        self.getting = widget_of(column_of([self._search_parts(), self._token_parts()], spacing=14))
        self.column.addWidget(self.missing)
        self.column.addWidget(self.getting)
        # The light package has neither the engine nor the library that fetches files for it.
        (self.missing if PROVIDERS[BUILT_IN].ready else self.getting).hide()
        self.column.addStretch(1)
        self._rest = QTimer(self, interval=REST_MS, singleShot=True)
        self._rest.timeout.connect(self._search)
        self._seconds = QTimer(self, interval=1000)
        self._seconds.timeout.connect(self._show_seconds)
        self._asked_at = 0.0
        self._unsubscribe = self._models.downloads.subscribe(self._download_changed)
        self.destroyed.connect(self._unsubscribe)

    # What it is made of

    def _add_machine(self) -> None:
        self.cores = Label(self.theme, "", "small", "text2", digits=True)
        self.memory = Label(self.theme, "", "small", "text2", digits=True)
        self.disk = Label(self.theme, "", "small", "text2", digits=True)
        parts: list[Any] = []
        for icon, label in (
            ("cpu", self.cores),
            ("memory-stick", self.memory),
            ("hard-drive", self.disk),
        ):
            parts.append(row_of([Mark(self.theme, icon, size=15), label], spacing=6))
        self.change = Button(
            self.theme, tr("Change folder…"), "link", small=True, clicked=self._choose_folder
        )
        machine = row_of([*parts, STRETCH, self.change], spacing=16, margins=(0, 4, 0, 0))
        self.title_column.addLayout(machine)

    def _add_installed(self) -> None:
        self.count = Label(self.theme, "", "small", "text2", digits=True)
        self.problem = Label(self.theme, "", "small", "err", wrap=True)
        self.problem.hide()
        self.installed = RowCard(self.theme)
        self.none = Label(
            self.theme,
            tr("None yet, besides the small model that ships. Get one below."),
            "ui",
            "text2",
            wrap=True,
        )
        head = row_of([(Label(self.theme, tr("Installed"), "small_strong"), 1), self.count])
        parts = [head, self.problem, self.none, self.installed]
        self.column.addLayout(column_of(parts, spacing=6))

    def _search_parts(self) -> QLayout:
        self.source = Label(self.theme, "", "small", "text2")
        name = tr("Search models on Hugging Face")
        self.words = Field(self.theme, tr("Search models"), "search", name=name)
        self.words.offer_clear()
        self.words.textChanged.connect(lambda _: self._rest.start())
        self.words.returnPressed.connect(self._search)
        self.filter = Segmented(
            self.theme, [tr("All"), tr("Fits"), tr("Tools"), tr("Vision")], name=tr("Which models")
        )
        self.filter.chosen.connect(self._show_results)
        self.busy = Status(self.theme)
        self.busy.hide()
        self.found_count = Label(self.theme, "", "small", "text2", digits=True)
        self.found = RowCard(self.theme)
        self.said = Label(self.theme, "", "ui", "text2", wrap=True)
        self.again = Button(self.theme, tr("Try again"), clicked=self._search)
        self.again.hide()
        head = row_of([(Label(self.theme, tr("Get a model"), "small_strong"), 1), self.source])
        field = row_of([(self.words, 1), self.busy, self.found_count, self.filter], spacing=8)
        said = row_of([(self.said, 1), self.again], spacing=10)
        foot = tr("Each file is checked against its SHA-256 before it is used.")
        foot_label = Label(self.theme, foot, "small", "text2", wrap=True)
        return column_of([head, field, said, self.found, foot_label], spacing=8)

    def _token_parts(self) -> QLayout:
        owner = KeyOwner(TOKEN, "Hugging Face", variable=TOKEN_VARIABLES[0])
        self.token = KeyRow(self.theme, owner, self._services.keychain, self._services.tasks)
        line = Label(
            self.theme,
            tr("Only for models whose owner asks you to accept terms on huggingface.co."),
            "small",
            "text2",
            wrap=True,
        )
        card = FormCard(self.theme)
        inner = widget_of(column_of([self.token, line], spacing=6, margins=(0, 10, 0, 10)))
        layout = card.layout()
        assert layout is not None
        layout.addWidget(inner)
        head = Label(self.theme, tr("Token of Hugging Face"), "ui_strong")
        return column_of([head, card], spacing=8, margins=(0, 5, 0, 0))

    # What it shows

    def refresh(self) -> None:
        self._start(self._look())
        self._start(self._look_at_ollama())
        self._start(self.token.load())
        if self._recommended is None:
            self._start(self._read_recommended())

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._rest.stop()

    def _start(self, work: Coroutine[Any, Any, object]) -> None:
        self._services.tasks.start(work, cancelled_on_close=True)

    async def _look(self) -> None:
        """Look at this computer and at the folder."""
        self._machine = await self._models.machine()
        self._show_machine()
        self._files, begun = await self._models.files()
        self._speeds = await self._services.engine.store.speeds(BUILT_IN)
        self._begun = {_key(one.source): _begun_download(one) for one in begun}
        self._begun |= {_key(one.source): one for one in self._models.downloads.all}
        self._show_installed()
        self._show_results()

    async def _look_at_ollama(self) -> None:
        try:
            async with asyncio.timeout(OLLAMA_SECONDS):
                self._ollama = await (await self._ollama_provider()).stored()
        except (StudioError, TimeoutError):
            self._ollama = None
        self._show_installed()

    async def _ollama_provider(self) -> OllamaProvider:
        return cast("OllamaProvider", await self._services.engine.providers.provider("ollama"))

    async def _read_recommended(self) -> None:
        self._recommended = await self._models.recommended()
        self._show_results()

    def _show_machine(self) -> None:
        machine = self._machine
        self.cores.setText(tr_plural("{count} core", "{count} cores", machine.cores))
        if machine.memory is not None:
            whole, free = (round(one / 1e9) for one in (machine.memory.total, machine.memory.free))
            words = tr("{number} GB memory, {free} GB free")
            self.memory.setText(words.format(number=number(whole), free=number(free)))
        if machine.disk_free is not None:
            words = tr("{number} GB free").format(number=number(round(machine.disk_free / 1e9)))
            self.disk.setText(words)
        tip = tr("Model files are kept in {folder}").format(folder=self._models.folder)
        self.change.setToolTip(plain_tip(tip))

    def _show_installed(self) -> None:
        """Rows stay where nothing changed: one of them may have the focus."""
        kept, self.downloads = self.downloads, {}
        rows, self.rows = self.rows, {}
        for file in self._files:
            facts = (file, self._is_default(file.id), self._speed_words(file))
            row = rows.get(file.id)
            same = row is not None and row.facts == facts
            self.rows[file.id] = row if row is not None and same else self._file_row(file)
            self.rows[file.id].facts = facts
        if self._ollama is not None:
            self.rows["ollama"] = self._ollama_row(self._ollama)
        shown: list[QWidget] = [*self.rows.values()]
        here = {_key(file.source) for file in self._files if file.source is not None}
        for key, download in self._begun.items():
            if key not in here and download.state != "done":
                row = self.downloads[key] = kept.get(key) or self._download_row(download)
                row.show_download(download)
                shown.append(row)
        self.installed.set_rows(shown)
        self.none.setVisible(not shown and not self.getting.isHidden())
        ollama = self._ollama or []
        ready = sum(file.runs for file in self._files) + len(ollama)
        size = sum(file.size for file in self._files) + sum(one.size for one in ollama)
        words = tr_plural(
            "{count} ready, {size}", "{count} ready, {size}", ready, size=gigabytes(size)
        )
        self.count.setText(words if ready else "")
        self.tab_in_order()

    def _file_row(self, file: ModelFile) -> ModelRow:
        facts = file.facts
        words = [quantization(file.path.name)]
        if file.missing:
            words.append(
                tr_plural("{count} part is missing", "{count} parts are missing", file.missing)
            )
        elif facts is None:
            words.append(tr("cannot be read"))
        elif not facts.chats:
            words.append(tr("has no chat template"))
        else:
            words.append(tr("tools") if facts.tools else "")
            words.append(tr("reads pictures") if file.sees else "")
            size = context_size(facts.context(self._machine.memory))
            words.append(tr("{size} context").format(size=size))
            words.append(self._speed_words(file))
        row = ModelRow(self.theme, file.title, ", ".join(filter(None, words)), file.size)
        default = self._is_default(file.id)
        row.show_default(default)
        row.set_items(
            [
                MenuItem("default", tr("Use for new chats"), enabled=file.runs and not default),
                MenuItem("folder", tr("Open folder")),
                MenuItem("", ""),
                MenuItem("delete", tr("Delete…")),
            ]
        )
        row.picked.connect(partial(self._picked, file))
        return row

    def _speed_words(self, file: ModelFile) -> str:
        """How fast a model wrote here, or what may be expected."""
        if file.facts is None or not file.runs:
            return ""
        if speed := self._speeds.get(file.id):
            return tr("{number} tokens/s here").format(number=speed_text(speed))
        speed = estimated_speed(file.facts.active_bytes, self._measured)
        return tr("about {number} tokens/s (estimate)").format(number=speed_text(speed))

    @property
    def _measured(self) -> list[tuple[float, int]]:
        """Speeds of models that answered here, each with the bytes that it reads for a token."""
        return [
            (self._speeds[one.id], one.facts.active_bytes)
            for one in self._files
            if one.facts is not None and one.id in self._speeds
        ]

    def _ollama_row(self, models: list[StoredModel]) -> ModelRow:
        names = ", ".join(one.name.removesuffix(":latest") for one in models[:NAMED])
        if len(models) > NAMED:
            names += ", …"
        line = tr_plural(
            "{count} model: {names}", "{count} models: {names}", len(models), names=names
        )
        if not models:
            line = tr("No models yet")
        row = ModelRow(self.theme, "Ollama", line, sum(one.size for one in models))
        row.status.set(tr("Running"), "ok")
        row.status.show()
        deletions = [
            MenuItem(
                f"delete {one.name}",
                tr("Delete {title}…").format(title=one.name),
                detail=gigabytes(one.size),
            )
            for one in models
        ]
        more = [MenuItem("", ""), *deletions] if deletions else []
        row.set_items([MenuItem("get", tr("Get a model…")), *more])
        row.picked.connect(self._ollama_picked)
        return row

    def _download_row(self, download: Download) -> DownloadRow:
        source = download.source
        kind = quantization(source.file)
        row = DownloadRow(self.theme, ", ".join(filter(None, (source.title or source.id, kind))))
        downloads = self._models.downloads
        row.pause_wanted.connect(lambda: self._do(downloads.pause(source)))
        row.go_on_wanted.connect(lambda: self._do(self._models.get(source)))
        row.cancel_wanted.connect(lambda: self._do(self._cancel(source)))
        return row

    def _is_default(self, name: str) -> bool:
        values = self._values
        chosen = values.default_model.get(BUILT_IN)
        return values.default_provider == BUILT_IN and chosen == name

    # Searching

    def _search(self) -> None:
        self._rest.stop()
        if self._searching is not None:
            self._searching.cancel()
            self._searching = None
        self.again.hide()
        words = self.words.text().strip()
        self._found = []
        if not words:
            self._show_busy(False)
            self._show_results()
            return
        self._show_busy(True)
        tasks = self._services.tasks
        self._searching = tasks.start(self._ask(words), cancelled_on_close=True)

    async def _ask(self, words: str) -> None:
        try:
            self._found = await self._models.search(words)
            problem = ""
        except StudioError as error:
            problem = tr_engine(str(error))
        self._show_busy(False)
        self._show_results()
        if problem:
            self.found_count.hide()
            self.said.show_text(problem)
            self.again.show()

    def _show_busy(self, on: bool) -> None:
        self.busy.setVisible(on)
        if on:
            self._asked_at = time.monotonic()
            self._seconds.start()
            self._show_seconds()
            self.said.hide()
        else:
            self._seconds.stop()

    def _show_seconds(self) -> None:
        seconds = int(time.monotonic() - self._asked_at)
        self.busy.set(tr("Searching… {number} s").format(number=seconds), "busy")

    def _show_results(self, *_: object) -> None:
        searched = bool(self.words.text().strip())
        if searched and self.busy.isVisible():
            return
        listed = self._found if searched else self._recommended_models()
        memory = self._machine.memory
        fits: dict[str, Fit] = {_key(one.source): fit_of(one.source.size, memory) for one in listed}
        shown = [
            one
            for one in listed
            if self.filter.current == 0
            or (self.filter.current == 1 and fits[_key(one.source)] in ("well", "tight"))
            or (self.filter.current == 2 and one.tools)
            or (self.filter.current == 3 and one.sees)
        ]
        here = {_key(file.source) for file in self._files if file.source is not None}
        here |= set(self.downloads)
        kept = {(row.model, row.fit.fit): row for row in self.results}
        self.results = []
        for model in shown:
            fit = fits[_key(model.source)]
            row = kept.get((model, fit))
            row = row or FoundRow(self.theme, model, fit, partial(self._get, model))
            active = model.active_bytes if fit in ("well", "tight") else 0
            row.show_speed(estimated_speed(active, self._measured) if active else 0.0)
            row.show_here(_key(model.source) in here)
            self.results.append(row)
        self.found.set_rows(self.results)
        count = tr_plural("{count} found", "{count} found", len(shown))
        self.found_count.show_text(count if searched else "")
        self.said.show_text("" if shown or (not listed and not searched) else tr("No model found."))
        date = self._recommended.date if self._recommended is not None else ""
        listed_on = tr("Recommended, {date}").format(date=month(date)) if date else ""
        self.source.setText(tr("From Hugging Face") if searched else listed_on)
        self.tab_in_order()

    def _recommended_models(self) -> Iterable[HubModel]:
        return self._recommended.models if self._recommended is not None else ()

    # What the person does

    def _do(self, work: Coroutine[Any, Any, object]) -> None:
        self.problem.hide()
        self._services.tasks.start(self._report(work))

    async def _report(self, work: Coroutine[Any, Any, object]) -> None:
        try:
            await work
        except OSError as error:
            why = error.strerror or str(error)
            self.problem.show_text(tr("That could not be done: {reason}.").format(reason=why))
        except StudioError as error:
            self.problem.show_text(tr_engine(str(error)))

    def _get(self, model: HubModel) -> None:
        self._do(self._models.get(model.source))

    async def _cancel(self, source: Source) -> None:
        await self._models.downloads.cancel(source, self._models.folder)
        await self._look()

    def _download_changed(self, download: Download) -> None:
        key = _key(download.source)
        self._begun[key] = download
        row = self.downloads.get(key)
        if download.state == "done":
            self._models.downloads.forget(download.source)
            self._start(self._look())
            self._models_changed()
        elif row is None:
            self._show_installed()
            self._show_results()
        else:
            row.show_download(download)

    def _models_changed(self) -> None:
        """The provider's list is read again, for every menu that shows it."""
        self._start(self._services.engine.list_models(BUILT_IN, refresh=True))

    def _picked(self, file: ModelFile, what: str) -> None:
        if what == "default":
            self._values.default_provider = BUILT_IN
            self._values.default_model[BUILT_IN] = file.id
            self.changed.emit()
            self._show_installed()
            self._models_changed()
        elif what == "folder":
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(file.path.parent)))
        elif what == "delete":
            words = tr("Delete {title}?").format(title=file.title)
            more = tr("{size} become free. You can get it again.").format(size=gigabytes(file.size))
            self._ask_first(words, more, self._delete(file))

    def _ollama_picked(self, what: str) -> None:
        if what == "get":
            self.page_wanted.emit("providers")
            return
        name = what.removeprefix("delete ")
        words = tr("Delete {title}?").format(title=name)
        self._ask_first(words, tr("It is deleted from Ollama."), self._delete_from_ollama(name))

    def _ask_first(self, words: str, more: str, work: Coroutine[Any, Any, object]) -> None:
        box = message_box(self, tr("Delete"), words, more)
        delete = box.addButton(tr("Delete"), QMessageBox.ButtonRole.DestructiveRole)
        cancel = box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        box.setDefaultButton(cancel)

        def closed() -> None:
            if box.clickedButton() is delete:
                self._do(work)
            else:
                work.close()

        box.finished.connect(closed)
        self._question = box
        box.open()

    async def _delete(self, file: ModelFile) -> None:
        await self._services.engine.providers.stop(BUILT_IN)
        await self._models.delete(file.path)
        self.changed.emit()
        self._models_changed()
        await self._look()

    async def _delete_from_ollama(self, name: str) -> None:
        await (await self._ollama_provider()).delete(name)
        await self._look_at_ollama()
        self._start(self._services.engine.list_models("ollama", refresh=True))

    def _choose_folder(self) -> None:
        self.ask_for_folder(tr("Folder for models"), str(self._models.folder), self.set_folder)

    def set_folder(self, path: str) -> None:
        """Keep model files there from now on. Those in the old folder stay where they are."""
        self._models.set_folder(Path(path))
        self.changed.emit()
        self._models_changed()
        self._start(self._look())


def _key(source: Source) -> str:
    return f"{source.repo}/{source.file}"


def _begun_download(one: BegunFile) -> Download:
    """One that was begun before the program started."""
    return Download(one.source, one.path.parent, "paused", one.done, one.source.size)
