"""Question form: what a person has answered on a card of questions so far, free of Qt (C-24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.domain.questions import joined_answers

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.domain.blocks import ToolBlock


class QuestionForm:
    """The answers to the questions of one call, until they are sent.

    ``open`` is the number of the question whose choices are shown, from 0; it is the number
    of questions where none is.
    """

    def __init__(self, block: ToolBlock) -> None:
        self.block, self.questions = block, block.asks
        self.open = 0
        self._chosen: list[list[int]] = [[] for _ in self.questions]
        self._words = ["" for _ in self.questions]

    @property
    def at_once(self) -> bool:
        """Whether the one answer is sent as soon as it is given."""
        return len(self.questions) == 1 and not self.questions[0].several

    @property
    def complete(self) -> bool:
        """Whether each question has an answer."""
        return all(self.answers)

    @property
    def answers(self) -> list[str]:
        """The answer to each question, empty where there is none."""
        return [self.answer(number) for number in range(len(self.questions))]

    def answer(self, number: int) -> str:
        """What is chosen, in the order of the choices, and the free words."""
        choices = self.questions[number].choices
        chosen = [choices[index].text for index in sorted(self._chosen[number])]
        return joined_answers([*chosen, *filter(None, [self._words[number]])])

    def is_chosen(self, number: int, choice: int) -> bool:
        return choice in self._chosen[number]

    def words(self, number: int) -> str:
        """The answer in the person's own words, if there is one."""
        return self._words[number]

    def choose(self, number: int, choice: int) -> None:
        """Take a choice, and go on; where several may be, take it or take it back."""
        chosen = self._chosen[number]
        if not self.questions[number].several:
            self._chosen[number], self._words[number] = [choice], ""
            self.go_on()
        elif choice in chosen:
            chosen.remove(choice)
        else:
            chosen.append(choice)

    def write(self, text: str) -> None:
        """Answer the open question in free words, and go on; several choices stay beside them."""
        if self.open == len(self.questions):
            self.open -= 1
        if not self.questions[self.open].several:
            self._chosen[self.open] = []
        self._words[self.open] = text
        self.go_on()

    def go_on(self) -> None:
        """Open the next question without an answer; none if each has one."""
        count = len(self.questions)
        following = [(self.open + step) % count for step in range(1, count + 1)]
        if count > 1:
            self.open = next((one for one in following if not self.answer(one)), count)


class QuestionForms:
    """The forms of the questions that wait, also in chats that are not on screen."""

    def __init__(self) -> None:
        self._forms: dict[int, QuestionForm] = {}

    def of(self, block: ToolBlock) -> QuestionForm:
        """The form of a call that asks something; it begins empty."""
        found = self._forms.get(id(block))
        if found is None or found.block is not block or found.questions is not block.asks:
            waiting = (one for one in self._forms.values() if one.block.state == "waiting")
            self._forms = {id(one.block): one for one in waiting}
            found = self._forms[id(block)] = QuestionForm(block)
        return found
