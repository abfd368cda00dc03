"""What a server's tool returns, as plain values (M-11)."""

from __future__ import annotations

import base64
from typing import Any

from studio.domain.messages import Image
from studio.mcp.results import MOST_ROWS, Blob, Link, read_result, table_of

DATA = base64.b64encode(b"bytes").decode()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def test_each_kind_of_content_is_read() -> None:
    resource = {"uri": "file:///a/b.zip", "blob": DATA, "mimeType": "application/zip"}
    result = read_result(
        {
            "content": [
                text("First.\nSecond."),
                {"type": "image", "data": DATA, "mimeType": "image/png"},
                {"type": "image", "data": DATA, "mimeType": "image/svg+xml"},
                {"type": "audio", "data": DATA, "mimeType": "audio/wav"},
                {"type": "resource", "resource": resource},
                {"type": "resource", "resource": {"uri": "note:1", "text": "Milk"}},
                {"type": "resource_link", "uri": "https://example.org/x", "name": "X"},
                {"type": "image", "data": "?", "mimeType": "image/png"},
                {"type": "smell"},
            ]
        }
    )
    assert result.images == (Image("image/png", b"bytes"),)
    assert result.blobs == (
        Blob("", "image/svg+xml", b"bytes"),
        Blob("", "audio/wav", b"bytes"),
        Blob("b.zip", "application/zip", b"bytes"),
    )
    assert result.links == (Link("https://example.org/x", "X"),)
    assert result.text.startswith("First.\nSecond.\n\nnote:1\nMilk\n\nX: https://example.org/x")
    assert "kind smell" in result.text and result.summary == "First."


def test_structured_content_is_sent_where_no_text_says_it() -> None:
    structured = {"degrees": 4}
    assert read_result({"content": [text("4 degrees")], "structuredContent": structured}).text == (
        "4 degrees"
    )
    alone = read_result({"content": [], "structuredContent": structured})
    assert '"degrees": 4' in alone.text and alone.structured == structured
    assert alone.summary == '"degrees": 4'


def test_what_is_for_the_person_reaches_no_model() -> None:
    mine = {"annotations": {"audience": ["user"]}}
    picture = {"type": "image", "data": DATA, "mimeType": "image/png", **mine}
    result = read_result({"content": [text("For both."), text("For you.", **mine), picture]})
    assert (result.text, result.for_person, result.images) == ("For both.", "For you.", ())
    both = {"annotations": {"audience": ["user", "assistant"]}}
    assert read_result({"content": [text("x", **both)]}).text == "x"


def test_few_pictures_reach_the_history() -> None:
    """M-11: pictures stay in a history, and providers refuse a request with many."""
    picture = {"type": "image", "data": DATA, "mimeType": "image/png"}
    read = read_result({"content": [picture] * 25})
    assert (len(read.images), len(read.blobs)) == (10, 15)
    assert (read.blobs[0].name, read.blobs[0].data) == ("picture.png", read.images[0].data)
    assert read.summary == "10 pictures, 15 files"


def test_an_empty_result_has_a_summary() -> None:
    picture = {"type": "image", "data": DATA, "mimeType": "image/png"}
    assert read_result({"content": [picture, picture]}).summary == "2 pictures"
    assert read_result({}).text == ""
    assert read_result({"content": "x", "isError": True}).is_error


def test_rows_of_a_result_are_a_table() -> None:
    """M-11: a list of objects, also where it is the only list of an object."""
    rows: list[Any] = [{"tag": "v1", "size": 3}, {"tag": "v2", "notes": None}]
    table = (("tag", "size", "notes"), ("v1", "3", ""), ("v2", "", ""))
    assert table_of(rows) == table
    assert table_of({"result": rows, "more": False}) == table
    values: list[Any] = [None, [], "text", [1, 2], [{}], {"a": 1}, {"a": [{}], "b": [{}]}]
    for value in values:
        assert table_of(value) == ()
    many: list[Any] = [{"a": n} for n in range(500)]
    assert len(table_of(many)) == 1 + MOST_ROWS
    assert read_result({"content": [], "structuredContent": many}).summary == "500 rows"
    said = read_result({"content": [text("3 are late.")], "structuredContent": many})
    assert said.summary == "3 are late."
