"""The command ``beispiel`` (KZ-52)."""

from __future__ import annotations

from studio.packs import Context, verb

from .. import _german as german
from ..office.dokumente import Dokumente
from .masses import AKTEN as MANY
from .masses import Masses
from .office import AKTEN as FEW
from .office import make_office


@verb
def beispiel(context: Context, gross: bool = False, seed: int = 1, akten: int = 0) -> str:
    """Eine leere Kanzlei mit erfundenen Akten füllen, zum Ausprobieren.

    gross: Viele kurze, zum Messen: 20.000 Akten mit 400.000 Dokumenten.
    seed: Eine andere Zahl, andere Leute.
    akten: Wie viele Akten; 40, oder 20.000.
    """
    home, person = context.home, context.person
    if gross:
        made = Masses(home, person, akten or MANY, seed).make(context.emit)
    else:
        made = make_office(home, person, akten or FEW, seed)
    counts = (
        (made.akten, "Akten"),
        (made.documents, "Dokumente"),
        (made.fristen, "Fristen"),
        (made.times, "Zeiten"),
        *([(made.contacts, "Kontakte")] if made.contacts else []),
    )
    told = ", ".join(german.many(count, noun) for count, noun in counts)
    return f"{told}. Alles erfunden. Die Dateien liegen in {context.service(Dokumente).root}."
