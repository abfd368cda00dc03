"""Makes the menus of chats and of headings in the list."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMenu

from studio.ui.formatting import keys
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets.shadow import cast_shadow

from .chat_list import ChatList
from .chat_list_model import ChatListModel, ChatRow


def row_menu(view: ChatList) -> QMenu | None:
    """The menu of the current row and of all that are picked with it; None without a row."""
    row = view.currentIndex().data(ChatListModel.RowRole)
    if row is None:
        return None
    ids = view.chosen_ids()
    rows = [one for one in view.chats.rows if one.id in ids]
    return _chat_menu(view, rows) if rows else _heading_menu(view, row)


def _chat_menu(view: ChatList, rows: Sequence[ChatRow]) -> QMenu:
    """The menu of one chat, or of all that are picked."""
    menu = _menu(view)
    ids = [row.id for row in rows]
    known = [row.session for row in rows if row.session is not None]

    def arranging(**changes: object) -> Callable[[], None]:
        return lambda: view.arranging.emit(ids, changes)

    if len(rows) == 1:
        (row,) = rows
        if row.status in ("running", "waiting") and view.chats.progress(row.id):
            menu.addAction(tr("Stop"), lambda: view.stopping.emit(row.id))
        window = tr("Open in new window")
        menu.addAction(window, lambda: view.window_wanted.emit(ids[0]))
        if known:
            rename = tr("Rename") + "\tF2"
            menu.addAction(rename, lambda: view.edit(view.chats.index_of(row.id)))
    if known:
        if not all(info.archived for info in known):
            pinned = all(info.pinned for info in known)
            menu.addAction(tr("Unpin") if pinned else tr("Pin"), arranging(pinned=not pinned))
            menu.addMenu(_group_menu(view, menu, ids, {info.group_name for info in known}))
        export = menu.addMenu(tr("Export"))
        export.addAction(tr("Markdown…"), lambda: view.exporting.emit(ids, "md"))
        export.addAction(tr("JSON…"), lambda: view.exporting.emit(ids, "json"))
        menu.addSeparator()
        if all(info.archived for info in known):
            words = tr("Bring back from the archive")
            menu.addAction(words, arranging(archived=False))
        else:
            several = tr_plural("Archive {count} chat", "Archive {count} chats", len(ids))
            words = several if len(ids) > 1 else tr("Archive")
            menu.addAction(words, arranging(archived=True))
    several = tr_plural("Delete {count} chat", "Delete {count} chats", len(ids))
    words = several if len(ids) > 1 else tr("Delete")
    menu.addAction(words + "\t" + keys("Del"), lambda: view.removing.emit(ids))
    return menu


def _group_menu(view: ChatList, parent: QMenu, ids: Sequence[str], now: set[str]) -> QMenu:
    menu = QMenu(tr("Move to group"), parent)
    for name in view.groups:
        action = menu.addAction(
            name.replace("&", "&&"),
            lambda name=name: view.arranging.emit(ids, {"group_name": name, "pinned": False}),
        )
        action.setCheckable(True)
        action.setChecked(now == {name})
    menu.addSeparator()
    menu.addAction(tr("New group…"), lambda: view.grouping.emit(ids))
    if now != {""}:
        menu.addAction(tr("No group"), lambda: view.arranging.emit(ids, {"group_name": ""}))
    return menu


def _heading_menu(view: ChatList, row: ChatRow) -> QMenu:
    """The menu of a section."""
    menu = _menu(view)
    words = tr("Expand") if row.closed else tr("Collapse")
    menu.addAction(words, lambda: view.fold(row.section, closed=not row.closed))
    if name := row.group:
        menu.addSeparator()
        menu.addAction(tr("Rename group") + "\tF2", lambda: view.edit_group(name))
        ungrouped = {"group_name": ""}
        menu.addAction(
            tr("Remove group, keep its chats"),
            lambda: view.arranging.emit(view.in_group(name), ungrouped),
        )
    return menu


def _menu(view: ChatList) -> QMenu:
    menu = QMenu(view)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    cast_shadow(menu)
    return menu
