"""``python -m studio.simulator [--port N] [--no-pace]``"""

from __future__ import annotations

import argparse
import asyncio
import contextlib

from .simulator import serve


def main() -> None:
    parser = argparse.ArgumentParser(prog="simulate", description="A simulated provider.")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on")
    parser.add_argument("--no-pace", action="store_true", help="answer as fast as possible")
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments.port, pace=not arguments.no_pace))


if __name__ == "__main__":
    main()
