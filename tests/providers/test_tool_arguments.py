"""L-6: arguments that are nearly JSON are repaired, one way only, and never guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.providers.tool_arguments import REPAIR_LIMIT, parse_arguments, repair_json

REPAIRED: dict[str, Any] = {
    '{"a": [1,],}': {"a": [1]},
    "{'a': [1]}": {"a": [1]},
    '{"a": [1': {"a": [1]},
    '{"a": 1,': {"a": 1},
    '{"a": {"b": [1, 2}': {"a": {"b": [1, 2]}},
    '{"a": 1}}': {"a": 1},
    '```json\n{"a": [1]}\n```': {"a": [1]},
    '```\n{"a": 1,}```': {"a": 1},
    "{a: 'it\\'s', b: \"x\"}": {"a": "it's", "b": "x"},
    "{'a': 'say \"hi\"'}": {"a": 'say "hi"'},
    "{'a': 'C:\\\\x\\n'}": {"a": "C:\\x\n"},
    '{"a": True, "b": None}': {"a": True, "b": None},
    '{"a": "x\ny"}': {"a": "x\ny"},
    '{"a": 1 "b": 2}': {"a": 1, "b": 2},
}
HOPELESS = [
    *('{"path":"a","text":"rm -rf /tm', "hello", "null", "[1]", '"{}"', "```", ":", "}", ","),
    *('{"a":', '{"a"', '{"a":}', '{"a":,}', "{,}", '{"a": ,"b":1}', "{:1}", '{"a" "b"}'),
    *('{"a": 1} and more', '{"a": 1}{"b": 2}', '{"a": NaN}', '{"a": 1 // c\n}', '{"a": hello}'),
    *('{"a": [1}, "b"]', '{"a": "say "hi""}', '{"a": "x" "y"}'),
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("text", REPAIRED)
def test_l6_repaired(text: str) -> None:
    """PRE-1."""
    assert parse_arguments(text) == REPAIRED[text]


@pytest.mark.parametrize("text", HOPELESS)
def test_l6_what_nobody_can_be_sure_of_is_sent_again(text: str) -> None:
    """PRE-1."""
    assert parse_arguments(text) is None


@given(st.dictionaries(st.text(), VALUES, min_size=1), st.booleans())
def test_l6_commas_fences_and_ends_are_all_that_is_mended(value: Any, fenced: bool) -> None:
    text = json.dumps(value)
    lost = text.rstrip("]}")
    for broken in (f"{text[:-1]},}}", f"{text}}}", *([lost] if lost[-1] not in "[{" else [])):
        assert repair_json(f"```json\n{broken}\n```" if fenced else broken) == value


@given(st.text(alphabet="{}[]:,\"'\\ab1 \n`", max_size=40))
def test_l6_any_text_is_judged(text: str) -> None:
    parse_arguments(text)


@pytest.mark.parametrize(
    "piece", ["{", "[", "{'a':", "{,]", "-'", 'a"', '"a" ', "\\u", "'#", "```"]
)
def test_l6_hostile_text_is_read_once(piece: str) -> None:
    """A repair that goes back and forth takes minutes for these."""
    text = "{" + (piece * REPAIR_LIMIT)[: REPAIR_LIMIT - 2] + "}"
    assert parse_arguments(text) is None
