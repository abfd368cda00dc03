"""The page Kosten: fees by RVG and GKG, computed as one writes, with their norms (KZ-25, KZ-47)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QGridLayout, QWidget

from studio.packs import ToolFailed, dataclass
from studio.packs.ui import (
    STRETCH,
    Button,
    Check,
    Combo,
    Field,
    Hairline,
    IconButton,
    Label,
    MenuButton,
    MenuItem,
    PackWindow,
    Page,
    Segmented,
    Tag,
    column_of,
    row_of,
    widget_of,
)

from ..tools import _german as german
from ..tools.fees.bill import UNCHECKED, Assignment, Bill, Item, Row, compute_bill, instance_risk
from ..tools.fees.costs import COSTS, FREE
from ..tools.fees.note import NAMES
from ..tools.fees.positions import find_position, positions
from ..tools.fees.tables import lawyers_table
from ..tools.office.akten import Akten
from ._intake_card import CardPlace
from ._note_form import NoteForm
from ._rows import ElidedLabel, ScrolledColumn, pair

_NOTE = 1 / 3
"""Of the page is what the form of a Kostennote takes at most, beside the bill and its inputs."""
SIDE = 308
ROOM = 640
"""The width of a bill from which on value and norm have columns of their own."""
_WAIT = 200
"""Milliseconds after the last letter before it is computed."""
_COMPUTE, _RISK = range(2)
_COLUMNS = 7
NOT_COVERED = "Straf- und Sozialrecht, FamGKG und GNotKG rechnet diese Seite nicht."


@dataclass(slots=True)
class Chosen:
    """A number that the person wants: with a rate, its reason, or how many there are.

    A free position has what it is called as its reason, and its amount as how many.
    """

    number: str
    rate: str = ""
    reason: str = ""
    count: str = ""


class KostenPage(Page):
    """Kosten. ``chosen`` are the numbers that are asked for, ``bill`` is what came out."""

    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        t = self.theme
        self.chosen: list[Chosen] = [Chosen("2300"), Chosen("3100"), Chosen("3104")]
        self.bill: Bill | None = None
        self._computing = 0
        self._wide = True
        self._soon = QTimer(self, singleShot=True, interval=_WAIT)
        self._soon.timeout.connect(lambda: self.run(self.compute()))
        self.az = Tag(t, " ")
        self.az.hide()
        self.rubrum = ElidedLabel(t, "small", "text2")
        self.view = Segmented(t, ("Rechnen", "Risiko"), name="Ansicht")
        self.view.chosen.connect(lambda _: self._soon.start())
        self.to_copy = Button(t, "Kopieren", icon="copy", clicked=self.copy)
        title = Label(t, "Kosten", "heading")
        self.to_note = Button(t, "Kostennote", icon="file-text", clicked=self.show_note)
        self.to_note.hide()
        head = [title, self.az, self.rubrum, STRETCH, self.view, self.to_note, self.to_copy]
        self.value = Field(t, "10.000,00", name="Gegenstandswert")
        self.mandate = Field(t, "02.06.2025", name="Auftrag erteilt am")
        self.mandate.setText(f"{datetime.date.today():%d.%m.%Y}")
        self.table_name = ElidedLabel(t, "ui", "text2")
        self.table_name.setText("nach dem Auftrag")
        self.table_name.setMinimumSize(1, self.value.sizeHint().height())  # it gives way to them
        self.clients = Field(t, "1", name="Mandanten")
        taxes = [MenuItem("19", "19 % (VV 7008)"), MenuItem("0", "keine (§ 19 UStG)")]
        self.tax = Combo(t, "Umsatzsteuer", items=taxes, chosen=lambda _: self._soon.start())
        self.tax.set_current("19")
        self.pkh = Check(t, "Prozesskostenhilfe (§ 49 RVG)")
        self.pkh.toggled.connect(lambda _: self._soon.start())
        for field in (self.value, self.mandate, self.clients):
            field.textChanged.connect(lambda: self._soon.start())
        matter = [
            (self._named("Gegenstandswert", self.value), 1),
            (self._named("Auftrag erteilt am", self.mandate), 1),
            (self._named("Tabelle", self.table_name), 1),
        ]
        who = [
            (self._named("Mandanten", self.clients), 1),
            (self._named("Umsatzsteuer", self.tax), 3),
        ]
        self._inputs = row_of(
            [(row_of(matter, spacing=10), 9), (row_of(who, spacing=10), 4)], spacing=10
        )
        self.add = MenuButton(t, "Position hinzufügen", "Position hinzufügen", icon="plus")
        self.add.set_items(_choices())
        self.add.chosen.connect(self.add_position)
        self.add_row = widget_of(row_of([self.add, self.pkh, STRETCH], spacing=14))
        self.problem = Label(t, "", "small", "err", wrap=True)
        self.problem.hide()
        self.told = Label(t, "", "small", "text2", wrap=True)
        self.told.hide()
        self.note = NoteForm(self)
        self.note.hide()
        self.note.closed.connect(self.note.hide)
        self.note.entered.connect(lambda told, _: self.told.show_text(told))
        self.body = ScrolledColumn(t)
        self.body.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.note_place = CardPlace(self.note, _NOTE, (0, 0, 0, 0))
        form = column_of(
            [self._inputs, self.add_row, self.problem, self.told, self.note_place], spacing=10
        )
        form.setContentsMargins(20, 14, 20, 12)
        left = column_of([form, Hairline(t), (self.body, 1)], spacing=0)
        self.side = ScrolledColumn(t)
        self.side.setFixedWidth(t.px(SIDE))
        self.side_line = Hairline(t, upright=True)
        middle = row_of([(left, 1), self.side_line, self.side], spacing=0)
        top = row_of(head, spacing=10, margins=(20, 10, 14, 10))
        column_of([top, Hairline(t), (middle, 1)], spacing=0, on=self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        t = self.theme
        aside = self.width() >= t.px(SIDE + 700)
        self.side.setVisible(aside)
        self.side_line.setVisible(aside)
        wide = aside or self.width() >= t.px(ROOM)
        if wide != self._wide:
            self._wide = wide
            direction = QBoxLayout.Direction
            self._inputs.setDirection(direction.LeftToRight if wide else direction.TopToBottom)
            if self.bill is not None:
                self._show(self.bill, "")

    def open(self, *target: str) -> None:
        self.run(self._open(target))

    async def _open(self, target: Sequence[str]) -> None:
        if target and target[0].isdecimal():
            number = int(target[0])
            try:
                akte = await self.in_thread(
                    lambda: self.home.service(Akten).get(self.home.person, number)
                )
            except ToolFailed as error:
                self.problem.show_text(str(error))
                return
            self.az.set(akte.az)
            self.az.show()
            self.rubrum.setText(akte.rubrum)
            self.note.show_akte(akte)
            self.to_note.show()
            self.told.show_text("")
            if akte.value is not None:
                self.value.setText(german.euros(Decimal(akte.value) / 100).removesuffix(" €"))
            if akte.mandate:
                self.mandate.setText(f"{german.read_day(akte.mandate):%d.%m.%Y}")
        await self.compute()

    def add_position(self, number: str) -> None:
        if number in FREE or all(one.number != number for one in self.chosen):
            self.chosen.append(Chosen(number))
            self._soon.start()

    def show_note(self) -> None:
        """Ask what the Kostennote says beside the bill."""
        self.note.show()
        self.note.first.setFocus()

    def remove_position(self, chosen: Chosen) -> None:
        self.chosen.remove(chosen)
        self._soon.start()

    async def compute(self) -> None:
        """Compute and show everything anew."""
        self._computing = number = self._computing + 1
        risk = self.view.current == _RISK
        self.add_row.setVisible(not risk)
        if not self.value.text().strip():
            self._show(None, "")
            return
        items, assignment = list(self.chosen), self._read_form()
        if isinstance(assignment, str):
            self._show(None, assignment)
            return

        def work() -> Bill:
            if risk:
                return instance_risk(assignment)
            return compute_bill([_item(one) for one in items], assignment)

        try:
            bill: Bill | None = await self.in_thread(work)
            words = ""
        except ToolFailed as error:
            bill, words = None, str(error)
        if number == self._computing:
            self.table_name.setText(lawyers_table(assignment.mandate, pkh=assignment.pkh).name)
            self._show(bill, words)

    def _read_form(self) -> Assignment | str:
        """What is asked, or what is wrong with it."""
        try:
            day = german.read_day(self.mandate.text())
        except ValueError:
            return "Der Tag des Auftrags wird 02.06.2025 geschrieben."
        clients = self.clients.text().strip() or "1"
        if not clients.isdecimal():
            return "Die Zahl der Mandanten ist eine ganze Zahl."
        try:
            value = german.read_amount(self.value.text())
        except ValueError as error:
            return f"Gegenstandswert: {error}"
        small = self.tax.current == "0"
        return Assignment(value, day, day, int(clients), self.pkh.isChecked(), small)

    def _show(self, bill: Bill | None, problem: str) -> None:
        self.bill = self.note.bill = bill
        self.to_note.setEnabled(bill is not None and self.view.current != _RISK)
        self.problem.show_text(problem)
        self.to_copy.setEnabled(bill is not None)
        if bill is None:
            hint = Label(
                self.theme, "Gib den Gegenstandswert ein, dann wird gerechnet.", "ui", "text2"
            )
            self.body.show_parts([self._unused(), *([] if problem else [hint])])
            self.side.show_parts([])
            return
        risk = self.view.current == _RISK
        self.body.show_parts([self._sections(bill, own=not risk), self._sum(bill, risk=risk)])
        self.side.show_parts(self._explained(bill))

    def _unused(self) -> QWidget:
        """The numbers that are asked for, where nothing could be computed: they can be changed."""
        rows = [self._asked(one) for one in self.chosen]
        return widget_of(column_of(rows, spacing=6))

    def _asked(self, chosen: Chosen) -> QWidget:
        name = Label(self.theme, _title(chosen.number), "ui")
        fields = (self._reason_field(chosen), self._number_field(chosen))
        parts: list[QWidget] = [*filter(None, fields), self._remove(chosen)]
        return widget_of(row_of([name, STRETCH, *parts], spacing=8))

    def _sections(self, bill: Bill, *, own: bool) -> QWidget:
        """All rows in one grid, so that the columns stand below each other."""
        t, grid = self.theme, QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(9)
        grid.setColumnStretch(1, 1)
        at = 0
        for section in bill.sections:
            head = row_of(
                [
                    Label(t, NAMES.get(section.name, section.name), "ui_strong"),
                    Label(t, section.table.name, "small", "text2"),
                    STRETCH,
                    Label(t, german.euros(section.total), "ui_strong", digits=True),
                ],
                spacing=8,
                margins=(0, 8 if at else 0, 0, 0),
            )
            grid.addWidget(widget_of(head), at, 0, 1, _COLUMNS)
            grid.addWidget(Hairline(t), at + 1, 0, 1, _COLUMNS)
            at += 2
            for row in section.rows:
                self._fill(grid, at, row, self._chosen_of(row) if own else None)
                at += 1
        return widget_of(grid)

    def _fill(self, grid: QGridLayout, at: int, row: Row, chosen: Chosen | None) -> None:
        t, right = self.theme, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        number = Label(t, "" if row.number in FREE else row.number, "small", digits=True)
        number.setMinimumWidth(t.px(84))
        words: list[QWidget] = [Label(t, row.words, "ui", wrap=True)]
        reason = self._reason_field(chosen) if chosen is not None else None
        if reason is not None and row.number in FREE:
            words = [reason]
        elif reason is not None:
            words.append(reason)
        elif row.note:
            kind = "warn" if row.note == UNCHECKED else "text2"
            words.append(Label(t, row.note, "small", kind, wrap=True))
        rate: QWidget | None = self._number_field(chosen) if chosen is not None else None
        if rate is None:
            said = german.number(row.rate) if row.rate is not None else ""
            rate = Label(t, said, "ui", digits=True)
        value = german.euros(row.value) if row.value is not None else ""
        norm = Label(t, row.norm, "small", "text2", wrap=True)
        if self._wide:
            norm.setMinimumWidth(t.px(96))
            grid.addWidget(Label(t, value, "small", "text2", digits=True), at, 3, right)
            grid.addWidget(norm, at, 4)
        else:
            norm.setText(", ".join(filter(None, (value and f"aus {value}", row.norm))))
            words.insert(1, norm)
        grid.addWidget(number, at, 0)
        grid.addWidget(widget_of(column_of(words, spacing=3)), at, 1)
        grid.addWidget(rate, at, 2, right)
        grid.addWidget(Label(t, german.euros(row.amount), "ui", digits=True), at, 5, right)
        if chosen is not None:
            grid.addWidget(self._remove(chosen), at, 6)

    def _number_field(self, chosen: Chosen) -> Field | None:
        """What can be chosen of a number: its rate, or how many there are."""
        if chosen.number in COSTS:
            unit = COSTS[chosen.number].unit
            return self._field(chosen, "count", f"Zahl ({unit})", unit)
        if chosen.number in FREE:
            name = f"Betrag, {chosen.reason or FREE[chosen.number]}"
            return self._field(chosen, "count", name, "Betrag", width=92)
        position = find_position(chosen.number)
        if position.highest_rate is None:
            return None
        chosen.rate = chosen.rate or german.number(position.rate)
        return self._field(chosen, "rate", f"Satz von {chosen.number}")

    def _reason_field(self, chosen: Chosen) -> Field | None:
        """Why the rate is above the usual one, where it is."""
        if chosen.number in COSTS:
            return None
        if chosen.number in FREE:
            words = FREE[chosen.number]
            return self._field(chosen, "reason", f"Bezeichnung, {words}", words, width=0)
        if not (chosen.reason or self._above(chosen.rate, find_position(chosen.number).rate)):
            return None
        words = "Grund: umfangreich oder schwierig, weil …"
        return self._field(chosen, "reason", words, words, width=320)

    @staticmethod
    def _above(text: str, rate: Decimal) -> bool:
        try:
            return german.read_amount(text) > rate
        except ValueError:
            return False

    def _field(
        self, chosen: Chosen, what: str, name: str, hint: str = "", *, width: int = 64
    ) -> Field:
        """A field for one word of what is chosen; without a width it takes the room there is."""
        field = Field(self.theme, hint, name=name)
        field.setText(getattr(chosen, what))
        if width:
            field.setFixedWidth(self.theme.px(width))
        else:
            field.setMinimumWidth(self.theme.px(110))

        def change() -> None:
            if field.text() != getattr(chosen, what):
                setattr(chosen, what, field.text())
                self._soon.start()

        field.editingFinished.connect(change)
        return field

    def _remove(self, chosen: Chosen) -> IconButton:
        name = f"{_title(chosen.number)} entfernen"
        return IconButton(self.theme, "x", name, clicked=lambda: self.remove_position(chosen))

    def _chosen_of(self, row: Row) -> Chosen | None:
        number = row.number.removeprefix("VV ").split(",")[0]
        found = [one for one in self.chosen if one.number == number]
        if number in FREE:
            found = [one for one in found if (one.reason.strip() or FREE[number]) == row.words]
        return next(iter(found), None)

    def _sum(self, bill: Bill, *, risk: bool) -> QWidget:
        t = self.theme
        words = "Kosten, wenn der Prozess verloren geht" if risk else "Zusammen"
        total = Label(t, german.euros(bill.total), "heading", digits=True)
        return widget_of(row_of([(Label(t, words, "heading", wrap=True), 1), total], spacing=14))

    def _explained(self, bill: Bill) -> list[QWidget]:
        t = self.theme
        full: list[QWidget] = []
        for section in bill.sections:
            values = [one.value for one in section.rows if one.value is not None]
            if values:
                amount = german.euros(section.table.full_fee(values[0]))
                full.append(pair(t, NAMES.get(section.name, section.name), f"1,0 = {amount}"))
        head = Label(t, "So gerechnet", "ui_strong")
        parts: list[QWidget] = [widget_of(column_of([head, *full], spacing=6))]
        parts.append(
            Label(
                t,
                "Jede Gebühr ist auf den Cent gerundet (§ 2 II RVG). Die Tabelle richtet sich nach "
                "dem Tag des Auftrags (§ 60 RVG).",
                "small",
                "text2",
                wrap=True,
            )
        )
        unchecked = list(
            dict.fromkeys(
                row.number
                for section in bill.sections
                for row in section.rows
                if row.note == UNCHECKED
            )
        )
        if unchecked:
            words = f"{', '.join(unchecked)}: ungeprüft. Nur eine Quelle bestätigt den Betrag."
            parts.append(Label(t, words, "small", "warn", wrap=True))
        parts += [Label(t, one, "small", "text2", wrap=True) for one in bill.warnings]
        return [*parts, Label(t, NOT_COVERED, "small", "text2", wrap=True)]

    def copy(self) -> None:
        """Put what is shown on the clipboard, with tabs between the columns."""
        if self.bill is not None:
            QGuiApplication.clipboard().setText(as_text(self.bill))

    def _named(self, name: str, field: QWidget) -> QWidget:
        return widget_of(column_of([Label(self.theme, name, "small", "text2"), field], spacing=4))


def as_text(bill: Bill) -> str:
    """A bill as lines with tabs, as tables of other programs take it."""
    lines: list[str] = []
    for section in bill.sections:
        lines.append(f"{NAMES.get(section.name, section.name)}\t{section.table.name}")
        for row in section.rows:
            rate = german.number(row.rate) if row.rate is not None else ""
            value = german.euros(row.value) if row.value is not None else ""
            amount = german.euros(row.amount)
            lines.append("\t".join((row.number, row.words, rate, value, amount, row.norm)))
    return "\n".join([*lines, f"Zusammen\t\t\t\t{german.euros(bill.total)}"])


def _choices() -> list[MenuItem]:
    found: list[MenuItem] = []
    for matter in dict.fromkeys(one.matter for one in positions().values()):
        found.append(MenuItem("", NAMES.get(matter, matter)))
        found += [
            MenuItem(one.number, _title(one.number))
            for one in positions().values()
            if one.matter == matter
        ]
    found.append(MenuItem("", "Auslagen"))
    found += [MenuItem(one.number, _title(one.number)) for one in COSTS.values()]
    found.append(MenuItem("", "Frei"))
    return [*found, *(MenuItem(number, words) for number, words in FREE.items())]


def _title(number: str) -> str:
    if number in FREE:
        return FREE[number]
    words = COSTS[number].words if number in COSTS else find_position(number).words
    return f"{number}  {words}"


def _item(chosen: Chosen) -> Item:
    def number(name: str, text: str) -> Decimal:
        try:
            return german.read_amount(text)
        except ValueError as error:
            raise ToolFailed(f"{name} von {chosen.number}: {error}") from error

    return Item(
        chosen.number,
        number("Satz", chosen.rate) if chosen.rate.strip() else None,
        None,
        chosen.reason.strip(),
        number("Zahl", chosen.count) if chosen.count.strip() else Decimal(0),
    )
