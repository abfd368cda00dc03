"""A screen with an accessibility bus, and a screen reader on it that says what it finds.

The reader is what Orca is made of: libatspi, in a child of the system's own Python.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from support.waiting import HANG

PYTHON = "/usr/bin/python3"
NEEDED = "xvfb, dbus-daemon, at-spi2-core, python3-gi and gir1.2-atspi-2.0"

READER = r"""
import contextlib, json, os, socket, subprocess, sys, time

try:
    import gi
    gi.require_version("Atspi", "2.0")
    from gi.repository import Atspi, Gio, GLib
except (ImportError, ValueError) as error:
    print(json.dumps({"missing": str(error)}), flush=True)
    sys.exit(1)

HANG = float(sys.argv[1])
heard = []
KINDS = ("object:announcement", "object:state-changed:focused")

def hear(event):
    if event.type.startswith("object:announcement"):
        heard.append(("said", event.any_data, event.detail1))
    elif event.detail1:
        with_name = event.source.get_name()
        heard.append(("focus", with_name, role(event.source)))

def until(condition, what):
    end = time.monotonic() + HANG
    context = GLib.MainContext.default()
    while True:
        while context.iteration(False):
            pass
        try:
            found = condition()
        except GLib.Error:  # it went while we asked
            found = None
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"never: {what}; heard {heard[-8:]}; there {list(names())}")
        time.sleep(0.01)

def program():
    desktop = Atspi.get_desktop(0)
    for index in range(desktop.get_child_count()):
        one = desktop.get_child_at_index(index)
        if one is not None and one.get_name() == "Agent Studio":
            return one

def role(thing):
    name = thing.get_role_name()
    return "push button" if name == "button" else name  # as newer libraries call it

def showing(thing):
    return thing.get_state_set().contains(Atspi.StateType.SHOWING)

def walk(thing):
    yield thing
    for index in range(thing.get_child_count()):
        child = thing.get_child_at_index(index)
        if child is not None:
            yield from walk(child)

def everything():
    found = program()
    return [] if found is None else list(walk(found))

def names():
    return [(role(one), one.get_name()) for one in everything()]

def find(kind, begins):
    def look():
        for one in everything():
            if role(one) == kind and one.get_name().startswith(begins):
                return one
    return until(look, f"{kind} {begins}")

def press(kind, begins):
    button = find(kind, begins)
    action = button.get_action_iface()
    kinds = [action.get_action_name(n) for n in range(action.get_n_actions())]
    action.do_action(kinds.index("Press"))
    return kinds

def key(name):
    code = {"Up": 0xFF52, "Down": 0xFF54, "Tab": 0xFF09, "F6": 0xFFC3}[name]
    Atspi.generate_keyboard_event(code, None, Atspi.KeySynthType.SYM)

def said(*wanted):
    until(lambda: any(one[0] == "said" and one[1] in wanted for one in heard), f"said {wanted}")
    return next(one[2] for one in heard if one[0] == "said" and one[1] in wanted)

def text(thing):
    return thing.get_text_iface()

def run_reader():
    bus = Gio.bus_get_sync(Gio.BusType.SESSION)
    for name in ("IsEnabled", "ScreenReaderEnabled"):  # newer buses have only the first
        with contextlib.suppress(GLib.Error):
            bus.call_sync(
                "org.a11y.Bus", "/org/a11y/bus", "org.freedesktop.DBus.Properties", "Set",
                GLib.Variant("(ssv)", ("org.a11y.Status", name, GLib.Variant("b", True))),
                None, Gio.DBusCallFlags.NONE, -1, None,
            )

def listens():
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(os.path.join(os.environ["AGENT_STUDIO_HOME"], "window.sock"))
        except OSError:
            return False
    return True

def raise_window():
    # No window manager is there to give it the keyboard: a second start raises it.
    until(listens, "a window that hears of later starts")
    subprocess.run(json.loads(os.environ["STUDIO"]), check=True)
    frame = find("frame", "Agent Studio")
    until(lambda: frame.get_state_set().contains(Atspi.StateType.ACTIVE), "an active window")

def begin():
    Atspi.init()
    Atspi.set_timeout(int(HANG * 1000), int(HANG * 1000))  # a busy window is not a dead one
    listener = Atspi.EventListener.new(hear)
    for kind in KINDS:
        listener.register(kind)
    return listener

def tell(**found):
    print(json.dumps(found), flush=True)
"""


STUDIO = (sys.executable, "-m", "studio")
LAUNCHERS = ("/usr/libexec", "/usr/lib/at-spi2-core", "/usr/lib")


def environment(folder: Path) -> dict[str, str]:
    """That of programs on the screen; the keys and the desktop of the person are not in it."""
    run = folder / "run"
    run.mkdir(mode=0o700, parents=True)
    left_out = ("DBUS_", "DISPLAY", "WAYLAND", "AT_SPI", "QT_", "XDG_", "PYTHON")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return {
        **kept,
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(run),
        "GSETTINGS_BACKEND": "memory",
        "QT_QPA_PLATFORM": "xcb",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "PYTHONFAULTHANDLER": "1",
    }


@contextlib.asynccontextmanager
async def _running(*command: str, env: dict[str, str]) -> AsyncIterator[Process]:
    """A program in a group of its own, which is ended with all that it started."""
    process = await asyncio.create_subprocess_exec(
        *command, env=env, start_new_session=True, stdin=DEVNULL, stdout=PIPE, stderr=PIPE
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await process.communicate()


@contextlib.asynccontextmanager
async def screen(folder: Path) -> AsyncIterator[dict[str, str]]:
    """A screen and a session bus of the test's own; gives the environment to reach them."""
    xvfb, daemon = shutil.which("Xvfb"), shutil.which("dbus-daemon")
    launcher = any(Path(folder, "at-spi-bus-launcher").exists() for folder in LAUNCHERS)
    assert xvfb and daemon and launcher, f"screen readers are tried with {NEEDED}"
    env = environment(folder)
    size = ("-screen", "0", "1440x900x24", "-nolisten", "tcp")
    kept = ("-noreset",)  # when its first client goes, which may be the bus
    async with _running(xvfb, "-displayfd", "1", *size, *kept, env=env) as server:
        assert server.stdout is not None
        env["DISPLAY"] = ":" + (await server.stdout.readline()).decode().strip()
        async with _running(daemon, "--session", "--nofork", "--print-address", env=env) as bus:
            assert bus.stdout is not None
            env["DBUS_SESSION_BUS_ADDRESS"] = (await bus.stdout.readline()).decode().strip()
            yield env


async def read(env: dict[str, str], steps: str) -> dict[str, Any]:
    """Open the window and let the screen reader carry out steps, in the words of ``READER``."""
    assert Path(PYTHON).exists(), f"screen readers are tried with {NEEDED}"
    reader = (PYTHON, "-W", "ignore", "-c", READER + steps, str(HANG / 2))
    async with _running(*STUDIO, env=env) as window:
        async with _running(*reader, env={**env, "STUDIO": json.dumps(STUDIO)}) as process:
            out, errors = await process.communicate()
        with contextlib.suppress(ProcessLookupError):
            window.terminate()
        _, complaints = await window.communicate()
    found: dict[str, Any] = json.loads(out.splitlines()[-1]) if out.strip() else {}
    assert "missing" not in found, f"{found['missing']}: screen readers are tried with {NEEDED}"
    assert process.returncode == 0, errors.decode()
    assert window.returncode == 0, complaints.decode()
    return found
