"""``agent-studio models``: a model is fetched for this computer, listed and deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.app import build
from studio.cli import build_parser, run_command
from studio.cli.command_context import CommandContext
from studio.simulator import HubRepo, HubSimulator, Simulator
from studio.storage.paths import Paths
from support.command import Command
from support.llama_server import TEMPLATE, random_gguf


async def test_a_model_is_fetched_listed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = random_gguf(tmp_path / "x.gguf", seed=4).read_bytes()
    repos = {"mill/Tiny-GGUF": HubRepo({"Tiny-Q4_K_M.gguf": data}, TEMPLATE)}
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    paths = Paths.below(tmp_path / "home")
    context = CommandContext(paths, build)

    async def models(*arguments: str) -> tuple[int, str, str]:
        options = build_parser().parse_args(["models", *arguments])
        code = await run_command(options, context)
        said = capsys.readouterr()
        return code, said.out, said.err

    async with HubSimulator(repos) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
        try:
            code, _, said = await models("get", "mill/None-GGUF")
            assert code == 1 and "has no model mill/None-GGUF" in said
            code, _, said = await models("get", "tiny")
            assert code == 1 and "Name a repository" in said
            code, _, said = await models("get", "mill/Tiny-GGUF/missing.gguf")
            assert code == 1 and "does not have this file" in said
            code, name, said = await models("get", "mill/Tiny-GGUF")
            assert (code, name) == (0, "Tiny-Q4_K_M\n"), said
            assert (paths.model_files / "Tiny-Q4_K_M.gguf").read_bytes() == data
            assert "Tiny-Q4_K_M" in (await models("--provider", "builtin"))[1]
            assert (await models("remove", "Tiny-Q4_K_M"))[0] == 0
            code, _, said = await models("remove", "Tiny-Q4_K_M")
            assert code == 1 and "There is no model Tiny-Q4_K_M here" in said
        finally:
            await context.close()
    assert list(paths.model_files.iterdir()) == []


async def test_of_several_providers_it_says_whose_models_these_are(tmp_path: Path) -> None:
    """P-2: two keys, and no provider is named; a script gets the ids alone."""
    async with Simulator([]) as simulator:
        terminal = Command(tmp_path)
        terminal.provider("anthropic", simulator.url("messages"))
        alone = await terminal("models")
        terminal.provider("gemini", simulator.url("gemini"))
        both = await terminal("models")
        named = await terminal("models", "--provider", "gemini")
    assert alone.code == both.code == named.code == 0
    assert both.err == "These are Anthropic's. For others: --provider gemini\n"
    assert alone.err == named.err == "" and both.out == alone.out != named.out
