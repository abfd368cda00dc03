"""The card of questions, and what is filled in on it (C-24)."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from studio.domain.blocks import ToolBlock
from studio.domain.questions import AskedQuestion, Choice
from studio.simulator import Call, Text, Turn
from studio.ui.question_form import QuestionForm, QuestionForms
from studio.ui.transcript.items.question_item import QuestionItem
from studio.ui.transcript.items.tool_item import ToolsItem
from support.waiting import until
from support.window import Key, Person, alone, at_window, on_window_loop, place_of

__all__ = ["alone"]

BRANCH = AskedQuestion("Which branch?", (Choice("main"), Choice("next", "17 ahead")))
TESTS = AskedQuestion("Which tests?", tuple(map(Choice, "abc")), several=True)
NAME = AskedQuestion("What name?")


def form_of(*questions: AskedQuestion) -> QuestionForm:
    return QuestionForm(ToolBlock("c", "ask", asks=questions, state="waiting"))


QUESTIONS = st.lists(st.sampled_from([BRANCH, TESTS, NAME]), min_size=1, max_size=4)
DEEDS = st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 2)), max_size=20)


@given(QUESTIONS, DEEDS)
def test_c24_a_form_is_complete_when_each_question_has_an_answer(
    questions: list[AskedQuestion], deeds: list[tuple[int, int]]
) -> None:
    """C-24: whatever is chosen, written and opened, in any order; what is open can be answered."""
    form = form_of(*questions)
    for number, choice in deeds:
        before = form.answers
        form.open = min(number, len(questions) - 1)
        at = form.open
        if choice < 0:
            form.write("mine")
        elif choice < len(questions[at].choices):
            form.choose(at, choice)
        else:
            form.go_on()
        unchanged = [one for one in range(len(questions)) if one != at]
        assert [form.answers[one] for one in unchanged] == [before[one] for one in unchanged]
        assert form.complete == all(form.answers)
        if form.open == len(questions):
            assert form.complete
    for number, question in enumerate(questions):
        if question.choices and not question.several:
            assert form.answer(number) in ("", "mine", *(one.text for one in question.choices))


def test_c24_forms_are_kept_while_their_questions_wait() -> None:
    """C-24: of one chat and another; a call that asks again begins anew."""
    one = ToolBlock("c", "ask", asks=(BRANCH, NAME), state="waiting")
    other = ToolBlock("c", "ask", asks=(TESTS,), state="waiting")
    forms = QuestionForms()
    forms.of(one).choose(0, 1)
    forms.of(other).choose(0, 2)
    assert forms.of(one).answers == ["next", ""] and forms.of(other).answers == ["c"]
    one.asks = (BRANCH, NAME)
    assert forms.of(one).answers == ["", ""]
    other.state = "done"
    forms.of(ToolBlock("d", "ask", asks=(NAME,), state="waiting"))
    assert len(forms._forms) == 2


def asks(*questions: AskedQuestion) -> Turn:
    given = [
        {
            "question": one.text,
            "choices": [{"text": choice.text, "about": choice.about} for choice in one.choices],
            "several": one.several,
        }
        for one in questions
    ]
    return Turn(Call("ask", {"questions": given}), stop="tool_use")


async def card(person: Person) -> QuestionItem:
    """The card of the questions, once keys count."""
    await until(lambda: person.composer.state == "waiting" and person.item(QuestionItem))
    item = person.item(QuestionItem)
    person.view.grab()
    await until(lambda: item.shown_at is not None)
    later = person.view.context.now
    person.view.context.now = lambda: later() + 2.0
    return item


def letter(person: Person, key: Qt.Key) -> None:
    """A key that no other follows."""
    QTest.keyClick(person.view, key)
    person.view._keys._alone.timeout.emit()
    person.view._keys._alone.stop()


def rows(item: QuestionItem) -> list[str]:
    return [hit.text for hit in item.hits]


@pytest.mark.usefixtures("alone")
@on_window_loop
async def test_c24_keys_alone_answer_several_questions(tmp_path: Path) -> None:
    """C-24: digits choose, boxes stay open, own words are typed, Enter sends all of it."""
    script = [asks(BRANCH, TESTS, NAME), Turn(Text("Thanks."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        item = await card(person)
        assert person.view.hasFocus() and person.view.focus.item is item
        assert item.leaves[0].text == "Coder has 3 questions"
        letter(person, Key.Key_3)  # own words
        assert person.composer.editor.hasFocus() and not any(item.answers)
        QTest.keyClicks(person.composer.editor, "trunk")
        person.press(Key.Key_Return)
        assert item.answers == ["trunk", "", ""] and person.view.hasFocus()
        assert person.composer.text == "" and person.session.running
        letter(person, Key.Key_3)
        letter(person, Key.Key_1)
        assert item.answers == ["trunk", "a; c", ""]  # in the order of the choices
        letter(person, Key.Key_3)
        assert item.answers == ["trunk", "a", ""]
        person.press(Key.Key_Return)  # goes on
        assert item.answers == ["trunk", "a", ""] and "What name?" in item.name
        letter(person, Key.Key_1)
        assert person.composer.editor.hasFocus()
        QTest.keyClicks(person.composer.editor, "Ada")
        person.press(Key.Key_Return)
        assert item.answers == ["trunk", "a", "Ada"] and person.session.running
        assert [hit.text for hit in item.hits if hit.style == "primary"] == ["Answer"]
        person.press(Key.Key_Return)
        await person.done()
        assert "Question: Which tests?\\nAnswer: a\\n" in person.asked[-1].replace("\\\\n", "\\n")
        assert person.says("Asked Which branch? · Which tests? · What name?")
        assert person.item(QuestionItem) is None and person.item(ToolsItem) is not None


@pytest.mark.usefixtures("alone")
@on_window_loop
async def test_c24_a_half_filled_card_is_kept_and_can_be_left_to_the_agent(tmp_path: Path) -> None:
    """C-24: over another chat; the mouse opens a question again and changes its answer."""
    script = [asks(BRANCH, NAME), Turn(Text("Thanks."))]
    async with at_window(tmp_path, "anthropic", script) as person:
        person.say("Go")
        item = await card(person)
        title = person.session.info.title
        letter(person, Key.Key_1)
        assert item.answers == ["main", ""]
        person.window.chat.model.start_new().close()
        await until(lambda: person.window.chat.session is None)
        await person.open_chat(title)
        again = await card(person)
        assert again is not item and again.answers == ["main", ""]

        async def click(words: str) -> None:
            hit = next(hit for hit in again.hits if hit.text.startswith(words))
            index = person.view.canvas.index(again)
            assert index is not None
            person.view.canvas_viewport.reveal_hit(index, hit)
            place = place_of(person.view, index, hit.rect)
            QTest.mouseClick(person.view.viewport(), Qt.MouseButton.LeftButton, pos=place)

        await click("Which branch?")
        assert rows(again)[0].startswith("main, chosen")
        await click("next")
        assert again.answers == ["next", ""]
        sent = next(hit for hit in again.hits if hit.action == "send_answers")
        assert again.disabled_reason(sent, person.view.context)
        await click("Answer")
        assert person.session.info.state == "waiting"
        await click("Let Coder decide")
        await person.done()
        assert "Answer: next" in person.asked[-1] and "No answer: decide" in person.asked[-1]
