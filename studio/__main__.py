"""``python -m studio`` and the command ``agent-studio``."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

AGENT_ENDING = ".agent.md"


def main() -> int:
    _reserve_streams()
    for stream in (sys.stdout, sys.stderr):  # not every terminal has every character
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = _main()
    except SystemExit as end:  # of the command line: help, or what is wrong with it
        code = end.code if isinstance(end.code, int) else 1
    except KeyboardInterrupt:  # during the imports
        code = 130
    except BrokenPipeError:  # the reader has gone, and misses nothing
        code = 0
    return _flushed(code)


def _main() -> int:
    options, wanted = None, ""
    arguments = sys.argv[1:]
    if len(arguments) == 1 and _is_for_the_window(word := _path_of(arguments[0])):
        wanted = word
    elif arguments:  # first: help, the version and wrong use need no more
        from studio.cli import build_parser
        from studio.cli.commands import COMMANDS

        if arguments[0][:1] != "-" and arguments[0] not in COMMANDS:
            arguments = _of_a_pack(arguments)
        options = build_parser().parse_args(arguments)
        if options.command == "completion":  # runs with every Tab, so without the imports below
            from studio.cli.commands.completion import complete

            return complete(options)
    if options is None:
        gc.disable()  # imports make no garbage; the window turns it on again
    from studio.app import main

    return main(options, wanted)


def _of_a_pack(arguments: list[str]) -> list[str]:
    """``agent-studio notes list`` is a command of the pack ``notes``, if the person has that."""
    from studio.cli.commands.packs import pack_command
    from studio.storage.paths import Paths

    return pack_command(arguments, Paths.default().packs / "packs.json") or arguments


def _path_of(word: str) -> str:
    """The path of a ``file:`` address of this computer, which desktops hand over; else the word."""
    if word[:5].lower() != "file:":
        return word
    from urllib.parse import unquote_to_bytes, urlsplit

    try:
        parts = urlsplit(word)
    except ValueError:
        return word
    if parts.netloc.lower() not in ("", "localhost"):
        return word
    if sys.platform == "win32":
        from urllib.request import url2pathname

        return url2pathname(parts.path)
    return os.fsdecode(unquote_to_bytes(parts.path))  # a name may be no UTF-8


def _is_for_the_window(word: str) -> bool:
    """Whether it is a link, ``--quick-ask``, a file of an agent that is opened with the program,
    or a folder: ``.`` or a path with a separator."""
    if word == "--quick-ask" or word[:13].lower() == "agent-studio:":
        return True
    try:
        path = Path(word)
        if word.endswith(AGENT_ENDING):
            return path.is_file()
        return (word in (".", "..") or path.name != word) and path.is_dir()
    except (OSError, ValueError):  # too long for a path, or with a null character
        return False


def _reserve_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Otherwise a file that is opened later gets its number, and output is written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _flushed(code: int) -> int:
    """Write what is left in the streams; returns the exit code, changed if that fails."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # pyright: ignore[reportUnnecessaryComparison] (it was closed)
            continue
        if stream.closed:  # by asyncio, when the editor at the other end has gone
            continue
        try:
            stream.flush()
        except OSError as error:
            from studio.cli.console import handle_flush_error

            code = handle_flush_error(stream, error, code)
    return code


if __name__ == "__main__":
    sys.exit(main())
