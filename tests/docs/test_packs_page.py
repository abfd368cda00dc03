"""The examples of docs/packs.md are used as a reader would use them (X-1, X-2)."""

from __future__ import annotations

import json
import re
from pathlib import Path

from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.pages import find_pages
from support.engine_home import engine_home
from support.pack_files import zip_pack

PAGE = Path(__file__).parents[2] / "docs" / "packs.md"
EXAMPLE = re.compile(r"^`([\w./-]+)`[^`]*?(?:`[^`]*`[^`]*?)*:\n\n```\w+\n(.*?)^```", re.S | re.M)


async def test_x1_x2_the_pack_of_the_page_can_be_installed(tmp_path: Path) -> None:
    text = PAGE.read_text()
    examples = {name: EXAMPLE.search(text, text.index(f"\n`{name}`")) for name in (
        "plugin.json", "skills/deed/SKILL.md", "mcp.json", "org.agent-studio/agents/clerk.md",
        "org.agent-studio/schema/001_deeds.sql", "org.agent-studio/pages/deeds.yaml",
    )}  # fmt: skip
    pack = tmp_path / "notary"
    for name, found in examples.items():
        assert found is not None and found[1] == name
        (pack / name).parent.mkdir(parents=True, exist_ok=True)
        (pack / name).write_text(found[2])
    (pack / "bin").mkdir()
    (pack / "bin" / "register").write_text("")
    async with engine_home(tmp_path, "anthropic", []) as home:
        assert await home.command("packs", "add", str(pack), "--yes") == 0
        found = home.engine.services.get(InstalledPacks).get("notary")
        assert found.runs and not found.manifest.problems
        assert set(found.manifest.parts()) == {"skills", "mcp", "agents", "schema", "pages"}
        ((page,), problems) = find_pages(home.engine.services.get(InstalledPacks))
        assert not problems and page.spec.label("done") == "Signed"
        records = page.open()
        id = records.save(None, {"title": "Sale", "kind": "sale", "day": "2026-11-26"})
        records.act(id, page.spec.actions[0])
        assert records.get(id) == {
            "id": 1, "title": "Sale", "kind": "sale", "day": "2026-11-26", "done": 1
        }  # fmt: skip
        records.records.close()
        agents = await home.engine.agents(home.folder)
        assert agents.by_name["Clerk"].whose == "Of the pack The notary's office"
        assert not agents.problems
        extensions = await home.engine.services.extensions(home.folder)
        assert extensions.get("deed") and not extensions.findings
        entries = home.engine.services.servers.read()
        assert not entries.problems and not entries.by_name["register"].runs
        # The lines of the page, each as it is written there.
        zip_pack(pack, tmp_path / "notary.zip")
        (tmp_path / "market").mkdir()
        pack.rename(tmp_path / "market" / "notary")
        listed = {"plugins": [{"name": "notary", "source": "./notary"}]}
        (tmp_path / "market" / "marketplace.json").write_text(json.dumps(listed))
        lines = re.findall(r"^agent-studio packs (.*?)(?: +#.*)?$", text, re.M)
        assert len(lines) == 10
        for line in (one for one in lines if not one.startswith("add http")):
            words = line.replace("./notary", "./market/notary").split()
            asks = words[0] in ("add", "update", "remove")
            words = [str(tmp_path / one) if "market" in one or ".zip" in one else one
                     for one in words]  # fmt: skip
            if words[:2] == ["remove", "notary"] and "--with-data" in words:
                await home.command("packs", "add", str(tmp_path / "notary.zip"), "--yes")
            if words[:2] == ["update", "notary"]:  # its folder is where it was last added from
                await home.command("packs", "on", "notary")
            more = ["--yes"] if asks else []
            assert await home.command("packs", *words, *more, "--json") == 0, line
        left = home.engine.services.get(InstalledPacks).list()
        assert [one.id for one in left] == ["kanzlei"]
