"""All commands, imported when the terminal asks for them (KZ-9, KZ-50)."""

from __future__ import annotations

from .beispiel.verbs import beispiel
from .commands import akten, laws, persons, plans, records, secrecy, terms
from .intake import verbs as intake
from .office.suche_verbs import suche

COMMANDS = (
    *akten.COMMANDS,
    beispiel,
    *intake.COMMANDS,
    *laws.COMMANDS,
    suche,
    *records.COMMANDS,
    *plans.COMMANDS,
    *secrecy.COMMANDS,
    *persons.COMMANDS,
    *terms.COMMANDS,
)
"""All of them, in the order in which they are listed."""
