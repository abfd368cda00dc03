"""Secret: asks at the terminal for a password, unseen."""

from __future__ import annotations

import getpass
import sys


def ask_secret(question: str) -> str:
    """What is typed unseen, or the first line of what is piped; never an argument, which others
    on the computer could read."""
    return getpass.getpass(question) if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
