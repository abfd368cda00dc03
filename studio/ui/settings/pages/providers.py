"""The Providers page: a section for each provider, with its key, address and models.

The parts of a section are in ``provider_rows``, ``provider_models`` and ``settings/key_row``.
"""

from __future__ import annotations

import time
from typing import cast

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from studio.providers.catalogue import Listing
from studio.providers.descriptor import ProviderDescriptor
from studio.providers.http import from_environment
from studio.providers.local_model import ABOUT
from studio.providers.registry import PROVIDERS
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import ago, context_size
from studio.ui.settings.form import SettingsPage
from studio.ui.settings.key_row import KeyOwner, KeyRow
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import (
    Button,
    Card,
    Combo,
    Field,
    Hairline,
    Label,
    MenuItem,
    Status,
    plain_tip,
)
from studio.ui.widgets.layouts import Stretch, column_of, row_of

from .provider_models import ModelList
from .provider_rows import FailureCard, ModelDownloadRow, ModelFileRow, Puller, SectionHeader


class ProviderSection(QWidget):
    """One provider. ``changed`` is emitted when its key, address or models were changed."""

    changed = Signal()

    def __init__(
        self, theme: Theme, provider: ProviderDescriptor, services: SettingsServices
    ) -> None:
        super().__init__()
        self.theme = theme
        self.provider = provider
        self._services = services
        self._loaded = False
        self.head = SectionHeader(theme, provider, self)
        self.head.toggled.connect(self._opened)
        self.head.add_key.clicked.connect(self._add_key)
        self.body = QWidget()
        self.body.hide()
        column_of([self.head, self.body], spacing=0, on=self)
        self._grid = QGridLayout(self.body)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(10)
        self._grid.setColumnStretch(1, 1)
        self._labels: list[Label] = []

        self.key: KeyRow | None = None
        self.url: Field | None = None
        self.file: ModelFileRow | None = None
        if provider.key != "none":
            variable = next(iter(provider.key_variables), "")
            owner = KeyOwner(provider.name, provider.title, tr_engine(provider.key_hint), variable)
            self.key = KeyRow(theme, owner, services.keychain, services.tasks)
            self.key.typed.connect(self._key_typed)
            self.key.changed.connect(self._key_changed)
            self.key.loaded.connect(self._show)
            self._add_row(tr("API key"), self.key)
            self.note = Label(theme, "", "small", "text2", wrap=True)
            self._grid.addWidget(self.note, self._grid.rowCount(), 1)
            self.note.hide()
        if provider.name == "builtin":
            self.file = ModelFileRow(theme, services.values)
            self.file.changed.connect(self._connection_changed)
            self._add_row(tr("Model file"), self.file)
        elif provider.address:
            here = from_environment(provider.address_variable)
            name = tr("Base URL of {title}").format(title=provider.title)
            self.url = Field(theme, here or provider.address, name=name)
            if here:
                self.url.setToolTip(
                    plain_tip(
                        tr("Set by {address_variable}").format(
                            address_variable=provider.address_variable
                        )
                    )
                )
            self.url.editingFinished.connect(self._url_changed)
            self._add_row(tr("Base URL"), self.url)
        self.pull: ModelDownloadRow | None = None
        if provider.name == "ollama":
            self.pull = ModelDownloadRow(theme, services.tasks, self._puller)
            self.pull.pulled.connect(lambda: self.fetch_models(force=True))
            self._add_row(tr("Get a model"), self.pull)
        self.default = Combo(theme, tr("Default model"), chosen=self._default_chosen)
        self._add_row(tr("Default model"), self.default)
        self.failure = FailureCard(theme)
        self.failure.hide()
        self.failure.again.clicked.connect(lambda: self.fetch_models(force=True))
        self._grid.addWidget(self.failure, self._grid.rowCount(), 0, 1, 2)
        self.models = ModelList(theme)
        self.models.toggled.connect(self._model_toggled)
        box = Card(theme, "sunken", "hair", 8)
        column_of([self.models], margins=(0, 4, 0, 4), on=box)
        self._add_row(tr("Models"), box)
        self._grid.addLayout(self._make_foot(), self._grid.rowCount(), 1)
        self._seconds = QTimer(self, interval=1000)
        self._seconds.timeout.connect(self._show_foot)
        self._unsubscribe = services.catalogue.subscribe(self._listing_changed)
        self.destroyed.connect(self._unsubscribe)
        self._follow()
        theme.changed.connect(self._follow)
        self.refresh()

    def _follow(self) -> None:
        t = self.theme
        self._grid.setContentsMargins(t.px(36), 2, 0, 16)
        self._grid.setColumnMinimumWidth(0, t.px(90))
        for label in self._labels:
            label.setMinimumHeight(t.height(30))  # as tall as a field, whose middle it shares

    def _add_row(self, title: str, control: QWidget) -> None:
        at = self._grid.rowCount()
        label = Label(self.theme, title, "ui", "text2")
        self._labels.append(label)
        self._grid.addWidget(label, at, 0, Qt.AlignmentFlag.AlignTop)
        self._grid.addWidget(control, at, 1)

    def _make_foot(self) -> QVBoxLayout:
        self._updated = Label(self.theme, "", "small", "text2", wrap=True, digits=True)
        self._loading = Status(self.theme)
        self._refresh = Button(self.theme, tr("Refresh"), "ghost", icon="refresh-cw")
        self._refresh.clicked.connect(lambda: self.fetch_models(force=True))
        self._cancel = Button(self.theme, tr("Cancel"), "ghost")
        self._cancel.clicked.connect(lambda: self._services.catalogue.cancel(self.provider.name))
        self.own = Field(self.theme, tr("Add a model by its id"))
        self.own.returnPressed.connect(self._own_added)
        foot = (self._loading, (self._updated, 1), Stretch(0), self._refresh, self._cancel)
        return column_of([row_of(foot), self.own], spacing=4)

    # -- the provider's state -------------------------------------------------------------

    @property
    def base_url(self) -> str:
        if self.file is not None:
            return self._services.values.builtin_model
        return self._services.values.base_urls.get(self.provider.name, "")

    @property
    def listing(self) -> Listing:
        return self._services.catalogue.listing(self.provider.name)

    def _puller(self) -> Puller:
        return cast("Puller", self._services.make_provider(self.provider.name, "", self.base_url))

    def _can_fetch(self) -> bool:
        if self.provider.key == "needed":
            return bool(self.key and self.key.key)
        return not self.provider.address_needed or bool(self.base_url)

    def fetch_models(self, force: bool = False) -> None:
        """Fetch the provider's list of models, if its key or address is known."""
        if not self._can_fetch():
            self._show()
            return
        key, url, name = self.key.key if self.key else "", self.base_url, self.provider.name
        make = self._services.make_provider
        self._services.catalogue.refresh(name, lambda: make(name, key, url), key, force, url)

    async def load(self) -> None:
        """Load the key, then the models: once, when the page is first shown."""
        if self._loaded:
            return
        self._loaded = True
        if self.key is not None:
            await self.key.load()
        self.fetch_models()

    def open(self) -> None:
        self.head.setChecked(True)

    # -- what is shown ---------------------------------------------------------------------

    def refresh(self) -> None:
        """Show the current settings."""
        if self.url is not None:
            self.url.set_unless_typing(self.base_url)
        if self.file is not None:
            self.file.refresh()
        self._show()

    def _opened(self, on: bool) -> None:
        self.body.setVisible(on)
        if on:
            self._show()

    def _listing_changed(self, name: str) -> None:
        if name == self.provider.name:
            self._show()

    def _show(self) -> None:
        listing, provider = self.listing, self.provider
        has_key = bool(self.key and self.key.key)
        self.head.add_key.setVisible(provider.key == "needed" and not has_key and not self.is_open)
        self.head.set_status(*self._status(listing, has_key))
        failed = listing.state == "failed"
        self.failure.setVisible(failed)
        if failed:
            self.failure.reason.setText(self._reason(listing))
        self._show_models(listing)
        self._show_foot()
        if listing.state == "loading" and self.isVisible():
            self._seconds.start()
        else:
            self._seconds.stop()

    @property
    def is_open(self) -> bool:
        return self.head.isChecked()

    def _status(self, listing: Listing, has_key: bool) -> tuple[str, str]:
        count = sum(model.source == "fetched" for model in listing.models)
        models = tr_plural("{count} model", "{count} models", count)
        if self.provider.key == "needed" and not has_key:
            return tr("No key"), "off"
        if listing.state == "loading":
            return tr("Loading models…"), "busy"
        if listing.state == "failed":
            if self.provider.start_command:
                return tr("Not running"), "off"
            return (
                (tr("Built-in model list"), "off") if listing.models else (tr("No models"), "off")
            )
        if listing.state == "ready":
            if self.provider.key == "needed":
                return tr("Key works"), "ok"
            if self.provider.name == "builtin":
                return tr("Small, often wrong"), "ok"
            return tr("Running, {models}").format(models=models), "ok"
        if self.provider.name == "builtin":
            return tr("Small, often wrong"), "off"
        if self.provider.key == "optional" and not self.base_url:
            return tr("No address"), "off"
        return "", "off"

    def _reason(self, listing: Listing) -> str:
        reason = tr_engine(listing.reason).rstrip(".") + "."
        if listing.fetched_at is not None:
            when = ago(time.time() - listing.fetched_at)
            return " ".join((reason, tr("Using the list from {when}.").format(when=when)))
        if not listing.models:
            return reason
        date = self._services.snapshot_date
        words = (
            tr("Using the built-in list from {date}.") if date else tr("Using the built-in list.")
        )
        return f"{reason} {words.format(date=date)}"

    def _show_models(self, listing: Listing) -> None:
        settings, name = self._services.values, self.provider.name
        chosen = settings.default_model.get(name, "")
        if listing.state == "loading" and listing.fetched_at is None:
            self.models.set_skeleton()
            self.default.set_items([])
            self.default.set_face(chosen or tr("Picked when models load"))
            return
        catalogue = self._services.catalogue
        models = list(catalogue.chosen(name, chosen))
        listed = {model.id for model in models}
        own = [one for one in settings.own_models.get(name, []) if one not in listed]
        models += [catalogue.model(name, one) for one in own]
        offered = settings.enabled_models.get(name)
        off = set() if offered is None else {m.id for m in models if m.id not in offered}
        self.models.set_models(models, off, chosen)
        self.default.set_items(
            [MenuItem(m.id, m.title, detail=context_size(m.context_window)) for m in models]
        )
        self.default.set_current(chosen)
        current = next((m.title for m in models if m.id == chosen), chosen)
        self.default.set_face(current or tr("None chosen"))

    def _show_foot(self) -> None:
        listing = self.listing
        loading = listing.state == "loading"
        self._loading.setVisible(loading)
        self._cancel.setVisible(loading)
        self._updated.setVisible(not loading)
        self._refresh.setVisible(not loading and listing.state != "failed")
        self._refresh.setEnabled(self._can_fetch())
        if loading:
            began = listing.started_at or time.time()
            self._loading.set(
                tr("Loading models… {number} s").format(number=max(0, int(time.time() - began))),
                "busy",
            )
            return
        priced = not self.provider.local and any(m.input_price is not None for m in listing.models)
        date, words = self._services.snapshot_date, [""]
        if listing.fetched_at is not None:
            when = ago(time.time() - listing.fetched_at)
            words = [tr("Updated {when}.").format(when=when)]
        elif self.provider.name == "builtin" and listing.state != "failed":
            own = "" if self._services.values.builtin_model else tr_engine(ABOUT)
            words = [tr("Works offline."), own]
        elif listing.models and date:
            words = [tr("Built-in list from {date}.").format(date=date)]
        elif listing.models:
            words = [tr("Built-in list.")]
        if priced:
            words.append(tr("Price per million tokens, in and out."))
        self._updated.setText(" ".join(word for word in words if word))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._seconds.stop()

    # -- what the person changes ------------------------------------------------------------

    def _add_key(self) -> None:
        self.open()
        if self.key is not None:
            self.key.enter()

    def _key_typed(self, key: str) -> None:
        if not key:
            self._services.catalogue.cancel(self.provider.name)
            return
        url, name, make = self.base_url, self.provider.name, self._services.make_provider
        self._services.catalogue.key_typed(name, lambda: make(name, key, url), key, url)

    def _key_changed(self) -> None:
        self._services.tasks.start(self._use_key())

    async def _use_key(self) -> None:
        found = self._services.values.keys_found
        if self.key is not None and self.key.key:
            if title := await self._services.engine.use_new_key():
                self.note.show_text(tr("New chats use {title} now.").format(title=title))
        elif self.provider.name in found:
            found.remove(self.provider.name)  # the next one is new
        self._connection_changed(force=False)

    def _url_changed(self) -> None:
        assert self.url is not None
        url, urls, name = (
            self.url.text().strip(),
            self._services.values.base_urls,
            self.provider.name,
        )
        if url == urls.get(name, ""):
            return
        wrong = bool(url) and not url.startswith(("http://", "https://"))
        self.url.set_error(tr("An address begins with http:// or https://") if wrong else "")
        self.url.setToolTip(plain_tip(self.url.error))
        if wrong:
            return
        if url:
            urls[name] = url
        else:
            urls.pop(name, None)
        self._connection_changed()

    def _connection_changed(self, *, force: bool = True) -> None:
        self.fetch_models(force=force)
        self._show()
        self.changed.emit()

    def _default_chosen(self, model: str) -> None:
        self._services.values.default_model[self.provider.name] = model
        self._show()
        self.changed.emit()

    def _model_toggled(self, model: str, on: bool) -> None:
        enabled, name = self._services.values.enabled_models, self.provider.name
        shown = [one.id for one in self.models.shown.models]
        chosen = [one for one in shown if one not in self.models.shown.off and one != model]
        if on:
            chosen.append(model)
        if len(chosen) == len(shown):
            enabled.pop(name, None)
        else:
            enabled[name] = chosen
        self._show()
        self.changed.emit()

    def _own_added(self) -> None:
        model, name = self.own.text().strip(), self.provider.name
        if not model:
            return
        own = self._services.values.own_models.setdefault(name, [])
        if model not in own:
            own.append(model)
        offered = self._services.values.enabled_models.get(name)
        if offered is not None and model not in offered:
            offered.append(model)
        self.own.clear()
        self._show()
        self.changed.emit()


class ProvidersPage(SettingsPage):
    """The providers, a section for each."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(
            theme, tr("Providers"), tr("Keys are stored in your system keychain, never in a file.")
        )
        self._services = services
        card = Card(theme, "surface", "hair")
        column = column_of(spacing=0, margins=(14, 0, 14, 0), on=card)
        self.sections: dict[str, ProviderSection] = {}
        for provider in PROVIDERS.values():
            if not provider.in_settings:
                continue
            if self.sections:
                column.addWidget(Hairline(theme))
            section = self.sections[provider.name] = ProviderSection(theme, provider, services)
            section.changed.connect(self.changed)
            column.addWidget(section)
        self.column.addWidget(card)
        self.column.addStretch(1)

    def show_at(self, name: str) -> None:
        """Open the section of a provider."""
        if name in self.sections:
            self.sections[name].open()

    def refresh(self) -> None:
        for section in self.sections.values():
            section.refresh()
        self._services.tasks.start(self._load())

    async def _load(self) -> None:
        for section in self.sections.values():
            await section.load()
        if problem := self._services.keychain.problem:
            kept = tr("Keys can be kept for this session only.")
            self.line.setText(f"{tr_engine(problem)} {kept}")
