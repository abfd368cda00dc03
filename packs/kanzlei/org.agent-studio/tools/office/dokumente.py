"""Dokumente: files in the folder of their Akte, with text and digest in the records (KZ-12).

Any program may read and change the files. What was changed outside becomes a new version; what is
gone is said.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from studio.packs import Home, Person, ToolFailed, Value, dataclass

from .._patterns import lazy_pattern
from .akten import Akte, visible
from .history import note, now
from .persons import number_of
from .sealing import is_sealed
from .settings import OfficeSettings
from .texts import Words, read_file, words_of

_COLUMNS = (
    "SELECT dokument.*, version.id AS stand, version.nummer, version.sha256, version.ohne_text, "
    "(SELECT COUNT(*) FROM seite WHERE seite.version = version.id) AS seiten, "
    "(SELECT substr(text, 1, 200) FROM seite WHERE seite.version = version.id AND text != '' "
    "ORDER BY seite.nummer LIMIT 1) AS anfang "
    "FROM dokument JOIN akte ON akte.id = dokument.akte JOIN version ON version.dokument = "
    "dokument.id AND version.nummer = "
    "(SELECT MAX(v.nummer) FROM version AS v WHERE v.dokument = dokument.id)"
)
MOST_FILES = 5_000
"""Files in the folder of one Akte that are looked at."""
KEPT = " vor "
"""Between the name of the root and a day: what was there before a backup was brought back."""
_UNSAFE = lazy_pattern(r"[^\w .,()+§&-]+")
_RESERVED = lazy_pattern(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?$")


@dataclass(frozen=True, slots=True)
class Dokument:
    """One document as it was last seen. ``begin`` is the start of its text."""

    id: int
    akte: int
    folder: str
    name: str
    kind: str
    date: str
    version: int
    digest: str
    pages: int
    begin: str
    missing: str
    stand: int

    @property
    def address(self) -> str:
        return f"kanzlei:akte/{self.akte}/dokument/{self.id}"


@dataclass(frozen=True, slots=True)
class Anew:
    """A file that is not known as it is now; ``version`` is the last that is known, 0 for none."""

    folder: str
    name: str
    digest: str
    version: int

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}" if self.folder else self.name


class Dokumente:
    """The documents of the office. All of it blocks."""

    def __init__(self, home: Home) -> None:
        self._home, self._records = home, home.records

    def folder_of(self, akte: Akte) -> Path:
        """Where the files of an Akte are."""
        return self.root / _file_name(akte.az.replace("/", "-"))

    def open_folder(self, akte: Akte) -> Path:
        """The same, where its files lie open; raises ToolFailed while they are sealed (KZ-44)."""
        folder = self.folder_of(akte)
        if is_sealed(folder):
            raise ToolFailed(
                f"Die Dateien der Akte {akte.az} sind verschlossen. Öffne sie zuerst: "
                f"agent-studio kanzlei oeffnen {akte.az}"
            )
        return folder

    @property
    def templates(self) -> Path:
        """Where the office has templates of its own."""
        return self.root.parent / "Muster"

    @property
    def root(self) -> Path:
        """Where the folders of the Akten are."""
        root = self._home.settings(OfficeSettings).ordner
        return Path(root).expanduser() if root else Path.home() / "Kanzlei" / "Akten"

    def places(self) -> list[Path]:
        """Where documents are: the root, and what backups that were brought back left beside it."""
        root = self.root
        return [root, *root.parent.glob(f"{glob.escape(root.name)}{KEPT}*")]

    def find(
        self, akte: Akte, *, words: str = "", folder: str = "", kind: str = "", since: str = ""
    ) -> list[Dokument]:
        """Those of an Akte that the person may see, the newest first; the words are in name or
        text."""
        sql, values = f"{_COLUMNS} WHERE dokument.akte = ?", cast("list[Value]", [akte.id])
        for column, value in (("ordner", folder), ("art", kind)):
            if value:
                sql, values = f"{sql} AND dokument.{column} = ?", [*values, value]
        if since:
            sql, values = (
                f"{sql} AND coalesce(dokument.datum, dokument.angelegt) >= ?",
                [*values, since],
            )
        for word in words.split():
            like = "%" + re.sub(r"([\\%_])", r"\\\1", word) + "%"
            sql += (
                " AND (dokument.name LIKE ? ESCAPE '\\' OR EXISTS (SELECT 1 FROM seite WHERE "
                "seite.version = version.id AND seite.text LIKE ? ESCAPE '\\'))"
            )
            values += [like, like]
        rows = self._records.read(f"{sql} ORDER BY dokument.id DESC", *values)
        return [_dokument(row) for row in rows]

    def get(self, person: Person, number: int) -> Dokument:
        """One by its id; raises ToolFailed where there is none to see."""
        allowed, values = visible(person)
        sql = f"{_COLUMNS} WHERE dokument.id = ? AND {allowed}"
        rows = self._records.read(sql, number, *values)
        if not rows:
            raise ToolFailed(
                f"Es gibt kein Dokument {number}, oder es ist für {person.name} nicht zugänglich."
            )
        return _dokument(rows[0])

    def digests(self, akte: Akte) -> set[str]:
        """The digests of all that an Akte has or had."""
        sql = (
            "SELECT sha256 FROM version JOIN dokument ON dokument.id = version.dokument "
            "WHERE dokument.akte = ?"
        )
        return {str(row["sha256"]) for row in self._records.read(sql, akte.id)}

    def pages(self, dokument: Dokument, version: int = 0) -> dict[int, str]:
        """The text by page, of the last version or of another; raises ToolFailed for none."""
        stand: Value = dokument.stand
        if version:
            sql = "SELECT id FROM version WHERE dokument = ? AND nummer = ?"
            found = self._records.read(sql, dokument.id, version)
            if not found:
                raise ToolFailed(f"{dokument.name} hat keine Version {version}.")
            stand = found[0]["id"]
        rows = self._records.read(
            "SELECT nummer, text FROM seite WHERE version = ? ORDER BY nummer", stand
        )
        return {cast("int", row["nummer"]): str(row["text"]) for row in rows}

    def add(
        self, person: Person, akte: Akte, source: Path, *, folder: str = "", kind: str = ""
    ) -> Dokument:
        """Copy a file into the folder of an Akte and keep its text; raises ToolFailed."""
        return self.keep(person, akte, source.name, read_file(source), folder=folder, kind=kind)

    def keep(
        self,
        person: Person,
        akte: Akte,
        name: str,
        data: bytes,
        *,
        folder: str = "",
        kind: str = "",
        date: str = "",
    ) -> Dokument:
        """Write a file into the folder of an Akte and keep its text; raises ToolFailed.

        ``date`` is the day of the document itself, where it is known.
        """
        folder = folder_name(folder)
        place = self.open_folder(akte) / folder
        try:
            path = _placed(data, place, _file_name(name))
        except OSError as error:
            raise ToolFailed(f"{place} kann nicht beschrieben werden: {error.strerror}.") from error
        words = words_of(path.name, data)
        try:
            with self._records.together():
                number = self._records.write(
                    "INSERT INTO dokument (akte, ordner, name, art, datum, angelegt) "
                    "VALUES (?, ?, ?, ?, ?, ?)",
                    *(akte.id, folder, path.name, kind, date or None, now()),
                )
                self._add_version(person, number, 1, data, words)
                note(
                    self._records,
                    person,
                    akte.id,
                    "dokument",
                    number,
                    field="angelegt",
                    new=path.name,
                )
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return self.get(person, number)

    def enter(
        self,
        person: Person,
        akte: Akte,
        name: str,
        data: bytes,
        *,
        folder: str = "",
        kind: str = "",
        draft: str | None = None,
    ) -> int:
        """Keep what lies in its place already: a new document, or a new version of one."""
        words = words_of(name, data)
        sql = "SELECT id FROM dokument WHERE akte = ? AND ordner = ? AND name = ?"
        with self._records.together():
            known = self._records.read(sql, akte.id, folder, name)
            if known:
                number = cast("int", known[0]["id"])
            else:
                number = self._records.write(
                    "INSERT INTO dokument (akte, ordner, name, art, angelegt) "
                    "VALUES (?, ?, ?, ?, ?)",
                    *(akte.id, folder, name, kind, now()),
                )
            found = self._records.read(
                "SELECT MAX(nummer) AS last FROM version WHERE dokument = ?", number
            )
            last = found[0]["last"]
            version = (last if isinstance(last, int) else 0) + 1
            self._add_version(person, number, version, data, words, draft)
            note(
                self._records,
                person,
                akte.id,
                "dokument",
                number,
                field="version" if known else "angelegt",
                old=version - 1 if known else None,
                new=version if known else name,
                draft=draft,
            )
        return number

    def take_back(self, person: Person, akte: Akte, draft: str) -> None:
        """Remove the versions that came of a draft; raises ToolFailed where there is a newer one.

        The history stays; the files are the caller's.
        """
        sql = (
            "SELECT version.*, dokument.name FROM version JOIN dokument ON dokument.id = "
            "version.dokument WHERE version.entwurf = ?"
        )
        with self._records.together():
            for row in self._records.read(sql, draft):
                newer = "SELECT 1 FROM version WHERE dokument = ? AND nummer > ?"
                number, document = row["nummer"], cast("int", row["dokument"])
                if self._records.read(newer, document, number):
                    raise ToolFailed(f"{row['name']} hat seither eine neuere Version.")
                self._records.write("DELETE FROM seite WHERE version = ?", row["id"])
                self._records.write("DELETE FROM version WHERE id = ?", row["id"])
                if number == 1:
                    self._records.write("DELETE FROM dokument WHERE id = ?", document)
                note(
                    self._records,
                    person,
                    akte.id,
                    "dokument",
                    document,
                    field="version",
                    old=number,
                    draft=draft,
                )

    def free_name(self, akte: Akte, folder: str, name: str) -> str:
        """A name that no file of the folder has, also in another program's spelling."""
        place = self.folder_of(akte) / folder
        stem, _, ending = _file_name(name).rpartition(".")
        taken = {one.name.casefold() for one in place.iterdir()} if place.is_dir() else set[str]()
        for count in range(1, 1000):
            found = f"{stem}{'' if count == 1 else f' ({count})'}.{ending}"
            if found.casefold() not in taken:
                return found
        raise ToolFailed(f"In {place} gibt es {name} schon tausendmal.")

    def anew(self, akte: Akte, numbers: Sequence[int] = ()) -> list[Anew]:
        """The files of an Akte that are not known as they are now; of some documents, or all.

        Files that no document has are among all.
        """
        place, found = self.open_folder(akte), list[Anew]()
        known = {(one.folder, one.name): one for one in self.find(akte)}
        if wrong := set(numbers) - {one.id for one in known.values()}:
            raise ToolFailed(f"In der Akte {akte.az} gibt es kein Dokument {min(wrong)}.")
        wanted = {key: one for key, one in known.items() if not numbers or one.id in numbers}
        names: list[tuple[str, str]] = [*wanted]
        if not numbers:
            names += [one for one in _files(place) if one not in known]
        for folder, name in names:
            document = known.get((folder, name))
            try:
                digest = hashlib.sha256(_inside(place, place / folder / name)).hexdigest()
            except ToolFailed:
                continue  # it is gone, which reading it says
            if document is None or document.digest != digest:
                version = document.version if document else 0
                found.append(Anew(folder, name, digest, version))
        return found

    def content(self, akte: Akte, folder: str, name: str) -> bytes:
        """The bytes of a file of an Akte; raises ToolFailed where it leads out of its folder."""
        place = self.open_folder(akte)
        return _inside(place, place / folder / name)

    def refresh(self, person: Person, akte: Akte, dokument: Dokument) -> tuple[Dokument, str]:
        """Look at the file: what changed is a new version. Returns the document, and what is wrong
        with its file."""
        try:
            data = self.content(akte, dokument.folder, dokument.name)
        except ToolFailed as error:
            sealed = is_sealed(self.folder_of(akte))
            return dokument, str(
                error
            ) if sealed else f"Die Datei fehlt oder ist nicht lesbar: {error}"
        if hashlib.sha256(data).hexdigest() == dokument.digest:
            return dokument, ""
        words = words_of(dokument.name, data)
        with self._records.together():
            self._add_version(person, dokument.id, dokument.version + 1, data, words)
            note(
                self._records,
                person,
                akte.id,
                "dokument",
                dokument.id,
                field="version",
                old=dokument.version,
                new=dokument.version + 1,
            )
        return self.get(person, dokument.id), ""

    def _add_version(
        self,
        person: Person,
        dokument: int,
        number: int,
        data: bytes,
        words: Words,
        draft: str | None = None,
    ) -> None:
        version = self._records.write(
            "INSERT INTO version (dokument, nummer, sha256, bytes, ohne_text, zeit, person, "
            "entwurf) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(dokument, number, hashlib.sha256(data).hexdigest(), len(data)),
            *(words.missing, now(), number_of(person), draft),
        )
        for page, text in enumerate(words.pages, 1):
            self._records.write("INSERT INTO seite VALUES (?, ?, ?)", version, page, text)


def folder_name(folder: str) -> str:
    """A folder in an Akte whose parts are names on every system."""
    return "/".join(_file_name(part) for part in folder.split("/") if part.strip())


def _inside(place: Path, path: Path) -> bytes:
    if not path.resolve().is_relative_to(place.resolve()):
        # Who may write there could have it read what no agent may.
        raise ToolFailed(f"{path} führt aus dem Ordner der Akte hinaus.")
    return read_file(path)


def _files(place: Path) -> list[tuple[str, str]]:
    """The files under a folder, as folder and name; no hidden ones, and no links."""
    found: list[tuple[str, str]] = []
    for folder, below, names in os.walk(place):
        below[:] = sorted(one for one in below if not one.startswith("."))
        inner = Path(folder).relative_to(place).as_posix()
        for name in sorted(names):
            if not name.startswith((".", "~$")) and not (Path(folder) / name).is_symlink():
                found.append(("" if inner == "." else inner, name))
        if len(found) > MOST_FILES:
            raise ToolFailed(f"In {place} liegen mehr als {MOST_FILES} Dateien.")
    return found


def read_words(path: Path) -> Words:
    """The words of a file; raises ToolFailed where it cannot be read."""
    return words_of(path.name, read_file(path))


def _placed(data: bytes, folder: Path, name: str) -> Path:
    """Write a file under a free name; another one is never replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    stem, dot, ending = name.rpartition(".")
    for count in range(1, 1000):
        more = "" if count == 1 else f" ({count})"
        path = folder / (f"{stem}{more}.{ending}" if dot else f"{name}{more}")
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".neu-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, path)  # fails where the name is taken
                return path
            except FileExistsError:
                continue
            except OSError:  # a file system without links
                if not path.exists():
                    shutil.move(temporary, path)
                    return path
        finally:
            Path(temporary).unlink(missing_ok=True)
    raise ToolFailed(f"In {folder} gibt es {name} schon tausendmal.")


def _file_name(name: str) -> str:
    """A name that is one on every system, and hides nowhere."""
    clean = _UNSAFE.sub("_", name).strip(" .")[:120] or "Dokument"
    return f"_{clean}" if _RESERVED.match(clean) else clean


def _dokument(row: dict[str, Value]) -> Dokument:
    return Dokument(
        id=cast("int", row["id"]),
        akte=cast("int", row["akte"]),
        folder=str(row["ordner"]),
        name=str(row["name"]),
        kind=str(row["art"]),
        date=str(row["datum"] or row["angelegt"])[:10],
        version=cast("int", row["nummer"]),
        digest=str(row["sha256"]),
        pages=cast("int", row["seiten"]),
        begin=" ".join(str(row["anfang"] or "").split()),
        missing=str(row["ohne_text"]),
        stand=cast("int", row["stand"]),
    )
