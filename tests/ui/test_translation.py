"""Texts on screen are looked up by their English."""

from __future__ import annotations

from studio.ui.translation import tr, tr_in, tr_later, tr_plural


def test_english_stands_in_the_code() -> None:
    assert tr("Delete chat") == tr_later("Delete chat") == tr_in("button", "Delete chat")
    assert tr("") == ""
    assert tr_plural("{count} file", "{count} files", 1) == "1 file"
    assert tr_plural("{count} file", "{count} files", 2) == "2 files"
