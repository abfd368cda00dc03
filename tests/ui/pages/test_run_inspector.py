"""The inspector of a run shows all that it has, in each language (W-64)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QApplication, QWidget

from studio.domain.agents import Caps
from studio.domain.questions import ServerQuestion
from studio.domain.run_events import (
    CapRaised,
    RunEvent,
    RunQuestion,
    RunStarted,
    StepAnswered,
    StepAsked,
    StepFinished,
    StepsRedone,
    StepStarted,
)
from studio.domain.runs import Run
from studio.domain.workflows import Step, Workflow
from studio.ui.inspector.fact_list import MARGIN, Fact, FactList
from studio.ui.pages.workflows.runs import question_card
from studio.ui.pages.workflows.runs.changes_list import ChangesList
from studio.ui.pages.workflows.runs.lanes import FAILED, WORK, Lanes
from studio.ui.pages.workflows.runs.log_rows import LogWriter
from studio.ui.pages.workflows.runs.question_card import QuestionCard
from studio.ui.pages.workflows.runs.run_inspector import RUN, RunInspector
from studio.ui.pages.workflows.runs.run_record import RunRecord
from studio.ui.pages.workflows.runs.run_tab import RunTab
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.workflows.cap_offers import CapOffer
from studio.workflows.passed_drafts import PassedDrafts
from support.languages import language
from support.pixels import pixels


def ink(image: QImage, left: int = 0) -> int:
    """How many columns from the first to the last one that something is painted in."""
    seen, width = pixels(image), image.width()
    used = [
        x
        for x in range(left, width)
        if len({seen[y * width + x] for y in range(image.height())}) > 1
    ]
    return used[-1] - used[0] + 1


def asking(run_id: str, asked: Sequence[RunQuestion]) -> RunRecord:
    """A run whose steps ask, each named as its question."""
    steps = tuple(Step(one.id, "agent", one.id) for one in asked)
    record = RunRecord(Workflow("Story", steps), {})
    events: list[RunEvent] = [RunStarted(run_id, "Story", "")]
    events += [StepStarted(one.id) for one in asked]
    events += [StepAsked(one.id, "", one) for one in asked]
    record.apply([(float(at), event) for at, event in enumerate(events, 1)])
    return record


@pytest.mark.parametrize("written", ["en", "de"])
def test_w64_all_answers_of_a_question_are_in_sight(qapp: QApplication, written: str) -> None:
    """W-22: however long its words are, and those of what it asks for."""
    with language(written):
        theme = Theme()
        around = QWidget()
        inspector = RunInspector(theme, around)
        inspector.show_page(RUN)
        put(inspector, 0, 0, theme.px(320), 700)
        card = inspector.run.card
        for facts in (inspector.run.state, inspector.run.budget, inspector.run.agents):
            facts.show_facts([Fact("Needs you", "0:17")])
        path = f"/home/ada/{'a' * 60}/{'b' * 60}.py"
        card.show_question(RunQuestion("q", "permission", f"Write {path}?", path), ("Story", "ok"))
        around.resize(400, 700)
        around.show()
        qapp.processEvents()
        buttons = [one for one in card.buttons if one.isVisible()]
        assert len(buttons) == 3
        for one in buttons:
            place = one.rect().translated(one.mapTo(inspector, one.rect().topLeft()))
            assert inspector.rect().contains(place), one.text()
            assert one.width() == one.sizeHint().width(), "its words are whole"
        assert len({one.y() for one in buttons}) == 1, "they stand beside each other"
        assert card.detail.edit.verticalScrollBar().maximum() == 0, "all of it is seen"
        around.close()


def test_w22_no_answer_counts_for_a_question_that_nobody_has_read(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A click on "Deny" is not to stop a run whose pause took the place of its gate."""
    monkeypatch.setattr(question_card, "READ", 3_600_000)
    theme, around = Theme(), QWidget()
    card, given = QuestionCard(theme), list[tuple[str, object]]()
    card.setParent(around)
    card.answered.connect(lambda id, value, _: given.append((id, value)))
    card.left_out.connect(lambda id: given.append((id, "skip")))
    gate = RunQuestion("gate", "approve", "Is it right?")
    pause = RunQuestion("pause", "paused", "A cap", choices=("raise", "stop"), abouts=("$2", ""))
    card.show_question(gate, ("Story", "ok"))
    card.show_question(pause, ("Story",), item=True)
    card.buttons[2].click()
    card.skip.click()
    assert given == []
    card.show_question(gate, ("Story", "ok"), wanted=True)
    card.buttons[2].click()
    assert given.pop() == ("gate", False), "the person has chosen it"
    card.show_question(pause, ("Story",))
    card.buttons[2].click()
    assert given.pop() == ("pause", "stop"), "that before it was answered here"
    card.show_question(None, ())
    card.show_question(gate, ("Story", "ok"))
    card.show_question(pause, ("Story",))
    card.buttons[0].click()
    assert given == []
    monkeypatch.setattr(question_card, "READ", 0)
    card.buttons[0].click()
    assert given.pop() == ("pause", "raise")


@pytest.mark.parametrize("figure", ["1:11:11", "0:17", "$111.11"])
def test_w64_no_digit_of_a_figure_is_cut_off(qapp: QApplication, figure: str) -> None:
    """Digits of one width need more room than those of their own."""
    theme = Theme()
    facts = FactList(theme)
    facts.show_facts([Fact("", figure)])
    facts.resize(300, facts.height())
    painted = QImage(300, facts.height(), QImage.Format.Format_ARGB32)
    painted.fill(0)
    free = painted.copy()
    facts.render(painted)
    painter = QPainter(free)
    painter.setFont(theme.font("ui_medium", True))
    painter.drawText(MARGIN, 18, figure)
    painter.end()
    assert abs(ink(painted) - ink(free)) <= 1


def test_w64_what_is_not_there_takes_no_room(qapp: QApplication) -> None:
    """The agents stand below the budget, though no other program works on the run."""
    tab = RunTab(Theme())
    tab.budget.show_facts([Fact("Money", "$0.71", share=0.3, of="of $2.00")])
    assert tab.budget.facts[0].spoken == "Money, $0.71 of $2.00"
    tab.agents.show_facts([Fact("Writer")])
    tab.show_cluster(None)
    tab.mission.hide()  # it is no mission
    tab.resize(320, 900)
    tab.show()
    qapp.processEvents()
    assert not tab.workers.isVisible()
    assert tab.agents.y() - tab.budget.geometry().bottom() < 60
    tab.close()


def test_w64_a_try_that_sent_the_run_back_is_one_that_failed() -> None:
    """W-62: it is told from the one that passed."""
    steps = Step("code", "agent", "Coder"), Step("test", "agent", "Tester")
    lanes = Lanes(Workflow("Story", steps), {})
    events: list[RunEvent] = [RunStarted("r", "Story", "")]
    for round in (1, 2):
        events += [StepStarted("test", round=round), StepFinished("test")]
        events += [StepsRedone("code", "test", ("code", "test"))] * (round == 1)
    for at, event in enumerate(events, 1):
        lanes.apply(float(at), event)
    (row,) = lanes.lanes[1].rows
    assert [*row.kinds] == [FAILED, WORK]


def test_w22_a_step_that_is_chosen_is_asked_about_though_a_cap_is_reached(
    qapp: QApplication,
) -> None:
    """W-20: a reply that is half typed stays, too, whatever else comes to be asked."""
    tab, around = RunTab(Theme()), QWidget()
    tab.setParent(around)
    record = asking("r", [RunQuestion(id, "reply", f"What of {id}?") for id in "ab"])
    offer = CapOffer(CapRaised(Caps(2000), "a", run_id="below"), ("a",))
    title = tab.card.title.text
    tab.show_record(record, "")
    assert title() == "What of a?"
    tab.card.field.setText("It is")
    tab.show_record(record, "", offer)
    assert (title(), tab.card.field.text()) == ("What of a?", "It is")
    tab.card.field.clear()
    tab.show_record(record, "", offer)
    asks = tab.card.question
    assert asks is not None and "raise" in asks.choices
    tab.show_record(record, "b", offer)
    assert title() == "What of b?"
    tab.card.field.setText("So")
    tab.show_record(record, "a", offer)
    assert title() == "What of a?"


def test_w22_another_question_is_shown_after_the_form_of_a_server(qapp: QApplication) -> None:
    """Its form is gone for good by then."""
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    card = QuestionCard(Theme())
    server = ServerQuestion("shop", "Who?", form)
    card.show_question(RunQuestion("a", "reply", "shop asks", server=server), ())
    card.show_question(None, ())
    card.keep(())
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    card.show_question(RunQuestion("b", "reply", "Which?"), ())
    assert (card.title.text(), card.server) == ("Which?", None)
    card.close()


def test_w22_what_is_half_typed_stays_while_other_steps_are_looked_at(qapp: QApplication) -> None:
    """Of each step its own, until it is answered or another run is shown."""
    form = {"type": "object", "properties": {"name": {"type": "string"}}}
    asked = [RunQuestion(id, "reply", f"What of {id}?") for id in "ab"]
    asked.append(
        RunQuestion("c", "reply", "shop asks", server=ServerQuestion("shop", "Who?", form))
    )
    record, tab, around = asking("r", asked), RunTab(Theme()), QWidget()
    tab.setParent(around)
    card, typed = tab.card, tab.card.field.text
    tab.show_record(record, "a")
    card.field.setText("It is")
    tab.show_record(record, "b")
    assert typed() == ""
    card.field.setText("So")
    tab.show_record(record, "c")
    assert card.server is not None and card.server.form is not None
    card.server.form.show_value({"name": "Ada"})
    tab.show_record(record, "a")
    assert (card.title.text(), typed()) == ("What of a?", "It is")
    assert card.server is None and not card.asked.isVisibleTo(tab)
    tab.show_record(record, "c")
    assert card.server is not None and card.server.form is not None
    assert card.server.form.value() == {"name": "Ada"}
    record.apply([(9.0, StepAnswered("a", "", "a", "It is"))])
    tab.show_record(record, "b")
    assert typed() == "So"
    tab.show_record(asking("other", [RunQuestion("d", "reply", "What of d?")]), "d")
    tab.show_record(record, "b")
    assert (card.title.text(), typed()) == ("What of b?", "")
    around.deleteLater()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("en", "The limit of a run below is raised: 4,000 tokens"),
        ("de", "Das Limit eines Laufs darunter ist erhöht: 4.000 Token"),
    ],
)
def test_w20_the_log_says_whose_limit_is_raised(written: str, words: str) -> None:
    """Its step is one of another workflow, which is not to be chosen here."""
    with language(written):
        log = LogWriter(Workflow("Story", (Step("a", "agent", "A"),)))
        row = log.write(1.0, CapRaised(Caps(4000), "inner", run_id="below"), Run())
    assert row is not None and (row.text, row.step) == (words, "")


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("en", "1 file of the drafts has changed"),
        ("de", "1 Datei der Entwürfe hat sich seither"),
    ],
)
def test_w26_a_change_of_the_folder_is_told_of_any_draft(
    qapp: QApplication, written: str, words: str
) -> None:
    """The step that passed may have made the draft itself; and its name can hide nothing."""
    with language(written):
        changes, around = ChangesList(Theme()), QWidget()
        changes.setParent(around)
        changes.tested = PassedDrafts(f"Te\u202est{'t' * 90}", "", 2, False, "", ())
        changes.show_since(changes.tested, 1)
        said = changes.words.text()
    assert words in said and "\u202e" not in said and "t" * 80 not in said
