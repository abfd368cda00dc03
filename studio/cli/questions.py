"""Asks the person at a terminal what an agent or a server wants to know (C-24, M-19)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a command that asks nothing loads nothing
    from studio.domain.forms import FormField
    from studio.domain.jsonvalue import JsonObject
    from studio.domain.questions import AskedQuestion, ServerAnswer, ServerQuestion

    from .console import Console


async def ask_questions(console: Console, questions: Sequence[AskedQuestion]) -> list[str]:
    """The answers in order; fewer where the input ended before."""
    answers: list[str] = []
    for number, question in enumerate(questions, 1):
        where = f"{number} of {len(questions)}. " if len(questions) > 1 else ""
        console.say("", *f"{where}{question.text}".split("\n"))
        for choice, words in enumerate(question.choices, 1):
            console.say(f"  {choice}. {words}")
        prompt = "Answer, or numbers such as 1,2: " if question.several else "Answer: "
        text = ""
        while not text:
            if (line := await console.line(prompt)) is None:
                return answers
            text = line.strip()
        answers.append(_chosen_by_number(question, text) or text)
    return answers


def _chosen_by_number(question: AskedQuestion, text: str) -> str:
    """The choices that a text names by their numbers; empty if it says anything else."""
    from studio.domain.questions import joined_answers

    numbers = text.replace(",", " ").split() if question.several else [text]
    known = {str(number): choice.text for number, choice in enumerate(question.choices, 1)}
    if not all(number in known for number in numbers):
        return ""
    return joined_answers([known[number] for number in dict.fromkeys(numbers)])


async def ask_form(console: Console, question: ServerQuestion) -> ServerAnswer:
    """Ask what a server asks: its form field by field, or whether to open an address."""
    from studio.domain.forms import is_web_address
    from studio.domain.questions import DECLINED, ServerAnswer

    if question.model:
        return await _let_answer(console, question)
    console.say("", f"The server {question.server} asks:", f"    {question.message}")
    if question.schema is None and not is_web_address(question.url):
        console.say(f"    {question.url}", "That is no address that is opened: declined.")
        return DECLINED
    if question.schema is None:
        console.say("It wants this address opened:", f"    {question.url}")
    verb = "[o]pen it in the browser" if question.schema is None else "[a]nswer"
    first = "open" if question.schema is None else "answer"
    word = await console.choice(f"{verb}, [d]ecline, [c]ancel: ", first, "decline", "cancel")
    if word == "d":
        return DECLINED
    if word == "o":
        await _open(console, question.url)
        return ServerAnswer("accept")
    if word == "a" and question.schema is not None:
        content = await fill_in(console, question.schema)
        return ServerAnswer("cancel") if content is None else content
    return ServerAnswer("cancel")


async def _let_answer(console: Console, question: ServerQuestion) -> ServerAnswer:
    """Show what a server wants a model to answer, and ask whether it may (M-20)."""
    from studio.domain.questions import DECLINED, ServerAnswer

    lines = [f"    {line}" for line in question.message.split("\n")]
    console.say("", f"The server {question.server} wants {question.model} to answer:", *lines)
    console.say("It reads no more than that. The answer goes to the server and counts as yours.")
    word = await console.choice("[l]et it answer, [d]ecline: ", "let", "decline")
    return ServerAnswer("accept") if word == "l" else DECLINED


async def _open(console: Console, url: str) -> None:
    import asyncio
    import webbrowser

    if not await asyncio.to_thread(webbrowser.open, url):
        console.say("There is no browser here: open the address yourself.")


async def fill_in(console: Console, schema: JsonObject) -> ServerAnswer | None:
    """The fields of a form, one after the other; None at the end of the input."""
    from studio.domain.forms import fields_of
    from studio.domain.questions import ServerAnswer

    content: JsonObject = {}
    for one in fields_of(schema):
        if not await _field(console, one, content):
            return None
    return ServerAnswer("accept", content)


async def _field(console: Console, one: FormField, content: JsonObject) -> bool:
    """Ask until the text is a value of the field, or may be left out; False at the end."""
    from studio.domain.forms import SECRET

    title = f"{one.title}{'' if one.required else ' (may be left out)'}"
    console.say("", *filter(None, [title, one.about, SECRET if one.secret else ""]))
    for number, choice in enumerate(one.choices, 1):
        console.say(f"  {number}. {choice.title}")
    hint = {"choices": "Numbers such as 1,2", "switch": "yes or no", "json": "JSON"}
    words = hint.get(one.kind, "Answer")
    if one.default is not None:
        words += f" [{one.shown(one.default)}]"
    while (text := await console.line(f"{words}: ")) is not None:
        if not text.strip() and one.default is not None:
            content[one.name] = one.default
            return True
        if not text.strip() and not one.required:
            return True
        try:
            content[one.name] = one.read(text.strip())
            return True
        except ValueError as error:
            console.say(f"{error}")
    return False
