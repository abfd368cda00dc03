"""A key of the whole desktop for a quick question, and the desktop's wishes."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtTest import QTest

from studio.storage.config.settings import SettingsFile
from studio.ui.app.global_key import refusal, symbol_of, way
from studio.ui.app.windows_key import windows_key
from studio.ui.settings.pages.shortcuts import QUICK_ASK, ShortcutsPage
from support.desktop_bus import bus, portal
from support.waiting import HANG, until
from support.window import ALT, CTRL, Key, alone, at_window, on_window_loop

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 and portals")
__all__ = ["alone", "bus"]


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("Ctrl+Alt+Space", (0x20, 12, "CTRL+ALT+space")),
        ("Meta+A", (0x61, 64, "LOGO+a")),
        ("Shift+F12", (0xFFC9, 1, "SHIFT+F12")),
        ("Ctrl+Shift+;", (0x3B, 5, "CTRL+SHIFT+U003B")),
        ("Shift+A", None),
        ("Space", None),
        ("Ctrl+K, Ctrl+A", None),
        ("", None),
    ],
)
def test_a_key_is_known_to_the_desktop(keys: str, found: object) -> None:
    assert symbol_of(keys) == found
    assert bool(refusal(keys)) is (found is None)


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        ("Ctrl+Alt+Space", (0x20, 3)),
        ("Meta+A", (0x41, 8)),
        ("Shift+F12", (0x7B, 4)),
        ("Ctrl+Alt+7", (0x37, 3)),
        ("Ctrl+Shift+;", (0xBA, 6)),
        ("Ctrl+~", None),
        ("Ctrl+F25", None),
    ],
)
def test_windows_has_codes_of_its_own(keys: str, found: object) -> None:
    """Of what writes a character they depend on the keyboard: the upper byte says what is held."""
    symbol, held, _ = symbol_of(keys) or (0, 0, "")
    assert windows_key(symbol, held, _typed) == found


def _typed(character: str) -> int:
    return {";": 0x01BA}.get(character, -1)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A screen of X11 without a window on it."""
    if shutil.which("Xvfb") is None or shutil.which("xdotool") is None:
        pytest.skip("xvfb and xdotool are needed")
    read, write = os.pipe()
    command = ["Xvfb", "-displayfd", str(write), "-nolisten", "tcp", "-noreset"]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, pass_fds=[write], stdout=quiet, stderr=quiet) as server:
        os.close(write)
        with os.fdopen(read) as told:
            monkeypatch.setenv("DISPLAY", f":{told.readline().strip()}")
        yield
        server.terminate()


@linux
def test_on_x11_a_key_is_one_program_s(screen: None) -> None:
    from studio.ui.app.x11_key import X11Key

    symbol, held, _ = symbol_of("Ctrl+Alt+Space") or (0, 0, "")
    first, second = X11Key(), X11Key()
    try:
        assert first.take(symbol, held) and not second.take(symbol, held)
        assert not first.pressed()
        for keys in ("Caps_Lock", "ctrl+alt+space"):  # with a lock on it works too
            subprocess.run(["xdotool", "key", keys], check=True)
        assert select.select([first.descriptor], [], [], HANG)[0] and first.pressed()
        first.release()
        assert second.take(symbol, held)
        assert not first.take(0x1008FFFF, held), "no key has this symbol"
    finally:
        first.close()
        second.close()


@linux
@on_window_loop
async def test_a_portal_gives_the_key(
    alone: object, bus: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert way() == "portal"
    async with portal() as there, at_window(tmp_path, "ollama", []) as person:
        program = person.program
        there.refuses = True
        person.window.preferences.open("shortcuts")
        dialog = await until(lambda: person.window.preferences.dialog)
        page = dialog.pages["shortcuts"]
        assert isinstance(page, ShortcutsPage)
        row = page.rows[QUICK_ASK]
        row.open()
        QTest.keyClick(row.recorder, Key.Key_Q)
        assert row.said.isVisible() and not person.engine.settings.values.quick_ask_key
        QTest.keyClick(row.recorder, Key.Key_Space, CTRL | ALT)
        await until(lambda: "Ctrl+Alt+Space cannot be used" in person.window.banner.text)
        assert program.quick_ask is None

        there.refuses = False
        row.open()
        QTest.keyClick(row.recorder, Key.Key_N, CTRL)
        assert "New chat" in row.said.text()  # a key of the window is not taken unasked
        row.replace.click()
        await until(lambda: there.calls[-1][0] == "BindShortcuts")
        (name, options), *others = there.calls[-1][1][1]
        assert (name, options["preferred_trigger"], others) == ("quick-ask", ("s", "CTRL+n"), [])
        assert page.rows["new_chat"].shortcut.keys == ""
        await there.press()
        await until(lambda: program.quick_ask is not None and program.quick_ask.isVisible())


@linux
@on_window_loop
async def test_the_look_follows_the_desktop_unless_the_person_chose(
    alone: object, bus: str, tmp_path: Path
) -> None:
    def setup(settings: SettingsFile) -> None:
        settings.values.contrast = "normal"

    appearance = "org.freedesktop.appearance"
    async with portal() as there:
        there.settings["org.gnome.desktop.interface", "enable-animations"] = ("b", False)
        there.settings[appearance, "contrast"] = ("u", 1)
        async with at_window(tmp_path, "ollama", [], setup=setup) as person:
            theme = person.window.theme
            await until(lambda: theme.still)
            assert theme.color("hair") != theme.color("strong"), "the person wants it normal"
            await there.wish("org.gnome.desktop.interface", "enable-animations", "b", True)
            await until(lambda: not theme.still)
            await there.wish(appearance, "reduced-motion", "u", 1)
            await until(lambda: theme.still)
            theme.set(still=False)
            assert not theme.still
            person.engine.settings.values.contrast = "system"
            person.window.preferences.open("appearance")
            dialog = await until(lambda: person.window.preferences.dialog)
            dialog.pages["appearance"].contrast.segment(0).click()
            await until(lambda: theme.color("hair") == theme.color("strong"))
