"""The code of the pack, loaded once as the program loads it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import studio
from studio.extensions.packs.loading import forget, load_code, package_of

PACK = Path(studio.__file__).parents[1] / "packs" / "kanzlei"
MODULES = {
    "norms": "law.citations",
    "words": "law.words",
    "decisions": "law.decisions",
    "check": "law.check",
    "laws": "law.laws",
    "files": "law.files",
    "fetching": "law.fetching",
    "address_files": "intake.address_files",
    "folding": "masking.folding",
    "known": "masking.known",
    "mask": "masking.mask",
    "calculation": "deadlines.calculation",
    "free_days": "deadlines.free_days",
    "kinds": "deadlines.kinds",
    "limitation": "deadlines.limitation",
    "interest": "fees.interest",
    "lengths": "deadlines.lengths",
    "bill": "fees.bill",
    "costs": "fees.costs",
    "positions": "fees.positions",
    "tables": "fees.tables",
    "reading": "fees.reading",
    "note": "fees.note",
    "german": "_german",
    "persons": "office.persons",
    "konflikte": "contacts.konflikte",
    "kontakte": "contacts.kontakte",
    "likeness": "contacts.likeness",
    "names": "contacts.names",
}


@pytest.fixture(scope="session")
def kanzlei() -> Iterator[SimpleNamespace]:
    """Its tools by name, and the modules named above."""
    code = load_code("kanzlei", PACK / "org.agent-studio")
    package = package_of("kanzlei")
    modules = {
        name: importlib.import_module(f"{package}.tools.{module}")
        for name, module in MODULES.items()
    }
    yield SimpleNamespace(tools={one.spec.name: one for one in code.tools}, **modules)
    forget("kanzlei")
