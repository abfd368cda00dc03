"""The pack Kanzlei switched on in the studio of a test."""

from __future__ import annotations

from typing import Any

from studio.agent.packs import PackHome
from studio.extensions.packs.brought import brought_packs, code_places
from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import ProgramPacks, load_class
from studio.tools.packs.persons_act import ActDesk
from support.engine_home import EngineHome


def switch_on(home: EngineHome) -> PackHome:
    """Switch the pack on as the person does; returns what its code works with."""
    paths = home.engine.paths
    packs = InstalledPacks(paths.packs, lambda: brought_packs(paths.shipped_packs))
    packs.switch("kanzlei", True)
    home.engine.services.packs.source = ProgramPacks(lambda: code_places(packs))
    home.engine.discover_tools()
    return home.engine.services.packs.homes["kanzlei"]


def service(office: PackHome, name: str) -> Any:
    """The pack's ``Akten`` or ``Fristen``."""
    return office.service(load_class("kanzlei", f"tools.office.{name.lower()}:{name}"))


def desk_of(home: EngineHome) -> ActDesk:
    desk = home.engine.services.acts.desk("window")
    assert desk is not None
    return desk
