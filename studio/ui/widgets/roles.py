"""Tells screen readers another role of a widget than the one that Qt gives its class."""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

_ROLE = "accessible_role"


def give_role(widget: QWidget, role: QAccessible.Role) -> None:
    """Have a widget of a Python class stand for ``role``, from its first paint on."""
    widget.setProperty(_ROLE, role.value)
    _install()


@cache
def _install() -> None:
    QAccessible.installFactory(_describe)


def _describe(_kind: str, thing: QObject) -> QAccessibleInterface | None:
    role = thing.property(_ROLE)
    if role is None or not isinstance(thing, QWidget):
        return None
    made = QAccessibleWidget(thing, QAccessible.Role(role))
    vars(thing)["accessible"] = made  # Qt keeps no reference of Python
    return made
