"""Pack key: the key of a pack's database that is encrypted, and how SQLCipher opens it (KZ-44).

The key is made by chance and kept in the keychain. On a sheet of paper it stands in groups, with
two at the end by which a slip of the pen is noticed. SQLCipher comes with the extra ``encryption``.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import sqlite3
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from studio.domain.errors import ConfigurationError, StorageError
from studio.domain.records import dataclass

from .config.keychain import Keychain

_HEAD = b"SQLite format 3\0"
_KEY = re.compile(r"[0-9a-f]{64}")
_GROUP = 4
_CHECK = 8
"""Digits at the end of a sheet that say whether the others are right."""


@dataclass(frozen=True, slots=True)
class KeyWords:
    """What people are told about a key, in the language of a pack. ``{file}`` is the database."""

    no_key: str
    wrong: str
    old_key: str
    mistyped: str
    no_library: str
    in_use: str
    other_copy: str
    sheet: str
    outside: str
    copies: str


ENGLISH = KeyWords(
    no_key=(
        "{file} is encrypted, and its key is not in the keychain of this computer. Nothing is "
        "lost. Type the key of your recovery sheet: agent-studio packs key {pack}. If it never was "
        "encrypted, it is damaged."
    ),
    wrong="This is not the key of {file}. Nothing was changed. Look at your recovery sheet.",
    old_key=(
        "{file} was encrypted with an earlier key, which is not in the keychain of this computer. "
        "Type it from your recovery sheet first: agent-studio packs key {pack}. If nobody has it "
        "any more: agent-studio packs encrypt {pack} --new-key, and what has the earlier key is "
        "lost. Nothing was changed."
    ),
    mistyped="A key has 72 digits and letters from a to f. One of these is wrong or missing.",
    no_library=(
        "{file} is encrypted, or shall be. That needs the package sqlcipher3: "
        "pip install 'agent-studio[encryption]'"
    ),
    in_use=(
        "Another program has {file} open. Close Agent Studio and try again. Nothing was changed."
    ),
    other_copy=(
        "{file} is an encrypted copy, and these records are not encrypted. Type its key, encrypt "
        "the records with it, and try again: agent-studio packs key {pack}, then agent-studio "
        "packs encrypt {pack}. Nothing was changed."
    ),
    sheet=(
        "Recovery sheet for {file}\n\n{key}\n\nWithout this key nobody can read the records once "
        "the keychain of this computer is lost. Write it down or print it, and keep it where "
        "nobody finds it who must not read them."
    ),
    outside=(
        "Encrypted are the records alone. Files that the pack keeps in folders, chats and earlier "
        "backups are not: encrypt the disk for these."
    ),
    copies="Copies from before, which are not encrypted. Remove them when all works: {names}",
)
GERMAN = KeyWords(
    no_key=(
        "{file} ist verschlüsselt, und der Schlüssel ist nicht im Schlüsselbund dieses Rechners. "
        "Verloren ist nichts. Gib den Schlüssel von Deinem Notfallblatt ein: agent-studio packs "
        "key {pack}. War sie nie verschlüsselt, so ist sie beschädigt."
    ),
    wrong=(
        "Das ist nicht der Schlüssel zu {file}. Nichts wurde geändert. Sieh auf Deinem "
        "Notfallblatt nach."
    ),
    old_key=(
        "{file} ist mit einem früheren Schlüssel verschlüsselt, der nicht im Schlüsselbund dieses "
        "Rechners ist. Gib ihn zuerst von Deinem Notfallblatt ein: agent-studio packs key {pack}. "
        "Hat ihn niemand mehr: agent-studio packs encrypt {pack} --new-key, und was den früheren "
        "Schlüssel hat, ist verloren. Nichts wurde geändert."
    ),
    mistyped=(
        "Ein Schlüssel hat 72 Ziffern und Buchstaben von a bis f. Davon ist einer falsch, oder "
        "er fehlt."
    ),
    no_library=(
        "{file} ist verschlüsselt oder soll es werden. Dafür wird das Paket sqlcipher3 gebraucht: "
        "pip install 'agent-studio[encryption]'"
    ),
    in_use=(
        "Ein anderes Programm hat {file} offen. Schließe das Studio und versuche es noch einmal. "
        "Nichts wurde geändert."
    ),
    other_copy=(
        "{file} ist eine verschlüsselte Kopie, und die Daten hier sind nicht verschlüsselt. Gib "
        "ihren Schlüssel ein, verschlüssele die Daten damit und versuche es noch einmal: "
        "agent-studio packs key {pack}, dann agent-studio packs encrypt {pack}. Nichts wurde "
        "geändert."
    ),
    sheet=(
        "Notfallblatt für {file}\n\n{key}\n\nOhne diesen Schlüssel kann niemand die Daten lesen, "
        "wenn der Schlüsselbund dieses Rechners verloren ist. Schreib ihn ab oder drucke ihn, und "
        "hebe ihn auf, wo ihn niemand findet, der sie nicht lesen darf."
    ),
    outside=(
        "Verschlüsselt sind nur die Daten. Dateien in Ordnern, Gespräche und frühere Sicherungen "
        "sind es nicht: verschlüssele dafür die Festplatte."
    ),
    copies=(
        "Kopien von früher, die nicht verschlüsselt sind. Lösche sie, wenn alles geht: {names}"
    ),
)


def words_in(language: str) -> KeyWords:
    """The words for people of a pack in this language."""
    return GERMAN if language.lower().startswith("de") else ENGLISH


class PackKeys:
    """The keys of packs in the keychain. All of it blocks, on any thread."""

    def __init__(self, keychain: Callable[[], Keychain] = Keychain) -> None:
        self._keychain = keychain

    def read(self, pack: str) -> str | None:
        return self._ask(lambda keychain: keychain.get(_name(pack)))

    def keep(self, pack: str, key: str) -> None:
        """Raises KeychainUnavailable where it may not be there."""
        self._ask(lambda keychain: keychain.set(_name(pack), key))

    def _ask(self, ask: Callable[[Keychain], Any]) -> Any:
        async def asked() -> Any:
            keychain = self._keychain()
            try:
                return await ask(keychain)
            finally:
                keychain.close()

        with ThreadPoolExecutor(1) as pool:  # this thread may have an event loop
            return pool.submit(lambda: asyncio.run(asked())).result()


def _name(pack: str) -> str:
    return f"pack {pack}"


def new_key() -> str:
    return secrets.token_hex(32)


def on_paper(key: str) -> str:
    """``1f4a 09bc …`` in four lines, with the digits by which a slip is noticed."""
    whole = key + _check(key)
    groups = [whole[at : at + _GROUP] for at in range(0, len(whole), _GROUP)]
    return "\n".join(" ".join(groups[at : at + 6]) for at in range(0, len(groups), 6))


def from_paper(text: str) -> str:
    """The key of a sheet; raises ValueError where it was not typed as it stands there."""
    whole = re.sub(r"[\s-]", "", text.lower())
    key, check = whole[:-_CHECK], whole[-_CHECK:]
    if not _KEY.fullmatch(key) or check != _check(key):
        raise ValueError("no key")
    return key


def _check(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:_CHECK]


def is_encrypted(path: Path) -> bool:
    """Whether a file is there that is no plain database of SQLite. Raises OSError."""
    try:
        with path.open("rb") as file:
            head = file.read(len(_HEAD))
    except FileNotFoundError:
        return False
    return bool(head) and head != _HEAD


def cipher(words: KeyWords, file: Path) -> Any:
    """The module that opens encrypted files, like ``sqlite3``; raises ConfigurationError."""
    try:
        return import_module("sqlcipher3.dbapi2")
    except ImportError as error:
        raise ConfigurationError(words.no_library.format(file=file)) from error


def unlock(db: Any, key: str, words: KeyWords, file: Path) -> None:
    """Give a connection its key; raises StorageError for a wrong one."""
    db.execute("PRAGMA cipher_log_level = NONE")  # what is wrong is told below
    db.execute(f"PRAGMA key = \"x'{key}'\"")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except errors() as error:
        if "not a database" not in str(error):
            raise
        raise StorageError(words.wrong.format(file=file)) from error


def damage(path: Path, key: str) -> str:
    """What is wrong with an encrypted file, which is only read; empty if nothing is.

    Raises StorageError for another key, ConfigurationError without the library.
    """
    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(cipher(ENGLISH, path).connect(address, uri=True)) as db:
        unlock(db, key, ENGLISH, path)
        found = db.execute("PRAGMA quick_check(1)").fetchall()
    return "" if found == [("ok",)] else str(found[0][0])


def errors() -> tuple[type[Exception], ...]:
    """What SQLite raises, and SQLCipher where it was loaded, whose errors are others."""
    found = [sqlite3.Error, sqlite3.Warning]
    if (module := sys.modules.get("sqlcipher3.dbapi2")) is not None:
        found += [module.Error, module.Warning]
    return tuple(found)
