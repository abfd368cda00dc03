"""What hooks say of a call, under the person's rules and the risks (K-9)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studio.agent.permission.rulebook import Decision
from studio.agent.permission.ruling import NO_RULING, Ruling
from studio.domain.permissions import Layer, Rule

ASKED = Decision("ask", "It acts.")
ALLOW = Ruling("allow", "the hook x (yours)")
RULE = Rule.parse("run", "ask")


def test_k9_nothing_said_changes_nothing() -> None:
    for verdict in ("allow", "ask", "deny"):
        decision = Decision(verdict, "why", rule=RULE)
        assert NO_RULING.on(decision, network=False) == decision


def test_k9_to_ask_beats_to_allow_and_no_refusal() -> None:
    ruling = Ruling("ask", "the hook x (yours)", "it is late")
    found = ruling.on(Decision("allow", ""), network=False)
    assert (found.verdict, found.insists) == ("ask", True)
    assert found.why == "The hook x (yours) asks about it: it is late"
    assert ruling.on(Decision("deny", "no"), network=False).why == "no"


def test_k9_a_question_of_a_hooks_hides_no_danger() -> None:
    danger = Decision("ask", "It could send out your files.", insists=True)
    found = Ruling("ask", "the hook x (yours)", "it is late").on(danger, network=False)
    assert found.why == f"{danger.why} The hook x (yours) asks about it: it is late"


@pytest.mark.parametrize(
    ("layer", "verdict"),
    [
        *((one, "allow") for one in ("built-in", "person")),
        *((one, "ask") for one in ("project", "agent", "session", "turn", "server")),
    ],
)
def test_k9_to_allow_counts_as_a_rule_of_the_projects(layer: Layer, verdict: str) -> None:
    decision = replace(ASKED, rule=RULE, layer=layer)
    assert ALLOW.on(decision, network=False).verdict == verdict


def test_k9_to_allow_is_under_risk_network_and_the_folder() -> None:
    assert ALLOW.on(ASKED, network=False).verdict == "allow"
    assert ALLOW.on(ASKED, network=True).verdict == "ask"
    assert ALLOW.on(replace(ASKED, insists=True), network=False).verdict == "ask"
    assert ALLOW.on(replace(ASKED, opens=Path("/etc/passwd")), network=False).verdict == "ask"
