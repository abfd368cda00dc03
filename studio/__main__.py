"""``python -m studio`` and the command ``agent-studio``."""

from __future__ import annotations

import os
import sys


def main() -> int:
    _hold_streams()
    for stream in (sys.stdout, sys.stderr):  # not every terminal has every character
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        code = _main()
    except SystemExit as end:  # of the command line: help, or what is wrong with it
        code = end.code if isinstance(end.code, int) else 1
    except (KeyboardInterrupt, BrokenPipeError):  # during the imports; nobody reads the output
        code = 130
    return _flushed(code)


def _main() -> int:
    options = None
    if arguments := sys.argv[1:]:  # first, for many a command line needs no more than this
        from studio.cli import build_parser

        options = build_parser().parse_args(arguments)
        if options.command == "completion":
            from studio.cli.commands.completion import completion

            return completion(options)
    from studio.app import main

    return main(options)


def _hold_streams() -> None:
    """Take the numbers of streams that are closed: a file that is opened later must not get
    one, or what is said would be written into it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _flushed(code: int) -> int:
    """Write what is left; the exit code, another one where that cannot be done."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:  # pyright: ignore[reportUnnecessaryComparison] (it was closed)
            continue
        try:
            stream.flush()
        except OSError as error:
            from studio.cli.terminal_io import handle_flush_error

            code = handle_flush_error(stream, error, code)
    return code


if __name__ == "__main__":
    sys.exit(main())
