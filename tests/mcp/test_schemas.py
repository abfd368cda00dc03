"""Schemas that every provider takes, with the server's own names mapped back (M-10)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ProviderError
from studio.domain.messages import Text
from studio.domain.tools import ToolSpec
from studio.mcp.schemas import HopelessSchema, adapt_schema
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.base import Request
from studio.providers.http import Http
from studio.simulator import Simulator, Turn
from studio.simulator import Text as Said

KEYS = st.sampled_from(
    [
        *("type", "properties", "required", "items", "anyOf", "oneOf", "allOf", "$ref", "$defs"),
        *("enum", "const", "not", "additionalProperties", "minimum", "exclusiveMinimum", "a b"),
        *("prefixItems", "description", "$schema", "definitions", "x"),
    ]
)
LEAVES = (
    st.sampled_from(
        ["object", "array", "string", "#", "#/$defs/x", "#/properties/x", "https://x/y", "nobody"]
    )
    | st.booleans()
    | st.none()
    | st.integers(-5, 5)
)
SCHEMAS = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5)
)


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    assert isinstance(schema, dict)
    yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ())):
        yield from parts(inner)
    for word in ("items", "additionalProperties"):
        if word in schema and not isinstance(schema[word], bool):
            yield from parts(schema[word])


def check(schema: dict[str, Any]) -> None:
    """What providers refuse, as the specification lists it."""
    assert schema["type"] == "object" and isinstance(schema["properties"], dict)
    assert not schema.keys() & {"anyOf", "oneOf", "allOf"}
    for part in parts(schema):
        assert not part.keys() & {"$ref", "$schema", "$id", "$defs", "oneOf", "allOf", "const"}
        assert not part.keys() & {"exclusiveMinimum", "exclusiveMaximum", "not", "prefixItems"}
        assert isinstance(part.get("type", ""), str)
        if "properties" in part:
            assert part["type"] == "object"
            assert set(part.get("required", ())) <= part["properties"].keys()
            for name in part["properties"]:
                assert re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name)
        if part.get("type") == "array":
            assert isinstance(part["items"], dict)
        if "enum" in part:
            assert part["enum"]
    json.dumps(schema)


@given(st.dictionaries(KEYS, SCHEMAS, max_size=6))
def test_whatever_a_server_sends_no_provider_refuses_it(schema: dict[str, Any]) -> None:
    before = json.dumps(schema)
    try:
        adapted = adapt_schema(schema)
    except HopelessSchema:
        return
    finally:
        assert json.dumps(schema) == before
    check(adapted.schema)


def test_references_are_put_in_and_recursion_ends() -> None:
    tree = {
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
    }
    adapted = adapt_schema(
        {
            "properties": {"tree": {"$ref": "#/$defs/T", "description": "A tree"}},
            "$defs": {"T": tree},
        }
    )
    assert adapted.schema["properties"]["tree"] == {
        "type": "object",
        "description": "A tree",
        "properties": {"kids": {"type": "array", "items": {}}},
    }
    assert adapted.notes == ("What refers to itself is anything for the model.",)


def test_references_that_grow_without_end_are_bounded() -> None:
    """No server can take the memory of the program with a schema of 2 kB."""
    defs: dict[str, Any] = {
        f"a{n}": {"properties": {name: {"$ref": f"#/$defs/a{n + 1}"} for name in "uvwx"}}
        for n in range(30)
    }
    adapted = adapt_schema({"$ref": "#/$defs/a0", "$defs": defs})
    assert any("nested deeply" in note for note in adapted.notes)


def test_alternatives_at_the_root_are_told() -> None:
    by_id = {"properties": {"id": {"type": "integer"}, "all": {}}, "required": ["id", "all"]}
    by_name = {"properties": {"name": {"type": "string"}, "all": {}}, "required": ["name", "all"]}
    adapted = adapt_schema({"type": "object", "oneOf": [by_id, by_name]})
    assert adapted.schema["properties"].keys() == {"id", "name", "all"}
    assert adapted.schema["required"] == ["all"]
    assert adapted.hint == "Give the arguments of one of these groups: id, all; name, all."


def test_names_are_mapped_back_wherever_they_are() -> None:
    inner = {"type": "object", "properties": {"$filter": {"type": "string"}}}
    adapted = adapt_schema(
        {"properties": {"a b": {"type": "array", "items": inner}, "a_b": {}}, "required": ["a b"]}
    )
    assert adapted.schema["required"] == ["a_b_2"]
    assert adapted.original({"a_b_2": [{"_filter": "x"}], "a_b": 1}) == {
        "a b": [{"$filter": "x"}],
        "a_b": 1,
    }


def test_several_types_are_alternatives() -> None:
    one = {"type": ["string", "null"], "description": "A name", "minLength": 2}
    adapted = adapt_schema({"properties": {"name": one, "n": {"exclusiveMinimum": 3}}})
    assert adapted.schema["properties"]["name"] == {
        "description": "A name",
        "anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}],
    }
    assert adapted.schema["properties"]["n"] == {"minimum": 3}


@pytest.mark.parametrize(
    "schema",
    [{"type": "string"}, True, {"properties": {f"p{n}": {"description": "x" * 990} for n in range(200)}}],
)  # fmt: skip
def test_a_hopeless_schema_says_why(schema: Any) -> None:
    with pytest.raises(HopelessSchema, match="its schema"):
        adapt_schema(schema)


@pytest.mark.parametrize("index", ["²", "1" * 5_000])
def test_a_reference_to_no_index_is_told(index: str) -> None:
    """M-10: it may not take the other tools of the chat away."""
    schema: dict[str, Any] = {"type": "object", "anyOf": [{}]}
    schema["properties"] = {"a": {"$ref": f"#/anyOf/{index}"}}
    adapted = adapt_schema(schema)
    assert adapted.schema["properties"] == {"a": {}}
    assert any("which is not there" in note for note in adapted.notes)


def test_any_error_of_a_schema_leaves_out_its_tool_alone() -> None:
    """M-10: whatever is wrong with a schema, its tool is left out with a reason."""
    broken: Any = {"type": "object", "properties": {1: {}}}
    with pytest.raises(HopelessSchema, match="cannot be read"):
        adapt_schema(broken)


def test_many_names_stay_apart_and_too_many_are_hopeless() -> None:
    """M-10: each name of a thousand that are alike gets a number at once."""
    names = [chr(0x4E00 + number) for number in range(1_001)]
    adapted = adapt_schema({"type": "object", "properties": {name: {} for name in names[:1_000]}})
    assert [new for new, _ in adapted.renamed][:3] == ["_", "__2", "__3"]
    assert [old for _, old in adapted.renamed] == names[:1_000]
    with pytest.raises(HopelessSchema, match="more than 1,000 properties"):
        adapt_schema({"type": "object", "properties": {name: {} for name in names}})
    with pytest.raises(HopelessSchema, match="more than 1,000 properties"):
        adapt_schema({"type": "object", "required": [*names]})


def test_limits_that_are_none_are_left_out() -> None:
    """M-10: a provider refuses the whole request for them."""
    wrong = {"minLength": -1, "maxLength": 2.5, "pattern": "((("}
    schema = {
        "wrong": {"type": "string", **wrong},
        "right": {"type": "string", "minLength": 0, "maxLength": 5, "pattern": "^a+$"},
        "items": {"type": "array", "minItems": -4, "maxItems": True},
        "number": {"type": "number", "minimum": -2.5, "maximum": "9", "exclusiveMaximum": 8},
    }
    adapted = adapt_schema({"type": "object", "properties": schema}).schema["properties"]
    assert adapted == {
        "wrong": {"type": "string"},
        "right": schema["right"],
        "items": {"type": "array", "items": {}},
        "number": {"type": "number", "minimum": -2.5, "maximum": 8},
    }


async def test_the_copy_of_a_schema_spoils_no_request() -> None:
    """M-10: the provider refuses the original for the whole request, and takes the copy."""
    schema: dict[str, Any] = {
        "type": "object",
        "anyOf": [{"properties": {"a b": {}}}, {"properties": {"$id": {"type": "string"}}}],
    }
    async with Simulator([Turn(Said("Yes."))], pace=False) as sim:
        http = Http()
        provider = AnthropicProvider("sk-test", sim.url("anthropic"), http)
        for sent in (schema, adapt_schema(schema).schema):
            request = Request(
                "claude-sonnet-5",
                provider.user_items([Text("Hi")]),
                "",
                tools=(ToolSpec("server__tool", "A tool", sent),),
            )
            if sent is schema:
                with pytest.raises(ProviderError, match="oneOf, allOf, or anyOf"):
                    [delta async for delta in provider.stream(request)]
            else:
                said = [delta.text async for delta in provider.stream(request)]
                assert "".join(said) == "Yes."
        await http.aclose()
