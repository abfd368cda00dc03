"""Reading: makes positions of what a person or a model wrote, never an amount that is computed."""

from __future__ import annotations

from decimal import Decimal

from studio.packs import ToolFailed

from .. import _german as german
from .._patterns import lazy_pattern
from .bill import Item
from .costs import COSTS, FREE

HOW = (
    "Geschrieben wird: 2300=1,5 weil umfangreich; 3100; 7000=60; frei=45,00 Aktenversendung; "
    "durchlaufend=119,00 Gerichtskosten; Vorschuss=300,00"
)
_DECIMAL = lazy_pattern(r"(=[\d.]+),(\d{1,2})(?!\d)")
"""A number with one or two digits behind its comma."""


def read_items(text: str) -> list[Item]:
    """The positions of ``2300=1,5 weil …; 3100; frei=45,00 Kopien``; raises ToolFailed.

    They are divided by semicolons, or where there is none by commas that are not in a number. After
    the equals sign stands the rate of a fee, the count of a cost, or the amount of a free position,
    and then words.
    """
    found: list[Item] = []
    if ";" not in text:
        text = _DECIMAL.sub(r"\1\0\2", text).replace(",", ";").replace("\0", ",")
    for part in text.split(";"):
        name, equals, rest = part.strip().partition("=")
        if not (name := " ".join(name.split())):
            continue
        free = {one.casefold(): one for one in FREE}.get(name.casefold())
        said, _, words = rest.strip().partition(" ")
        try:
            value = german.read_amount(said) if equals else None
        except ValueError as error:
            raise ToolFailed(f"{name}: {error} {HOW}.") from error
        if free or any(name.casefold() == one.casefold() for one in COSTS):
            found.append(Item(free or name, reason=words.strip(), count=value or Decimal(0)))
        else:
            found.append(Item(name, value, reason=words.strip()))
    if not found:
        raise ToolFailed(HOW + ".")
    return found
