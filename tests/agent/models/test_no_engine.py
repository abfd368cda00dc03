"""A package without the engine for model files, as the light one is, or without a model (P-1)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.providers import local_model
from studio.providers.local_model import MISSING, WEIGHTS, adapter
from studio.providers.registry import PROVIDERS
from support.engine_home import engine_home
from support.llama_server import random_gguf


async def test_p1_p2_a_model_that_nothing_here_runs_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-1, P-2: who chose it before is told what to install."""
    without = replace(PROVIDERS["builtin"], ready=False)
    monkeypatch.setitem(PROVIDERS, "builtin", without)
    monkeypatch.setattr(adapter, "PROVIDER", without)
    monkeypatch.setattr(local_model, "PROVIDER", without)
    async with engine_home(tmp_path, "anthropic", []) as home:
        engine = home.engine
        assert "builtin" not in engine.connected
        await engine.look_for_providers()
        assert "builtin" not in engine.connected and "anthropic" in engine.connected
        assert engine.offered("builtin") == []
        with pytest.raises(ConfigurationError) as told:
            await engine.default_model("builtin")
        assert str(told.value).startswith(MISSING)


async def test_p1_p2_a_model_whose_file_is_not_installed_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-1, P-2: with the engine alone there are the files that were fetched, and no others."""
    monkeypatch.setitem(sys.modules, WEIGHTS, None)
    async with engine_home(tmp_path, "anthropic", []) as home:
        engine = home.engine
        assert engine.offered("builtin") == []
        with pytest.raises(ConfigurationError) as told:
            await engine.default_model("builtin")
        assert str(told.value).startswith(MISSING)
        fetched = engine.local_models.folder / "Tiny-Q4.gguf"
        fetched.parent.mkdir(parents=True, exist_ok=True)
        random_gguf(fetched, 1)
        await engine.list_models("builtin")
        assert [one.id for one in engine.offered("builtin")] == ["Tiny-Q4"]
