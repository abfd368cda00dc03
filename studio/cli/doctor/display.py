"""Checks whether the window can open: the display, and the libraries that Qt needs."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from . import Finding

PACKAGES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libGLX.so.0": "libglx0",
    "libOpenGL.so.0": "libopengl0",
    "libICE.so.6": "libice6",
    "libSM.so.6": "libsm6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
    "libwayland-egl.so.1": "libwayland-egl1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-glx.so.0": "libxcb-glx0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xinput.so.0": "libxcb-xinput0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxkbcommon.so.0": "libxkbcommon0",
}
"""The Debian package of each system library that Qt needs."""
_MISSING = re.compile(r"^[^\S\n]*(\S+) => not found", re.MULTILINE)
_PLUGINS = {"xcb": ("libqxcb.so",), "wayland": ("libqwayland.so", "libqwayland-generic.so")}


def check_display() -> Finding:
    """Check the display on Linux; other systems have what is needed. Blocks."""
    name = "Display"
    if not sys.platform.startswith("linux"):
        return Finding(name, "ok", "the system’s own")
    x11, wayland = os.environ.get("DISPLAY", ""), os.environ.get("WAYLAND_DISPLAY", "")
    wanted = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0].partition(";")[0]
    where = ", ".join(filter(None, [wayland and f"Wayland {wayland}", x11 and f"X11 {x11}"]))
    platform = wanted or ("xcb" if x11 or not wayland else "wayland")
    missing = _missing(platform)
    packages = " ".join(sorted({PACKAGES.get(library, library) for library in missing}))
    advice = f"sudo apt install {packages}" if packages else ""
    if wanted and wanted not in _PLUGINS:
        return Finding(name, "ok", f"Qt is told to use {wanted} (QT_QPA_PLATFORM)")
    if not where:
        text = "none here, so the window cannot open"
        if missing:
            text += f"; it would also lack {', '.join(missing)}"
        return Finding(name, "note", text, advice or "In a terminal use: agent-studio chat")
    if missing:
        text = f"{where}, but the window lacks {', '.join(missing)}"
        return Finding(name, "broken", text, advice)
    return Finding(name, "ok", where)


def _missing(platform: str) -> list[str]:
    """Libraries that Qt's plugin for a platform needs and the system lacks."""
    found = importlib.util.find_spec("PySide6")
    ldd = shutil.which("ldd", path="/usr/bin:/bin")
    if ldd is None:
        return []
    missing: set[str] = set()
    for place in (found.submodule_search_locations or []) if found else []:
        folder = Path(place, "Qt", "plugins", "platforms")
        for plugin in _PLUGINS.get(platform, ()):
            if (folder / plugin).is_file():
                done = subprocess.run(
                    [ldd, str(folder / plugin)],
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=3.0,
                    check=False,
                )
                missing |= set(_MISSING.findall(done.stdout))
    return sorted(missing)
