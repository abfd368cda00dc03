"""A package without the engine for model files, as the light one is (P-1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.providers.local_model import MISSING, adapter
from studio.providers.registry import PROVIDERS
from support.engine_home import engine_home


async def test_p1_p2_a_model_that_nothing_here_runs_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-1, P-2: who chose it before is told what to install."""
    without = replace(PROVIDERS["builtin"], ready=False)
    monkeypatch.setitem(PROVIDERS, "builtin", without)
    monkeypatch.setattr(adapter, "PROVIDER", without)
    async with engine_home(tmp_path, "anthropic", []) as home:
        engine = home.engine
        assert "builtin" not in engine.connected
        await engine.look_for_providers()
        assert "builtin" not in engine.connected and "anthropic" in engine.connected
        assert engine.offered("builtin") == []
        with pytest.raises(ConfigurationError) as told:
            await engine.default_model("builtin")
        assert str(told.value).startswith(MISSING)
