"""Imports Qt, and leaves out what it brings for the writing of programs with it.

With its first module Qt for Python puts an import of its own in place of Python's. That one looks
for ``PySide6`` in the source of every module that is imported later, for the switch to names in
snake case, which nothing here uses: 9 MB of source are read and kept in memory, for a fifth of the
processor time that a start takes.

It also compiles, at each start anew, the modules that tell signatures: for help texts, for stubs,
and for the message of an error when a method gets arguments that it does not take. That is a tenth
of a start. Here they are compiled when the first signature is wanted.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import Any

PACKAGE = "shibokensupport.signature"
LATE = {
    *("errorhandler", "layout", "parser"),
    *("lib.enum_sig", "lib.pyi_generator", "lib.tool"),
}
"""Modules of ``PACKAGE`` that nothing needs until a signature is wanted.

Not ``mapping``: the library in C looks into that one's dictionary, which asks for nothing.
"""

_lock = RLock()


class _LateModule(ModuleType):
    """A module that is compiled when the first thing is asked of it."""

    def __init__(self, spec: ModuleSpec) -> None:
        super().__init__(spec.name)
        self.__spec__ = ModuleSpec(spec.name, spec.loader)  # Qt for Python gives it another name
        self._wanted: ModuleSpec | None = spec

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):  # those are asked of each module that there is
            with _lock:
                self._compile()
        try:
            return self.__dict__[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None

    def _compile(self) -> None:
        spec, self._wanted = self._wanted, None
        if spec is None or spec.loader is None:
            return
        named, self.__spec__ = self.__spec__, spec
        spec.loader.exec_module(self)
        self.__spec__ = named


def import_qt() -> None:
    """Call it before anything else imports Qt."""
    own = builtins.__import__

    def late(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        if name.startswith(PACKAGE):
            for part in fromlist or ():
                _put_late_module(f"{name}.{part}")
        return own(name, globals, locals, fromlist or (), level)

    builtins.__import__ = late
    try:
        import PySide6.QtCore  # noqa: F401
    finally:
        builtins.__import__ = own


def _put_late_module(name: str) -> None:
    if name.removeprefix(f"{PACKAGE}.") in LATE and name not in sys.modules:
        spec = find_spec(name)
        if spec is not None:
            sys.modules[name] = _LateModule(spec)
