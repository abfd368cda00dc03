"""Commands about the records of an Akte: time, notes, contacts, conflicts, drafts (KZ-50)."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from studio.packs import Context, ToolFailed, verb

from .. import _german as german
from ..contacts.konflikte import Check, Konflikte, named
from ..contacts.kontakte import Kontakte, name_and_heads
from ..fees.bill import Assignment, compute_bill
from ..fees.reading import read_items
from ..muster.fields import bill_of
from ..office import versand
from ..office.akten import Akte, Akten
from ..office.entwuerfe import OPEN, PROPOSAL, STATES, Entwuerfe
from ..office.forms import day_words, read_day
from ..office.history import changes_of
from ..office.kalender import write_calendar
from ..office.kostennote import write_note
from ..office.notizen import Notizen
from ..office.persons import named as person_named
from ..office.persons import number_of
from ..office.zeiten import Zeiten, duration
from ..xjustiz.codes import FILENAME, Codes


@verb
def zeiten(context: Context, az: str) -> list[dict[str, object]]:
    """Die Zeiten einer Akte auflisten.

    az: Das Aktenzeichen.
    """
    one = _akte(context, az)
    return [
        {
            "datum": day_words(zeit.day),
            "dauer": duration(zeit.minutes),
            "person": zeit.person,
            "text": zeit.text,
            "abrechenbar": "abrechenbar" if zeit.billable else "nicht abrechenbar",
            "kostennote": zeit.billed,
        }
        for zeit in context.service(Zeiten).find(context.person, one.id)
    ]


@verb
def zeit(
    context: Context, az: str, minuten: int, text: str, datum: str = "", frei: bool = False
) -> str:
    """Zeit in eine Akte eintragen.

    az: Das Aktenzeichen.
    minuten: Wie lange.
    text: Was getan wurde.
    datum: Der Tag, 04.02.2026; leer für heute.
    frei: Nicht abrechenbar.
    """
    day = read_day("datum", datum) if datum else datetime.date.today().isoformat()
    one = _akte(context, az)
    context.service(Zeiten).add(
        context.person, one.id, day=day, minutes=minuten, text=text, billable=not frei
    )
    return f"{duration(minuten)} am {day_words(day)} in {one.az}"


@verb
def notizen(context: Context, az: str) -> list[str]:
    """Notizen und offene Hinweise einer Akte auflisten, und was Helena vorschlägt.

    az: Das Aktenzeichen.
    """
    one, person = _akte(context, az), context.person
    service = context.service(Notizen)
    alerts = [
        f"{a.id}: {german.day(a.due)}, {a.level}, für {a.who}: {a.text}"
        for a in service.alerts(person, akte=one.id)
    ]
    proposed = context.service(Entwuerfe).find(person, akte=one.id, kinds=("notiz", "alert"))
    return [
        *alerts,
        *(f"{n.made[:10]}, {n.person}: {n.text}" for n in service.find(person, one.id)),
        *(f"{PROPOSAL}: {e.title}" for e in proposed),
    ]


@verb
def notiz(context: Context, az: str, text: str) -> str:
    """Eine Notiz zu einer Akte festhalten.

    az: Das Aktenzeichen.
    text: Die Notiz.
    """
    one = _akte(context, az)
    context.service(Notizen).add(context.person, one.id, text)
    return f"Notiert in {one.az}."


@verb
def hinweis(
    context: Context, az: str, faellig: str, text: str, person: str = "", stufe: str = "Hinweis"
) -> str:
    """Jemanden an einem Tag an etwas erinnern (Wiedervorlage).

    az: Das Aktenzeichen.
    faellig: Der Tag, 04.02.2026.
    text: Was zu tun ist.
    person: Für wen; leer für Dich.
    stufe: Hinweis, wichtig oder dringend.
    """
    one = _akte(context, az)
    who = person_named(context.records, person) if person else context.person
    if who is None:
        raise ToolFailed(f"Hier arbeitet niemand, der {person} heißt.")
    context.service(Notizen).add_alert(
        context.person,
        one.id,
        who=number_of(who),
        due=read_day("faellig", faellig),
        level=stufe,
        text=text,
    )
    return f"{who.name} wird am {day_words(read_day('faellig', faellig))} erinnert."


@verb
def hinweis_erledigen(context: Context, nummer: int) -> str:
    """Einen Hinweis erledigen.

    nummer: Seine Nummer in der Liste „notizen“.
    """
    service = context.service(Notizen)
    one = service.alert(context.person, nummer)
    service.see_to(context.person, one)
    return f"Erledigt: {one.text}"


@verb
def verlauf(context: Context, az: str) -> list[str]:
    """Zeigen, was in einer Akte geändert wurde, und von wem.

    az: Das Aktenzeichen.
    """
    return [str(change) for change in changes_of(context.records, _akte(context, az).id)]


@verb
def entwuerfe(context: Context, az: str = "", alle: bool = False) -> list[str]:
    """Auflisten, was Helena entworfen hat. Entschieden wird mit: agent-studio drafts.

    az: Nur die dieser Akte.
    alle: Auch die entschiedenen.
    """
    akte = _akte(context, az).id if az else None
    found = context.service(Entwuerfe).find(
        context.person, akte=akte, states=tuple(STATES.values()) if alle else OPEN
    )
    return [
        f"{one.id[:8]}: {one.state}  {one.title}{f' ({one.reason})' if one.reason else ''}"
        + (f"\n{one.change}" if one.change else "")
        for one in found
    ]


@verb
def kalender(context: Context, datei: str, az: str = "") -> str:
    """Offene Fristen, Vorfristen, Termine und Aufgaben als Kalenderdatei (ics) schreiben.

    datei: Die Datei, die geschrieben wird: fristen.ics.
    az: Nur die dieser Akte.
    """
    akte = _akte(context, az).id if az else None
    path = Path(datei).expanduser()
    count = write_calendar(context.home, context.person, path, akte)
    return f"{german.counted(count, 'Eintrag steht', 'Einträge stehen')} in {path}."


@verb
def versandmappe(
    context: Context,
    az: str,
    dokumente: str,
    ordner: str,
    xjustiz: bool = False,
    partei: str = "",
) -> list[str]:
    """PDFs einer Akte nummeriert in einen neuen Ordner kopieren, mit Verzeichnis, für das beA.

    az: Das Aktenzeichen.
    dokumente: Ihre Nummern in dieser Reihenfolge, mit Komma getrennt: 12, 7, 9.
    ordner: Der Ordner, der angelegt wird.
    xjustiz: Auch eine xjustiz_nachricht.xml schreiben; bei keinem Gericht erprobt.
    partei: Was der Mandant darin ist: Kläger, Beklagter, Antragsteller …
    """
    try:
        numbers = [int(one) for one in dokumente.split(",") if one.strip()]
    except ValueError as error:
        raise ToolFailed(f"„{dokumente}“ sind keine Nummern, mit Komma getrennt.") from error
    target = Path(ordner).expanduser()
    sent = versand.put_together(context.home, context.person, _akte(context, az), numbers, target,
                                xjustiz=xjustiz or bool(partei), stands=partei)  # fmt: skip
    unchecked = "Die Grenzen des beA sind ungeprüft." if versand.limits().unchecked else ""
    names = [one.name for one in sent]
    if xjustiz or partei:
        names.append(
            f"{FILENAME}: XJustiz {Codes().version}, bei keinem Gericht erprobt (ungeprüft)"
        )
    return [*names, f"{versand.LIST} liegt in {target}. {unchecked}".strip()]


@verb
def kontakte(context: Context, worte: str = "") -> list[str]:
    """Kontakte auflisten.

    worte: Nur die mit diesen Worten in Namen oder Ort.
    """
    found = context.service(Kontakte).find(context.person, worte)
    return [f"{one.id}: {one.shown}, {one.name.kind}{_at(one.city)}" for one in found]


@verb
def kontakt(
    context: Context,
    name: str,
    art: str = "",
    geboren: str = "",
    frueher: str = "",
    strasse: str = "",
    plz: str = "",
    ort: str = "",
    telefon: str = "",
    email: str = "",
    iban: str = "",
) -> str:
    """Einen Kontakt anlegen.

    name: Vor- und Nachname, „Huber, Petra“ oder die Firma.
    art: Person, Firma, Gericht oder Behörde; leer: nach dem Namen.
    geboren: Der Tag der Geburt, 04.02.1980.
    frueher: Frühere Namen, mit Komma getrennt.
    strasse: Straße und Hausnummer.
    plz: Die Postleitzahl.
    ort: Der Ort.
    telefon: Die Telefonnummer.
    email: Die Adresse für E-Mails.
    iban: Die Bankverbindung.
    """
    made = named(name, art)
    one = context.service(Kontakte).add(
        context.person,
        art=art or made.kind,
        name=made.name,
        vorname=made.first,
        fruehere_namen=frueher,
        geboren=geboren,
        strasse=strasse,
        plz=plz,
        ort=ort,
        telefon=telefon,
        email=email,
        iban=iban,
    )
    return f"{one.id}: {one.shown}"


@verb
def beteiligte(context: Context, az: str) -> list[str]:
    """Auflisten, wer an einer Akte beteiligt ist.

    az: Das Aktenzeichen.
    """
    return [
        f"{one.id}: {one.role}: {one.contact.shown}"
        + (f", vertreten durch {one.by}" if one.by else "")
        + (f", Zeichen {one.sign}" if one.sign else "")
        for one in context.service(Kontakte).of_akte(_akte(context, az))
    ]


@verb
def beteiligen(
    context: Context,
    az: str,
    kontakt: int,
    rolle: str,
    seite: str = "",
    vertreter: int = 0,
    zeichen: str = "",
) -> list[str]:
    """Einen Kontakt an einer Akte beteiligen; dabei wird auf Konflikte geprüft.

    az: Das Aktenzeichen.
    kontakt: Die Nummer des Kontakts.
    rolle: Mandant, Gegner, Anwalt, Gericht, Versicherung, Zeuge, Sachverständiger, Vertreter.
    seite: Mandant oder Gegner, wo die Rolle es nicht sagt.
    vertreter: Die Nummer dessen, der ihn vertritt.
    zeichen: Sein Aktenzeichen.
    """
    service, one = context.service(Kontakte), _akte(context, az)
    who = service.get(context.person, kontakt)
    by = service.get(context.person, vertreter) if vertreter else None
    service.take_part(context.person, one, who, rolle, side=seite, by=by, sign=zeichen)
    side = next(part.side for part in service.of_akte(one) if part.contact.id == who.id)
    found = context.service(Konflikte).check(
        context.person, name_and_heads(who, by), side, akte=one, contact=who
    )
    return [f"{who.shown} ist {rolle} in {one.az}.", *_told(found)]


@verb
def konflikt(
    context: Context, name: str, seite: str = "Mandant", geboren: str = "", art: str = ""
) -> list[str]:
    """Prüfen, ob jemand schon auf der anderen Seite steht (§ 43a IV BRAO).

    name: Vor- und Nachname, „Huber, Petra“ oder die Firma; mehrere mit Semikolon getrennt.
    seite: Auf welcher er stehen soll: Mandant oder Gegner.
    geboren: Der Tag der Geburt, 04.02.1980.
    art: Person oder Firma; leer: nach dem Namen.
    """
    born = read_day("geboren", geboren) if geboren else ""
    names = [replace(named(one, art), born=born) for one in name.split(";") if one.strip()]
    return _told(context.service(Konflikte).check(context.person, names, seite))


@verb
def konflikte(context: Context, az: str) -> list[str]:
    """Die Konfliktprüfungen zu einer Akte auflisten.

    az: Das Aktenzeichen.
    """
    return [
        line
        for one in context.service(Konflikte).kept(_akte(context, az))
        for line in (f"{one.day[:10]}: {one.asked}", *_told(one))
    ]


@verb
def akte_aendern(context: Context, az: str, feld: str, wert: str) -> str:
    """Eine Angabe einer Akte ändern.

    az: Das Aktenzeichen.
    feld: rubrum, sachgebiet, status, wert, mandat_seit, gericht, gericht_ort, gericht_az, anwalt,
        sachbearbeiter oder dezernat.
    wert: Der neue Wert; leer, um ihn zu entfernen.
    """
    one = context.service(Akten).change(context.person, _akte(context, az), feld, wert)
    return f"{one.title}: {feld} ist geändert."


@verb
def kosten(
    context: Context,
    wert: str,
    nummern: str,
    tag: str,
    auftraggeber: int = 1,
    pkh: bool = False,
    kleinunternehmer: bool = False,
) -> list[dict[str, object]]:
    """Gebühren nach RVG und GKG rechnen.

    wert: Der Gegenstandswert, 10.000,00.
    nummern: Mit Semikolon: 2300=1,5 weil umfangreich; 3104; 7000=60; frei=45,00 Aktenversendung.
    tag: Der Tag des Auftrags, 01.07.2025.
    auftraggeber: Wie viele es sind.
    pkh: Prozesskostenhilfe.
    kleinunternehmer: Ohne Umsatzsteuer.
    """
    day = datetime.date.fromisoformat(read_day("tag", tag))
    value = Decimal(german.cents(wert)) / 100
    asked = Assignment(value, day, day, auftraggeber, pkh, kleinunternehmer)
    bill = compute_bill(read_items(nummern), asked)
    rows: list[dict[str, object]] = [
        {
            "nummer": row.number,
            "bezeichnung": row.words,
            "satz": german.number(row.rate) if row.rate is not None else "",
            "betrag": german.euros(row.amount),
            "norm": row.norm,
            "hinweis": row.note,
        }
        for section in bill.sections
        for row in section.rows
    ]
    tables = ", ".join(dict.fromkeys(section.table.name for section in bill.sections))
    total = {"nummer": "Gesamt", "betrag": german.euros(bill.total), "norm": tables}
    return [*rows, {**total, "hinweis": " ".join(bill.warnings)}]


@verb
def kostennote(
    context: Context,
    az: str,
    nummern: str,
    rechnungsnummer: str,
    zeitraum: str,
    ort_datum: str,
    kanzlei: str = "",
    steuernummer: str = "",
    anschrift: str = "",
    zeiten_bis: str = "",
) -> str:
    """Eine Kostennote nach § 10 RVG als Word-Datei in die Akte legen; zu unterschreiben ist sie.

    az: Das Aktenzeichen; Wert, Mandanten und Tag des Auftrags stehen in der Akte.
    nummern: Wie bei „kosten“: 2300=1,5 weil umfangreich; 3104; frei=45,00 Aktenversendung.
    rechnungsnummer: Ihre Nummer.
    zeitraum: Der Leistungszeitraum.
    ort_datum: München, den 4. Februar 2026.
    kanzlei: Name der Kanzlei, wenn er nicht eingestellt ist.
    steuernummer: Wenn sie nicht eingestellt ist.
    anschrift: Anschrift des Mandanten, wenn sie in den Kontakten fehlt.
    zeiten_bis: Bis zu diesem Tag gelten die Zeiten der Akte als damit abgerechnet: 31.05.2026.
    """
    given = {
        "rechnungsnummer": rechnungsnummer,
        "leistungszeitraum": zeitraum,
        "ort_datum": ort_datum,
        "kanzlei": kanzlei,
        "steuernummer": steuernummer,
        "mandant_anschrift": anschrift,
    }
    akte = _akte(context, az)
    bill = bill_of(context.home, akte, nummern)
    made, billed = write_note(context.home, context.person, akte, bill, given, zeiten_bis)
    told = german.counted(billed, "Zeit ist", "Zeiten sind")
    told = f" {told} damit abgerechnet." if billed else ""
    return f"{made.id}: {made.name} liegt in {az}. Prüfe und unterschreibe sie.{told}"


@verb
def zeiten_offen(context: Context, az: str, rechnungsnummer: str) -> str:
    """Die Zeiten einer Kostennote, die nicht gilt, wieder als nicht abgerechnet führen.

    az: Das Aktenzeichen.
    rechnungsnummer: Die Nummer der Kostennote.
    """
    akte = _akte(context, az)
    count = context.service(Zeiten).unbill(context.person, akte.id, rechnungsnummer.strip())
    return f"{german.counted(count, 'Zeit ist', 'Zeiten sind')} in {az} wieder offen."


def _akte(context: Context, az: str) -> Akte:
    return context.service(Akten).get(context.person, az)


def _at(city: str) -> str:
    return f", {city}" if city else ""


def _told(found: Check) -> list[str]:
    return [str(one) for one in found.hits] or ["Kein Treffer. Das ist mit Tag festgehalten."]


COMMANDS = (
    *(zeiten, zeit, notizen, notiz, hinweis, hinweis_erledigen, verlauf, entwuerfe, kalender),
    versandmappe,
    *(kontakte, kontakt, beteiligte, beteiligen, konflikt, konflikte, akte_aendern),
    kosten,
    kostennote,
    zeiten_offen,
)
