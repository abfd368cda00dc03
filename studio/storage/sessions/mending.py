"""Mending: makes the chats of a salvaged database whole again, and says what they miss.

A chat that lost entries keeps the others in their order. A note stands where some are missing;
turns are opened and closed, so that it can be gone on with. The provider's own history is left
as it is: where it lost something, it is built anew from the conversation when it is next used.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from sqlite3 import Connection

from studio.domain.codec import encode_event
from studio.domain.events import (
    DraftCreated,
    DraftResolved,
    Event,
    Exposed,
    HistoryBegun,
    Notice,
    Pinned,
    StepEnded,
    StepStarted,
    Summarised,
    TurnComplete,
    TurnStarted,
)
from studio.domain.ledger import canonical_json
from studio.domain.messages import Text
from studio.domain.sessions import title_of
from studio.files.folders import private_folder
from studio.storage.recovery.salvage import Losses

from .event_log import checksum, insert_event, insert_passages, read_data, read_event
from .projections import update_projections
from .search import Indexer, sanitise_text

MOST = 1 << 31
"""More entries no chat has; a damaged number may say so."""
NAMED = 3
"""So many chats are named."""
LOST = "what is missing in this chat"
_RULES = ("rules", "standing_rules")


def mend(db: Connection, losses: Losses) -> str:
    """Mend everything, in one transaction; returns what is missing, in words for the person."""
    _rename(db)
    revived = _revive(db, losses)
    _show_versions(db)
    _hold_place_of_epochs(db, losses)
    titles: list[str] = []
    missing = 0
    lost = _lost_entries(db, losses)
    for session_id, title in db.execute("SELECT id, CAST(title AS TEXT) FROM sessions").fetchall():
        if many := _Conversation(db, session_id, lost.get(session_id, set())).mend():
            missing += many
            titles.append(title or "New chat")
    _derive(db, losses)
    found: list[str] = []
    if missing:
        entries = "1 entry is" if missing == 1 else f"{missing:,} entries are"
        found.append(f"{entries} missing in {_named(titles)}.")
    if "transcript" in losses.unknown:
        found.append("Which entries are missing at the ends of chats is not known.")
    if revived:
        many = "1 chat has" if revived == 1 else f"{revived} chats have"
        found.append(f"{many} lost title, folder and settings.")
    if losses.broken & {*_RULES}:
        for table in _RULES:
            db.execute(f"DELETE FROM {table} WHERE verdict = 'allow'")
        found.append(
            "Permission rules were among it, so those that allow something are taken back."
        )
    if "audit" in losses.broken:
        found.append("Calls are missing in the audit.")
    if "file_changes" in losses.broken:
        found.append("Some turns cannot be undone any more.")
    return " ".join(found) or "Nothing is missing in the chats."


def _named(titles: Sequence[str]) -> str:
    names = ", ".join(f"“{title}”" for title in titles[:NAMED])
    more = f" and {len(titles) - NAMED} more" if len(titles) > NAMED else ""
    return f"{names}{more}"


def _lost_entries(db: Connection, losses: Losses) -> dict[str, set[int]]:
    """The numbers of each session's lost entries; of some only, where no index names them."""
    keys = losses.keys.get("transcript", [])
    if "transcript" in losses.unknown:  # what can be searched for was there
        keys = db.execute("SELECT session_id, seq FROM said").fetchall()
    found: dict[str, set[int]] = {}
    for session_id, seq, *_ in keys:
        if isinstance(session_id, str) and isinstance(seq, int):
            found.setdefault(session_id, set()).add(seq)
    return found


def _rename(db: Connection) -> None:
    """Give sessions whose id was damaged the one that their entries name."""
    owners = {row[0] for row in db.execute("SELECT id FROM sessions")}
    named = {row[0] for row in db.execute("SELECT DISTINCT session_id FROM transcript")}
    for lost in named - owners:
        for empty in owners - named:
            if _is_nearly(empty, lost):
                db.execute("UPDATE sessions SET id = ? WHERE id = ?", (lost, empty))
                owners.remove(empty)
                break


def _show_versions(db: Connection) -> None:
    """Show the newest version of each chat of which the one that lists showed was lost."""
    db.execute(
        """UPDATE sessions SET behind = 0 WHERE NOT EXISTS
        (SELECT 1 FROM sessions shown WHERE shown.family = sessions.family AND shown.behind = 0)
        AND id = (SELECT id FROM sessions other WHERE other.family = sessions.family
            ORDER BY updated DESC LIMIT 1)"""
    )


def _is_nearly(damaged: object, whole: object) -> bool:
    """Whether few characters of an id differ; two sound ones have few in common."""
    if not (isinstance(damaged, str) and isinstance(whole, str)):
        return False
    same = sum(one == other for one, other in zip(damaged, whole, strict=False))
    return len(damaged) == len(whole) and 2 * same > len(whole)


def _revive(db: Connection, losses: Losses) -> int:
    """Add the sessions whose own row was lost, from what they hold; returns how many.

    Sessions that were deleted stay so: those whose id the index does not have any more.
    """
    if "sessions" not in losses.broken:
        return 0
    known = {key[0] for key in losses.keys.get("sessions", []) if isinstance(key[0], str)}
    rows = db.execute(
        """SELECT session_id, min(at), max(at) FROM transcript
        WHERE session_id NOT IN (SELECT id FROM sessions) GROUP BY session_id"""
    ).fetchall()
    empty = Path(db.execute("PRAGMA database_list").fetchone()[2]).parent / "chats"
    revived = 0
    for session_id, begun, ended in rows:
        if known and session_id not in known:
            continue
        first = next(
            (event for event in _events(db, session_id) if isinstance(event, TurnStarted)), None
        )
        made_by = (first.agent, first.provider, first.model) if first else ("", "", "")
        folder = _folder(db, session_id) or private_folder(empty)
        title = sanitise_text(title_of(first.said)) if first else ""
        db.execute(
            """INSERT INTO sessions (id, title, folder, agent, provider, model, permission_mode,
            created, updated, state, unread) VALUES (?, ?, ?, ?, ?, ?, 'ask', ?, ?, 'idle', 0)""",
            (session_id, title, str(folder), *made_by, begun, ended),
        )
        revived += 1
    return revived


def _folder(db: Connection, session_id: str) -> Path | None:
    """The folder in which a session changed files, if it is there."""
    row = db.execute(
        "SELECT folder FROM file_changes WHERE session_id = ? ORDER BY at DESC", (session_id,)
    ).fetchone()
    folder = Path(os.fsdecode(row[0])) if row and isinstance(row[0], bytes) else None
    return folder if folder and folder.is_dir() else None


def _hold_place_of_epochs(db: Connection, losses: Losses) -> None:
    """Add a row for the last epoch where it was lost, so that an older one does not go on.

    It cannot be read, so the history is built anew when it is next used.
    """
    if "epochs" not in losses.broken:
        return
    for (session_id,) in db.execute("SELECT id FROM sessions").fetchall():
        begun = [one for one in _events(db, session_id) if isinstance(one, HistoryBegun)]
        last, known = db.execute(
            """SELECT max((SELECT coalesce(max(epoch), 0) FROM native WHERE session_id = ?1),
            (SELECT coalesce(max(epoch), 0) FROM usage WHERE session_id = ?1)),
            (SELECT coalesce(max(epoch), 0) FROM epochs WHERE session_id = ?1)""",
            (session_id,),
        ).fetchone()
        last = max(last, *(event.epoch for event in begun), 0)
        if last <= known:
            continue
        provider, model = db.execute(
            "SELECT provider, model FROM sessions WHERE id = ?", (session_id,)
        ).fetchone()
        if begun:
            provider, model = begun[-1].provider, begun[-1].model
        protocol = db.execute(
            "SELECT max(protocol) FROM epochs WHERE provider = ?", (provider,)
        ).fetchone()[0]
        db.execute(
            """INSERT INTO epochs (session_id, epoch, at, provider, protocol, model, system, tools)
            VALUES (?, ?, 0, ?, ?, ?, '', '')""",
            (session_id, last, provider, protocol or "", model),
        )


def _events(db: Connection, session_id: str) -> Iterator[Event]:
    rows = db.execute(
        "SELECT body FROM transcript WHERE session_id = ? ORDER BY seq", (session_id,)
    ).fetchall()
    return (event for (body,) in rows if (event := read_event(body)) is not None)


def _derive(db: Connection, losses: Losses) -> None:
    """Add the rows of turns, drafts and usage, and the searchable text, that were lost."""
    tables = losses.broken & {"turns", "drafts", "usage"}
    for session_id, state, updated in db.execute(
        "SELECT id, state, updated FROM sessions"
    ).fetchall():
        if "said" in losses.broken:
            _index(db, session_id)
        if tables:
            _project(db, session_id)
            db.execute(
                "UPDATE sessions SET state = ?, updated = ? WHERE id = ?",
                (state, updated, session_id),
            )


def _project(db: Connection, session_id: str) -> None:
    """Make the turns of a session anew, in their order, and add the drafts and usage it lacks."""
    owners = dict(
        db.execute(
            "SELECT turn_id, owner FROM turns WHERE session_id = ?", (session_id,)
        ).fetchall()
    )
    db.execute("DELETE FROM turns WHERE session_id = ?", (session_id,))
    rows = db.execute(
        "SELECT turn_id, at, body FROM transcript WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    for turn_id, at, body in rows.fetchall():
        event = read_event(body)
        match event:
            case TurnStarted() | TurnComplete() | DraftResolved():
                known = False
            case DraftCreated():
                known = _has(db, "drafts", session_id, "draft_id", event.draft.id)
            case StepEnded():
                known = _has(db, "usage", session_id, "at", at)
            case _:
                continue
        if not known:
            update_projections(db, session_id, owners.get(turn_id, ""), turn_id, at, event)


def _has(db: Connection, table: str, session_id: str, column: str, value: str | float) -> bool:
    query = f"SELECT 1 FROM {table} WHERE session_id = ? AND {column} = ?"
    return db.execute(query, (session_id, value)).fetchone() is not None


def _index(db: Connection, session_id: str) -> None:
    """Make the searchable text of a session anew."""
    db.execute("DELETE FROM said WHERE session_id = ?", (session_id,))
    indexer, last = Indexer(), 0
    rows = db.execute(
        "SELECT seq, body FROM transcript WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    for last, body in rows.fetchall():
        if (event := read_event(body)) is not None:
            insert_passages(db, session_id, last, indexer.feed(event))
    insert_passages(db, session_id, last, indexer.finish())


@dataclass(slots=True)
class _Turn:
    """A row of the table of turns; ``over``: its end is known."""

    started: TurnStarted
    at: float
    ended: float
    over: bool
    complete: TurnComplete


@dataclass(slots=True)
class _Conversation:
    """One chat's entries, and those among them that were lost, by their numbers."""

    db: Connection
    session_id: str
    lost: set[int]
    out: list[tuple[str, float, str]] = field(default_factory=list[tuple[str, float, str]])
    """Turn, time and body of each entry that there will be."""
    places: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The number of each entry that is left, and the one that it gets."""
    missing: int = 0
    turn_id: str = ""
    running: bool = False
    at: float = 0.0

    def mend(self) -> int:
        """Close the gaps; returns how many entries are missing."""
        rows = self.db.execute(
            """SELECT seq, turn_id, at, body, sum FROM transcript WHERE session_id = ?
            ORDER BY seq""",
            (self.session_id,),
        ).fetchall()
        sound = [row for row in rows if _is_sound(*row)]
        last: int = sound[-1][0] if sound else 0
        beyond = {row[0] for row in rows if not _is_sound(*row)} | self.lost
        beyond = {seq for seq in beyond if not isinstance(seq, int) or seq > last}
        if len(sound) == last and not beyond:
            return 0
        turns = self._turns()
        said = self._said({row[0] for row in sound})
        reached = 1
        for seq, turn_id, at, body, _ in sound:
            event = read_event(body)
            if seq > reached:
                words = [said[one] for one in sorted(said) if reached <= one < seq]
                self._bridge(
                    seq - reached, words, turns, str(turn_id), isinstance(event, TurnStarted)
                )
            reached = seq + 1
            if self.missing and isinstance(event, Summarised | Pinned):
                continue  # they refer to blocks by number, and some are missing now
            if isinstance(event, TurnStarted):
                self._end_turn(turns)
                self.running = True
            elif isinstance(event, TurnComplete):
                self.running = False
            self.turn_id, self.at = str(turn_id), at
            self.out.append((self.turn_id, at, body))
            self.places.append((seq, len(self.out)))
        if beyond:
            words = [said[one] for one in sorted(said) if one > last]
            self._bridge(len(beyond), words, turns, "", True)
            ended = turns.get(self.turn_id)
            if ended is not None and ended.over:
                self._end_turn(turns)
        self._resolve_drafts()
        self._write()
        return self.missing

    def _bridge(
        self, many: int, words: list[str], turns: dict[str, _Turn], following: str, begins: bool
    ) -> None:
        """Say that entries are missing; end and begin the turns whose ends and beginnings were.

        ``words`` are what the person said in them. ``following`` is the turn of what follows,
        empty at the end; ``begins``: it begins there.
        """
        self.missing += many
        entries = "An entry is" if many == 1 else f"{many:,} entries are"
        self._add(Notice(f"{entries} missing here: the saved chats were damaged."))
        for exposure in ("private", "untrusted"):
            self._add(Exposed(exposure, LOST))
        order = list(turns)
        start = order.index(self.turn_id) + 1 if self.turn_id in turns else 0
        end = order.index(following) if following in turns else start if following else len(order)
        between = order[start:end]
        if following not in ("", self.turn_id) and not begins:
            between.append(following)
        for place, one in enumerate(between):
            self._end_turn(turns)
            rest = place == len(between) - 1
            mine = words[place:] if rest else words[place : place + 1]
            turn = turns.get(one) or self._unknown_turn(one)
            self.turn_id, self.at, self.running = one, turn.at or self.at, True
            self._add(replace(turn.started, said=tuple(map(Text, mine))))
        if self.running:
            self._add(StepStarted(1))  # what was said was sent, if it was

    def _unknown_turn(self, turn_id: str) -> _Turn:
        """A turn without a row, as one with what the session runs on."""
        agent, provider, model = self.db.execute(
            "SELECT agent, provider, model FROM sessions WHERE id = ?", (self.session_id,)
        ).fetchone()
        started = TurnStarted(self.session_id, turn_id, (), agent, provider, model, "background")
        return _Turn(started, 0.0, 0.0, False, TurnComplete("error"))

    def _end_turn(self, turns: dict[str, _Turn]) -> None:
        """End the turn that runs, as its row says."""
        if self.running:
            known = turns.get(self.turn_id)
            self.at = known.ended if known else self.at
            self._add(known.complete if known else TurnComplete("error"))
            self.running = False

    def _add(self, event: Event) -> None:
        self.out.append((self.turn_id, self.at, canonical_json(encode_event(event))))

    def _turns(self) -> dict[str, _Turn]:
        rows = self.db.execute(
            """SELECT turn_id, agent, provider, model, mode, started, ended, reason, detail, steps,
            seconds FROM turns WHERE session_id = ? ORDER BY id""",
            (self.session_id,),
        ).fetchall()
        found: dict[str, _Turn] = {}
        for turn_id, agent, provider, model, mode, *times, reason, detail, steps, seconds in rows:
            started = TurnStarted(self.session_id, turn_id, (), agent, provider, model, mode)
            complete = TurnComplete(
                reason or "error", detail or "", steps or 0, seconds=seconds or 0.0
            )
            at, ended = times
            found[turn_id] = _Turn(started, at, ended or at, reason is not None, complete)
        return found

    def _said(self, there: set[int]) -> dict[int, str]:
        """What the person said in lost entries, as the index for searching has it."""
        rows = self.db.execute(
            "SELECT seq, CAST(text AS TEXT) FROM said WHERE session_id = ? AND kind = 'said'",
            (self.session_id,),
        )
        return {seq: text for seq, text in rows if seq not in there}

    def _resolve_drafts(self) -> None:
        """End drafts as their rows say, and drop rows whose draft was lost."""
        rows = self.db.execute(
            "SELECT draft_id, status, detail FROM drafts WHERE session_id = ?", (self.session_id,)
        ).fetchall()
        status: dict[str, str] = {}
        for *_, body in self.out:
            match read_event(body):
                case DraftCreated() as made:
                    status[made.draft.id] = made.draft.status
                case DraftResolved() as ended if ended.draft_id in status:
                    status[ended.draft_id] = ended.status
                case _:
                    pass
        for draft_id, known, detail in rows:
            if draft_id not in status:
                self.db.execute(
                    "DELETE FROM drafts WHERE session_id = ? AND draft_id = ?",
                    (self.session_id, draft_id),
                )
            elif status[draft_id] != known:
                self._add(DraftResolved(draft_id, known, detail or ""))

    def _write(self) -> None:
        self.db.execute("DELETE FROM transcript WHERE session_id = ?", (self.session_id,))
        for seq, (turn_id, at, body) in enumerate(self.out, 1):
            insert_event(self.db, self.session_id, seq, turn_id, at, body)
        _index(self.db, self.session_id)
        epochs = self.db.execute(
            "SELECT epoch, events FROM epochs WHERE session_id = ?", (self.session_id,)
        ).fetchall()
        for epoch, events in epochs:
            if isinstance(events, int):
                known = max((new for old, new in self.places if old <= events), default=0)
                self.db.execute(
                    "UPDATE epochs SET events = ? WHERE session_id = ? AND epoch = ?",
                    (known, self.session_id, epoch),
                )


def _is_sound(seq: object, turn_id: object, at: object, body: object, total: object) -> bool:
    """Whether an entry is as it was written, or can at least be read."""
    if not isinstance(seq, int) or not 0 < seq < MOST:
        return False
    known = total is not None and total == checksum(seq, turn_id, body)
    return read_data(body) is not None if known else read_event(body) is not None
