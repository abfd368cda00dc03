"""The tool ``compute_frist``: the end of a Frist, computed and never guessed (KZ-16, KZ-35)."""

from __future__ import annotations

from collections.abc import Sequence

from studio.packs import Result, tool

from . import _german as german
from .deadlines.free_days import read_place
from .deadlines.reading import compute_from_words
from .law.citations import addresses


@tool(effect="read", target="kind", verb="Computing Frist", done="Computed Frist", steady=True)
def compute_frist(
    kind: str,
    place: str,
    event: str = "",
    extensions: Sequence[str] = (),
    length: str = "",
    pronounced: str = "",
    posted: bool = False,
) -> Result:
    """Compute the end of a legal deadline (Frist) with its steps, norms and Vorfrist. Never compute
    one yourself.

    kind: Its German name: Berufung, Berufungsbegründung, Einspruch gegen Versäumnisurteil, ...; an
        unknown name is answered with the nearest ones.
    place: The Land of the court as two letters (BE, BY, ...), in BY, SN and TH with +kath or -kath
        for the commune; or Augsburg.
    event: The day that starts it, usually service (Zustellung), as 2026-02-04.
    extensions: Each extension by the court in turn, as "1 M" or as the end it names, "2026-05-05".
    length: Where the court sets the Frist: "3 W", or the end it names. Else only for special cases.
    pronounced: The day the decision was pronounced, where service was late or lacking.
    posted: Whether event is the day on which an authority posted its letter.
    """
    found = compute_from_words(kind, place, event, extensions, length, pronounced, posted=posted)
    value = {
        "frist": f"{found.kind.name} ({found.kind.norm})",
        "ende": found.end.isoformat(),
        "ende_lesbar": german.day(found.end),
        "notfrist": found.kind.notfrist,
        "vorfrist": found.vorfrist.isoformat() if found.vorfrist else None,
        "ort": str(read_place(place)),
        "schritte": [str(step) for step in found.steps],
        "hinweise": list(found.warnings),
    }
    sources = addresses([found.kind.norm, *(step.norm for step in found.steps)])
    return Result(value, f"{found.kind.name}: {german.day(found.end)}", sources)
