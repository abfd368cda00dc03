"""beA: reads an exported message, or an XJustiz message with its files, into an Akte (KZ-34).

The web application of beA exports a zip: what was attached, ``xjustiz_nachricht.xml``, and files
of its own: ``…_export.html`` with the times of sending and receipt, the report on signatures, the
sender's card, ``vhn.xml`` with its signature. All of it is kept as it is, for it is evidence; no
signature is checked here. No other form of an export is known.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from studio.packs import Home, Person, ToolFailed

from .. import _german as german
from .._patterns import lazy_pattern
from ..contacts.kontakte import Kontakt, Kontakte, require_may_enter
from ..contacts.names import fold
from ..office.akten import Akte, Akten, require_may_open
from ..office.dokumente import Dokumente
from ..office.settings import OfficeSettings
from ..office.texts import MOST_BYTES, read_file
from ..xjustiz.codes import FILENAME, Codes, Role
from ..xjustiz.reading import Message, MessageParty, read_message
from .cases import Case, CasePlan, Paper, Party

MOST_FILES = 2_000
"""Of one message; beA takes 1,000 and adds some of its own."""
MOST_UNPACKED = 500_000_000
_EXPORT = lazy_pattern(r"(\w{1,60})_export\.html", re.I)
_OWN = (
    (re.compile(r".*_export\.html", re.I), "beA-Export"),
    (re.compile(r".*_VerificationReport\.html", re.I), "Prüfprotokoll"),
    (re.compile(r".*_BusinessCard\.html", re.I), "Visitenkarte"),
    (re.compile(r"vhn\.xml(\.p7s)?", re.I), "Herkunftsnachweis"),
    (re.compile(r"xjustiz_nachricht\.\w+", re.I), "Strukturdatensatz"),
    (re.compile(r"Nachrichtentext\.pdf|.*_Message\.html", re.I), "Nachricht"),
    (re.compile(r".*\.(p7s|p7m|pkcs7)", re.I), "Signatur"),
)
"""What the files that beA adds are."""
_Files = Mapping[str, Callable[[], bytes]]
"""By their names, how each is read."""


def plan_message(
    home: Home, person: Person, path: Path, client: str = "", akte: Akte | None = None
) -> CasePlan:
    """Look at a message: the export of beA (zip), a folder with what was in one, or the XML file
    beside its documents. Nothing is changed. Raises ToolFailed where it is none. Blocks.

    Its documents go to ``akte``, else to the Akte whose Aktenzeichen the message has. If there is
    none, a new one is opened, where ``client`` says who of those in the message the client is.
    """
    require_may_enter(person)
    if not path.exists():
        raise ToolFailed(f"{path} gibt es nicht.")
    plan, message, number = CasePlan(str(path)), None, ""
    if path.suffix.lower() == ".xml":
        message = read_message(read_file(path), path.name)
        files = _beside(path, message, plan.problems)
    else:
        files = _of_zip(path, plan.problems) if path.is_file() else _of_folder(path, plan.problems)
        number = next((found[1] for name in files if (found := _EXPORT.fullmatch(name))), "")
        if load := files.get(FILENAME):
            message = read_message(load(), FILENAME)
        elif not number:
            raise ToolFailed(f"{path.name} hat keine {FILENAME} und keinen Export einer Nachricht.")
    case = _case(home, person, message, client, akte, plan)
    if message is not None:
        _tell(message, plan)
    papers = _papers(message, files, f"beA {number}" if number else "XJustiz")
    if any(paper.kind in ("Signatur", "Herkunftsnachweis") for paper in papers):
        plan.told.append("Signaturen und Herkunftsnachweis sind aufbewahrt, nicht geprüft.")
    if case is None:
        return plan
    case.papers = papers
    if case.akte is not None:
        case.papers = _new_papers(home, case.akte, papers, plan)
    if case.akte is None or case.papers or case.parties:
        plan.new.append(case)
    return plan


def is_message(path: Path) -> bool:
    """Whether a folder has an XJustiz message. Blocks."""
    return path.is_dir() and (path / FILENAME).is_file()


def _beside(path: Path, message: Message, problems: list[str]) -> _Files:
    """A message and those of its files that lie beside it, none elsewhere."""
    found: dict[str, Callable[[], bytes]] = {FILENAME: lambda: read_file(path)}
    for name in (file for one in message.documents for file in one.files):
        there = path.parent / PurePosixPath(name.replace("\\", "/")).name
        if there.name == name and there.is_file() and not there.is_symlink():
            found[name] = lambda there=there: read_file(there)
        else:
            problems.append(f"{name} fehlt.")
    return found


def _of_folder(folder: Path, problems: list[str]) -> _Files:
    try:
        names = sorted(one.name for one in folder.iterdir() if not one.is_symlink())
    except OSError as error:
        raise ToolFailed(f"{folder} kann nicht gelesen werden: {error.strerror}.") from error
    names = [one for one in names if not one.startswith(".") and (folder / one).is_file()]
    if len(names) > MOST_FILES:
        problems.append(f"Mehr als {german.count(MOST_FILES)} Dateien; die übrigen blieben liegen.")
    return {one: lambda one=one: read_file(folder / one) for one in names[:MOST_FILES]}


def _of_zip(path: Path, problems: list[str]) -> _Files:
    found: dict[str, Callable[[], bytes]] = {}
    size = 0
    try:
        # It stays open while a plan has its files: opening it reads the names of all of them.
        archive = zipfile.ZipFile(path)
        entries = [one for one in archive.infolist() if not one.is_dir()]
    except (OSError, zipfile.BadZipFile, ValueError) as error:
        raise ToolFailed(f"{path.name} ist keine heile zip-Datei.") from error
    for entry in entries[:MOST_FILES]:
        name = PurePosixPath(entry.filename.replace("\\", "/")).name
        size += entry.file_size
        if size > MOST_UNPACKED:
            problems.append(f"{path.name} entpackt sich zu mehr als 500 MB; ab {name} blieb es.")
            break
        if not name or name in found:
            problems.append(f"{entry.filename} gibt es darin zweimal; nur das erste ist dabei.")
            continue
        found[name] = lambda entry=entry, name=name: _unpacked(archive, entry, name)
    if len(entries) > MOST_FILES:
        problems.append(f"Mehr als {german.count(MOST_FILES)} Dateien; die übrigen blieben liegen.")
    return found


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> bytes:
    """The bytes of an entry; what its head says of its size is not believed."""
    if entry.flag_bits & 1:
        raise ToolFailed(f"{name} ist mit einem Passwort verschlossen.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ToolFailed(f"{name} ist auf eine Weise gepackt, die das beA nicht schreibt.")
    try:
        with archive.open(entry) as file:
            data = file.read(MOST_BYTES + 1)
    except Exception as error:  # zipfile raises what its decompressors do
        raise ToolFailed(f"{name} ist beschädigt und kann nicht entpackt werden.") from error
    if len(data) > MOST_BYTES:
        raise ToolFailed(f"{name} ist größer als 50 MB.")
    return data


def _papers(message: Message | None, files: _Files, folder: str) -> list[Paper]:
    classes = Codes().classes
    known = {
        file: (classes.get(one.code, ""), one.day)
        for one in (message.documents if message else ())
        for file in one.files
    }
    papers: list[Paper] = []
    for name, load in files.items():
        own = next((kind for pattern, kind in _OWN if pattern.fullmatch(name)), "")
        kind, day = known.get(name, ("", ""))
        right = day if re.fullmatch(r"\d{4}-\d\d-\d\d", day) else ""
        papers.append(Paper(name, load, folder, own or kind, right))
    return papers


def _new_papers(home: Home, akte: Akte, papers: Sequence[Paper], plan: CasePlan) -> list[Paper]:
    """Those that the Akte does not have; what cannot be read is told."""
    seen, new = home.service(Dokumente).digests(akte), list[Paper]()
    for paper in papers:
        try:
            digest = hashlib.sha256(paper.load()).hexdigest()
        except ToolFailed as error:
            plan.problems.append(str(error))
            continue
        if digest in seen:
            plan.known.append(paper.name)
        else:
            new.append(paper)
        seen.add(digest)
    return new


def _case(
    home: Home,
    person: Person,
    message: Message | None,
    client: str,
    akte: Akte | None,
    plan: CasePlan,
) -> Case | None:
    """Where the message goes; None, and a problem, where nobody can tell."""
    akte = akte or (_akte_of(home, person, message) if message else None)
    if akte is not None:
        return Case({}, akte, _new_parties(home, message, akte, plan) if message else ())
    if message is None or not message.parties:
        plan.problems.append("Die Nachricht nennt keine Beteiligten: nenne die Akte dafür.")
        return None
    require_may_open(person)
    parties = _parties(home, message, client)
    if not any(one.role == "Mandant" for one in parties):
        names = "; ".join(filter(None, map(_name, message.parties)))
        plan.problems.append(f"Wer davon ist Mandant? Nenne ihn. In der Nachricht: {names}.")
        return None
    sides = [
        ", ".join(one.shown for one in parties if one.role == role)
        for role in ("Mandant", "Gegner")
    ]
    stations = [message.court, message.sender, message.recipient]
    courts = [one for one in stations if "gericht" in one.casefold()]
    called = [one for one in courts if not re.fullmatch(r"Gericht \S+", one)]  # not by a code
    by_court = message.sender in courts
    row = {
        "rubrum": message.title or " ./. ".join(filter(None, sides)),
        "gericht": next(iter([*called, *courts]), ""),
        "gericht_az": message.court_sign or " ".join(message.sender_signs[:by_court]),
    }
    return Case(row, parties=parties)


def _akte_of(home: Home, person: Person, message: Message) -> Akte | None:
    """The one Akte whose own Aktenzeichen the office's side has, or whose court has one of all.

    Other offices count like this one: a sender's is ours only where the sender is this office.
    """
    office = fold(home.settings(OfficeSettings).kanzlei)
    sent = bool(office) and fold(message.sender) == office
    own = {*map(_plain, message.sender_signs if sent else message.recipient_signs)}
    signs = (*message.sender_signs, *message.recipient_signs, message.court_sign)
    courts = {*map(_plain, signs)} - {""}
    akten = home.service(Akten).find(person, most=1_000_000)
    found = [one for one in akten if _plain(one.az) in own or _plain(one.court_az) in courts]
    return found[0] if len(found) == 1 else None


def _plain(sign: str) -> str:
    return "".join(sign.casefold().split())


def _new_parties(home: Home, message: Message, akte: Akte, plan: CasePlan) -> list[Party]:
    """Who is in the message and not in the Akte; nobody, and they are told, where nobody can tell
    who of all is the client."""
    here: set[str] = set()
    for one in home.service(Kontakte).of_akte(akte):
        here |= {fold(one.contact.shown), fold(_whole(one.contact))}
    parties = _parties(home, message, akte=akte)
    missing = [one for one in parties if fold(one.shown) not in here]
    if any(one.role == "Mandant" for one in parties):
        plan.told += [f"Neu beteiligt: {one.shown}, {one.role}" for one in missing]
        return missing
    if missing:
        names = "; ".join(one.shown for one in missing)
        plan.told.append(f"In der Nachricht, nicht in der Akte: {names}.")
    return []


def _whole(contact: Kontakt) -> str:
    return f"{contact.name.first} {contact.name.name}".strip()


def _parties(
    home: Home, message: Message, client: str = "", akte: Akte | None = None
) -> list[Party]:
    """Who takes part, as the office sees it; nobody is the client where nobody can tell.

    The client is who is named so, or is it in the Akte, or is represented by this office.
    """
    roles = Codes().roles
    office = fold(home.settings(OfficeSettings).kanzlei)
    own = [
        one for one in message.parties if one.is_office and fold(_name(one)) == office and office
    ]
    ours = {number for one in own for number in one.of}
    clients = [one for one in message.parties if ours & {*one.numbers}]
    if akte is not None:
        here = home.service(Kontakte).of_akte(akte)
        names = {fold(_whole(one.contact)) for one in here if one.role == "Mandant"}
        clients = [one for one in message.parties if fold(_name(one)) in names] or clients
    elif client.strip():
        clients = [one for one in message.parties if fold(client) in fold(_name(one))]
        if not clients:
            names = "; ".join(filter(None, map(_name, message.parties)))
            raise ToolFailed(f"„{client}“ steht nicht in der Nachricht. Beteiligt sind: {names}.")
    ours = {number for one in clients for number in one.numbers}
    sides = {_role(one, roles).party for one in clients} - {""}
    if len(sides) > 1:
        raise ToolFailed(f"„{client}“ steht auf beiden Seiten: nenne den ganzen Namen.")
    side = next(iter(sides), "")
    theirs = {
        number
        for one in message.parties
        if side and _role(one, roles).party not in ("", side)
        for number in one.numbers
    }
    return [
        _party(one, _role(one, roles), one in clients, side, ours, theirs)
        for one in message.parties
        if one not in own and _name(one)
    ]


def _role(party: MessageParty, roles: Mapping[str, Role]) -> Role:
    found = (roles.get(code) for code in party.codes)
    return next((one for one in found if one is not None), Role("", "", "", ""))


def _party(
    one: MessageParty, role: Role, client: bool, side: str, ours: set[str], theirs: set[str]
) -> Party:
    if client:
        return Party(one.fields, "Mandant", sign=one.sign)
    of = {*one.of}
    stands = "Mandant" if of & ours else "Gegner" if of & theirs else ""
    if role.party and side and not stands:
        stands = "Mandant" if role.party == side else "Gegner"
    if stands == "Gegner" and not role.role and not one.is_office:
        return Party(one.fields, "Gegner", sign=one.sign)
    kind = role.role or ("Anwalt" if one.is_office else "Dritter")
    return Party(one.fields, kind, stands, one.sign)


def _name(party: MessageParty) -> str:
    first, last = party.fields.get("vorname", ""), party.fields.get("name", "")
    return f"{first} {last}".strip()


def _tell(message: Message, plan: CasePlan) -> None:
    whose = f" von {message.sender}" if message.sender else ""
    plan.told.append(f"XJustiz {message.version or 'ohne Fassung'}{whose}: {message.kind}.")
    if not message.version.startswith("3."):
        plan.told.append("Erprobt ist das Lesen mit den Fassungen 3.5 und 3.6.")
