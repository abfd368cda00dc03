"""Forms: their fields, and what may be filled in, the same for each door (M-19)."""

from __future__ import annotations

from typing import Any

import pytest

from studio.domain.forms import (
    check_form,
    field_of,
    fields_of,
    is_web_address,
    plain_host,
    told_answer,
)
from studio.domain.jsonvalue import Json, JsonObject

TITLED: list[Json] = [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]


def test_m19_all_flat_forms_have_fields() -> None:
    """M-19: titled choices in each way that revisions write them, and several of them."""
    schema: Any = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "title": "Your name", "description": "In full."},
            "count": {"type": "integer", "default": 3},
            "share": {"type": "number"},
            "yes": {"type": "boolean"},
            "one": {"type": "string", "enum": ["r", "b"]},
            "named": {"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]},
            "titled": {"type": "string", "oneOf": TITLED},
            "some": {"type": "array", "items": {"type": "string", "enum": ["r", "b"]}},
            "many": {"type": "array", "items": {"anyOf": TITLED}},
            "deep": {"type": "object"},
        },
        "required": ["text"],
    }
    fields = {one.name: one for one in fields_of(schema)}
    kinds = [one.kind for one in fields.values()]
    assert kinds == [
        "text", "integer", "number", "switch", "choice", "choice", "choice", "choices", "choices",
        "json",
    ]  # fmt: skip
    assert (fields["text"].title, fields["text"].about) == ("Your name", "In full.")
    assert [one.name for one in fields.values() if one.required] == ["text"]
    assert [one.title for one in fields["one"].choices] == ["r", "b"]
    for name in ("named", "titled", "many"):
        assert [(one.value, one.title) for one in fields[name].choices] == [
            ("r", "Red"),
            ("b", "Blue"),
        ]
    assert fields["titled"].read("Blue") == fields["titled"].read("2") == "b"
    assert fields["many"].read("1, Blue") == ["r", "b"]
    assert fields["yes"].read("No") is False
    assert fields["count"].read("4.0") == 4


@pytest.mark.parametrize(
    ("about", "text", "wrong"),
    [
        ({"type": "integer"}, "half", "size is a whole number."),
        ({"type": "integer"}, "0.5", "size is a whole number."),
        ({"type": "number"}, "NaN", "size is a number."),
        ({"type": "number", "minimum": 1}, "0.5", "size is at least 1."),
        ({"type": "integer", "maximum": 9}, "10", "size is at most 9."),
        ({"type": "string", "minLength": 3}, "ab", "size has at least 3 characters."),
        ({"type": "string", "maxLength": 1}, "ab", "size has at most 1 characters."),
        ({"type": "string", "format": "email"}, "me", "size is an e-mail address."),
        ({"type": "string", "format": "date"}, "1.2.26", "size is a day such as 2026-12-31."),
        ({"type": "boolean"}, "perhaps", "size is yes or no."),
        ({"enum": ["a"]}, "b", "size has no choice “b”."),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 1}, "a,b",
         "size takes at most 1 of them."),
    ],
)  # fmt: skip
def test_m19_limits_are_told(about: JsonObject, text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong.replace(".", r"\.")):
        field_of("size", about).read(text)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ({}, "size is needed."),
        ({"size": True}, "size is a whole number."),
        ({"size": 1, "color": "green"}, "color is one of the choices."),
        ({"size": 1, "color": "red"}, ""),
    ],
)
def test_m19_what_an_editor_sends_is_checked(content: JsonObject, wrong: str) -> None:
    properties: JsonObject = {"size": {"type": "integer"}, "color": {"enum": ["red"]}}
    fields = fields_of({"properties": properties, "required": ["size"]})
    assert check_form(fields, content) == wrong


def test_m19_what_looks_like_a_secret_is_known_and_not_recorded() -> None:
    fields = fields_of({"properties": {"api_key": {"type": "string"}, "name": {}}})
    assert [one.secret for one in fields] == [True, False]
    assert told_answer(fields, {"api_key": "sk-1", "name": "Ann"}) == "api_key: …, name: Ann"


@pytest.mark.parametrize(
    ("url", "opens"),
    [
        ("https://example.com/a?b=c", True),
        ("http://127.0.0.1:8080/", True),
        ("javascript:alert(1)", False),
        ("file:///etc/passwd", False),
        ("https://bank.example@evil.example/", False),
        ("https:///nowhere", False),
        ("https://[", False),
        ("https://evil.example\\.bank.example/", False),
        ("https://evil.example /bank.example", False),
        ("https://evil.example\u202e/", False),
    ],
)
def test_m19_only_pages_are_opened(url: str, opens: bool) -> None:
    assert is_web_address(url) is opens


def test_m19_a_host_that_looks_like_another_is_told() -> None:
    assert plain_host("https://Example.com:80/a") == "example.com"
    assert plain_host("https://\u0430pple.com/") == "xn--pple-43d.com"


def test_m19_a_choice_may_be_any_value() -> None:
    values: list[Json] = [1, None, {"a": 2}]
    field = field_of("one", {"enum": values})
    assert [field.read(str(number)) for number in (1, 2, 3)] == values


def test_m19_no_form_is_without_end() -> None:
    """M-19: a field that is itself “or nothing”, and a number that no float holds."""
    itself: JsonObject = {"anyOf": [{"$ref": "#/properties/a"}]}
    (field,) = fields_of({"properties": {"a": itself}})
    assert field.kind == "json" and field.problem({}) == ""
    whole = field_of("n", {"type": "integer", "maximum": 9})
    assert whole.problem(10**400) == "n is at most 9." and whole.problem(9.0) == ""
    assert [bool(whole.problem(one)) for one in (1.5, float("inf"), float("nan"))] == [True] * 3
