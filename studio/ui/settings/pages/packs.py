"""The Packs page: shows what a pack brings before it is installed, and switches it (X-1, X-2)."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QLayout, QWidget
from shiboken6 import isValid

from studio.domain.errors import StudioError
from studio.domain.jsonvalue import JsonObject
from studio.processes.daemon_thread import in_daemon_thread
from studio.tools.packs.settings import settings_schema, stored, write_settings
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import short_path
from studio.ui.forms.schema_form import SchemaForm
from studio.ui.settings.form import AskCard, SettingsPage, Slot
from studio.ui.settings.registry import SettingsServices
from studio.ui.settings.rows import IconTile
from studio.ui.settings.servers.rows import ElidedLabel
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Card, Check, Field, Label, Status, Toggle
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .pack_offer import SWITCHED, OfferCard, part_title

if TYPE_CHECKING:
    from studio.agent.packs import PackHome
    from studio.extensions.packs.installed import InstalledPack, Offer


class PacksPage(SettingsPage):
    """All packs, each with a switch; one that is looked at stands above them."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        line = tr("Packs bring skills, agents, servers and more at once.")
        super().__init__(theme, tr("Packs"), line)
        self._services = services
        self._shown: tuple[object, ...] | None = None
        self.rows: dict[str, PackRow] = {}
        self.offered: OfferCard | None = None
        self.asked: RemoveCard | None = None
        self.set: SettingsCard | None = None
        self.uv: Button | None = None
        self.origin = Field(
            theme,
            tr("Folder, zip file or address for git"),
            role="code",
            name=tr("Where the pack is"),
        )
        self.origin.returnPressed.connect(self._look_typed)
        self.folder = Button(theme, tr("Folder…"), clicked=self._choose_folder)
        self.file = Button(theme, tr("File…"), clicked=self._choose_file)
        self.look = Button(theme, tr("Look at it"), "primary", clicked=self._look_typed)
        self.looking = Status(theme)
        self.looking.hide()
        self.notice = Label(theme, "", "small", "text2", wrap=True)
        self.notice.hide()
        self._names = Slot()
        self._names.hide()
        self._above = Slot()
        self._above.hide()
        self._list = Slot()
        foot = tr("Nothing of a pack runs before you have seen all that it brings.")
        self.column.addLayout(
            column_of(
                [
                    row_of([(self.origin, 1), self.folder, self.file, self.look], spacing=8),
                    Label(theme, foot, "small", "text2", wrap=True),
                    self.looking,
                    self._names,
                    self.notice,
                ],
                spacing=6,
            )
        )
        self.column.addWidget(self._above)
        self.column.addWidget(self._list)
        self.column.addStretch(1)
        self.tab_in_order()

    @property
    def _packs(self):
        from studio.extensions.packs.installed import InstalledPacks

        return self._services.engine.services.get(InstalledPacks)

    # What there is

    def refresh(self) -> None:
        self._services.tasks.start(self._load(), cancelled_on_close=True)

    async def _load(self) -> None:
        from studio.extensions.packs.host import HostEntries

        hosts = self._services.engine.services.get(HostEntries)

        def look() -> tuple[tuple[InstalledPack, ...], tuple[str, ...]]:
            hosts()
            return self._packs.list(), hosts.problems

        packs, off = await asyncio.to_thread(look)
        if isValid(self):
            self._show(packs, off)

    def _show(self, packs: tuple[InstalledPack, ...], off: tuple[str, ...]) -> None:
        """Show the packs, and which have their Python ``off`` as there is no uv."""
        if (packs, off) == self._shown:  # a row may have the focus
            return
        self._shown = packs, off
        self.rows = {one.id: self._row(one) for one in packs}
        shipped = [row for row in self.rows.values() if row.pack.origin.kind == "shipped"]
        others = [row for row in self.rows.values() if row not in shipped]
        parts: list[QWidget] = []
        for title, rows in ((tr("Installed"), others), (tr("Comes with Agent Studio"), shipped)):
            parts += [Label(self.theme, title, "ui_strong"), *rows] if rows else []
        parts += [
            Label(self.theme, tr_engine(one), "small", "err", wrap=True)
            for one in (*self._packs.problems, *off)
        ]
        self.uv = None
        if off:
            self.uv = Button(self.theme, tr("Fetch uv"), clicked=self._fetch_uv)
            line = tr("20 MB from PyPI, for this program alone.")
            words = Label(self.theme, line, "small", "text2", wrap=True)
            parts.append(widget_of(row_of([self.uv, (words, 1)], spacing=10)))
        if not parts:
            words = tr("There are no packs yet.")
            parts.append(Label(self.theme, words, "ui", "text2", wrap=True))
        self._list.put(widget_of(column_of(parts, spacing=10)))

    def _row(self, pack: InstalledPack) -> PackRow:
        row = PackRow(self.theme, pack)
        row.toggle.toggled.connect(partial(self._switch, pack))
        row.look.clicked.connect(partial(self._look_at, pack))
        row.update_button.clicked.connect(partial(self._update, pack))
        row.remove.clicked.connect(partial(self._ask_to_remove, pack))
        home = self._services.engine.services.packs.homes.get(pack.id)
        kind = home.loaded.pack.settings if home is not None and pack.runs else None
        row.settings.setVisible(kind is not None)
        if home is not None and kind is not None:
            row.settings.clicked.connect(partial(self._show_settings, home, kind))
        for part, check in row.parts.items():
            check.toggled.connect(partial(self._switch_part, pack.id, part))
        return row

    def _fetch_uv(self) -> None:
        assert self.uv is not None
        self.uv.setEnabled(False)
        self._run(self._services.engine.fetch_uv(), cancelled_on_close=True)

    # Looking at a pack

    def _choose_folder(self) -> None:
        self.ask_for_folder(tr("Folder of the pack"), "", self._look_chosen)

    def _choose_file(self) -> None:
        dialog = QFileDialog(self.window(), tr("Zip file of the pack"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        packs = tr("Packs")
        dialog.setNameFilter(f"{packs} (*.zip marketplace.json)")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._look_chosen)
        dialog.open()

    def _look_chosen(self, path: str) -> None:
        self.origin.setText(path)
        self._look_typed()

    def _look_typed(self) -> None:
        if origin := self.origin.text().strip():
            self._run(self._look(origin), cancelled_on_close=True)

    async def _look(self, origin: str, name: str = "") -> None:
        from studio.extensions.packs.fetching import ManyPacks

        try:
            offer = await in_daemon_thread(lambda: self._packs.look(origin, name))
        except ManyPacks as many:
            buttons = [
                Button(self.theme, one, clicked=lambda one=one: self._run(self._look(origin, one)))
                for one in many.names
            ]
            label = Label(self.theme, tr("It has several packs. Which one?"), "small", "text2")
            self._names.put(widget_of(column_of([label, *buttons], spacing=6)))
            self._names.show()
            return
        self._names.hide()
        await self._show_offer(offer)

    def _update(self, pack: InstalledPack) -> None:
        async def look() -> None:
            await self._show_offer(await in_daemon_thread(lambda: self._packs.update(pack.id)))

        self._run(look(), cancelled_on_close=True)

    def _look_at(self, pack: InstalledPack) -> None:
        """Show an installed pack; one that is not what was approved can be used from there."""

        async def look() -> None:
            from studio.extensions.packs.overview import overview

            text = await asyncio.to_thread(overview, pack.manifest, pack.origin, pack.digest)
            card = OfferCard(self.theme, pack.name, text)
            if pack.approved == pack.digest:
                card.title.setText(pack.name)
                card.agree.hide()
                card.leave.setText(tr("Close"))
            else:
                card.title.setText(tr("Use {name} as it is now?").format(name=pack.name))
                card.agree.setText(tr("Use it"))
            card.agree.clicked.connect(
                lambda: self._close_and_run(
                    asyncio.to_thread(self._packs.approve, pack.id, pack.digest)
                )
            )
            card.leave.clicked.connect(self._close)
            self._put_above(card)

        self._run(look())

    async def _show_offer(self, offer: Offer) -> None:
        """Ask whether what was fetched is to be installed, if it is not what is there."""
        if not offer.is_news:
            pack = await asyncio.to_thread(self._packs.add, offer)  # perhaps from elsewhere
            self.notice.show_text(tr("{name} is as it was.").format(name=pack.name))
            return
        text = offer.text
        if offer.before is not None:
            changes = tr("What changes")
            text = f"{changes}\n\n{offer.change}\n\n{text}"
        card = OfferCard(self.theme, offer.manifest.name, text, offer)
        if offer.before is not None:
            card.title.setText(tr("Update {name}?").format(name=offer.manifest.name))
            card.agree.setText(tr("Update"))
        card.agree.clicked.connect(lambda: self._close_and_run(self._add(offer, card.off)))
        card.leave.clicked.connect(
            lambda: self._close_and_run(asyncio.to_thread(self._packs.forget, offer))
        )
        self._put_above(card)
        self.origin.clear()

    async def _add(self, offer: Offer, off: frozenset[str]) -> None:
        pack = await asyncio.to_thread(self._packs.add, offer, off)
        if isValid(self) and {"mcp", "hooks"} & set(pack.manifest.parts()):
            words = tr("{name} is here. Its servers and hooks are off, until you switch each on.")
            self.notice.show_text(words.format(name=pack.name))

    def _put_above(self, card: OfferCard | RemoveCard | SettingsCard) -> None:
        self.offered = card if isinstance(card, OfferCard) else None
        self.set = card if isinstance(card, SettingsCard) else None
        self.asked = card if isinstance(card, RemoveCard) else None
        self._above.put(card)
        self._above.show()
        self.verticalScrollBar().setValue(0)
        if isinstance(card, SettingsCard):
            card.form.focus_first()
        else:
            card.leave.setFocus(Qt.FocusReason.OtherFocusReason)

    def _close(self) -> None:
        self.offered = self.asked = self.set = None
        self._above.hide()
        self.origin.setFocus(Qt.FocusReason.OtherFocusReason)

    def _close_and_run(self, work: Coroutine[Any, Any, object]) -> None:
        self._close()
        self._run(work)

    # Its settings

    def _show_settings(self, home: PackHome, kind: type[Any]) -> None:
        async def show() -> None:
            kept = await asyncio.to_thread(stored, home.settings_file)
            if isValid(self):
                card = SettingsCard(self.theme, home.loaded.name or home.id, kind, kept)
                card.agree.clicked.connect(lambda: self._keep(card, home, kind))
                card.form.entered.connect(card.agree.click)
                card.leave.clicked.connect(self._close)
                self._put_above(card)

        self._run(show())

    def _keep(self, card: SettingsCard, home: PackHome, kind: type[Any]) -> None:
        try:
            values = card.form.value()
        except ValueError:
            return  # the form says what is wrong
        self._close_and_run(asyncio.to_thread(write_settings, kind, home.settings_file, values))

    # Switching and removing

    def _switch(self, pack: InstalledPack, on: bool) -> None:
        if on and pack.approved != pack.digest:
            self.rows[pack.id].toggle.show_value(False)
            self._look_at(pack)
        else:
            self._run(asyncio.to_thread(self._packs.switch, pack.id, on))

    def _switch_part(self, id: str, part: str, on: bool) -> None:
        self._run(asyncio.to_thread(self._packs.switch_part, id, part, on))

    def _ask_to_remove(self, pack: InstalledPack) -> None:
        card = RemoveCard(self.theme, pack)
        card.agree.clicked.connect(
            lambda: self._close_and_run(self._remove(pack, card.data.isChecked()))
        )
        card.leave.clicked.connect(self._close)
        self._put_above(card)

    async def _remove(self, pack: InstalledPack, with_data: bool) -> None:
        kept = await asyncio.to_thread(self._packs.remove, pack.id, with_data)
        if kept is not None and isValid(self):
            words = tr("{name} is removed. What it keeps is still in {folder}")
            self.notice.show_text(words.format(name=pack.name, folder=short_path(str(kept))))

    def _run(self, work: Coroutine[Any, Any, object], *, cancelled_on_close: bool = False) -> None:
        """Do something with packs, and show what there is then.

        ``cancelled_on_close``: the program does not wait for it, such as for git.
        """

        async def then_show() -> None:
            self.notice.show_text("")
            self.looking.set(tr("Working…"), "busy")
            self.looking.show()
            try:
                await work
            except StudioError as error:
                if isValid(self):
                    self.notice.show_text(tr_engine(str(error)))
            finally:
                if isValid(self):
                    self.looking.hide()
                    self._shown = None
                    await self._load()

        self._services.tasks.start(then_show(), cancelled_on_close=cancelled_on_close)


class PackRow(Card):
    """One pack: what it is, its switch, and what it brings, each with a check."""

    def __init__(self, theme: Theme, pack: InstalledPack) -> None:
        super().__init__(theme, "surface", "hair")
        self.pack, manifest = pack, pack.manifest
        tile = IconTile(theme, "layers")
        title = Label(theme, " ".join(filter(None, (pack.name, manifest.version))), "ui_strong")
        line = ElidedLabel(theme, "", "small", "text2")
        whence = short_path(pack.origin.shown.partition(" ")[2])  # without the word for its kind
        line.set_text(" · ".join(filter(None, (manifest.description, whence))))
        self.status = Status(theme)
        state = tr("On") if pack.runs else tr("Off")
        if pack.approved and pack.approved != pack.digest:
            state = tr("Changed")
            self.status.set(state, "warn")
        else:
            self.status.set(state, "ok" if pack.runs else "off")
        self.toggle = Toggle(theme, tr("Pack {name}").format(name=pack.name))
        self.toggle.show_value(pack.runs)
        self.look = Button(theme, tr("Look…"))
        self.update_button = Button(theme, tr("Look for an update"))
        self.remove = Button(theme, tr("Remove…"))
        self.settings = Button(theme, tr("Settings…"))
        ours = not pack.origin.is_in_place
        buttons = (self.settings, self.look, self.update_button, self.remove)
        for button in buttons:
            button.setAccessibleName(joined((button.text().removesuffix("…"), pack.name)))
        self.update_button.setVisible(ours)
        self.remove.setVisible(ours)
        self.parts: dict[str, Check] = {}
        for part, found in manifest.parts().items():
            if part in SWITCHED:
                words = part_title(found)
                check = self.parts[part] = Check(theme, words)
                check.setAccessibleName(joined((words, pack.name)))
                check.setChecked(part not in pack.off)
        middle = Qt.AlignmentFlag.AlignVCenter
        words_column = column_of([title, line], spacing=0)
        head = [(tile, middle), (words_column, 1), (self.status, middle), (self.toggle, middle)]
        rows: list[QLayout | QWidget] = [row_of(head, spacing=10)]
        checks = list(self.parts.values())
        rows += [
            row_of([*checks[at : at + 4], STRETCH], spacing=14) for at in range(0, len(checks), 4)
        ]
        if left := len(manifest.problems):
            told = tr_plural(
                "{count} thing is left out: Look…", "{count} things are left out: Look…", left
            )
            rows.append(Label(theme, told, "small", "text2", wrap=True))
        rows.append(row_of([*buttons, STRETCH], spacing=8))
        column_of(rows, spacing=8, margins=(14, 10, 14, 10), on=self)
        self.setAccessibleName(joined((pack.name, state)))


class RemoveCard(AskCard):
    """Asks whether a pack is to be removed, and whether its data is."""

    def __init__(self, theme: Theme, pack: InstalledPack) -> None:
        super().__init__(theme, "raised", "warn_line")
        words = tr("Remove {name}?").format(name=pack.name)
        line = tr("What it keeps for itself stays in {folder}, and is found again with the pack.")
        line = line.format(folder=short_path(str(pack.home)))
        self.data = Check(theme, tr("Remove that too; nobody can bring it back"))
        self.data.setVisible(Path(pack.home).exists())
        self.agree = Button(theme, tr("Remove"), "danger")
        self.leave = Button(theme, tr("Keep it"), "ghost")
        parts = [
            Label(theme, words, "ui_strong", wrap=True),
            Label(theme, line, "small", "text2", wrap=True),
            self.data,
            row_of([self.agree, self.leave, STRETCH], spacing=8),
        ]
        column_of(parts, spacing=10, margins=(12, 12, 12, 12), on=self)
        self.setAccessibleName(words)


class SettingsCard(AskCard):
    """The settings of a pack, as a form of its dataclass (KZ-9)."""

    def __init__(self, theme: Theme, name: str, kind: type[Any], values: JsonObject) -> None:
        super().__init__(theme, "raised", "hair")
        words = tr("Settings of {name}").format(name=name)
        self.form = SchemaForm(theme, settings_schema(kind), asked=True)
        for key, row in self.form.rows.items():
            if key in values:
                row.show_value(values[key], True)
        self.agree = Button(theme, tr("Save"), "primary")
        self.leave = Button(theme, tr("Cancel"), "ghost")
        buttons = row_of([self.agree, self.leave, STRETCH], spacing=8)
        parts = [Label(theme, words, "ui_strong", wrap=True), self.form, buttons]
        column_of(parts, spacing=10, margins=(12, 12, 12, 12), on=self)
        self.setAccessibleName(words)
