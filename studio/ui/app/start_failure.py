"""Shows in a box what kept the window from opening: a start from a menu has no terminal."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtWidgets import QApplication

from studio.domain.errors import StudioError
from studio.ui.engine_texts import tr_engine
from studio.ui.translation import tr
from studio.ui.widgets.plain_text import message_box


def show_failure(error: Exception, report: Path) -> None:
    """Say what is wrong; returns when the person has read it.

    ``report`` is the file with the crash report of what is no ``StudioError``.
    """
    app = QApplication.instance() or QApplication(sys.argv[:1])
    for window in QApplication.topLevelWidgets():
        window.hide()
    if isinstance(error, StudioError):
        text, more = tr("Agent Studio cannot start."), tr_engine(str(error))
    else:
        text = tr("Agent Studio ended because of an error in the program.")
        more = tr("A report is in {path}. It is on this computer alone.").format(path=report)
    box = message_box(None, "Agent Studio", text, more)
    box.exec()
    del app
