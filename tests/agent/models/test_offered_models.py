"""Which models a person chooses from is one answer for the window, editors and clients (P-3)."""

from __future__ import annotations

from pathlib import Path

from studio.simulator import Text, Turn
from support.engine_home import engine_home


async def test_all_that_is_listed_or_what_is_enabled_and_the_persons_own(tmp_path: Path) -> None:
    """P-3: the current one stays, and an own one that the provider lists comes once."""
    async with engine_home(tmp_path, "anthropic", [Turn(Text("Hello."))]) as home:
        engine = home.engine
        values = engine.settings.values
        listed = [model.id for model in (await engine.list_models("anthropic")).models]
        assert len(listed) >= 3
        first, second, third = listed[:3]

        def ids(current: str = "") -> list[str]:
            return [model.id for model in engine.offered("anthropic", current)]

        assert ids() == listed
        values.own_models["anthropic"] = ["mine", first]
        assert ids() == [*listed, "mine"]
        values.enabled_models["anthropic"] = [second]
        assert ids() == [second, "mine", first]
        assert ids(third) == [second, third, "mine", first]
        values.enabled_models["anthropic"] = []
        values.own_models.clear()
        assert ids() == [] and ids("unlisted") == []
        assert ids(first) == [first]
