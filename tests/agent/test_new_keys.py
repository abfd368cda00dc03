"""Keys that are found: which provider new chats use then (P-4)."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.engine_home import engine_home


@pytest.mark.parametrize(
    ("provider", "own", "moves"),
    [
        ("simulator", {}, True),
        ("builtin", {}, True),
        ("builtin", {"builtin": "qwen3-4b"}, False),
        ("ollama", {}, False),
    ],
)
async def test_p4_a_found_key_moves_only_chats_that_tried_the_program(
    tmp_path: Path, provider: str, own: dict[str, str], moves: bool
) -> None:
    """Who chose a model of this computer sends nothing elsewhere because a key is there."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        values = home.engine.settings.values
        values.default_provider, values.default_model = provider, own
        title = await home.engine.use_new_key()
        assert (title, values.default_provider) == (
            ("Anthropic", "anthropic") if moves else ("", provider)
        )
