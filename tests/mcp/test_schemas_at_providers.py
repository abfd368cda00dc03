"""The copies of schemas that models get, at every API at its strictest (M-10)."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from studio.mcp.schemas import adapt_schema
from studio.simulator import ApiName, Simulator, Turn
from studio.simulator import Text as Said
from support.rule_cases import chat, claude, inputs, post
from support.rule_cases_parameters import described, local, offered

REFUSED: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "what": {"$ref": "#/$defs/what"},
        "count": {"type": ["integer", "null"], "exclusiveMinimum": 0},
        "list": {"type": "array", "properties": {"a b": {"type": "string"}}},
    },
    "$defs": {"what": {"type": "object", "properties": {"a b": {"type": "string"}}}},
}
HELLO: dict[str, Any] = {"role": "user", "content": "Hi"}


def asked_with(api: ApiName, schema: dict[str, Any]) -> dict[str, Any]:
    match api:
        case "anthropic":
            return claude(HELLO, tools=[{"name": "a", "input_schema": schema}])
        case "gemini":
            return described(parametersJsonSchema=schema)
        case "responses":
            tool = {"type": "function", "name": "a", "parameters": schema}
            return inputs(HELLO, tools=[tool])
        case "chat":
            return {**chat(HELLO), "tools": [offered(schema)]}
        case _:
            return local(HELLO, tools=[offered(schema)])


@pytest.mark.parametrize("api", ["anthropic", "chat", "gemini", "ollama", "responses"])
async def test_every_api_takes_the_copy(api: ApiName) -> None:
    """M-10: also the strictest of the compatible servers; OpenAI alone takes this original."""
    script = [Turn(Said("Yes."))] * 2
    async with (
        Simulator(script, strict="beyond", pace=False) as sim,
        httpx2.AsyncClient(trust_env=False, verify=False) as http,
    ):
        if api != "responses":
            status, _ = await post(http, sim, api, asked_with(api, REFUSED))
            assert status == 400
        adapted = adapt_schema(REFUSED).schema
        status, answer = await post(http, sim, api, asked_with(api, adapted))
        assert status == 200, answer
