"""The classes of Qt's that a thread defines: that can end the program while Qt is at work."""

from __future__ import annotations

import threading
from typing import Any

from shiboken6 import Shiboken

noted: list[str] = []
"""Those that were defined in another thread than the main one, since ``watch``."""


def watch() -> None:
    """Note them from now on."""
    Shiboken.Object.__init_subclass__ = classmethod(_note)  # type: ignore[method-assign]


def _note(cls: type, **named: Any) -> None:
    super(Shiboken.Object, cls).__init_subclass__(**named)
    if threading.current_thread() is not threading.main_thread():
        noted.append(f"{cls.__module__}.{cls.__qualname__}")
