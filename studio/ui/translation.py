"""Translates the texts on screen with gettext.

English stands in the code and is the key: ``tr("Delete chat")``. What changes is put in after the
look-up, by name: ``tr("Deleted {name}.").format(name=name)``. Never join sentences from parts.
"""

from __future__ import annotations

import gettext

_catalogue = gettext.NullTranslations()


def tr(text: str) -> str:
    """The text in the person's language."""
    return _catalogue.gettext(text) if text else ""


def tr_plural(one: str, many: str, count: int) -> str:
    """The form for this count; both are templates with ``{count}``, which is put in."""
    return _catalogue.ngettext(one, many, count).format(count=count)


def tr_in(context: str, text: str) -> str:
    """``tr`` where one English word has two meanings: ``tr_in("state of a file", "open")``."""
    return _catalogue.pgettext(context, text)


def tr_later(text: str) -> str:
    """Marks a text in a table, which ``tr`` translates when it is shown; returns it as it is."""
    return text
