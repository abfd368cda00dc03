"""A client's custom tools reach the models that have them as they are (S-1, C-8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studio.simulator import Call, Text, Turn
from support.running_server import running_server

PATCH: dict[str, Any] = {
    "type": "custom",
    "name": "patch",
    "description": "Changes files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "x"+'},
}


@pytest.mark.parametrize("native", [True, False])
async def test_a_custom_tool_is_custom_where_the_model_has_such(
    tmp_path: Path, native: bool
) -> None:
    """S-1, C-8: GPT-5 on gets the tool itself, its call is plain text, and so is the answer."""
    model = "openai/gpt-5.6" if native else "openai/gpt-4.1"
    script = [
        Turn(Call("patch", {"input": "xxx"}), stop="tool_use"),
        Turn(Text("Done."), stop="end"),
    ]
    async with running_server(tmp_path, script, provider="openai") as server:
        body: dict[str, Any] = {
            "model": model,
            "input": "Go",
            "tools": [PATCH],
            "tool_choice": {"type": "custom", "name": "patch"},
        }
        first = (await server.client.post("/v1/responses", json=body)).json()
        (call,) = (one for one in first["output"] if one["type"] == "custom_tool_call")
        assert call["input"] == "xxx"
        body |= {
            "previous_response_id": first["id"],
            "tool_choice": "auto",
            "input": [
                {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "ok"}
            ],
        }
        second = (await server.client.post("/v1/responses", json=body)).json()
        assert second["output"][-1]["content"][0]["text"] == "Done."
        assert not server.house.simulator.violations
        asked: list[Any] = [one.json for one in server.house.asked]
        if native:
            assert asked[0]["tools"] == [PATCH]
            assert asked[0]["tool_choice"] == {"type": "custom", "name": "patch"}
        else:
            assert asked[0]["tools"][0]["type"] == "function"
        kinds = [item.get("type") for item in asked[1]["input"]]
        wanted = "custom_tool_call" if native else "function_call"
        assert kinds[-2:] == [wanted, f"{wanted}_output"]
