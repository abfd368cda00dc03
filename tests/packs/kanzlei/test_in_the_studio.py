"""The pack Kanzlei as it ships: off until the person wants it, then its tools are an agent's."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import studio
from studio.agent.agent_files.finder import AgentFiles
from studio.domain.errors import ToolFailed
from studio.domain.events import ToolFinished
from studio.extensions.packs.brought import brought_packs, code_places
from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import ProgramPacks, forget, package_of
from studio.simulator import Call, Text, Turn
from support.engine_home import engine_home, say
from support.office_home import switch_on

CHAT = "openai-compatible"
OFFICE = re.compile(r"\b(?:kanzlei|akte|frist|rubrum|mandant|helena|notfrist)\b", re.IGNORECASE)


async def test_it_is_off_until_the_person_switches_it_on(tmp_path: Path) -> None:
    """KZ-2, KZ-16: and then runs in the program, with an answer whose sources are norms."""
    call = Call("compute_frist", {"kind": "Berufung", "event": "2026-01-31", "place": "BE"})
    async with engine_home(tmp_path, CHAT, [Turn(call), Turn(Text("Am 2. März."))]) as home:
        paths = home.engine.paths
        packs = InstalledPacks(paths.packs, lambda: brought_packs(paths.shipped_packs))
        home.engine.services.packs.source = ProgramPacks(lambda: code_places(packs))
        home.engine.discover_tools()
        (pack,) = [one for one in packs.list() if one.id == "kanzlei"]
        assert not pack.on
        assert "compute_frist" not in home.engine.services.toolbox.tools
        packs.switch("kanzlei", True)
        home.engine.discover_tools()
        events = await say(await home.session())
        (done,) = [one for one in events if isinstance(one, ToolFinished)]
        assert '"ende": "2026-03-02"' in done.text
        assert "kanzlei:norm/ZPO/517" in done.sources


async def test_kz9_what_only_the_terminal_needs_is_imported_when_it_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-9: a pack that is on and not opened costs little."""
    async with engine_home(tmp_path, CHAT, []) as home:
        pack = switch_on(home)
        own = f"{package_of('kanzlei')}.tools."
        loaded = {name.removeprefix(own) for name in sys.modules if name.startswith(own)}
        assert "office_pack" in loaded and "compute_frist" in loaded
        later = ("commands", "_commands", "intake", "beispiel", "xjustiz", "office.mails")
        assert not [one for one in loaded if one.startswith(later)]
        assert len(loaded) <= 90
        assert await home.command("packs", "run", pack.id, "akten") == 0
        assert capsys.readouterr().out == "Nothing.\n"
        assert f"{own}_commands" in sys.modules and f"{own}intake.akten" in sys.modules


def test_its_agents_have_no_mistakes() -> None:
    """KZ-2: a mistake in a file that ships is a notice at each start, and its agent is missing."""
    folder = Path(studio.__file__).parents[1] / "packs/kanzlei/org.agent-studio/agents"
    found = AgentFiles(folder).read()
    assert not found.problems
    assert len(found.by_name) == len([*folder.glob("*.md")])


def test_the_studio_has_no_word_of_the_office() -> None:
    """KZ-2: the pack proves that the studio is general."""
    found = [
        f"{path}: {line.strip()}"
        for path in Path(studio.__file__).parent.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if OFFICE.search(line)
    ]
    assert not found, "\n".join(found)


async def test_kz7_kz9_its_code_runs_when_something_needs_it(tmp_path: Path) -> None:
    """KZ-7, KZ-9: a start costs nothing of it, and no request goes out before it was asked."""
    async with engine_home(tmp_path, CHAT, []) as home:
        home.engine.services.get(InstalledPacks).switch("kanzlei", True)
    own = f"{package_of('kanzlei')}."

    def loaded() -> bool:
        return any(name.startswith(own) for name in [*sys.modules])

    forget("kanzlei")
    async with engine_home(tmp_path, CHAT, []) as home:
        services = home.engine.services
        assert not loaded() and services.packs.has_policies, "nobody knows what it says"
        gate = services.gate("kanzlei:akte/7")
        with pytest.raises(ToolFailed) as told:
            await gate.ask_about_call("fetch", "https://example.com", "words")
        assert "not on" not in str(told.value), "its policy was asked"
        assert loaded()
    forget("kanzlei")
    async with engine_home(tmp_path, CHAT, []) as home:
        assert not loaded()
        assert "read_akte" in home.engine.tools() and loaded()
    forget("kanzlei")
    async with engine_home(tmp_path, CHAT, [Turn(Text("Yes."))]) as home:
        assert not loaded()
        await say(await home.session())
        assert loaded() and "read_akte" in home.engine.tools()
