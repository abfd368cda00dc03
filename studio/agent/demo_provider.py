"""The demo provider: the simulator inside this program, over real HTTP on loopback."""

from __future__ import annotations

from studio.domain.models import ModelInfo
from studio.providers.http import Http
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.simulator import Simulator
from studio.simulator.demo import demo_script


class DemoProvider(CompatibleProvider):
    """Needs no key and no network; every answer is labelled as simulated."""

    def __init__(self, url: str, http: Http, simulator: Simulator) -> None:
        super().__init__("demo", url, http, name="simulator", title="The demo")
        self._simulator = simulator

    @classmethod
    async def start(cls, http: Http) -> DemoProvider:
        """Raises OSError if this computer gives no port on loopback."""
        simulator = Simulator(demo_script, seed=None)
        await simulator.start()
        return cls(simulator.url("chat"), http, simulator)

    async def models(self) -> list[ModelInfo]:
        return [model for model in await super().models() if model.id.startswith("demo-")]

    async def aclose(self) -> None:
        await self._simulator.stop()
