"""Another language for a test, and a language that marks what was looked up."""

from __future__ import annotations

import gettext
from collections.abc import Iterator
from contextlib import contextmanager

from studio.ui import translation


class Marking(gettext.NullTranslations):
    """Each text in brackets, so that a text without them was never looked up."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid1 if n == 1 else msgid2}⟧"

    def pgettext(self, context: str, message: str) -> str:
        return f"⟦{message}⟧"


@contextmanager
def language(name: str) -> Iterator[None]:
    """All texts in a language of ours, or in brackets: "marked". English afterwards."""
    before = translation._catalogue, translation._language, translation._locale
    try:
        if name == "marked":
            translation._catalogue, translation._language = Marking(), "marked"
        else:
            translation.use(name)
        yield
    finally:
        translation._catalogue, translation._language, translation._locale = before
