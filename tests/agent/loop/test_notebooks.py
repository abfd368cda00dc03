"""C-9: notebooks are read and changed by cell."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from studio.agent.session.session import Session
from studio.domain.events import DraftCreated, Event, ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Text, Turn
from studio.tools.drafts.diff import unified_diff
from support.engine_home import EngineHome, engine_home, say
from support.model_calls import read
from support.sample_files import picture

ALLOWED = tuple(Rule("allow", name, "*") for name in ("edit", "write"))


def cell(key: str, source: str, *outputs: dict[str, Any], kind: str = "code") -> dict[str, Any]:
    made: dict[str, Any] = {"cell_type": kind, "id": key, "metadata": {}}
    if kind == "code":
        made |= {"execution_count": 1, "outputs": list(outputs)}
    return {**made, "source": source.splitlines(keepends=True)}


def stored(*cells: dict[str, Any]) -> str:
    whole = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def shown(data: dict[str, Any]) -> dict[str, Any]:
    return {"output_type": "display_data", "data": data, "metadata": {}}


BOOK = stored(
    cell("intro", "# Title\n\nWords “here”.", kind="markdown"),
    cell("sum", "x = 1\nprint(x)", {"output_type": "stream", "name": "stdout", "text": ["1\n"]}),
    cell("end", "x"),
)


def file(home: EngineHome) -> Path:
    return home.folder / "a.ipynb"


def edit(old: str, new: str) -> Call:
    return Call("edit", {"path": "a.ipynb", "old": old, "new": new})


def turns(*calls: Call) -> list[Turn]:
    return [part for call in calls for part in (Turn(call, stop="tool_use"), Turn(Text("Done.")))]


async def one(session: Session, rules: tuple[Rule, ...] = ALLOWED) -> ToolFinished:
    """The result of the one call of the next turn."""
    events: list[Event] = await say(session, rules=rules)
    (done,) = (event for event in events if isinstance(event, ToolFinished))
    return done


async def test_reading_shows_cells_outputs_and_pictures(tmp_path: Path) -> None:
    """C-9: as one text, long outputs cut, from a cell on, numbered where a model is used to it."""
    image = base64.b64encode(picture("PNG")).decode()
    book = stored(
        cell("a", "# Title", kind="markdown"),
        cell("b", "plot()", shown({"image/png": image, "text/plain": "<Figure>"}),
             shown({"image/png": "no picture"}), shown({"application/x-odd": {}}),
             shown({"text/html": ["<b>", "1</b>"]})),
        cell("c", "go()", {"output_type": "stream", "name": "stdout", "text": "y" * 5_000},
             {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\x1b[31mE\x1b[0m: v"]}),
    )  # fmt: skip
    looks = turns(
        read("a.ipynb"), Call("read", {"path": "a.ipynb", "first_page": 3}),
        Call("read", {"path": "a.ipynb", "first_line": 4}), Call("read", {"path": "a.ipynb", "first_page": 4}),
    )  # fmt: skip
    async with engine_home(tmp_path, "anthropic", looks) as home:
        file(home).write_text(book)
        session = await home.session()
        done = await one(session)
        assert done.text.startswith(
            "[a.ipynb, a notebook, cells 1-3 of 3] Edit it in this form; a line “# %% code” or "
            "“# %% markdown” begins a new cell. Outputs stay as they are.\n"
            "1\t# %% markdown a\n2\t# Title\n3\t# %% code b\n4\tplot()\n[output]\n(picture 1)\n"
            "(a picture that cannot be shown: "
        )
        assert "(application/x-odd)\n<b>1</b>\n[end of output]\n5\t# %% code c\n" in done.text
        assert "characters are left out here" in done.text and "E: v\n[end of output]" in done.text
        assert len(done.text) < 4_000 and done.summary == "3 cells" and done.sources == ("a.ipynb",)
        assert '"image"' in json.dumps(home.asked[1].json["messages"][-1])
        third = await one(session)
        assert "cells 3-3 of 3]" in third.text and "\n5\t# %% code c\n" in third.text
        assert "cells 2-3 of 3]" in (await one(session)).text
        assert "has only 3 cells; there is no cell 4" in (await one(session)).text


async def test_cells_are_changed_put_in_and_taken_out(tmp_path: Path) -> None:
    """C-9: with the tools that edit any text; all other bytes stay, outputs too."""
    script = turns(
        read("a.ipynb"),
        edit("x = 1", "x = 2"),
        edit("# %% code end\nx\n", "# %% markdown\nAfter.\n# %% code end\nx\n"),
        edit("# %% code sum\nx = 2\nprint(x)\n", ""),
        edit("no such text", "x"),
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(BOOK)
        session = await home.session()
        await one(session)
        changed = await one(session)
        assert file(home).read_text() == BOOK.replace('"x = 1\\n"', '"x = 2\\n"')
        assert "a.ipynb is written (+1 −1 lines)." in changed.text
        assert (
            "\n5\t# %% code sum\n6\tx = 2\n7\tprint(x)\n" in changed.text
            and "source" not in changed.text
        )
        await one(session)
        sources = [one["source"] for one in json.loads(file(home).read_text())["cells"]]
        assert sources[2:] == [["After."], ["x"]]
        await one(session)
        assert len(json.loads(file(home).read_text())["cells"]) == 3
        failed = await one(session)
        assert failed.is_error and "a.ipynb" in failed.text


async def test_a_notebook_that_changed_meanwhile(tmp_path: Path) -> None:
    """C-9, C-7: a run elsewhere that gives other outputs is kept; the same cell is refused."""
    theirs = BOOK.replace('"1\\n"', '"9\\n"')

    def answer(view: RequestView) -> Turn:
        steps = [
            read("a.ipynb"),
            None,
            edit("print(x)", "print(y)"),
            None,
            edit("# Title", "# Name"),
            None,
        ]
        call = steps[len(home.asked) - 1]
        return Turn(Text("Done.")) if call is None else Turn(call, stop="tool_use")

    async with engine_home(tmp_path, "anthropic", answer) as home:
        file(home).write_text(BOOK)
        session = await home.session()
        await one(session)
        file(home).write_text(theirs)
        kept = await one(session)
        assert not kept.is_error and "had changed elsewhere" in kept.text
        assert file(home).read_text() == theirs.replace("print(x)", "print(y)")
        file(home).write_text(file(home).read_text().replace("# Title", "# Theirs"))
        refused = await one(session)
        assert refused.is_error and "has changed since you last read it" in refused.text


async def test_the_draft_shows_cells(tmp_path: Path) -> None:
    """C-9, T-5: people compare sources, and the model reads its draft by cell."""
    script = turns(read("a.ipynb"), edit("x = 1", "x = 2"), read("a.ipynb"))
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(BOOK)
        session = await home.session()
        await one(session)
        events = await say(session)
        (draft,) = (event.draft for event in events if isinstance(event, DraftCreated))
        rows = [(row.kind, row.text) for row in unified_diff(draft) if row.kind in ("add", "del")]
        assert rows == [("del", "x = 1"), ("add", "x = 2")]
        text = (await one(session)).text
        assert "x = 2\n" in text and "This is your draft" in text.partition("\n")[0]


async def test_a_notebook_is_written_by_its_cells(tmp_path: Path) -> None:
    """C-9: a new one, and one that keeps the outputs of the cells that stay; JSON stays JSON."""
    script = turns(
        Call(
            "write", {"path": "n.ipynb", "content": "# %% markdown\nHello\n# %% code\nprint(1)\n"}
        ),
        read("a.ipynb"),
        Call("write", {"path": "a.ipynb", "content": "# %% code sum\nx = 5\n# %% code\nx\n"}),
        Call("write", {"path": "j.ipynb", "content": BOOK}),
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        file(home).write_text(BOOK)
        session = await home.session()
        assert not (await one(session)).is_error
        made = json.loads((home.folder / "n.ipynb").read_text())
        assert [one["source"] for one in made["cells"]] == [["Hello"], ["print(1)"]]
        await one(session)
        assert not (await one(session)).is_error
        left = json.loads(file(home).read_text())["cells"]
        assert [one["source"] for one in left] == [["x = 5"], ["x"]]
        assert left[0]["outputs"] == json.loads(BOOK)["cells"][1]["outputs"]
        await one(session)
        assert (home.folder / "j.ipynb").read_text() == BOOK


PATCH = """\
*** Begin Patch
*** Update File: a.ipynb
@@ # %% code sum
-x = 1
+x = 3
*** End Patch
"""


async def test_patches_change_cells(tmp_path: Path) -> None:
    """C-9, C-8."""
    script = turns(read("a.ipynb"), Call("apply_patch", {"input": PATCH}))
    async with engine_home(tmp_path, "openai", script) as home:
        file(home).write_text(BOOK)
        session = await home.session("Coder")
        await one(session)
        done = await one(session)
        assert not done.is_error, done.text
        assert file(home).read_text() == BOOK.replace('"x = 1\\n"', '"x = 3\\n"')
