"""Cells of notebooks as one text, and back (C-9)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.domain.errors import ToolFailed
from studio.domain.notebooks import compared, new_notebook, read_notebook

LINES = st.sampled_from(
    ["import math", "# %% code", "# %%", "# %%% x", "", " ", "“ü”", "\\n", '"', "%%time", "\u2028", "\r", "\ud800", "x = '''"]
) | st.text(alphabet="ab #%\t", max_size=6)  # fmt: skip
SOURCES = st.lists(LINES, max_size=5).map("\n".join)
VALUES = st.recursive(st.none() | st.integers() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2), max_leaves=4)  # fmt: skip


def as_stored(source: str, as_list: bool) -> Any:
    return source.splitlines(keepends=True) if as_list else source


@st.composite
def stored(draw: st.DrawFn) -> str:
    """A notebook as some program may have written it."""
    ids = draw(st.booleans())
    cells: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 5))):
        kind = draw(st.sampled_from(["code", "markdown", "raw"]))
        cell: dict[str, Any] = {"cell_type": kind, "metadata": draw(st.dictionaries(st.text(max_size=3), VALUES, max_size=2)),
                                "source": as_stored(draw(SOURCES), draw(st.booleans()))}  # fmt: skip
        if kind == "code":
            cell |= {
                "outputs": [{"output_type": "stream", "text": draw(VALUES)}],
                "execution_count": number,
            }
        if ids:
            cell["id"] = f"c-{number}"
        names = draw(st.permutations(list(cell)))
        cells.append({name: cell[name] for name in names})
    whole = {
        "nbformat": 4,
        "cells": cells,
        "metadata": draw(VALUES),
        "nbformat_minor": 5 if ids else 2,
    }
    names = draw(st.permutations(list(whole)))
    text = json.dumps({name: whole[name] for name in names}, indent=draw(st.sampled_from([None, 0, 1, 2, "\t"])),
                      ensure_ascii=draw(st.booleans()), separators=draw(st.sampled_from([None, (",", ":")])))  # fmt: skip
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", "\n", " "])) + text + draw(st.sampled_from(["", "\n", "\r\n"]))


def raw_cells(text: str) -> list[str]:
    book = read_notebook(text)
    assert book is not None
    return [text[cell.first : cell.last] for cell in book.cells]


def sources(text: str) -> list[tuple[str, str]]:
    return [(one["cell_type"], "".join(one["source"])) for one in json.loads(text)["cells"]]


@settings(deadline=None, max_examples=300)
@given(text=stored(), data=st.data())
def test_c9_all_but_the_changed_cells_keeps_its_bytes(text: str, data: st.DataObject) -> None:
    """C-9: a cell is changed, put in, taken out or moved; every other byte stays."""
    book = read_notebook(text)
    assert book is not None
    assert book.with_text(book.text()) == text
    raw, now = raw_cells(text), sources(text)
    source = data.draw(
        SOURCES.filter(
            lambda one: not any(line.startswith(book.marker) for line in one.split("\n"))
        )
    )
    at = data.draw(st.integers(0, len(raw)))
    parts = [f"{book.heading(cell)}\n{cell.source}\n" for cell in book.cells]

    kind = data.draw(st.sampled_from(["code", "markdown", "raw"]))
    put = book.with_text("".join([*parts[:at], f"{book.marker} {kind}\n{source}\n", *parts[at:]]))
    expected = (kind, source.strip("\n"))
    assert sources(put) == [*now[:at], expected, *now[at:]]
    assert raw_cells(put)[:at] == raw[:at] and raw_cells(put)[at + 1 :] == raw[at:]
    made = json.loads(put)["cells"][at]
    assert ("id" in made) == (json.loads(text)["nbformat_minor"] == 5)
    ids = [one.get("id") for one in json.loads(put)["cells"]]
    assert None in ids or len(set(ids)) == len(ids)
    assert around(put) == around(text)
    if at == len(raw):
        return

    cell = book.cells[at]
    parts[at] = f"{book.heading(cell)}\n{source}\n"
    changed = book.with_text("".join(parts))
    begin, end = cell.source_at
    assert changed.startswith(text[:begin]) and changed.endswith(text[end:])
    assert sources(changed) == [*now[:at], (now[at][0], source), *now[at + 1 :]]

    gone = book.with_text("".join(parts[:at] + parts[at + 1 :]))
    assert raw_cells(gone) == raw[:at] + raw[at + 1 :] and around(gone) == around(text)
    turned = book.with_text(
        "".join(f"{book.heading(one)}\n{one.source}\n" for one in reversed(book.cells))
    )
    assert raw_cells(turned) == raw[::-1] and around(turned) == around(text)


def around(text: str) -> tuple[str, str, Any]:
    """What is before the cells and after them, and all but the cells."""
    book = read_notebook(text)
    assert book is not None
    whole = json.loads(text)
    del whole["cells"]
    return text[: book.begin], text[book.end :], whole


BOOK = """{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "sum",
   "metadata": {"tags": ["a"]},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["3\\n"]}
   ],
   "source": [
    "x = 1\\n",
    "print(x + 2)"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"""


def test_c9_a_change_is_a_few_lines() -> None:
    """C-9: in the form of the programs that write notebooks."""
    book = read_notebook(BOOK)
    assert book is not None
    assert book.text() == "# %% markdown intro\n# Title\n# %% code sum\nx = 1\nprint(x + 2)\n"
    assert book.with_text(book.text().replace("x = 1\n", "x = 1\ny = 2\n")) == BOOK.replace(
        '    "x = 1\\n",\n', '    "x = 1\\n",\n    "y = 2\\n",\n'
    )
    put = book.with_text(book.text() + "# %%\nz = 3\n")
    made = json.loads(put)["cells"][2]
    assert put == BOOK.replace(
        '   ]\n  }\n ],',
        '   ]\n  },\n  {\n   "cell_type": "code",\n   "execution_count": null,\n'
        f'   "id": "{made["id"]}",\n   "metadata": {{}},\n   "outputs": [],\n'
        '   "source": [\n    "z = 3"\n   ]\n  }\n ],',
    )  # fmt: skip
    assert put == book.with_text(book.text() + "# %%\nz = 3\n"), "the same change gives the same id"


def test_c9_a_cell_of_another_kind_keeps_its_name() -> None:
    book = read_notebook(BOOK)
    assert book is not None
    made = json.loads(book.with_text(book.text().replace("code sum", "[markdown] sum")))["cells"][1]
    assert made == {"cell_type": "markdown", "id": "sum", "metadata": {"tags": ["a"]},
                    "source": ["x = 1\n", "print(x + 2)"]}  # fmt: skip


def test_c9_what_is_no_text_of_cells_is_refused() -> None:
    book = read_notebook(BOOK)
    assert book is not None
    with pytest.raises(ToolFailed, match="“# %% Part two” would begin a cell"):
        book.with_text(book.text() + "# %% Part two\n")
    with pytest.raises(ToolFailed, match="must begin with"):
        book.with_text("import x\n" + book.text())


def test_c9_what_is_no_notebook_is_read_as_text() -> None:
    deep = '{"nbformat": 4, "cells": ' + "[" * 100_000
    for text in ("", "[]", "{", '{"cells": []}', '{"nbformat": 3, "cells": []}', deep,
                 '{"nbformat": 4, "cells": [1]}', '{"nbformat": 4, "cells": [{}]}'):  # fmt: skip
        assert read_notebook(text) is None


def test_c9_a_new_notebook() -> None:
    made = json.loads(new_notebook("# %% markdown\n# Hello\n\n# %% code\nprint(1)\n"))
    assert [(one["cell_type"], one["source"]) for one in made["cells"]] == [
        ("markdown", ["# Hello"]), ("code", ["print(1)"])]  # fmt: skip
    assert (made["nbformat"], made["nbformat_minor"], made["metadata"]) == (4, 5, {})


def test_c9_people_compare_cells_where_these_show_all() -> None:
    """C-9: a change of outputs or metadata is never out of sight."""
    book = read_notebook(BOOK)
    assert book is not None
    text = book.text()
    for after in (
        text.replace("x = 1", "x = 2"),
        text + "# %% code\ny\n",
        text.partition("# %% code")[0],
    ):
        shown = compared(BOOK, book.with_text(after))
        assert shown is not None and shown[0].startswith("# %% markdown\n# Title\n")
    for unseen in (
        BOOK.replace('"3\\n"', '"4\\n"'),
        BOOK.replace('"metadata": {},\n "nb', '"metadata": {"a": 1},\n "nb'),
        BOOK.replace('["a"]', '["b"]').replace("x = 1", "x = 2"),
        book.with_text(text + "# %% code\ny\n").replace(
            '"outputs": []', '"outputs": [{"output_type": "x"}]'
        ),
        BOOK.replace("\n", ""),
    ):
        assert unseen != BOOK and compared(BOOK, unseen) is None
