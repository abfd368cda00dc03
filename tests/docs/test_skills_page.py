"""The examples of docs/skills.md are used as a reader would use them (K-4, K-7)."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import subprocess
from pathlib import Path

from studio.domain.blocks import UserBlock
from studio.domain.messages import File, Text
from studio.domain.permissions import Rule
from studio.simulator import Text as Says
from studio.simulator import Turn
from support.engine_home import engine_home

PAGE = Path(__file__).parents[2] / "docs" / "skills.md"
EXAMPLE = re.compile(r"`((?:skills|commands)/[^`\n]+\.md)`:\n\n```markdown\n(.*?)^```", re.S | re.M)


async def test_k4_k7_the_examples_of_the_page_work(tmp_path: Path) -> None:
    """K-4, K-7: both are found without a mistake, listed, and filled in."""
    examples = dict(EXAMPLE.findall(PAGE.read_text()))
    assert sorted(examples) == ["commands/review.md", "skills/release-notes/SKILL.md"]
    async with engine_home(tmp_path, "anthropic", lambda _: Turn(Says("Fine."))) as home:
        for name, text in examples.items():
            path = home.folder / ".agents" / name
            path.parent.mkdir(parents=True)
            path.write_text(text)
        (home.folder / "docs").mkdir()
        (home.folder / "docs" / "style.md").write_text("Be brief.")
        git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com")
        for words in (("init", "-qb", "main"), ("checkout", "-qb", "feature")):
            run = functools.partial(subprocess.run, (*git, *words), cwd=home.folder, check=True)
            await asyncio.to_thread(run)
        await home.engine.rules.trust(home.folder)
        found = await home.engine.services.extensions(home.folder)
        assert [one.name for one in found.found] == ["release-notes", "review"]
        assert not found.findings and found.skills[0].hint == "VERSION"
        session = await home.session()
        rules = (Rule.parse("run(git log *)"),)
        turn = session.turn((Text("/review feature 'no speed'"),), rules=rules, invokes=True)
        async for _ in turn:
            pass
        (said,) = [one for one in session.transcript.blocks if isinstance(one, UserBlock)]
        files = [one for one in said.said if isinstance(one, File)]
        assert [one.name for one in files] == ["review.md", "style.md"]
        assert "Review what feature changes" in files[0].data.decode()
        sent = json.dumps(home.asked[-1].json)
        assert "git log --oneline main..feature" in sent and "release-notes: Writes notes" in sent
