"""Who answers a request: the agent or model it names, in parts, stopped with its client (S-1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from answers import ALICE, answered, answering_of, asking, sent
from house import PROTOCOLS, house

from studio.providers.simulator import Text, Turn


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_alice_is_known_by_her_name(tmp_path: Path, provider: str) -> None:
    """S-2: a conversation that begins elsewhere reaches the provider whole."""
    async with house(tmp_path, provider, [Turn(Text("You are Alice."))]) as home:
        answer = await answered(answering_of(home), asking(home, *ALICE))
        assert answer.text == "You are Alice."
        assert answer.outcome.stop == "end"
        assert answer.outcome.usage.total
        body = sent(home)
        places = [body.index(m.text) for m in ALICE]
        assert places == sorted(places)
        assert answer.place.number and len(answer.place.number) == 64
