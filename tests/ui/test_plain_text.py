"""What others wrote is shown as it is, wherever Qt would take it for HTML."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as TextFunctions
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

import studio.ui
from studio.ui.widgets import message_box, plain_tip

UI = Path(studio.ui.__file__).parent
HTML = "<b>Granted</b> <img src='file:///etc/x.png'><a href='https://x.example'>Yes</a>"


@pytest.mark.parametrize("text", [HTML, "<h1>a", "a\n<br>b", "<!DOCTYPE html>x"])
def test_a_tip_shows_marks_and_obeys_none(text: str, qtbot: QtBot) -> None:
    tip = plain_tip(text)
    assert tip == text or "<" not in tip.replace("<p>", "").replace("</p>", "").replace("<br>", "")
    assert TextFunctions.mightBeRichText(tip) == (tip != text)


@pytest.mark.parametrize("text", ["", "a.txt", "two\nlines", "x & y"])
def test_a_plain_tip_stays(text: str, qtbot: QtBot) -> None:
    assert plain_tip(text) == text


def test_a_box_obeys_no_marks(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    box = message_box(window, "Title", HTML, HTML)
    shown = [one for one in box.findChildren(QLabel) if one.text() == HTML]
    assert len(shown) == 2
    assert {one.textFormat() for one in shown} == {Qt.TextFormat.PlainText}


def _is_own(value: ast.expr) -> bool:
    """Whether a tip is written in the source, perhaps looked up, or passes ``plain_tip``."""
    if isinstance(value, ast.IfExp):
        return _is_own(value.body) and _is_own(value.orelse)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        looked_up = value.func.id == "tr" and isinstance(value.args[0], ast.Constant)
        return looked_up or value.func.id == "plain_tip"
    return isinstance(value, ast.Constant)


def test_every_box_and_tip_is_plain() -> None:
    """Also those that are added later: this reads the source."""
    found: list[str] = []
    for file in sorted(UI.rglob("*.py")):
        if file.name == "plain_text.py":
            continue
        below = file.relative_to(UI)
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if not isinstance(node, ast.Call | ast.If):
                continue
            where = f"{below}:{node.lineno}"
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
                static = isinstance(node.func, ast.Attribute) and (
                    isinstance(node.func.value, ast.Name) and node.func.value.id == "QMessageBox"
                )
                tips = name == "setToolTip" and not _is_own(node.args[0])
                if name in ("QMessageBox", "QLabel", "QErrorMessage") or static or tips:
                    found.append(where)
            elif "ToolTipRole" in ast.dump(node.test):
                returned = (one for one in ast.walk(node) if isinstance(one, ast.Return))
                found += [where for one in returned if one.value and not _is_own(one.value)]
    assert found == []
