"""Reading several files at once, with numbers, in the room that there is (C-20)."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.events import Event, ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Text, Turn
from studio.tools.builtin.read import read
from support.engine_home import EngineHome, engine_home, say
from support.tool_calls import call, context

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_several_files_are_one_answer(tmp_path: Path) -> None:
    """C-20: each with its heading; what cannot be read is told in its place."""
    (tmp_path / "a.py").write_text("one\ntwo\n")
    (tmp_path / "b.py").write_text("three")
    (tmp_path / "data").write_bytes(b"\0\1\2" * 10)
    (tmp_path / "p.png").write_bytes(PICTURE)
    found = await call(read, tmp_path, paths=["a.py", "c.py", "b.py", "data", "p.png", "a.py"])
    assert found.text.startswith(
        "[a.py, all 2 lines]\none\ntwo\n\n[There is no file c.py. Did you mean b.py, a.py?]\n\n"
        "[b.py, 1 line]\nthree\n\n[data is a binary file (30 bytes).]\n\n[p.png, a picture"
    )
    assert (found.summary, len(found.images)) == ("3 files", 1)
    assert found.sources == ("a.py:1-2", "b.py:1-1", "p.png")
    one = await call(read, tmp_path, paths=["a.py"], first_line=2)
    assert one.text == "[a.py, lines 2-2 of 2]\ntwo\n"
    both = await call(read, tmp_path, path="a.py", paths=["b.py"])
    assert both.summary == "2 files"
    for wrong, words in (
        ({}, "Name a file in “path”, or 1 to 10"),
        ({"paths": [f"{n}" for n in range(11)]}, "1 to 10"),
        ({"paths": ["a.py", "b.py"], "first_line": 2}, "from their beginnings"),
        ({"paths": ["../x", "/etc/passwd"]}, "outside the folder"),
    ):
        with pytest.raises(NothingRead, match=words):
            await call(read, tmp_path, **wrong)
    with pytest.raises(ToolFailed, match=r"Did you mean a\.py"):
        await call(read, tmp_path, paths=["ax.py", "../x"])


async def test_several_files_share_the_room(tmp_path: Path) -> None:
    """C-20: what one does not need is there for the others, and each says how to go on."""
    (tmp_path / "small").write_text("x\n" * 10)
    for name in ("big1", "big2"):
        (tmp_path / name).write_text("0123456789\n" * 20_000)
    asked = {"paths": ["small", "big1", "big2"], "lines": 100_000}
    found = await read.call(context(tmp_path), asked)
    assert 59_000 < len(found.text) < 60_600
    small, first, second = found.text.split("\n\n")
    assert small.startswith("[small, all 10 lines]") and abs(len(first) - len(second)) < 200
    assert "More follows: read on with first_line 27" in first
    (tmp_path / "short").write_text("x\n" * 20_000)
    narrow = {"path": "short", "lines": 20_000}
    numbered = await read.call(replace(context(tmp_path), numbered=True), narrow)
    assert len(numbered.text) < 75_000
    less = await read.call(replace(context(tmp_path), room=6_000), asked)
    assert 5_900 < len(less.text) < 6_600


async def test_lines_are_numbered_where_the_model_wants_it(tmp_path: Path) -> None:
    """C-20."""
    (tmp_path / "a").write_text("one\r\n\n\x0cthree\rfour\nfive\n")
    (tmp_path / "empty").write_text("")
    here = replace(context(tmp_path), numbered=True)
    whole = await read.call(here, {"path": "a"})
    assert whole.text == "[a, all 4 lines]\n1\tone\r\n2\t\n3\t\x0cthree\rfour\n4\tfive\n"
    part = await read.call(here, {"path": "a", "first_line": 2, "lines": 1})
    assert part.text.endswith("\n2\t\n")
    assert (await read.call(here, {"path": "empty"})).text == "[empty is empty.]\n"
    cut = await read.call(here, {"path": "a", "first_column": 2})
    assert cut.text.endswith("\nne")


def done(events: list[Event]) -> list[ToolFinished]:
    return [event for event in events if isinstance(event, ToolFinished)]


def reads(*paths: str) -> object:
    def script(view: RequestView) -> Turn:
        return Turn(Text("Done.")) if view.results else Turn(Call("read", {"paths": [*paths]}))

    return script


async def numbered(home: EngineHome, model: str, setting: str = "model") -> bool:
    home.engine.settings.values.line_numbers = setting  # type: ignore[assignment]
    (result,) = done(await say(await home.session(model=model)))
    assert "one" in result.text
    return "1\tone" in result.text


async def test_the_family_of_a_model_decides_about_numbers_or_the_setting(tmp_path: Path) -> None:
    """C-20, C-22."""
    async with engine_home(tmp_path, "openai-compatible", reads("a")) as home:  # type: ignore[arg-type]
        (home.folder / "a").write_text("one\n")
        for model, expected in (("claude-x", True), ("sim-model", True), ("gemini-3-pro", False)):
            assert await numbered(home, model) is expected
            assert await numbered(home, model, "always") and not await numbered(
                home, model, "never"
            )


async def test_a_long_reading_is_not_cut_in_its_middle(tmp_path: Path) -> None:
    """C-20: up to 60,000 characters reach the model, or a quarter of a small window."""
    async with engine_home(tmp_path, "anthropic", reads("a", "b")) as home:  # type: ignore[arg-type]
        for name in "ab":
            (home.folder / name).write_text(f"{'0123456789' * 8}\n" * 5_000)
        for window, least, most in ((200_000, 59_000, 62_000), (8_192, 8_000, 9_000)):
            home.engine.settings.values.models["anthropic/sim-model"] = {"context_window": window}
            (result,) = done(await say(await home.session()))
            body = json.dumps(home.asked[-1].json["messages"][2], ensure_ascii=False)
            assert least < len(result.text) < most and "left out here" not in body


@pytest.mark.parametrize("paths", [["open", "secret/key"], ["secret/key", "open"]])
async def test_one_forbidden_file_of_several_is_a_forbidden_call(
    tmp_path: Path, paths: list[str]
) -> None:
    """T-7: a call is decided by its strictest file, and nothing of it is read."""
    async with engine_home(tmp_path, "anthropic", reads(*paths)) as home:  # type: ignore[arg-type]
        (home.folder / "secret").mkdir()
        (home.folder / "secret" / "key").write_text("hidden")
        (home.folder / "open").write_text("open")
        rule = Rule("deny", "read", "secret/*")
        (result,) = done(await say(await home.session(), rules=(rule,)))
        assert result.is_error and "not allowed" in result.text and "[open" not in result.text
