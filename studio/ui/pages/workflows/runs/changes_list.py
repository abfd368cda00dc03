"""Changes list: what the steps of a run changed, by step, with what can be approved (W-26)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from studio.agent.permission.invisible_characters import escape_line
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Card, Check, Label, Mark, Tile
from studio.ui.widgets.layouts import STRETCH, WrappingRow, column_of, row_of, widget_of
from studio.workflows.passed_drafts import PassedDrafts
from studio.workflows.run_changes import ChangedByStep, StepChanges

AGAIN = 2_000
"""Milliseconds between two looks whether files of the folder have changed."""
LONGEST = 80
"""Characters of the name of a step or an agent."""
MOST = 100
"""Files that are listed; of more the number is told."""


class ChangesList(QWidget):
    """One file below the other, each step's together; checked are those to approve."""

    approved = Signal(object)
    """Pairs of a session and the id of a draft."""
    review_wanted = Signal(str, str)
    """A session, and a draft of it."""
    look_wanted = Signal(object)
    """It is to be looked how many files have changed since a step passed; see ``show_since``."""

    def __init__(self, theme: Theme, *, headed: bool = True) -> None:
        """Without ``headed`` the heading and the count stand where the page puts them."""
        super().__init__()
        self._theme = theme
        self._tiles: Mapping[str, tuple[str, str]] = {}
        self._groups: Sequence[StepChanges] = ()
        self._unwanted: set[tuple[str, str]] = set()
        self.checks: dict[tuple[str, str], list[Check]] = {}
        """By the draft: a file of several steps stands there several times."""
        self.heading = Label(
            theme, tr("Changes of the run"), "small_strong" if headed else "heading"
        )
        self.count = Label(theme, "", "small", "text2", digits=True)
        self._rows: QBoxLayout = column_of(spacing=2)
        self._shown: list[QWidget] = []
        self.approve = Button(theme, "", clicked=self._approve)
        self.review = Button(theme, tr("Review each"), "ghost", clicked=self._review)
        self.note = Label(theme, "", "small", "text2", wrap=True)
        self._buttons = WrappingRow([self.approve, self.review])
        self.tested: PassedDrafts | None = None
        """The step that passed with all that waits, if one did (W-26)."""
        self._looking: PassedDrafts | None = None
        """Of which a look is going on: large files take longer than the time between two."""
        self.words = Label(theme, "", "small", "text2", wrap=True)
        self._marks = [Mark(theme, "circle-check", "ok"), Mark(theme, "triangle-alert", "warn")]
        self.box = Card(theme, "raised", "control", 8)
        marks = column_of([*self._marks, STRETCH])
        row_of([(marks, 0), (self.words, 1)], 8, (10, 8, 10, 8), on=self.box)
        self.box.hide()
        self._again = QTimer(self, singleShot=True, interval=AGAIN)
        self._again.timeout.connect(self._look)
        head = [row_of([(self.heading, 1), self.count])] if headed else []
        parts = [*head, self._rows, self.box, self._buttons, self.note, STRETCH]
        column_of(parts, 8, (16, 14, 16, 12), on=self)
        self.hide()

    def show_tested(self, tested: PassedDrafts | None) -> None:
        """Show which step passed with all that waits, once it is known what changed since."""
        if tested != self.tested:
            self.tested = tested
            self.box.hide()
        self._look()

    def _look(self) -> None:
        """The folder may change at any time while this is seen."""
        self._again.stop()
        if self.tested is not None and self.isVisible() and self.tested != self._looking:
            self._looking = self.tested
            self.look_wanted.emit(self.tested)

    def show_since(self, tested: PassedDrafts, changed: int) -> None:
        """Show that so many of the files of the folder have changed since ``tested`` was."""
        if tested == self._looking:
            self._looking = None
        if tested != self.tested:
            return
        if self.isVisible():
            self._again.start()
        files = tr_plural("the one file", "all {count} files", tested.count)
        if not tested.all:
            files = tr_plural(
                "the file of the steps before it",
                "the {count} files of the steps before it",
                tested.count,
            )
        words = tr("{step} passed on the desk with {files}.")
        if tested.agent:
            words = tr("{agent} says that {step} passed on the desk with {files}.")
        since = tr("No conflict with your folder.")
        if changed:
            since = tr_plural(
                "{count} of them has changed in your folder since.",
                "{count} of them have changed in your folder since.",
                changed,
            )
        if changed and not tested.all:  # it may be one that the step made itself
            since = tr_plural(
                "{count} file of the drafts has changed in your folder since.",
                "{count} files of the drafts have changed in your folder since.",
                changed,
            )
        step, agent = (escape_line(one, LONGEST) for one in (tested.label, tested.agent))
        said = words.format(step=step, agent=agent, files=files)
        self.words.setText(f"{said} {since}")
        self._marks[0].setVisible(not changed)
        self._marks[1].setVisible(changed > 0)
        self.box.show()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._again.stop()

    @property
    def groups(self) -> Sequence[StepChanges]:
        return self._groups

    def show_groups(
        self, groups: Sequence[StepChanges], tiles: Mapping[str, tuple[str, str]] | None = None
    ) -> None:
        """Show what each step changed; nothing hides the list.

        ``tiles`` are the icons and hues of the agents of steps, by the ids of these.
        """
        self._tiles = tiles or {}
        self.setVisible(bool(groups))
        if list(groups) == list(self._groups):
            self._count()  # an approval may have failed
            return
        self._groups = list(groups)
        for old in self._shown:
            self._rows.removeWidget(old)
            old.deleteLater()
        self._shown, self.checks, left = [], {}, MOST
        for group in groups:
            if left > 0:
                self._add(self._head(group))
            for file in group.files[: max(left, 0)]:
                self._add(self._row(file))
            left -= len(group.files)
        files = {file.path for group in groups for file in group.files}
        self.count.setText(tr_plural("{count} file", "{count} files", len(files)))
        ahead = any(file.state == "ahead" for group in groups for file in group.files)
        notes = [tr("They wait for you as drafts when the run is over.")] if ahead else []
        if left < 0:
            more = tr_plural("{count} more is not shown.", "{count} more are not shown.", -left)
            notes.insert(0, more)
        if self.checks:
            notes.append(tr("One undo takes the whole run back."))
        self.note.show_text(" ".join(notes))
        self._buttons.setVisible(bool(self.checks))
        self._count()

    def _add(self, row: QWidget) -> None:
        self._shown.append(row)
        self._rows.addWidget(row)

    def _head(self, group: StepChanges) -> QWidget:
        t = self._theme
        count = Label(t, str(len(group.files)), "small", "text2", digits=True)
        name = Label(t, " › ".join(group.path), "ui")
        tile = Tile(t, *self._tiles.get(group.path[0], ("workflow", "slate")), 18)
        row = widget_of(row_of([tile, (name, 1), count], 8))
        row.setMinimumHeight(t.height(30))
        return row

    def _row(self, file: ChangedByStep) -> QWidget:
        t = self._theme
        name = tr("{path} (deleted)").format(path=file.path) if file.deleted else file.path
        first: QWidget = Label(t, name, "code", "text2" if file.state == "decided" else "text1")
        if file.draft is not None:
            first = check = Check(t, name, role="code")
            check.setChecked(file.draft not in self._unwanted)
            check.toggled.connect(lambda on, draft=file.draft: self._checked(draft, on))
            self.checks.setdefault(file.draft, []).append(check)
        added, removed = file.lines or (0, 0)
        counts = [
            Label(t, f"+{added}" if added else "", "small", "ok", digits=True),
            Label(t, f"−{removed}" if removed else "", "small", "err", digits=True),
        ]
        for label in counts:
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            label.setFixedWidth(t.metrics("small digits").horizontalAdvance("+9999"))
        row = widget_of(row_of([first, STRETCH, *counts], 4))
        row.setMinimumHeight(t.height(28))
        return row

    def _checked(self, draft: tuple[str, str], on: bool) -> None:
        self._unwanted = self._unwanted - {draft} if on else self._unwanted | {draft}
        for check in self.checks[draft]:
            check.setChecked(on)
        self._count()

    @property
    def chosen(self) -> list[tuple[str, str]]:
        return [draft for draft in self.checks if draft not in self._unwanted]

    def _count(self) -> None:
        chosen = len(self.chosen)
        words = tr("Approve {count} of {all}").format(count=chosen, all=len(self.checks))
        if chosen == len(self.checks):
            words = tr_plural("Approve {count}", "Approve all {count}", chosen)
        self.approve.set_text(words)
        self.approve.setEnabled(chosen > 0)

    def let_approve(self) -> None:
        """What was wanted was not done: it can be wanted again."""
        self._count()

    def _approve(self) -> None:
        self.approve.setEnabled(False)
        self.approved.emit(self.chosen)

    def _review(self) -> None:
        self.review_wanted.emit(*next(iter(self.checks)))
