"""Translates the texts on screen with gettext, and knows the person's locale.

English stands in the code and is the key: ``tr("Delete chat")``. What changes is put in after the
look-up, by name: ``tr("Deleted {name}.").format(name=name)``. Never join sentences from parts.

The catalogues are ``resources/translations/<language>.po``. They are read as they are: to compile
one takes some milliseconds, and then nothing compiled can be out of date.
"""

from __future__ import annotations

import gettext
import json
import re
import struct
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import studio

if TYPE_CHECKING:  # the models of the window, which are free of Qt, look up texts too
    from PySide6.QtCore import QCoreApplication, QLocale

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The languages of the window, each with its own name for itself."""
_USUAL = {"en": "en_US", "de": "de_DE"}
_ENTRY = re.compile(r'^(msg\w+)(?:\[\d\])? ((?:".*"\n?)+)', re.M)
_JOINT = re.compile(r'"\n"')

_catalogue = gettext.NullTranslations()
_language = "en"
_locale: QLocale | None = None


def tr(text: str) -> str:
    """The text in the person's language."""
    return _catalogue.gettext(text) if text else ""


def tr_plural(one: str, many: str, count: int, **values: object) -> str:
    """The form for this count; both are templates, into which ``{count}`` and values are put."""
    form = _catalogue.ngettext(one, many, count)
    return form.format(count=locale().toString(count), **values)


def tr_in(context: str, text: str) -> str:
    """``tr`` where one English word has two meanings: ``tr_in("state of a file", "open")``."""
    return _catalogue.pgettext(context, text)


def tr_later(text: str) -> str:
    """Marks a text in a table, which ``tr`` translates when it is shown; returns it as it is."""
    return text


_TEXT_MENU = {"Delete": tr_later("&Delete"), "Select All": tr_later("Select &All")}
"""Lines of the menu of text fields that Qt gives no letter, with one."""


def language() -> str:
    """The key in ``LANGUAGES`` of the language in use."""
    return _language


def locale() -> QLocale:
    """How numbers, money and dates are written in the language of the window."""
    global _locale
    if _locale is None:
        from PySide6.QtCore import QLocale

        _locale = QLocale(_USUAL.get(_language, "en_US"))
    return _locale


def locales_of_person() -> list[str]:
    """The locales that the person reads, as in ``de_DE``: the window's and the desktop's."""
    from PySide6.QtCore import QLocale

    desktop = (name.replace("-", "_") for name in QLocale.system().uiLanguages())
    return list(dict.fromkeys([locale().name(), *desktop]))


def found_language(wanted: str) -> str:
    """The key in ``LANGUAGES`` of what is wanted; "system" is the language of the desktop."""
    from PySide6.QtCore import QLocale

    if wanted in LANGUAGES:
        return wanted
    known = [name.partition("-")[0] for name in QLocale.system().uiLanguages()]
    return next((name for name in known if name in LANGUAGES), "en")


def use(wanted: str, app: QCoreApplication | None = None) -> None:
    """Write all texts in the language ``wanted`` from now on, see ``found_language``.

    What is on screen already stays: windows are made anew for it. Texts of Qt's own dialogs
    change with those of ``app``. The person's own way with numbers stays where it is of that
    language.
    """
    global _catalogue, _language, _locale
    from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator

    system = QLocale.system()
    _language = wanted = found_language(wanted)
    usual = QLocale(_USUAL[wanted])
    _locale = system if system.language() == usual.language() else usual
    if app is not None:
        for earlier in app.findChildren(QTranslator):
            app.removeTranslator(earlier)
            earlier.deleteLater()
    _catalogue = gettext.NullTranslations()
    if wanted != "en":
        _catalogue = gettext.GNUTranslations(BytesIO(_compiled(_read(wanted))))
    if app is not None:
        from .qt_texts import QtTexts

        lines = {line: tr(text) for line, text in _TEXT_MENU.items()}
        qt, folder = (
            QtTexts(app, lines),
            QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath),
        )
        if wanted != "en":
            qt.load(usual, "qtbase", "_", folder)
        app.installTranslator(qt)


def _read(language: str) -> str:
    package = Path(studio.__file__).parent
    inside = package / "resources" / "translations"
    folder = inside if inside.is_dir() else package.parent / "resources" / "translations"
    return (folder / f"{language}.po").read_text("utf-8")


def _compiled(catalogue: str) -> bytes:
    """A ``.po`` catalogue in the binary form that gettext reads; without what has no translation.

    Of two entries for one text, as a merge may leave them, the later counts.
    """
    entries: dict[bytes, bytes] = {}
    for block in catalogue.split("\n\n"):
        if "\n#, fuzzy" in f"\n{block}":
            continue
        context, key, forms = "", "", list[str]()
        for kind, quoted in _ENTRY.findall(block):
            text = _JOINT.sub("", quoted.rstrip("\n"))
            text = json.loads(text) if "\\" in text else text[1:-1]
            if kind == "msgctxt":
                context = text + "\4"
            elif kind == "msgstr":
                forms.append(text)
            else:
                key += "\0" + text if kind == "msgid_plural" else text
        if forms and all(forms):
            entries[(context + key).encode()] = "\0".join(forms).encode()
    head = 28
    place = head + 16 * len(entries)
    table, body = bytearray(), bytearray()
    for side in (entries.keys(), entries.values()):
        for text in side:
            table += struct.pack("<II", len(text), place + len(body))
            body += text + b"\0"
    middle = head + 8 * len(entries)
    start = struct.pack("<7I", 0x950412DE, 0, len(entries), head, middle, 0, 0)
    return start + bytes(table) + bytes(body)
