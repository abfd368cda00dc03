"""A quick question from anywhere, and the program registered for its links."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from studio.simulator import Text, Turn
from studio.ui.app import link_registration
from studio.ui.app.second_start import Start
from support.waiting import until
from support.window import Key, alone, at_window, on_window_loop

__all__ = ["alone"]


@on_window_loop
async def test_a_quick_question_is_answered_in_a_new_chat(
    alone: QApplication, tmp_path: Path
) -> None:
    async with at_window(tmp_path, "ollama", [Turn(Text("Four."))]) as person:
        program, window = person.program, person.window
        person.composer.set_text("half a thought")
        window.hide()
        program.welcome_back(Start(quick_ask=True))
        line = program.quick_ask
        assert line is not None and line.isVisible() and window.isHidden()
        QTest.keyClicks(line.field, "  ")
        QTest.keyClick(line.field, Key.Key_Return)
        assert line.isVisible()  # there is nothing to ask
        QTest.keyClick(line.field, Key.Key_Escape)
        assert not line.isVisible() and window.isHidden()

        program.welcome_back(Start(quick_ask=True))
        QTest.keyClicks(line.field, "Two and two?")
        QTest.keyClick(line.field, Key.Key_Return)
        assert not line.isVisible() and window.isVisible()
        await until(lambda: window.chat.session is not None)
        await until(lambda: person.says("Four."))
        assert "Two and two?" in person.asked[0]
        assert person.session.info.folder == str(person.folder)
        assert person.composer.text == "half a thought"  # nothing that was written is lost


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a desktop entry is of Linux")
def test_links_are_registered_and_the_persons_other_lines_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    program = tmp_path / 'a $b "c" 100%' / "agent-studio"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    listed = tmp_path / "config" / "mimeapps.list"
    for before in ("", "# mine\n[Default Applications]\ntext/html=b.desktop\n[Added]\nx=y\n"):
        listed.parent.mkdir(exist_ok=True)
        listed.write_text(before)
        for _ in range(2):  # again changes nothing
            link_registration.register()
        lines = listed.read_text().splitlines()
        assert lines.count("x-scheme-handler/agent-studio=agent-studio-links.desktop") == 1
        assert [line for line in lines if line in before.splitlines()] == before.splitlines()
        at = lines.index("[Default Applications]")
        assert lines[at + 1].startswith("x-scheme-handler/agent-studio=")
    listed.write_bytes(b"# gr\xfc\xdfe\n")  # no UTF-8
    link_registration.register()
    assert listed.read_bytes().startswith(b"# gr\xfc\xdfe\n[Default Applications]\n")
    entry = (tmp_path / "data" / "applications" / link_registration.ENTRY).read_text()
    assert "MimeType=x-scheme-handler/agent-studio;\n" in entry
    (line,) = [one[5:] for one in entry.splitlines() if one.startswith("Exec=")]
    words = shlex.split(line.replace("\\\\", "\\").replace("%%", "%"))
    assert [word.replace("\\$", "$") for word in words] == [str(program), "%u"]
