"""Settings of the office."""

from __future__ import annotations

from dataclasses import field

from studio.packs import dataclass


@dataclass()
class OfficeSettings:
    """Was die Kanzlei einstellt.

    aktenzeichen: Wie neue Aktenzeichen gebildet werden, aus {lfd} und {jj} oder {jahr}.
    vorfrist_tage: So viele Tage vor dem Ende liegt eine Vorfrist.
    ordner: Wo die Ordner der Akten liegen; leer für Kanzlei/Akten im eigenen Ordner.
    aufbewahrung_jahre: So viele Jahre nach dem des Mandatsendes wird eine Akte aufbewahrt.
    land: Das Bundesland, dessen Feiertage der Kalender zeigt, wie BY.
    kanzlei: Wie die Kanzlei in Schreiben heißt.
    steuernummer: Die Steuernummer in Kostennoten.
    basiszins: Basiszinssätze, die noch nicht hinterlegt sind: 01.07.2026=1,27.
    synonyme: Was bei der Suche auch gemeint ist: Rauswurf=Kündigung, Räumung.
    anfragen_je_stunde: Wie viele Anfragen an Modelle eine Person in der Stunde stellt, je Rolle:
        PRAKTIKANT=20; SEKRETARIAT=60. Die anderen haben kein Limit.
    erlaubte_hosts: Rechner, deren Modelle Akten im Modus „lokal“ sehen dürfen, mit Komma getrennt.
    """

    aktenzeichen: str = "{lfd:04}/{jj}"
    vorfrist_tage: int = field(default=7, metadata={"title": "Tage einer Vorfrist"})
    ordner: str = ""
    aufbewahrung_jahre: int = field(default=6, metadata={"title": "Jahre der Aufbewahrung"})
    land: str = "BY"
    kanzlei: str = field(default="", metadata={"title": "Name der Kanzlei"})
    steuernummer: str = ""
    basiszins: str = ""
    synonyme: str = ""
    anfragen_je_stunde: str = field(default="", metadata={"title": "Anfragen je Stunde"})
    erlaubte_hosts: str = field(default="", metadata={"title": "Erlaubte Rechner"})
