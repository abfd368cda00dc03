"""``python -m studio`` and the command ``agent-studio``."""

from __future__ import annotations

import sys


def main() -> int:
    try:
        from studio.app import main

        return main(sys.argv[1:])
    except KeyboardInterrupt:  # during the imports
        return 130


if __name__ == "__main__":
    sys.exit(main())
