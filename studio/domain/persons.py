"""Persons: who works with the studio, as packs see it (KZ-3)."""

from __future__ import annotations

from studio.domain.records import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """Who works here. ``role`` is one that a pack knows; empty where nobody gave one."""

    id: str
    name: str
    role: str = ""


NOBODY = Person("", "")
