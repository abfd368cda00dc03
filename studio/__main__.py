"""``python -m studio`` and the command ``agent-studio``."""

from __future__ import annotations

import sys


def main() -> int:
    for stream in (sys.stdout, sys.stderr):  # not every terminal has every character
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    try:
        options = None
        if arguments := sys.argv[1:]:  # first, for many a command line needs no more than this
            from studio.cli import parser

            options = parser().parse_args(arguments)
            if options.command == "completion":
                from studio.cli.completion import completion

                return completion(options)
        from studio.app import main

        return main(options)
    except KeyboardInterrupt:  # during the imports
        return 130


if __name__ == "__main__":
    sys.exit(main())
