"""A function becomes a tool; arguments are checked; results become text."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NotRequired, Required, TypedDict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.errors import ToolFailed
from studio.domain.tools import ToolSpec
from studio.tools import Context, Result, Tool, Workspace, render, shorten, tool
from studio.tools.discovery import ToolDiscovery
from studio.tools.sdk.argument_check import check

# The computer may be busy with other things.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Named(TypedDict):
    name: str
    note: NotRequired[str]


class Placed(Named, total=False):
    at: Required[int]
    up: int


@dataclass
class Point:
    x: int
    label: str = "here"


@tool(effect="read", target="path", verb="Looking", done="Looked", icon="eye", time_limit=5)
async def look_(
    context: Context,
    path: str,
    count: int = 3,
    ratio: float = 0.5,
    deep: bool = False,
    mode: Literal["fast", "slow"] = "fast",
    names: list[str] | None = None,
    points: Sequence[Point] = (),
    extra: dict[str, int] | None = None,
    when: str | int | None = None,
) -> Result:
    """Look at something.
    It goes on.

    Not for the model.

    path: Where to look,
        and further.
    count: How often: a number.
    """
    return Result([path, count, ratio, deep, mode, names, points, extra, when])


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(Workspace(tmp_path))


def test_a_description_is_whole() -> None:
    """T-1: a line that begins as a parameter does, with more than a text behind it, is none."""

    @tool(effect="read", target="path", verb="Looking", done="Looked", icon="search")
    def look(path: str) -> str:
        """Look for lines. Answers with each as
        path:line: text, in order.

        path: Where to look.
        """
        return path

    assert (
        look.spec.description == "Look for lines. Answers with each as path:line: text, in order."
    )
    built_in = ToolDiscovery([]).refresh().tools.values()
    cut = [one.spec.name for one in built_in if not one.spec.description.endswith(".")]
    assert not cut and len(built_in) > 15


def test_hints_and_docstring_become_the_spec() -> None:
    """T-1, and the context is not in the schema (T-2)."""
    spec = look_.spec
    assert spec.name == "look"
    assert spec.description == "Look at something. It goes on."
    assert (spec.effect, spec.target, spec.verb, spec.done) == ("read", "path", "Looking", "Looked")
    assert (spec.icon, spec.time_limit, spec.alone) == ("eye", 5, False)
    assert spec.schema == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where to look, and further."},
            "count": {"type": "integer", "description": "How often: a number.", "default": 3},
            "ratio": {"type": "number", "default": 0.5},
            "deep": {"type": "boolean", "default": False},
            "mode": {"type": "string", "enum": ["fast", "slow"], "default": "fast"},
            "names": {"type": "array", "items": {"type": "string"}},
            "points": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"x": {"type": "integer"}, "label": {"type": "string"}},
                    "additionalProperties": False,
                    "required": ["x"],
                },
            },
            "extra": {"type": "object", "additionalProperties": {"type": "integer"}},
            "when": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    json.dumps(spec.schema)


def test_a_model_is_not_told_what_goes_without_saying() -> None:
    """T-1: it is checked all the same; a tool from elsewhere is described as it was."""

    def find(points: list[Point], default: str = "", deep: bool = False, most: int = 3) -> str:
        """Find it."""
        return f"{points} {default} {deep} {most}"

    made = tool(find)
    assert made.told.description == "Find it."
    assert made.told.schema == {
        "type": "object",
        "properties": {
            "points": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"x": {"type": "integer"}, "label": {"type": "string"}},
                    "required": ["x"],
                },
            },
            "default": {"type": "string"},
            "deep": {"type": "boolean"},
            "most": {"type": "integer", "default": 3},
        },
        "required": ["points"],
    }
    assert made.check({"points": []}) == {"points": [], "default": "", "deep": False, "most": 3}
    with pytest.raises(ToolFailed, match="“dep” is unknown"):
        made.check({"points": [], "dep": True})
    with pytest.raises(ToolFailed, match="points"):
        made.check({"points": [{"x": 1, "y": 2}]})
    elsewhere = replace(made, module="")
    assert elsewhere.told is elsewhere.brief is made.spec


def test_a_brief_description_lacks_what_is_spare() -> None:
    """The tool itself understands it all the same."""

    def find(word: str, first: int = 1, deep: bool = False) -> str:
        """Find it."""
        return f"{word} {first} {deep}"

    made = tool(spare=("first",))(find)
    assert list(made.spec.schema["properties"]) == ["word", "first", "deep"]  # type: ignore[arg-type]
    assert list(made.brief.schema["properties"]) == ["word", "deep"]  # type: ignore[arg-type]
    assert made.check({"word": "a", "first": 2})["first"] == 2
    assert look_.brief is look_.told


async def test_values_arrive_as_the_hints_promise(context: Context) -> None:
    result = await look_.call(
        context, {"path": "a", "ratio": 1, "points": [{"x": 1}], "extra": {"a": 1}, "when": 3}
    )
    assert result.value == ["a", 3, 1.0, False, "fast", None, [Point(1)], {"a": 1}, 3]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"count": "5"}, {"count": 5}),
        ({"count": 5.0}, {"count": 5}),
        ({"ratio": "0.25"}, {"ratio": 0.25}),
        ({"deep": "True"}, {"deep": True}),
        ({"names": '["a", "b"]'}, {"names": ["a", "b"]}),
        ({"names": "a"}, {"names": ["a"]}),
        ({"points": [{"x": "1"}]}, {"points": [{"x": 1}]}),
        ({"extra": '{"a": 1}'}, {"extra": {"a": 1}}),
        ({"path": 7}, {"path": "7"}),
        ({"names": None, "count": None}, {}),
    ],
)
def test_slips_of_small_models_are_put_right(given: Any, want: Any) -> None:
    defaults = {"path": "a", "count": 3, "ratio": 0.5, "deep": False, "mode": "fast"}
    assert look_.check({"path": "a", **given}) == {**defaults, **want}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "“path” is missing (text)"),
        ({"path": "a", "cuont": 1}, "“cuont” is unknown, did you mean “count”"),
        ({"path": "a", "zzz": 1}, "“zzz” is unknown, it takes path, count"),
        ({"path": "a", "count": "many"}, '“count” must be a whole number, not "many"'),
        ({"path": "a", "count": 1.5}, "“count” must be a whole number, not 1.5"),
        ({"path": "a", "deep": 1}, "“deep” must be true or false, not 1"),
        ({"path": "a", "mode": "odd"}, '“mode” must be one of "fast", "slow", not "odd"'),
        ({"path": ["a"]}, '“path” must be text, not ["a"]'),
        ({"path": True}, "“path” must be text, not true"),
        ({"path": None}, "“path” must be text, not null"),
        ({"path": "a", "names": [["b"]]}, "“names[0]” must be text"),
        ({"path": "a", "points": [{}]}, "“points[0].x” is missing"),
        ({"path": "a", "when": []}, "“when” must be text or a whole number, not []"),
    ],
)
async def test_wrong_arguments_are_named(context: Context, given: Any, words: str) -> None:
    """L-5."""
    with pytest.raises(ToolFailed) as failure:
        await look_.call(context, given)
    assert words in str(failure.value)
    assert str(failure.value).startswith("Wrong arguments for look: ")


def test_several_faults_are_named_at_once() -> None:
    with pytest.raises(ToolFailed, match=r"“count”.*“deep”"):
        look_.check({"path": "a", "count": "x", "deep": "y"})


def test_what_a_dictionary_may_lack_is_not_required() -> None:
    """T-1: also where the hints are texts, as the marks of this file are."""

    @tool(effect="read")
    def place(places: list[Placed]) -> str:
        """Place them."""
        return ""

    place.check({"places": [{"name": "a", "at": 1}]})
    with pytest.raises(ToolFailed, match=r"“places\[0\].at” is missing"):
        place.check({"places": [{"name": "a", "note": "b"}]})


def test_schemas_of_others() -> None:
    """A schema never loads anything, and one that is nonsense does not block its tool."""
    remote = ToolSpec("a", "", {"properties": {"x": {"$ref": "http://127.0.0.1:9/schema"}}})
    assert check(remote, {"x": 1, "more": 2}) == {"x": 1, "more": 2}
    assert check(ToolSpec("a", "", {"type": "nonsense"}), {"x": 1}) == {"x": 1}
    assert check(ToolSpec("a", "", {}), {"x": 1}) == {"x": 1}
    local = {"$defs": {"n": {"type": "integer"}}, "properties": {"x": {"$ref": "#/$defs/n"}}}
    with pytest.raises(ToolFailed, match="“x” must be a whole number"):
        check(ToolSpec("a", "", local), {"x": "no"})  # type: ignore[arg-type]


@patient
@given(
    st.dictionaries(
        st.sampled_from(["path", "count", "deep", "names", "points", "when", "other"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
            max_leaves=5,
        ),
    )
)
def test_arguments_are_good_or_named(arguments: Any) -> None:
    try:
        good = look_.check(arguments)
    except ToolFailed:
        return
    assert look_.check(good) == good


async def test_whatever_a_tool_raises_the_model_is_told(context: Context) -> None:
    """L-5: not even exit() ends the program."""

    class Rude(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    for error in (ValueError("no"), SystemExit(1), Rude(), StopIteration("x"), KeyError("k")):

        @tool
        async def fails() -> str:
            """Fail."""
            raise error  # noqa: B023 - called at once

        @tool
        def fails_too() -> str:
            """Fail."""
            raise error  # noqa: B023 - called at once

        for one in (fails, fails_too):
            with pytest.raises(ToolFailed, match="failed"):
                await one.call(context, {})


async def test_a_plain_function_runs_in_a_thread_and_may_show_output(tmp_path: Path) -> None:
    shown: list[tuple[str, bool]] = []
    main = threading.get_ident()

    @tool(name="slow-one")
    def slow(context: Context, n: int = 1) -> list[int]:
        """Work."""
        context.emit("half")
        return [n, threading.get_ident()]

    context = Context(
        Workspace(tmp_path), emit=lambda text: shown.append((text, threading.get_ident() == main))
    )
    result = await slow.call(context, {})
    assert slow.spec.name == "slow-one"
    assert shown == [("half", True)]
    assert result.value[1] != main  # type: ignore[index]


async def test_cancelling_does_not_wait_for_a_plain_function(context: Context) -> None:
    begun, go = threading.Event(), threading.Event()

    @tool
    def hangs() -> None:
        """Hang."""
        begun.set()
        go.wait(10)

    task = asyncio.create_task(hangs.call(context, {}))
    assert await asyncio.to_thread(begun.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()


def test_a_tool_that_cannot_be_described_is_refused() -> None:
    def no_doc(a: int) -> None: ...

    def no_hint(a) -> None:  # type: ignore[no-untyped-def]
        """Doc."""

    def strange(a: threading.Event) -> None:
        """Doc."""

    def star(*a: int) -> None:
        """Doc."""

    for function, words in (
        (no_doc, "no docstring"),
        (no_hint, "no type hint"),
        (strange, "no JSON schema"),
        (star, "cannot be described"),
    ):
        with pytest.raises(TypeError, match=words):
            tool(function)
    with pytest.raises(TypeError, match="no parameter “b”"):
        tool(target="b")(one)
    with pytest.raises(TypeError, match="“a” is no optional parameter"):
        tool(spare=["a"])(one)


def one(a: int) -> int:
    """One."""
    return a


async def test_a_tool_from_elsewhere(context: Context) -> None:
    async def echo(context: Context, arguments: Any) -> object:
        return arguments

    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 2}}}
    there = Tool(ToolSpec("echo", "Echo.", schema), echo, origin="a server")  # type: ignore[arg-type]
    assert (await there.call(context, {})).text == '{\n  "a": 2\n}'


class Colour(Enum):
    RED = "red"


def test_results_as_text() -> None:
    """L-4."""
    cycle: list[Any] = [1, {}]
    cycle.append(cycle)
    loop: dict[str, Any] = {}
    loop["self"] = loop
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    cases: list[tuple[object, str]] = [
        ("text\n", "text\n"),
        (None, "(no output)"),
        ([], "(no output)"),
        (True, "true"),
        (1.5, "1.5"),
        (["a", 1, None, False], "a\n1\nnull\nfalse"),
        ((n for n in (1, 2)), "1\n2"),
        ({"a": [1, "ö"]}, '{\n  "a": [\n    1,\n    "ö"\n  ]\n}'),
        ({1: date(2026, 1, 2), (1, 2): Path("x")}, '{\n  "1": "2026-01-02",\n  "(1, 2)": "x"\n}'),
        (Point(1), '{\n  "x": 1,\n  "label": "here"\n}'),
        ([Point(1, "a")], '[\n  {\n    "x": 1,\n    "label": "a"\n  }\n]'),
        (Colour.RED, "red"),
        (b"text", "text"),
        (b"\xff\x00" * 600, "(binary data, 1.2 kB)"),
        (Result(["a"]), "a"),
        (cycle, "(a list that contains itself)"),
        (loop, "(a dict that contains itself)"),
        ("a\udcffb", "a\ufffdb"),
    ]
    for value, text in cases:
        assert render(value) == text
    assert render(deep).startswith("(a list that")


class Evil:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


@patient
@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(st.characters())
        | st.binary()
        | st.dates()
        | st.builds(Evil)
        | st.complex_numbers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner)
            | st.tuples(inner)
        ),
        max_leaves=10,
    )
)
def test_render_never_raises(value: object) -> None:
    """L-4: and what it gives can be sent."""
    render(value).encode("utf-8")


def test_long_results_are_cut_in_the_middle(tmp_path: Path) -> None:
    """L-4: with a note of what was left out and where the whole is."""
    text = "\n".join(f"line {n}" for n in range(5000))
    short = shorten(text, 1000, tmp_path / "kept")
    (file,) = (tmp_path / "kept").iterdir()
    assert file.read_text("utf-8") == text
    assert str(file) in short
    assert short.startswith("line 0\n")
    assert short.endswith("line 4999")
    assert 700 < len(short) < 1300
    assert f"of {len(text):,} characters are left out" in short
    assert shorten(text, len(text), tmp_path / "other") == text
    assert not (tmp_path / "other").exists()
    blocked = tmp_path / "file"
    blocked.touch()
    assert "left out" in shorten(text, 1000, blocked)


@patient
@given(st.text(), st.integers(1, 50))
def test_shorten_keeps_both_ends(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert short == text or "left out" in short
