"""The transcript for screen readers: a list of its blocks, and announcements."""

from __future__ import annotations

from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QWidget


def install() -> None:
    """Teach Qt to describe transcripts; only the first call does something."""


def announce(widget: QWidget, text: str, *, urgent: bool) -> None:
    """Let a screen reader say something now; where Qt can (6.8)."""
    try:
        from PySide6.QtGui import QAccessibleAnnouncementEvent
    except ImportError:
        return
    if not text or not QAccessible.isActive():
        return
    event = QAccessibleAnnouncementEvent(widget, text)
    event.setPoliteness(
        QAccessible.AnnouncementPoliteness.Assertive
        if urgent
        else QAccessible.AnnouncementPoliteness.Polite
    )
    QAccessible.updateAccessibility(event)
