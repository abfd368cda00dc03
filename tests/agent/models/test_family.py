"""The one table of what differs between models (C-22)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.agent.models.family import model_family


@pytest.mark.parametrize(
    ("model", "part", "edit_tool", "numbers", "progress"),
    [
        ("claude-fable-5-2", "claude", "edit", True, True),
        ("claude-haiku-4-5-20251001", "claude", "edit", True, True),
        ("anthropic/claude-sonnet-5.5", "claude", "edit", True, True),
        ("us.anthropic.claude-opus-5-v1:0", "claude", "edit", True, True),
        ("claude-opus-5@20260901", "claude", "edit", True, True),
        ("gpt-6.1-sol", "gpt", "apply_patch", False, True),
        ("gpt-5-2025-08-07", "gpt", "apply_patch", False, True),
        ("gpt-10", "gpt", "apply_patch", False, True),
        ("openai/gpt-5.5:free", "gpt", "apply_patch", False, True),
        ("ft:gpt-5-mini:mine::1", "gpt", "apply_patch", False, True),
        ("gpt-oss:20b", "gpt", "apply_patch", False, True),
        ("openai.gpt-oss-120b-1:0", "gpt", "apply_patch", False, True),
        ("accounts/fireworks/models/gpt-oss-120b", "gpt", "apply_patch", False, True),
        ("hf.co/ggml-org/gpt-oss-20b-GGUF", "gpt", "apply_patch", False, True),
        ("gpt-oss-20b-mxfp4.gguf", "gpt", "apply_patch", False, True),
        ("gpt-5.1-codex-max", "codex", "apply_patch", False, False),
        ("OpenAI/GPT-5-Codex", "codex", "apply_patch", False, False),
        ("codex-mini-latest", "codex", "apply_patch", False, False),
        ("gpt-4.1", "gpt", "edit", False, True),
        ("gpt-4o-mini", "gpt", "edit", False, True),
        ("chatgpt-4o-latest", "gpt", "edit", False, True),
        ("o4-mini", "gpt", "edit", False, True),
        ("gemini-4-argon", "gemini", "edit", False, True),
        ("models/gemini-3.1-pro-preview", "gemini", "edit", False, True),
        ("google/gemini-2.5-flash", "gemini", "edit", False, True),
        ("Qwen3-8B-Q4_K_M.gguf", "open", "edit", True, True),
        ("qwen2.5-coder:7b", "open", "edit", True, True),
        ("deepseek/deepseek-chat", "open", "edit", True, True),
        ("meta.llama4-maverick", "open", "edit", True, True),
        ("smollm2", "open", "edit", True, True),
        ("my-deployment", "open", "edit", True, True),
        ("", "open", "edit", True, True),
    ],
)
def test_c22_a_models_name_decides_how_it_is_spoken_to_and_how_it_edits(
    model: str, part: str, edit_tool: str, numbers: bool, progress: bool
) -> None:
    """C-22: vendors' prefixes, dates, tags and file names do not hide the family."""
    family = model_family(model)

    assert (family.part, family.edit_tool, family.numbers, family.progress) == (
        part,
        edit_tool,
        numbers,
        progress,
    )


def test_c22_every_bundled_model_of_a_cloud_has_the_family_of_its_maker() -> None:
    """C-22: a new row of the bundled list that no family knows is noticed here."""
    listed = json.loads(Path("resources/models.json").read_text(encoding="utf-8"))["providers"]
    made = {"anthropic": {"claude"}, "openai": {"gpt", "codex"}, "gemini": {"gemini"}}

    for provider, parts in made.items():
        for entry in listed[provider]:
            assert model_family(entry["id"]).part in parts, entry["id"]
