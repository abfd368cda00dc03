"""What a call asks the person at its client's end, as a form of the protocol (M-25)."""

from __future__ import annotations

from typing import Any

import pytest

from studio.agent.prompts import NOBODY_ANSWERS
from studio.domain.events import AwaitingReply
from studio.domain.forms import SECRET
from studio.domain.permissions import Question
from studio.domain.questions import AskedQuestion, Choice, ServerAnswer, ServerQuestion
from studio.domain.run_events import RunQuestion
from studio.server.mcp.forms import (
    Form,
    _written,
    allowed,
    permission_form,
    questions_form,
    run_answer,
    run_form,
    server_form,
)

KEY = "sk-ant-api03-" + "a1B2" * 20
BACKWARDS = "\u202e"
YES = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "title": "This one time", "enum": ["allow", "deny"]}
    },
    "required": ["answer"],
}


def given(action: Any = "accept", **content: Any) -> ServerAnswer:
    return ServerAnswer(action, content or None)


def test_m25_a_form_says_all_that_the_person_judges_by() -> None:
    """M-25: what is done, why it is asked, and the facts; what nobody sees in it is escaped."""
    facts = (("folder", "/here"), ("network", "no network"))
    asked = Question("1", "2", "run", "Run", f"rm a{BACKWARDS}", "To tidy", (), facts, "It acts")
    message = "Run:\nrm a\\u202e\nTo tidy\nIt acts\n/here\nno network"
    assert permission_form(asked) == Form(message, YES)
    assert permission_form(Question("1", "2", "run", "Run", "ls")) == Form("Run:\nls", YES)
    assert permission_form(Question("1", "2", "run", "Run", "ls", KEY)) is None


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        (given(answer="allow"), "once"),
        (given(answer=" allow "), "once"),
        (given(answer="deny"), "deny"),
        (given(answer="Allow"), "deny"),
        (given(answer=True), "deny"),
        (given(), "deny"),
        (given("decline", answer="allow"), "deny"),
        (given("cancel", answer="allow"), None),
    ],
)
def test_m25_only_a_plain_yes_allows(answer: ServerAnswer, means: str | None) -> None:
    assert allowed(answer) == means
    run = RunQuestion("1", "permission", "Run?")
    assert run_answer(run, answer) == means
    run = RunQuestion("1", "approve", "Send it?")
    assert run_answer(run, answer) == (None if means is None else means == "once")


def test_m25_an_agents_questions_are_fields() -> None:
    """M-25: one of the choices or other words, several in words, or words alone."""
    questions = (
        AskedQuestion(f"Which {KEY} {BACKWARDS}?", (Choice("red", "warm"), Choice("blue"))),
        AskedQuestion("Which ones?", (Choice("a"), Choice(f"b{BACKWARDS}", "last")), several=True),
        AskedQuestion("Why?"),
        AskedQuestion("Sure?", (Choice("yes"), Choice(KEY))),
    )
    form = questions_form(AwaitingReply.of("1", questions))
    fields: Any = form.schema["properties"]
    assert form.schema["type"] == "object" and "required" not in form.schema
    assert list(fields) == [
        *("answer1", "answer1_own", "answer2", "answer3", "answer4", "answer4_own"),
    ]
    assert all(one["type"] == "string" for one in fields.values())
    assert fields["answer1"]["enum"] == ["red", "blue"]
    assert fields["answer1"]["description"] == "red: warm; blue"
    assert fields["answer1_own"]["title"] == "Something else"
    assert fields["answer2"]["description"] == "One or more of: a; b\\u202e: last"
    assert "enum" not in fields["answer2"]
    assert fields["answer3"] == {"type": "string", "title": "Why?"}
    assert fields["answer4"]["enum"][0] == "yes" and "description" not in fields["answer4"]
    assert fields["answer1"]["title"].startswith("Which ") and "Sure?" in form.message
    assert KEY not in str(form) and BACKWARDS not in str(form)
    assert "\\u202e" in form.message and "\\u202e" in fields["answer1"]["title"]


def test_m25_own_words_count_before_a_choice() -> None:
    assert _written(given(answer1="red", answer1_own=" green "), "answer1") == "green"
    assert _written(given(answer1="red", answer1_own=" "), "answer1") == "red"
    assert _written(given(answer1=3), "answer1") == ""
    assert _written(given("decline", answer1="red"), "answer1") == ""


def test_m25_what_a_server_asks_has_its_name() -> None:
    """M-25: an address is opened by nobody here, and no model reads what the person does not see."""
    schema: Any = {"type": "object", "properties": {"name": {"type": "string"}}}
    asked = ServerQuestion("shop", f"Your {KEY} name{BACKWARDS}?", schema)
    form = server_form(asked)
    assert form is not None and form.schema == schema and KEY not in form.message
    assert form.message.startswith("shop asks: Your ") and "\\u202e" in form.message
    form = server_form(ServerQuestion("shop", "Sum it up", schema, model="Local"))
    assert form is not None and form.message == "shop wants Local to answer: Sum it up"
    assert server_form(ServerQuestion("shop", f"Sum up {KEY}", schema, model="Local")) is None
    address = ServerQuestion("shop", "Pay", url="https://example.com")
    assert server_form(address) is None
    assert run_form(RunQuestion("1", "reply", "Pay", server=address)) is None
    in_run = RunQuestion("1", "reply", "Name?", server=asked)
    assert run_form(in_run) == server_form(asked)
    assert run_answer(in_run, given(name="Ada")) == {"action": "accept", "content": {"name": "Ada"}}
    assert run_answer(in_run, given("decline")) == {"action": "decline", "content": None}
    assert run_answer(in_run, given("cancel")) is None


def test_m25_all_words_of_a_servers_form_are_plain() -> None:
    """M-25: what its program shows hides nothing; names and values go back as they came."""
    odd, named = f"b{BACKWARDS}", f"n{BACKWARDS}"
    schema: Any = {
        "type": "object",
        "title": f"Order {KEY}",
        "properties": {
            "plain": {"type": "string", "title": "Name", "default": "Ada", "enum": ["Ada", "Bob"]},
            named: {"type": "string", "description": odd, "default": odd},
            "key": {"type": "string", "title": f"Say {odd}", "default": KEY},
            "one": {"type": "string", "enum": ["a", odd]},
            "named": {"type": "string", "enum": [odd], "enumNames": [f"Of {odd}"]},
            "titled": {"oneOf": [{"const": "a", "title": odd}, {"const": odd}, {"const": "c"}]},
            "some": {"type": "array", "items": {"anyOf": [{"const": odd}]}, "default": [odd]},
            "default": {"type": "integer", "default": 3, "minimum": 1, "examples": [{"a": KEY}]},
        },
        "required": ["plain", named],
        "allOf": [{"title": KEY}],
        "$comment": KEY,
    }
    form = server_form(ServerQuestion("shop", "Which?", schema))
    seen = "b\\u202e"
    assert form is not None and form.schema == {
        "type": "object",
        "title": "Order [key]",
        "properties": {
            "plain": schema["properties"]["plain"],
            named: {"type": "string", "description": seen, "title": "n\\u202e"},
            "key": {"type": "string", "title": f"Say {seen}"},
            "one": {"type": "string", "enum": ["a", odd], "enumNames": ["a", seen]},
            "named": {"type": "string", "enum": [odd], "enumNames": [f"Of {seen}"]},
            "titled": {
                "oneOf": [
                    {"const": "a", "title": seen},
                    {"const": odd, "title": seen},
                    {"const": "c"},
                ]
            },
            "some": {"type": "array", "items": {"anyOf": [{"const": odd, "title": seen}]}},
            "default": {"type": "integer", "default": 3, "minimum": 1},
        },
        "required": ["plain", named],
    }
    deep: Any = {}
    for _ in range(5_000):
        deep = {"properties": {"a": deep}}
    form = server_form(ServerQuestion("shop", "Which?", deep))
    assert form is not None and len(str(form.schema)) < 1_000


def test_m25_a_servers_form_that_wants_a_secret_warns() -> None:
    """M-25, M-19: as in the window, the terminal and an editor."""
    schema: Any = {"type": "object", "properties": {"password": {"type": "string"}}}
    form = server_form(ServerQuestion("shop", "Sign in", schema))
    assert form is not None and form.message == f"shop asks: Sign in\n{SECRET}"


def test_m25_the_questions_of_a_run_are_forms() -> None:
    """M-25: they say who asks; those for the window alone wait for it."""
    path = ("Greet", "Send it")
    for kind in ("permission", "approve"):
        form = run_form(RunQuestion("1", kind, "Send it?", "To Ada", path=path))
        assert form == Form("Greet, Send it\nSend it?\nTo Ada", YES)
        assert run_form(RunQuestion("1", kind, "Send it?", KEY)) is None
    choices = ("red", f"{KEY} {BACKWARDS}")
    reply = RunQuestion("1", "reply", f"Which {KEY} {BACKWARDS}?", "", choices, path=path)
    form = run_form(reply)
    assert form is not None and form.schema["type"] == "object"
    field: Any = form.schema["properties"]["answer"]  # type: ignore[index,call-overload]
    assert field["description"].startswith("For example: red; ")
    assert form.message.startswith("Greet, Send it\nWhich ")
    assert KEY not in str(form) and BACKWARDS not in str(form)
    plain = run_form(RunQuestion("1", "reply", "Why?"))
    field = {"type": "string", "title": "Answer"}
    assert plain == Form("Why?", {"type": "object", "properties": {"answer": field}})
    assert run_answer(reply, given(answer=" red ")) == "red"
    assert run_answer(reply, given("decline")) == NOBODY_ANSWERS
    assert run_answer(reply, given("cancel")) is None
    for kind in ("ask", "unsure", "conflict", "sample"):
        assert run_form(RunQuestion("1", kind, "Which?")) is None  # type: ignore[arg-type]
