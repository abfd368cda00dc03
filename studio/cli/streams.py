"""Standard output and error where they can no longer be written to."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from .exits import CANCELLED, USAGE


def discard_output(stream: TextIO) -> None:
    """What is left to write goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def write_error_text(error: OSError) -> str:
    """What the person is told of standard output."""
    return f"Standard output cannot be written: {(error.strerror or str(error)).lower()}."


def handle_flush_error(stream: TextIO, error: OSError, code: int) -> int:
    """Leave out what was to be written at the end; the exit code of a program that does so."""
    discard_output(stream)  # or the interpreter tries once more, and complains itself
    if stream is sys.stderr:
        return code
    if isinstance(error, BrokenPipeError):  # whoever read it has gone, and will miss nothing
        return CANCELLED
    print(write_error_text(error), file=sys.stderr)
    return USAGE
