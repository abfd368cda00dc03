"""Every rule is needed: without it, some request that a provider refuses goes through.

A rule added without a case of its own fails here.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx2
import pytest

from studio.simulator import Simulator, Text, Turn
from studio.simulator.anthropic import tool_call_checks as anthropic
from studio.simulator.gemini import tool_call_checks as gemini
from studio.simulator.ollama import request_checks as ollama
from studio.simulator.openai import tool_call_checks as responses
from studio.simulator.openai_chat import tool_call_checks as chat
from support.rule_cases import message_of, post
from support.rule_cases_answers import ANSWERS
from support.rule_cases_parameters import CASES, MORE, Case

APIS: dict[str, Any] = {
    "anthropic": anthropic,
    "chat": chat,
    "gemini": gemini,
    "ollama": ollama,
    "responses": responses,
}
RULES = [
    f"{api}.{check.__name__}"
    for api, module in APIS.items()
    for check in (*module.RULES, *module.HOUSE)
]


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


async def refused(
    http: httpx2.AsyncClient, case: Case, without: Sequence[str] = ()
) -> tuple[str, str]:
    """Which rule a case is refused by, and the provider's words; empty if it is answered."""
    script = [Turn(Text("Fine."))] * (len(case.before) + 1)
    async with Simulator(script, strict="beyond" if case.house else True, without=without) as sim:
        for body in case.before:
            status, answer = await post(http, sim, case.api, body)
            assert status == 200, answer
        status, answer = await post(http, sim, case.api, case.body, case.headers)
        if status == 200:
            return "", ""
        return sim.violations[0].name, message_of(case.api, answer)


def test_names_are_unique() -> None:
    assert len(RULES) == len(set(RULES)) > 100


@pytest.mark.parametrize(
    "case", [*MORE, *ANSWERS], ids=lambda case: f"{case.api} {case.words[:50]}"
)
async def test_the_words_are_the_providers(http: httpx2.AsyncClient, case: Case) -> None:
    _, words = await refused(http, case)
    assert case.words in words


async def test_no_rule_can_be_left_out(http: httpx2.AsyncClient) -> None:
    """Switching any one rule off lets a request through that it alone refuses."""
    needed: set[str] = set()
    for case in [*CASES, *ANSWERS]:
        name, _ = await refused(http, case)
        assert name in RULES, case
        if name not in needed and await refused(http, case, [name]) == ("", ""):
            needed.add(name)
    assert sorted(set(RULES) - needed) == []
