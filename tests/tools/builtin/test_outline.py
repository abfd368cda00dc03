"""Outlines of source files (C-18)."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.domain.drafts import FileDraft
from studio.domain.errors import ToolFailed
from studio.tools import Context, Workspace
from studio.tools.builtin.outline import LIMIT, outline
from studio.tools.workspace.grammars import SUFFIXES, grammar_symbols
from studio.tools.workspace.symbols import LONGEST, python_symbols
from support.cpu_cost import grows_linearly
from support.tool_calls import call, context

SHOP = '''"""A shop."""
from dataclasses import dataclass

LIMIT = 3


@dataclass(frozen=True)
class Item(Base[int]):
    price: int = 0

    @property
    def cost(self) -> int:
        return self.price * LIMIT

    async def buy(self, who: str, *, count: int = 1) -> None:
        def inner(x):
            return x
        inner(self.cost)


def shop(items: list[Item], /, *more: Item) -> int:
    return sum(item.cost for item in items)
'''


async def test_c18_a_python_file(tmp_path: Path) -> None:
    """C-18: signatures on one line with the lines of their bodies, nested, and counts."""
    (tmp_path / "shop.py").write_text(SHOP)
    result = await call(outline, tmp_path, path="shop.py")
    assert result.text.splitlines() == [
        "[shop.py: 22 lines, 1 type, 4 functions.]",
        "7-18\t@dataclass class Item(Base[int])",
        "11-13\t  @property def cost(self) -> int",
        "15-18\t  async def buy(self, who: str, *, count: int=1) -> None",
        "16-17\t    def inner(x)",
        "21-22\tdef shop(items: list[Item], /, *more: Item) -> int",
    ]
    assert (result.summary, result.sources) == ("5 lines", ("shop.py",))


async def test_c18_where_a_name_is_defined_and_used(tmp_path: Path) -> None:
    """C-18: definitions and callers by name in all files; imports are neither."""
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "till.py").write_text("from shop import shop\n\ndef pay():\n    shop([])\n")
    found = await call(outline, tmp_path, symbol="shop")
    assert found.text == (
        "[shop: 1 definition, used in 1 line of 1 file.]\n\n"
        "Defined:\nshop.py:21-22: def shop(items: list[Item], /, *more: Item) -> int\n\n"
        "Used:\ntill.py:4: in pay: shop([])"
    )
    cost = await call(outline, tmp_path, path="shop.py", symbol="Item.cost")
    assert "Defined:\nshop.py:11-13: @property def cost(self) -> int\n" in cost.text
    assert "shop.py:18: in Item.buy: inner(self.cost)\n" in cost.text
    assert "shop.py:22: in shop: return sum" in cost.text
    value = (await call(outline, tmp_path, symbol="LIMIT")).text
    assert "shop.py:4: LIMIT = 3" in value and "shop.py:13: in Item.cost: return" in value
    none = await call(outline, tmp_path, symbol="Other.cost")
    assert "0 definitions, used in 2 lines of 1 file." in none.text
    assert (
        await call(outline, tmp_path, symbol="nope")
    ).text == "There is nothing called nope here."


async def test_c18_a_broken_file_is_read_by_its_lines(tmp_path: Path) -> None:
    """C-18: and the answer says so."""
    (tmp_path / "a.py").write_text(SHOP + "\ndef late(:\n    shop()\n")
    text = (await call(outline, tmp_path, path="a.py")).text
    assert "Not all of it can be parsed (line 24: " in text
    assert "8-20\tclass Item(Base[int])" in text and "\n24-25\tdef late(" in text
    uses = (await call(outline, tmp_path, symbol="shop")).text
    assert "a.py:21-23: def shop(" in uses and "a.py:25: in late: shop()" in uses
    for hostile in ("\0def a(): ...", "x = " + "(" * 5_000, "x" * (LONGEST + 1) + "\ndef a(): ..."):
        assert python_symbols(hostile).problem


async def test_c18_a_folder_and_its_pages(tmp_path: Path) -> None:
    """C-18: types with how much is in them; a long answer goes on where it ended."""
    (tmp_path / "b").mkdir()
    (tmp_path / "a.py").write_text(SHOP)
    (tmp_path / "b" / "empty.py").write_text("x = 1\n")
    (tmp_path / "b" / "many.py").write_text("def f(): ...\n" * 450)
    (tmp_path / "notes.md").write_text("# def f\n")
    first = await call(outline, tmp_path)
    assert first.text.startswith(
        "[a.py: 22 lines, 1 type, 4 functions.]\n"
        "7-18\t@dataclass class Item(Base[int])  (3 inside)\n21-22\tdef shop"
    )
    assert (
        "\n\n[b/empty.py: 1 line.]\n\n[b/many.py: 450 lines, 450 functions.]\n1\tdef f()"
        in first.text
    )
    assert first.sources == ("a.py", "b/empty.py", "b/many.py")
    seen, at = first.text.count("def f()"), 1
    while f"go on with first {at + LIMIT}," in first.text:
        at += LIMIT
        first = await call(outline, tmp_path, first=at)
        assert first.text.startswith("[b/many.py: 450 lines, 450 functions.]\n")
        seen += first.text.count("def f()")
    assert seen == 450 and "more follows" not in first.text
    with pytest.raises(ToolFailed, match="no line 2000"):
        await call(outline, tmp_path, first=2_000)
    with pytest.raises(ToolFailed, match=r"notes\.md has no outline; .*Use read"):
        await call(outline, tmp_path, path="notes.md")
    with pytest.raises(ToolFailed, match="no file"):
        await call(outline, tmp_path, path="c.py")
    with pytest.raises(ToolFailed, match="outside the folder"):
        await call(outline, tmp_path, path="..")


class Waiting:
    """Drafts that wait."""

    def __init__(self, *drafts: FileDraft) -> None:
        self.drafts = drafts

    def waiting(self, *, of_turn: bool) -> Sequence[FileDraft]:
        return self.drafts if of_turn else ()


async def test_c18_drafts_count_as_in_reading(tmp_path: Path) -> None:
    """C-18: a changed, a new, a moved and a deleted file."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.py").write_text(f"def {name}(): ...\n")
    made = FileDraft("1", "a.py", "", "def changed(): ...\n", "x")
    drafts = Waiting(
        made,
        replace(made, id="2", path="new/n.py", before=None, after="def new(): ...\n"),
        replace(made, id="3", path="b.py", target="m.py", action="move", before="", after=""),
        replace(made, id="4", path="c.py", action="delete", after=""),
    )
    around = replace(context(tmp_path), drafts=drafts)  # type: ignore[arg-type]
    text = (await outline.call(around, {})).text
    assert "[a.py: 1 line, 1 function. This is your draft, " in text and "def changed()" in text
    assert "[new/n.py: 1 line, 1 function. This is your draft, " in text
    assert "[b.py: 1 line, 1 function. Your draft moves this file to m.py, " in text
    assert "[c.py: 1 line, 1 function. Your draft deletes this file, " in text
    assert "[m.py" not in text and "cannot be read" not in text
    assert "def new()" in (await outline.call(around, {"path": "new/n.py"})).text


async def test_c18_nothing_is_shown_that_may_not_be_read(tmp_path: Path) -> None:
    """C-18, T-7: neither by a folder, a name, a link nor a draft."""
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "out.py").write_text("def secret(): ...\n")
    (root / "link.py").symlink_to(tmp_path / "out.py")
    for name in ("open.py", "closed.py"):
        (root / name).write_text("def secret(): ...\n")
    hidden = Workspace(root).hiding(lambda name: name in ("closed.py", "new.py"))
    drafts = Waiting(FileDraft("1", "new.py", None, "def secret(): ...\n", ""))
    around = Context(hidden, drafts=drafts)  # type: ignore[arg-type]
    for asked in ({}, {"symbol": "secret"}):
        result = await outline.call(around, asked)
        assert "open.py" in result.text and result.sources == ("open.py",)
        assert not any(one in result.text for one in ("closed", "link", "new.py"))


SAMPLES = {
    "go": ("package a\ntype Shop struct {\n\tx int\n}\nfunc (s *Shop) Open(n int) error {\n\treturn open(s)\n}\n"
           "func open(s *Shop) error { return nil }\n",
           ["2-4\ttype|Shop struct", "5-7\tfunc (s *Shop) Open(n int) error", "8\tfunc open(s *Shop) error"]),
    "rs": ("use a::b;\nimpl Shop {\n    #[inline]\n    pub fn open(&self) -> u8 { 1 }\n}\ntrait T { fn go(&self); }\nfn f(s: Shop) { s.open(); }\n",
           ["2-5\timpl Shop", "4\t  pub fn open(&self) -> u8", "6\ttrait T", "6\t  fn go(&self)", "7\tfn f(s: Shop)"]),
    "ts": ("import { open } from 'a';\nexport interface A { go(x: number): void }\nexport class Shop<T> {\n  open = (x: T) => { return x }\n  close(): void {}\n}\n"
           "const f = async (a: string) => open(a)\ntype B = A | null\n",
           ["2\tinterface A", "2\t  go(x: number): void", "3-6\tclass Shop<T>", "4\t  open = (x: T)", "5\t  close(): void", "7\tf = async (a: string)", "8\ttype B = A | null"]),
    "js": ("function open(a) { return 1 }\nclass Shop extends B { go() { open(2) } }\n",
           ["1\tfunction open(a)", "2\tclass Shop extends B", "2\t  go()"]),
    "tsx": ("export const View = (p: P) => <b>{p.x}</b>\n", ["1\tView = (p: P)"]),
    "java": ("package a;\nimport b.C;\npublic class Shop {\n  @Override\n  public int open(int x) { return open(x); }\n}\n",
             ["3-6\tpublic class Shop", "4-5\t  @Override public int open(int x)"]),
    "c": ("#include <a.h>\nstruct shop { int x; };\nint open(struct shop *s);\nint open(struct shop *s) {\n  return open(s);\n}\n",
          ["2\tstruct shop", "3\tint open(struct shop *s)", "4-6\tint open(struct shop *s)"]),
    "cpp": ("namespace n {\nclass Shop : public B {\n public:\n  int open(int x) const;\n};\n}\nint n::Shop::open(int x) const { return x; }\n",
            ["1-6\tnamespace n", "2-5\t  class Shop : public B", "4\t    int open(int x) const", "7\tint n::Shop::open(int x) const"]),
    "cs": ("using A;\nnamespace N;\npublic class Shop : B {\n  public int Open(int x) => x;\n}\n",
           ["2\tnamespace N", "3-5\tpublic class Shop : B", "4\t  public int Open(int x)"]),
    "rb": ("module N\n  class Shop < B\n    def open(x)\n      open(1)\n    end\n    def self.make = 1\n  end\nend\n",
           ["1-8\tmodule N", "2-7\t  class Shop < B", "3-5\t    def open(x)", "6\t    def self.make"]),
    "php": ("<?php\nuse A\\B;\nclass Shop extends B {\n  public function open(int $x): int { return open($x); }\n}\nfunction open($x) {}\n",
            ["3-5\tclass Shop extends B", "4\t  public function open(int $x): int", "6\tfunction open($x)"]),
    "sh": ("open() {\n  echo 1\n}\nopen x\n", ["1-3\topen()"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", SAMPLES)
async def test_c18_other_languages_by_their_grammars(tmp_path: Path, kind: str) -> None:
    """C-18: signatures and uses, with the extra."""
    text, expected = SAMPLES[kind]
    (tmp_path / f"a.{kind}").write_text(text)
    told = (await call(outline, tmp_path, path=f"a.{kind}")).text
    assert told.splitlines()[1:] == [line.replace("type|", "") for line in expected]
    assert "parsed" not in told
    if "open(" in text or kind == "sh":
        (tmp_path / f"b.{kind}").write_text(text)
        found = (await call(outline, tmp_path, symbol="open")).text
        assert f"a.{kind}:" in found and f"b.{kind}:" in found
        assert not any(word in found for word in ("import {", "use a", "#include"))


async def test_c18_a_broken_file_of_another_language(tmp_path: Path) -> None:
    """C-18: what can be read, and where the first mistake is."""
    (tmp_path / "a.go").write_text("package a\nfunc one() {}\nfunc two( {{{\n")
    text = (await call(outline, tmp_path, path="a.go")).text
    assert "Not all of it can be parsed (line 3 " in text and "2\tfunc one()" in text


async def test_c18_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-18: the answer names it, and Python is outlined all the same."""
    without(monkeypatch, lambda name: name.startswith("tree_sitter"))
    (tmp_path / "a.go").write_text("package a\n")
    (tmp_path / "a.py").write_text("def a(): ...\n")
    text = (await call(outline, tmp_path)).text
    assert "1\tdef a()" in text
    assert text.endswith(
        "[Left out: 1 .go file, which need an extra of the program (pip install 'agent-studio[outline]').]"
    )
    with pytest.raises(ToolFailed, match=r"agent-studio\[outline\].*Use search or read"):
        await call(outline, tmp_path, path="a.go")


def without(monkeypatch: pytest.MonkeyPatch, lacks: Callable[[str], bool]) -> None:
    """Have imports of some packages fail, as where they are not installed."""
    import importlib

    real, real_module = builtins.__import__, importlib.import_module

    def found(name: str, *rest: Any, **more: Any) -> Any:
        if lacks(name):
            raise ImportError(name)
        return real(name, *rest, **more)

    def module(name: str, package: str | None = None) -> Any:
        if lacks(name):
            raise ImportError(name)
        return real_module(name, package)

    monkeypatch.setattr(builtins, "__import__", found)
    monkeypatch.setattr(importlib, "import_module", module)


LINES = st.sampled_from(
    ["class A:", "def b(self, x=1):", "async def c(): ...", "@d", "    pass", "    e = f(b)", "  def", "'''", "x = [", "]",
     "if x:", "    def g(): ...", "\x0c", "\r", "fn h() {", "}", "impl A for B {", "\\", "é", "function i(a) {"]
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(lines=st.lists(LINES, max_size=25), wanted=st.sampled_from(["", "A", "b", "f"]))
def test_c18_whatever_a_file_holds(lines: list[str], wanted: str) -> None:
    """C-18: no text is an error; lines are those of the text, and all are told of a whole one."""
    text = "\n".join(lines)
    last = max(text.count("\n"), text.count("\r") + text.count("\n")) + 1
    for suffix in (".py", *sorted(SUFFIXES)):
        read = (
            python_symbols(text, wanted)
            if suffix == ".py"
            else grammar_symbols(suffix, text, wanted)
        )
        for one in read.found:
            assert (
                1 <= one.first <= one.last <= last and one.depth >= 0 and "\n" not in one.signature
            )
        assert all(1 <= number <= last for number in read.uses)
        assert wanted or not read.uses
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    assert len(python_symbols(text).found) == sum(isinstance(one, kinds) for one in ast.walk(tree))


def test_c18_hostile_texts_take_no_longer_than_long_ones() -> None:
    def read(text: str) -> object:
        return python_symbols(text, "f")

    assert grows_linearly(lambda n: "def f(:\n" * n, read, 16_000)
    assert grows_linearly(lambda n: "if x: pass\n" + "elif x: pass\n" * n, read, 800)
