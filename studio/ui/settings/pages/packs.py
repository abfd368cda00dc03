"""The Packs page: shows what a pack brings before it is installed, and switches it (X-1, X-2)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
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
from studio.ui.settings.rows import RowCard
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, Check, Field, Label, Status
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .pack_offer import OfferView, PackContents
from .pack_rows import PackRow

if TYPE_CHECKING:
    from studio.agent.packs import PackHome
    from studio.extensions.packs.installed import InstalledPack, Offer


ControlOf: TypeAlias = Callable[[PackRow], QWidget | None]
"""Finds something in a row."""
PlaceInRow: TypeAlias = tuple[str, ControlOf]
"""The id of a pack, and something in its row: rows are made anew."""


class PacksPage(SettingsPage):
    """All packs, each with a switch; one that is looked at stands in their place."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        line = tr("Packs bring skills, agents, servers and more at once.")
        super().__init__(theme, tr("Packs"), line)
        self._services = services
        self._shown: tuple[object, ...] | None = None
        self._open: set[str] = set()
        """The ids of packs whose contents are shown."""
        self._offers: dict[str, Offer] = {}
        """Updates that were looked at, by the ids of their packs."""
        self._to_focus: PlaceInRow | None = None
        """What gets the focus when the rows are shown again."""
        self._came_from: PlaceInRow | None = None
        """What led to the pack that is looked at, where it was in a row."""
        self.rows: dict[str, PackRow] = {}
        self.offered: OfferView | None = None
        self.asked: RemoveCard | None = None
        self.set: SettingsCard | None = None
        self.uv: Button | None = None
        self.add = Button(theme, tr("Add pack…"), "primary", clicked=self._ask_from_where)
        self.head.addWidget(self.add, 0, Qt.AlignmentFlag.AlignTop)
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
        line = tr("Nothing of a pack runs before you have seen all that it brings.")
        where = row_of([(self.origin, 1), self.folder, self.file, self.look], spacing=8)
        below = Label(theme, line, "small", "text2", wrap=True)
        self.adding = widget_of(column_of([where, below], spacing=6))
        self.adding.hide()
        parts = [self.adding, self.looking, self._names, self.notice]
        foot = tr("Switching a pack off keeps its data. Removing it asks, and says where that is.")
        whole = [
            column_of(parts, spacing=6),
            self._above,
            self._list,
            Label(theme, foot, "small", "text2", wrap=True),
        ]
        self.all = widget_of(column_of([*whole, STRETCH], spacing=14))
        self._one = Slot()
        self._one.hide()
        self.column.addWidget(self.all, 1)
        self.column.addWidget(self._one, 1)
        self.tab_in_order()

    @property
    def _packs(self):
        from studio.extensions.packs.installed import InstalledPacks

        return self._services.engine.services.get(InstalledPacks)

    # What there is

    def refresh(self) -> None:
        self._services.tasks.start(self._load(), cancelled_on_close=True)

    async def _load(self) -> None:
        from studio.extensions.packs.host import NO_UV, HostEntries

        hosts = self._services.engine.services.get(HostEntries)

        def look() -> tuple[tuple[InstalledPack, ...], tuple[str, ...], tuple[str, ...]]:
            hosts()
            in_rows = {NO_UV.format(pack=id) for id in hosts.without_uv}
            others = tuple(one for one in hosts.problems if one not in in_rows)
            return self._packs.list(), hosts.without_uv, others

        found = await asyncio.to_thread(look)
        if isValid(self):
            self._show(*found)

    def _show(
        self, packs: tuple[InstalledPack, ...], without_uv: tuple[str, ...], off: tuple[str, ...]
    ) -> None:
        """Show the packs; those ``without_uv`` have their tools off for want of it, and ``off``
        are sentences about Python beside packs."""
        shown = packs, without_uv, off, tuple(self._offers.items())
        if shown == self._shown:  # a row may have the focus
            return
        self._shown = shown
        self.rows = {one.id: self._row(one, without_uv=one.id in without_uv) for one in packs}
        shipped = [row for row in self.rows.values() if row.pack.origin.kind == "shipped"]
        others = [row for row in self.rows.values() if row not in shipped]
        parts: list[QWidget] = []
        for title, rows in ((tr("Installed"), others), (tr("Comes with Agent Studio"), shipped)):
            if rows:
                card = RowCard(self.theme)
                card.set_rows(rows)
                parts.append(
                    widget_of(column_of([Label(self.theme, title, "ui_strong"), card], spacing=8))
                )
        parts += [
            Label(self.theme, tr_engine(one), "small", "err", wrap=True)
            for one in (*self._packs.problems, *off)
        ]
        self.uv = next((self.rows[one].uv for one in without_uv if one in self.rows), None)
        if off and self.uv is None:
            self.uv = Button(self.theme, tr("Fetch uv"), clicked=self._fetch_uv)
            line = tr("20 MB from PyPI, for this program alone.")
            words = Label(self.theme, line, "small", "text2", wrap=True)
            parts.append(widget_of(row_of([self.uv, (words, 1)], spacing=10)))
        if not parts:
            words = tr("There are no packs yet.")
            parts.append(Label(self.theme, words, "ui", "text2", wrap=True))
        self._list.put(widget_of(column_of(parts, spacing=14)))

    def _row(self, pack: InstalledPack, *, without_uv: bool) -> PackRow:
        row = PackRow(self.theme, pack, self._offers.get(pack.id), without_uv=without_uv)
        row.toggle.toggled.connect(partial(self._switch, pack))
        row.look.clicked.connect(partial(self._look_at, pack, lambda row: row.look))
        row.update_button.clicked.connect(partial(self._update, pack))
        row.remove.clicked.connect(partial(self._ask_to_remove, pack))
        row.uv.clicked.connect(self._fetch_uv)
        row.part_switched.connect(partial(self._switch_part, pack.id))
        row.opened.connect(partial(self._opened, pack.id))
        if pack.id in self._open:
            row.show_contents()
        home = self._services.engine.services.packs.homes.get(pack.id)
        kind = home.loaded.pack.settings if home is not None and pack.runs else None
        if home is not None and kind is not None:
            row.settings.clicked.connect(partial(self._show_settings, home, kind))
        else:
            row.settings.hide()
        if (change := row.change) is not None:
            offer = change.offer
            change.agree.clicked.connect(lambda: self._close_and_run(self._add(offer)))
            change.leave.clicked.connect(lambda: self._close_and_run(self._forget(offer)))
            change.all.clicked.connect(partial(self._ask_about, offer))
        return row

    def _opened(self, id: str, is_open: bool) -> None:
        self._open = self._open | {id} if is_open else self._open - {id}

    def _fetch_uv(self) -> None:
        assert self.uv is not None
        self.uv.setEnabled(False)
        self._run(self._services.engine.fetch_uv(), cancelled_on_close=True)

    # Looking at a pack

    def _ask_from_where(self) -> None:
        self.adding.show()
        self.origin.setFocus(Qt.FocusReason.OtherFocusReason)

    def _choose_folder(self) -> None:
        self.ask_for_folder(tr("Folder of the pack"), "", self._look_chosen)

    def _choose_file(self) -> None:
        packs = tr("Packs")
        names = f"{packs} (*.zip marketplace.json)"
        self.ask_for_file(tr("Zip file of the pack"), names, self._look_chosen)

    def _look_chosen(self, path: str) -> None:
        self.origin.setText(path)
        self._look_typed()

    def _look_typed(self) -> None:
        if origin := self.origin.text().strip():
            self._look_for(origin)

    def _look_for(self, origin: str, name: str = "") -> None:
        self._run(self._look(origin, name), cancelled_on_close=True)

    async def _look(self, origin: str, name: str) -> None:
        from studio.extensions.packs.fetching import ManyPacks

        try:
            offer = await in_daemon_thread(lambda: self._packs.look(origin, name))
        except ManyPacks as many:
            buttons = [
                Button(self.theme, one, clicked=lambda one=one: self._look_for(origin, one))
                for one in many.names
            ]
            label = Label(self.theme, tr("It has several packs. Which one?"), "small", "text2")
            self._names.put(widget_of(column_of([label, *buttons], spacing=6)))
            self._names.show()
            return
        self._names.hide()
        if await self._is_known(offer):
            return
        if self.offered is None:
            self._ask_about(offer)
        else:  # no page takes the place of one in which the person is about to press a button
            words = tr("{name} is not shown, as another pack was open. Look at it again.")
            self.notice.show_text(words.format(name=offer.manifest.name))
            await self._forget(offer)

    def _update(self, pack: InstalledPack) -> None:
        """Look whether there is an update: what it may newly do is shown in the pack's row."""

        async def look() -> None:
            offer = await in_daemon_thread(lambda: self._packs.update(pack.id))
            if not await self._is_known(offer):
                if (old := self._offers.get(pack.id)) is not None:
                    await asyncio.to_thread(self._packs.forget, old)
                self._offers[pack.id] = offer
                self._to_focus = pack.id, lambda row: row.change and row.change.leave

        self._run(look(), cancelled_on_close=True)

    def _look_at(self, pack: InstalledPack, control: ControlOf) -> None:
        """Show an installed pack; one that is not what was approved can be used from there.

        ``control`` is what of its row led there.
        """

        async def look() -> None:
            from studio.extensions.packs.overview import overview

            text = await asyncio.to_thread(overview, pack.manifest, pack.origin, pack.digest)
            if not isValid(self) or self.offered is not None:
                return
            in_program = pack.origin.is_in_place
            rows = PackContents(
                self.theme, pack.manifest, pack.off, switches=False, in_program=in_program
            )
            view = OfferView(self.theme, pack.manifest, pack.origin, text, rows)
            if pack.approved == pack.digest:
                view.agree.hide()
                view.leave.setText(tr("Close"))
            else:
                words = tr("Use {name} as it is now?").format(name=pack.name)
                view.question.show_text(words)
                view.agree.setText(tr("Use it"))
            view.agree.clicked.connect(lambda: self._go_back_and_run(approve(), pack.id))
            view.leave.clicked.connect(self._go_back)
            self._show_one(view, (pack.id, control))

        def approve() -> Coroutine[Any, Any, object]:
            return asyncio.to_thread(self._packs.approve, pack.id, pack.digest)

        self._run(look(), changes=False)  # the row gets the focus back

    async def _is_known(self, offer: Offer) -> bool:
        """Whether what was fetched is what is there already; then the person is told so."""
        if offer.is_news:
            return False
        pack = await asyncio.to_thread(self._packs.add, offer)  # perhaps from elsewhere
        self.notice.show_text(tr("{name} is as it was.").format(name=pack.name))
        return True

    def _ask_about(self, offer: Offer) -> None:
        """Show all that was fetched, and ask whether it is to be installed."""
        text, before = offer.text, offer.before
        if before is not None:
            changes = tr("What changes")
            text = f"{changes}\n\n{offer.change}\n\n{text}"
        off = before.off if before is not None else frozenset[str]()
        rows = PackContents(self.theme, offer.manifest, off)
        id = offer.manifest.id
        in_row = self._offers.get(id) is offer
        view = OfferView(
            self.theme, offer.manifest, offer.origin, text, rows, update=before is not None
        )

        def agree() -> None:
            if not in_row:
                self.adding.hide()
                self.origin.clear()
            self._go_back_and_run(self._add(offer, rows), id if in_row else "")

        view.agree.clicked.connect(agree)
        if in_row:  # and stays there until the person decides
            view.leave.clicked.connect(self._go_back)
            self._show_one(view, (id, lambda row: row.change and row.change.all))
        else:
            view.leave.clicked.connect(lambda: self._go_back_and_run(self._forget(offer)))
            self._show_one(view)

    async def _forget(self, offer: Offer) -> None:
        if self._offers.get(offer.manifest.id) is offer:
            del self._offers[offer.manifest.id]
        await asyncio.to_thread(self._packs.forget, offer)

    async def _add(self, offer: Offer, rows: PackContents | None = None) -> None:
        """Install or update, with what the person switched in these rows."""
        if self._offers.get(offer.manifest.id) is offer:
            del self._offers[offer.manifest.id]
        off, on = (rows.switched(False), rows.switched(True)) if rows else ((), ())
        pack = await asyncio.to_thread(self._packs.add, offer, off, on)
        if isValid(self) and {"mcp", "hooks"} & (pack.manifest.parts().keys() - pack.off):
            words = tr("{name} is here. Its servers and hooks are off, until you switch each on.")
            self.notice.show_text(words.format(name=pack.name))

    # The page of one pack

    def _show_one(self, view: OfferView, came_from: PlaceInRow | None = None) -> None:
        """Show a pack in the place of the list."""
        self.offered, self._came_from = view, came_from
        self._one.put(view)
        self._show_part(self._one)
        self.tab_in_order()
        view.leave.setFocus(Qt.FocusReason.OtherFocusReason)

    def _go_back(self) -> None:
        """Show the list, with the focus on what led away from it."""
        self.offered = None
        self._show_part(self.all)
        if not self._focus(self._came_from):
            first = self.add if self.adding.isHidden() else self.origin
            first.setFocus(Qt.FocusReason.BacktabFocusReason)

    def _go_back_and_run(self, work: Coroutine[Any, Any, object], id: str = "") -> None:
        """Do something with the pack that was looked at; its row then has the focus."""
        self._go_back()
        if id:
            self._to_focus = id, lambda row: row.toggle
        self._run(work)

    def _show_part(self, shown: QWidget) -> None:
        for part in (self.all, self._one):
            part.setVisible(part is shown)
        self.show_head(shown is self.all)
        self.verticalScrollBar().setValue(0)

    def _focus(self, place: PlaceInRow | None) -> bool:
        """Give the focus to what stands in a row, if it is there."""
        row = self.rows.get(place[0]) if place is not None else None
        control = place[1](row) if place is not None and row is not None else None
        if control is not None:
            control.setFocus(Qt.FocusReason.BacktabFocusReason)
        return control is not None

    # What is asked above the list

    def _put_above(self, card: RemoveCard | SettingsCard) -> None:
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
        self.asked = self.set = None
        self._above.hide()
        self.adding.hide()
        self.add.setFocus(Qt.FocusReason.OtherFocusReason)

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
            self._look_at(pack, lambda row: row.toggle)
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
        if (offer := self._offers.get(pack.id)) is not None:
            await self._forget(offer)
        kept = await asyncio.to_thread(self._packs.remove, pack.id, with_data)
        if kept is not None and isValid(self):
            words = tr("{name} is removed. What it keeps is still in {folder}")
            self.notice.show_text(words.format(name=pack.name, folder=short_path(str(kept))))

    def _run(
        self,
        work: Coroutine[Any, Any, object],
        *,
        cancelled_on_close: bool = False,
        changes: bool = True,
    ) -> None:
        """Do something with packs, and show what there is then.

        ``changes``: rows are made anew, also where they were switched in vain.
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
                    if changes:
                        self._shown = None
                    await self._load()
                    self._focus_what_is_new()

        self._services.tasks.start(then_show(), cancelled_on_close=cancelled_on_close)

    def _focus_what_is_new(self) -> None:
        """Give the focus to an update that was found just now, or to a pack that is used now."""
        place, self._to_focus = self._to_focus, None
        if isValid(self) and self.offered is None:
            self._focus(place)


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
