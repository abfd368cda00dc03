"""The commands ``einlesen`` and ``einlesung-zurueck`` (KZ-50, KZ-51)."""

from __future__ import annotations

from pathlib import Path

from studio.packs import Context, verb

from ..office.akten import Akten
from .folders import Intake


@verb
def einlesen(context: Context, az: str, ordner: str, probe: bool = False) -> list[str]:
    """Die Dateien eines Ordners in eine Akte kopieren, ohne die, die sie schon hat.

    az: Aktenzeichen.
    ordner: Der Ordner, mit allen darunter.
    probe: Nur sagen, was geschähe.
    """
    person, intake = context.person, context.service(Intake)
    akte = context.service(Akten).get(person, az)
    plan = intake.plan(person, akte, Path(ordner).expanduser())
    if not probe and plan.new:
        plan = intake.apply(person, plan)
    done = "neu" if probe else "eingelesen"
    told = f"{len(plan.new)} {done}, {len(plan.known)} schon da"
    if plan.number:
        told += f". Zurücknehmen: agent-studio kanzlei einlesung-zurueck {plan.number}"
    names = [f"{done}: {path.relative_to(plan.folder).as_posix()}" for path in plan.new]
    return [told, *names, *plan.problems]


@verb
def einlesung_zurueck(context: Context, nummer: int) -> list[str]:
    """Zurücknehmen, was „einlesen“ brachte; was seither geändert wurde, bleibt.

    nummer: Die Nummer, die „einlesen“ genannt hat.
    """
    return context.service(Intake).undo(context.person, nummer)
