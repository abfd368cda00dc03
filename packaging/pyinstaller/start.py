"""Starts the packaged program: its commands, and those parts of it that run as processes.

Such a part is started as ``sys.executable -m studio.…``, and the keeper of commands as a script
with ``-I -S``. In a package ``sys.executable`` is this program, so it understands the same.
"""

from __future__ import annotations

import os
import runpy
import sys

KEEPER = "studio.processes.keeper_process"


def forget_library_path() -> None:
    """Give programs that this one starts the system's libraries, and not the packaged ones.

    PyInstaller's own variables go too: with these its start takes a part of this program for one
    that has the path already, and the built-in model finds no libgomp where the system has none.
    """
    before = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if before is not None:
        os.environ["LD_LIBRARY_PATH"] = before
    for name in [one for one in os.environ if one.startswith("_PYI_")]:
        del os.environ[name]


def part_of(arguments: list[str]) -> str:
    """The module that is to be run in place of the program; empty for the program."""
    if arguments[:1] == ["-m"] and len(arguments) > 1:
        return arguments[1] if arguments[1].partition(".")[0] == "studio" else ""
    if arguments[:2] == ["-I", "-S"] and len(arguments) == 3:
        return KEEPER if os.path.basename(arguments[2]).startswith("keeper_process.") else ""  # noqa: PTH119
    return ""


def main() -> None:
    forget_library_path()
    if part := part_of(sys.argv[1:]):
        sys.argv = [sys.argv[0], *sys.argv[3:]]
        runpy.run_module(part, run_name="__main__", alter_sys=True)
        return
    from studio.__main__ import main as program

    sys.exit(program())


if __name__ == "__main__":
    main()
