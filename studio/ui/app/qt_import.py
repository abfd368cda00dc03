"""Imports Qt, and leaves Python its own ``import``.

With its first module Qt for Python puts an import of its own in place of Python's. That one looks
for ``PySide6`` in the source of every module that is imported later, for the switch to names in
snake case, which nothing here uses: 9 MB of source are read and kept in memory, for a fifth of the
processor time that a start takes.
"""

from __future__ import annotations

import builtins


def import_qt() -> None:
    """Call it before anything else imports Qt."""
    own = builtins.__import__
    import PySide6.QtCore  # noqa: F401

    builtins.__import__ = own
