"""At the window: the question ahead of a limit of a turn, and what each answer does (C-1)."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtTest import QTest

from studio.agent.loop.wrap_up import NO
from studio.domain.blocks import EndBlock, ToolBlock
from studio.storage.config.settings import SettingsFile
from studio.ui.transcript.items.question_item import QuestionItem
from support.model_calls import reading
from support.waiting import until
from support.window import Key, alone, at_window, on_window_loop

pytestmark = pytest.mark.usefixtures("alone")
__all__ = ["alone"]


def four_steps(settings: SettingsFile) -> None:
    settings.values.long_steps = 4


@pytest.mark.parametrize(
    ("key", "said", "ends"), [(Key.Key_1, "Yes, 4 more steps", []), (Key.Key_2, NO, ["step_limit"])]
)
@on_window_loop
async def test_c1_the_person_answers_a_card_ahead_of_a_limit(
    tmp_path: Path, key: Key, said: str, ends: list[str]
) -> None:
    """C-1: while the agent works on; by a digit as any question."""
    async with at_window(
        tmp_path, "openai-compatible", reading(5, tmp_path / "work"), setup=four_steps
    ) as person:
        person.say("Go")
        await until(lambda: person.composer.state == "waiting" and person.item(QuestionItem))
        item = person.item(QuestionItem)
        assert item.name.startswith(
            "The agent is at step 3 of 4 in this turn. May it go on?, Yes, 4 more steps, "
        )
        await until(lambda: len(person.asked) == 3)  # it works on, and waits at its limit
        assert person.session.running
        person.view.grab()
        await until(lambda: item.shown_at is not None)
        later = person.view.context.now
        person.view.context.now = lambda: later() + 2.0
        QTest.keyClick(person.view, key)
        person.view._keys._alone.timeout.emit()
        await person.done()
        (asked,) = [block for block in person.blocks(ToolBlock) if block.asks]
        assert (asked.state, asked.reply) == ("done", said)
        assert [block.reason for block in person.blocks(EndBlock)] == ends
        assert person.says("All done.") == (not ends)
        assert person.item(QuestionItem) is None
