"""Worker facts: the workers of a run's cluster, their load and their speed; free of Qt (W-59)."""

from __future__ import annotations

from studio.domain.jsonvalue import JsonObject, as_objects
from studio.ui.formatting import decimal, number
from studio.ui.inspector.fact_list import Fact
from studio.ui.translation import tr


def worker_facts(status: JsonObject | None) -> list[Fact]:
    """What a cluster says of itself, see ``Coordinator.status``; nothing where there is none."""
    if status is None:
        return []
    facts = [Fact(tr("Workers"), _pace(status), "heading")]
    for one in as_objects(status.get("workers")):
        name, problem = str(one.get("name")), str(one.get("problem") or "")
        facts.append(Fact(name, _pace(one), icon="server", state="failed" if problem else ""))
        done, under_way = _number(one, "done"), _number(one, "open")
        words = tr("{count} done, {open} under way")
        words = words.format(count=number(int(done)), open=number(int(under_way)))
        load, cores = one.get("load"), one.get("cores")
        at_right = ""
        if isinstance(load, int | float) and isinstance(cores, int):
            at_right = tr("load {load} of {cores}").format(load=decimal(load), cores=cores)
        facts.append(Fact(words, at_right, "note"))
        if problem:
            facts.append(Fact(problem, style="note"))
    if len(facts) == 1:
        facts.append(Fact(tr("No worker has joined."), style="note"))
    return facts


def _number(of: JsonObject, name: str) -> float:
    found = of.get(name)
    return found if isinstance(found, int | float) else 0.0


def _pace(of: JsonObject) -> str:
    return tr("{rate} a second").format(rate=decimal(_number(of, "items_a_second")))
