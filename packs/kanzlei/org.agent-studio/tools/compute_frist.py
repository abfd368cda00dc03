"""The tool ``compute_frist``: the end of a Frist, computed and never guessed (KZ-16, KZ-35)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from studio.packs import Result, ToolFailed, tool

from . import _german as german
from ._norms import addresses
from .deadlines.calculation import Asked, compute
from .deadlines.free_days import read_place
from .deadlines.kinds import find_kind
from .deadlines.lengths import Length, read_length


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
    chosen = find_kind(kind)
    asked = Asked(
        event=_day("event", event) if event else None,
        place=read_place(place),
        length=_length_or_day(length) if length else None,
        posted=posted,
        pronounced=_day("pronounced", pronounced) if pronounced else None,
        extensions=[_length_or_day(one) for one in extensions],
    )
    found = compute(chosen, asked)
    value = {
        "frist": f"{chosen.name} ({chosen.norm})",
        "ende": found.end.isoformat(),
        "ende_lesbar": german.day(found.end),
        "notfrist": chosen.notfrist,
        "vorfrist": found.vorfrist.isoformat() if found.vorfrist else None,
        "ort": str(asked.place),
        "schritte": [str(step) for step in found.steps],
        "hinweise": list(found.warnings),
    }
    sources = addresses([chosen.norm, *(step.norm for step in found.steps)])
    return Result(value, f"{chosen.name}: {german.day(found.end)}", sources)


def _day(name: str, text: str) -> datetime.date:
    try:
        return german.read_day(text)
    except ValueError as error:
        raise ToolFailed(
            f"{name}: „{text}“ ist kein Tag. Geschrieben wird er 2026-02-04."
        ) from error


def _length_or_day(text: str) -> Length | datetime.date:
    try:
        return german.read_day(text)
    except ValueError:
        return read_length(text)
