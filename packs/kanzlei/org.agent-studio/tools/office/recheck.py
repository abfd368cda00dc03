"""Recheck: computes the open Fristen anew when there are other holidays, and calls who is to look
where one would end on another day; none is changed (KZ-17)."""

from __future__ import annotations

import datetime
import json
from importlib import metadata

from studio.packs import Home, Person, ToolFailed

from .. import _german as german
from .frist_kind import FristFields, computed
from .fristen import Frist, Fristen
from .notizen import Notizen
from .persons import ADMIN


def recheck(home: Home) -> int:
    """Look once with each version of the holidays; returns how many alerts were raised. Blocks."""
    version = metadata.version("holidays")
    known = "SELECT 1 FROM nachgerechnet WHERE feiertage = ?"
    if home.records.read(known, version):
        return 0
    everything = Person(home.person.id, home.person.name, ADMIN)
    raised, today = 0, datetime.date.today().isoformat()
    with home.records.together():
        if home.records.read(known, version):  # another program was faster
            return 0
        for one in home.service(Fristen).find(everything):
            if words := _moved(home, one):
                home.service(Notizen).add_alert(
                    everything,
                    one.akte,
                    who=one.lawyer or one.entered_by,
                    due=today,
                    level="dringend",
                    text=words,
                )
                raised += 1
        home.records.write("INSERT OR REPLACE INTO nachgerechnet VALUES (1, ?)", version)
    return raised


def _moved(home: Home, frist: Frist) -> str:
    """What a person has to look at; empty where the Frist ends when it did."""
    given = json.loads(frist.given)
    if not given:  # nobody kept from what it was computed
        return ""
    try:
        found = computed(FristFields(**given), home)
    except (ToolFailed, TypeError, ValueError) as error:
        return f"{frist.kind} lässt sich nicht nachrechnen: {error}. Sieh sie Dir an."
    if found.end == frist.end:
        return ""
    return (
        f"{frist.kind} endet nach den heutigen Feiertagen am {german.day(found.end)}, eingetragen "
        f"ist {german.day(frist.end)}. Geändert wurde nichts: prüfe sie."
    )
