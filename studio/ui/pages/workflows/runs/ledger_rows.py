"""Rows of a mission's ledger, in the person's language (W-51). Free of Qt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.run_events import RunEvent
from studio.domain.workflows import Workflow
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars, duration
from studio.ui.translation import tr, tr_later
from studio.workflows.missions.mission_log import EntryKind, MissionLogEntry, MissionLogWriter

from .log_rows import LogRow

_WORK: Mapping[str, tuple[str, str]] = {
    "done": ("check", "ok"),
    "failed": ("x", "err"),
    "stopped": ("square", "text2"),
}
_OTHERS: Mapping[EntryKind, tuple[str, str, str]] = {
    "steered": (tr_later("You said: {words}"), "hand", "text2"),
    "raised": (tr_later("The limit is raised: {words}"), "wallet", "text2"),
    "raised_below": (tr_later("The limit of a run below is raised: {words}"), "wallet", "text2"),
    "paused": (tr_later("The run is paused: {words}"), "pause", "warn"),
    "resumed": (tr_later("The run goes on"), "play", "text2"),
    "asked": (tr_later("It asks: {words}"), "shield-question-mark", "warn"),
    "waited": (tr_later("{title} waits for its provider"), "hourglass", "text2"),
}
MOST_LINES = 3
"""Lines of what a failing check printed, from its end."""


class LedgerRows:
    """The ledger of one run as it grows: ``add`` is called with its events in their order."""

    def __init__(self, workflow: Workflow) -> None:
        self._writer = MissionLogWriter(workflow)
        self._began = 0.0
        self.rows: list[LogRow] = []

    def add(self, at: float, event: RunEvent) -> None:
        self._began = self._began or at
        if (entry := self._writer.write(at, event)) is not None:
            self.rows += self._rows(entry)

    def _rows(self, entry: MissionLogEntry) -> Iterator[LogRow]:
        cycle = tr("Cycle {number}").format(number=entry.cycle)

        def row(icon: str, ink: str, text: str, right: str = "") -> LogRow:
            at = entry.at - self._began
            return LogRow(at, "run", icon, ink, escape_line(text, 400), right, cycle)

        match entry.kind:
            case "work":
                used = [duration(entry.seconds)] if entry.seconds >= 0.05 else []
                used += [dollars(entry.dollars)] if entry.dollars else []
                said = " ".join(tr_engine(entry.words).split())
                words = f"{entry.title}: {said}" if said else entry.title
                icon, ink = _WORK.get(entry.state, ("square", "text2"))
                yield row(icon, ink, words, "  ".join(used))
                if entry.files:
                    words = tr("Changed: {files}").format(files=", ".join(entry.files))
                    yield row("file-pen", "text2", words)
            case "checks":
                for one in entry.checks:
                    yield row(
                        "check" if one.passed else "x", "ok" if one.passed else "err", one.title
                    )
                    lines = [] if one.passed else one.words.strip().splitlines()
                    for line in lines[-MOST_LINES:]:
                        yield row("", "text2", tr_engine(line))
                if entry.files:
                    words = tr("Changed, though checks run them: {files}")
                    yield row("triangle-alert", "warn", words.format(files=", ".join(entry.files)))
            case "ended":
                icon, ink = _WORK.get(entry.state, ("square", "text2"))
                yield row(icon, ink, tr_engine(entry.words))
            case "asked" if entry.state:
                yield row("hand", "text2", tr("It was answered"))
            case _:
                words, icon, ink = _OTHERS[entry.kind]
                told = tr(words).format(words=tr_engine(entry.words).rstrip("."), title=entry.title)
                yield row(icon, ink, told)
