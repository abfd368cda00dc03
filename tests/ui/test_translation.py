"""Texts on screen are looked up by their English."""

from __future__ import annotations

import ast
import gettext
import re
import struct
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po
from PySide6.QtCore import QLocale, QTranslator
from PySide6.QtWidgets import QApplication, QDialogButtonBox

from studio.ui import formatting, translation
from studio.ui.settings import amount_field
from studio.ui.translation import tr, tr_in, tr_later, tr_plural
from support.languages import language


def test_english_stands_in_the_code() -> None:
    assert tr("Delete chat") == tr_later("Delete chat") == tr_in("button", "Delete chat")
    assert tr("") == ""
    assert tr_plural("{count} file", "{count} files", 1) == "1 file"
    assert tr_plural("{count} file in {name}", "{count} files in {name}", 1200, name="a") == (
        "1,200 files in a"
    )


CATALOGUE = r"""
msgid ""
msgstr ""
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"Content-Type: text/plain; charset=utf-8\n"

msgid "Say \"no\""
msgstr ""
"„Nein“ sagen\n"
"und \\ gehen"

msgctxt "verb"
msgid "open"
msgstr "öffnen"

msgid "open"
msgstr "offen"

#, python-brace-format
msgid "{count} file"
msgid_plural "{count} files"
msgstr[0] "{count} Datei"
msgstr[1] "{count} Dateien"

#, fuzzy
msgid "guessed"
msgstr "geraten"

msgid "missing"
msgstr ""

msgid "twice"
msgstr "erst"

msgid "twice"
msgstr "zuletzt"

#~ msgid "gone"
#~ msgstr "fort"
"""


def test_a_catalogue_is_read_as_translators_leave_it() -> None:
    found = gettext.GNUTranslations(BytesIO(translation._compiled(CATALOGUE)))
    assert found.gettext('Say "no"') == "„Nein“ sagen\nund \\ gehen"
    assert (found.pgettext("verb", "open"), found.gettext("open")) == ("öffnen", "offen")
    forms = [found.ngettext("{count} file", "{count} files", n) for n in (0, 1, 2)]
    assert forms == ["{count} Dateien", "{count} Datei", "{count} Dateien"]
    for left in ("guessed", "missing", "gone"):
        assert found.gettext(left) == left
    assert found.gettext("twice") == "zuletzt"


@pytest.fixture
def german():
    with language("de"):
        yield


@pytest.mark.usefixtures("german")
def test_numbers_money_and_dates_in_german() -> None:
    assert formatting.number(1_234_567) == "1.234.567"
    assert formatting.decimal(1234.5) == "1.234,5"
    assert formatting.dollars(0.42) == "0,42\N{NO-BREAK SPACE}$"
    assert formatting.price(3, 0.075) == "3\N{NO-BREAK SPACE}$ / 0,075\N{NO-BREAK SPACE}$"
    assert formatting.day("2026-11-24") == "24.11.2026"
    assert formatting.month("2026-03") == "März 2026"
    assert formatting.ago(185) == "vor 3\N{NO-BREAK SPACE}Min."
    assert formatting.ago(3 * 86400) == "vor 3\N{NO-BREAK SPACE}Tagen"


def test_entries_are_apart() -> None:
    """A merge may drop the empty line between two, and then neither is found."""
    for name in translation.LANGUAGES.keys() - {"en"}:
        blocks = translation._read(name).split("\n\n")
        joined = [one for one in blocks if len(re.findall(r"^msgid ", one, re.M)) > 1]
        assert not joined, joined


def test_each_entry_is_on_screen() -> None:
    """One that is fuzzy, has a broken line, or stands twice would drop out without a word."""
    for name in translation.LANGUAGES.keys() - {"en"}:
        text = translation._read(name)
        (count,) = struct.unpack_from("<I", translation._compiled(text), 8)
        assert count == len(re.findall(r"^[ \t]*msgid[ \t]", text, re.M)), name


def test_the_language_of_the_desktop(monkeypatch: pytest.MonkeyPatch) -> None:
    desktop = QLocale("de_CH")
    monkeypatch.setattr(QLocale, "system", lambda: desktop)
    with language("system"):
        assert tr("Language") == "Sprache"
        assert translation.locale() == desktop, "the person's own way with numbers"
    with language("en"):
        assert (tr("Language"), translation.locale()) == ("Language", QLocale("en_US"))
    desktop = QLocale("fr_FR")
    with language("system"):
        assert tr("Language") == "Language", "there is no French yet"


def test_texts_of_qt_are_german_too(qapp: QApplication) -> None:
    with language("en"):
        translation.use("de", qapp)
        box = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        try:
            assert box.button(QDialogButtonBox.StandardButton.Cancel).text() == "Abbrechen"
        finally:
            for one in qapp.findChildren(QTranslator):
                qapp.removeTranslator(one)
                one.deleteLater()
            box.deleteLater()


@pytest.mark.usefixtures("german")
def test_amounts_are_read_as_they_are_shown_in_german() -> None:
    for value, unit in ((5, amount_field.dollars), (1234.5, amount_field.dollars),
                        (200_000, amount_field.tokens), (30, amount_field.seconds),
                        (1, amount_field.steps), (2, amount_field.requests)):  # fmt: skip
        assert amount_field.parse_amount(unit(value)) == value, unit(value)
    assert amount_field.parse_amount("Ohne Grenze") == 0
    assert amount_field.parse_amount("1.234,5") == 1234.5
    assert amount_field.parse_amount("1,5M") == amount_field.parse_amount("1,5 Mio.") == 1.5e6
    assert amount_field.parse_amount("viel") is None


def test_german_is_whole_and_keeps_the_values() -> None:
    keywords = {"tr": None, "tr_plural": (1, 2), "tr_in": ((1, "c"), 2), "tr_later": None}
    package = Path(translation.__file__).parent
    wanted: set[tuple[str | None, str]] = set()
    for _, _, message, _, context in extract_from_dir(package, keywords=keywords):
        wanted.add((context, message[0] if isinstance(message, tuple) else message))
    catalogue = package.parents[1] / "resources" / "translations" / "de.po"
    with catalogue.open("rb") as file:
        entries = [entry for entry in read_po(file, locale="de") if entry.id]
    wrong, done = list[str](), set[tuple[str | None, str]]()
    for entry in entries:
        texts = entry.id if isinstance(entry.id, tuple | list) else (entry.id,)
        forms = entry.string if isinstance(entry.string, tuple | list) else (entry.string,)
        if all(forms):
            done.add((entry.context, texts[0]))
            known = set(re.findall(r"\{\w*\}", "".join(texts)))
            wrong += [f"{texts}: {form}" for form in forms if not fits(form, known)]
    assert not wrong, "\n".join(wrong)
    missing = wanted - done
    assert not missing, f"Run make translations, and write the German of {missing}."


def test_every_text_is_where_the_catalogue_is_made_from() -> None:
    """Babel reads no look-up inside an f-string."""
    hidden: list[str] = []
    for path in Path(translation.__file__).parent.rglob("*.py"):
        for text in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(text, ast.JoinedStr):
                hidden += [
                    f"{path.name}:{call.lineno}"
                    for call in ast.walk(text)
                    if isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id.startswith("tr")
                    and any(isinstance(one, ast.Constant) for one in call.args)
                ]
    assert not hidden


def fits(form: str, known: set[str]) -> bool:
    """Whether a translation has the values of its text, but perhaps for the count of one."""
    return known - {"{count}"} <= set(re.findall(r"\{\w*\}", form)) <= known
