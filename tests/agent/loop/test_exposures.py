"""What a chat counts as read: only what it read (T-7)."""

from __future__ import annotations

from pathlib import Path

from studio.domain.events import Exposed, ToolFinished, ToolOutput
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say

END = Turn(Text("Done."))
REFUSED = [
    # Addresses that are no pages, or lead into the person's own network
    Call("fetch", {"url": "http://127.0.0.1:1/"}),
    Call("fetch", {"url": "http://[::1]/"}),
    Call("fetch", {"url": "http://169.254.169.254/latest"}),
    Call("fetch", {"url": "file:///etc/passwd"}),
    Call("fetch", {"url": "https://u:p@example.com/"}),
    Call("fetch", {"url": "https://example.com:0/"}),
    Call("fetch", {"url": "no address"}),
    Call("fetch", {"url": "https://example.com/", "first_page": 0}),
    Call("fetch", {"url": "https://denied.example/"}),
    Call("fetch", {"url": 5}),
    Call("fetch", {}),
    # Searches that nobody makes
    Call("web_search", {"query": " "}),
    Call("web_search", {"query": "sea"}),
    # Files that are not there, or not to be read
    Call("read", {"path": "missing.txt"}),
    Call("read", {"path": "secret.txt"}),
    Call("read", {"path": "a.txt", "first_line": 0}),
    Call("list", {"path": "missing"}),
    Call("search", {"pattern": "x", "path": "missing"}),
    Call("outline", {"path": "secret.txt"}),
    # Commands that never start
    Call("run", {"command": "  "}),
    Call("run", {"command": "true", "time_limit": -1}),
    Call("run", {"command": "printf denied"}),
    # Drafts, which read nothing that the model sees
    Call("write", {"path": "n.txt", "content": "new\n"}),
    Call("write", {"path": "~/n.txt", "content": "new\n"}),
    Call("edit", {"path": "a.txt", "old": "", "new": "x"}),
    Call("edit", {"path": "a.txt", "old": "x", "new": "x"}),
    Call("fly", {"to": "moon"}),
]
DENIED = (
    Rule("deny", "fetch", "https://denied.example/*"),
    Rule("deny", "read", "secret.txt"),
    Rule("deny", "run", "printf *"),
)
READ = {
    "a file": (Call("read", {"path": "a.txt"}), "a.txt"),
    "an outline": (Call("outline", {"symbol": "b"}), "b.py"),
    "a search": (Call("search", {"pattern": "alpha"}), "files in the folder"),
    "an edit that quotes": (Call("edit", {"path": "a.txt", "old": "alhpa", "new": "b"}), "a.txt"),
    "a command": (Call("run", {"command": "echo one; exit 3"}), "the output of echo one; exit 3"),
    "a command without output": (Call("run", {"command": "true"}), "the output of true"),
}


NAMES = Exposed("untrusted", "names in the folder", own=True)
"""What the model is told of the folder with the first message (C-17)."""


def exposed(events: list) -> list[Exposed]:
    return [event for event in events if isinstance(event, Exposed)]


async def home_with(home: EngineHome) -> None:
    (home.folder / "a.txt").write_text("alpha\n")
    (home.folder / "b.py").write_text("def b(): ...\n")
    (home.folder / "secret.txt").write_text("s3cret\n")
    home.engine.settings.values.web_search = "off"


async def test_t7_what_was_refused_or_never_sent_exposes_to_nothing(tmp_path: Path) -> None:
    """Each call is answered with an error or a draft, and nobody's words came in."""
    async with engine_home(tmp_path, "openai-compatible", [Turn(*REFUSED), END]) as home:
        await home_with(home)
        home.engine.paths.agents.mkdir(parents=True, exist_ok=True)
        (home.engine.paths.agents / "coder.md").write_text(
            "---\nname: Coder\ntools: [read, list, search, write, edit, outline, run, fetch, web_search]\n"
            "---\nWork.\n"
        )
        session = await home.session()
        events = await say(session, rules=DENIED, answer="once")
        results = {e.call_id: e for e in events if isinstance(e, ToolFinished)}
        assert len(results) == len(REFUSED)
        good = [e.text for e in results.values() if not e.is_error]
        assert len(good) == 1 and "n.txt" in good[0], good
        assert exposed(events) == [NAMES] and "private" not in session.transcript.exposed


async def test_t7_what_was_read_counts_from_the_first_word(tmp_path: Path) -> None:
    script = [turn for call, _ in READ.values() for turn in (Turn(call), END)]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        await home_with(home)
        for case, (_, source) in READ.items():
            session = await home.session()
            events = await say(session, answer="once")
            met = exposed(events)
            assert met[0] == NAMES, case  # with the first message
            assert [(e.exposure, e.source) for e in met[1:]] == [
                ("private", source),
                ("untrusted", source),
            ], case
            shown = [e for e in events if isinstance(e, ToolOutput)]
            if shown:  # before anybody sees it
                assert events.index(met[-1]) < events.index(shown[0])
