"""Commands for persons, passwords and access (KZ-13, KZ-14). None is for commands of agents."""

from __future__ import annotations

from studio.packs import Context, verb

from .._secret import ask_secret
from ..office.akten import Akten
from ..office.sign_in import Anmeldung


@verb
def personen(context: Context) -> list[dict[str, object]]:
    """Die Personen der Kanzlei auflisten."""
    return context.service(Anmeldung).all()


@verb
def person_anlegen(context: Context, login: str, name: str, rolle: str, dezernat: str = "") -> str:
    """Eine Person eintragen.

    login: Ihr Anmeldename; der ihres Kontos am Computer, wenn sie dort ein eigenes hat.
    name: Ihr Name.
    rolle: ADMIN, ANWALT, SACHBEARBEITER, SEKRETARIAT oder PRAKTIKANT.
    dezernat: Ihr Dezernat.
    """
    context.service(Anmeldung).add(context.person, login, name, rolle, dezernat)
    return f"{name} ist eingetragen. Ein Passwort bekommt sie mit „passwort {login}“."


@verb
def person_aendern(context: Context, login: str, rolle: str = "", gegangen: bool = False) -> str:
    """Einer Person eine andere Rolle geben, oder sie austragen.

    login: Ihr Anmeldename.
    rolle: Die neue Rolle.
    gegangen: Sie arbeitet nicht mehr hier.
    """
    context.service(Anmeldung).change(context.person, login, role=rolle, gone=gegangen)
    return f"{login} ist geändert."


@verb
def passwort(context: Context, login: str) -> str:
    """Einer Person ein neues Passwort geben; es wird danach gefragt.

    login: Der Anmeldename.
    """
    context.service(Anmeldung).set_password(context.person, login, ask_secret("Neues Passwort: "))
    return f"{login} hat ein neues Passwort und meldet sich damit an."


@verb
def anmelden(context: Context, login: str) -> str:
    """Sich anmelden; nach dem Passwort wird gefragt.

    login: Der Anmeldename.
    """
    person = context.service(Anmeldung).sign_in(login, ask_secret("Passwort: "))
    return f"Angemeldet: {person.name}, {person.role}."


@verb
def abmelden(context: Context) -> str:
    """Sich abmelden."""
    context.service(Anmeldung).sign_out()
    return "Abgemeldet."


@verb
def zugriff(context: Context, az: str, login: str, weg: bool = False) -> str:
    """Eine Person zu einer Akte zulassen.

    az: Das Aktenzeichen.
    login: Der Anmeldename.
    weg: Nicht mehr zulassen.
    """
    akte = context.service(Akten).get(context.person, az)
    context.service(Anmeldung).admit(context.person, akte, login, taken=weg)
    return f"{login} ist zu {akte.az} {'nicht mehr ' if weg else ''}zugelassen."


@verb
def sperren(context: Context, az: str, auf: bool = False) -> str:
    """Eine Akte für alle außer ADMIN sperren.

    az: Das Aktenzeichen.
    auf: Die Sperre aufheben.
    """
    akte = context.service(Akten).get(context.person, az)
    context.service(Anmeldung).lock(context.person, akte, locked=not auf)
    return f"{akte.az} ist {'nicht mehr ' if auf else ''}gesperrt."


COMMANDS = (
    *(personen, person_anlegen, person_aendern, passwort, anmelden, abmelden, zugriff, sperren),
)
