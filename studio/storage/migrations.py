"""Database migrations: numbered steps that make the schema of the program's database.

A step is never edited once a version with it is released: a change is a new step at
the end. ``PRAGMA user_version`` counts the steps that a file has had. All of them
run in one transaction, so that a file is never half migrated.
"""

from __future__ import annotations

import json
import zlib
from sqlite3 import Connection

from studio.domain.jsonvalue import Json
from studio.domain.ledger import canonical_json, chain_next, chain_start
from studio.domain.redaction import arguments_without_secrets, without_secrets

from .connection import Migration


def _sessions(db: Connection) -> None:
    """Sessions; everything of a session is deleted with its row in ``sessions``."""
    for statement in (
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY, title TEXT NOT NULL, folder TEXT NOT NULL, agent TEXT NOT NULL,
            provider TEXT NOT NULL, model TEXT NOT NULL, permission_mode TEXT NOT NULL,
            created REAL NOT NULL, updated REAL NOT NULL, state TEXT NOT NULL,
            unread INTEGER NOT NULL)""",
        "CREATE INDEX sessions_updated ON sessions (updated)",
        """CREATE TABLE rules (
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            verdict TEXT NOT NULL, tool TEXT NOT NULL, pattern TEXT NOT NULL,
            UNIQUE (session_id, verdict, tool, pattern))""",
        """CREATE TABLE turns (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            turn_id TEXT NOT NULL, agent TEXT NOT NULL, provider TEXT NOT NULL,
            model TEXT NOT NULL, mode TEXT NOT NULL, owner TEXT NOT NULL, started REAL NOT NULL,
            ended REAL, reason TEXT, detail TEXT, steps INTEGER, seconds REAL)""",
        "CREATE INDEX turns_session ON turns (session_id)",
        # One row for each event, in the words of domain.codec.
        """CREATE TABLE transcript (
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            seq INTEGER NOT NULL, turn_id TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (session_id, seq))""",
        # The provider's own history (H-1): a new epoch wherever it begins anew (H-9).
        """CREATE TABLE epochs (
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            epoch INTEGER NOT NULL, at REAL NOT NULL, provider TEXT NOT NULL,
            protocol TEXT NOT NULL, model TEXT NOT NULL, system TEXT NOT NULL,
            tools TEXT NOT NULL, PRIMARY KEY (session_id, epoch))""",
        """CREATE TABLE native (
            session_id TEXT NOT NULL, epoch INTEGER NOT NULL, seq INTEGER NOT NULL,
            body TEXT NOT NULL, PRIMARY KEY (session_id, epoch, seq),
            FOREIGN KEY (session_id, epoch) REFERENCES epochs ON DELETE CASCADE)""",
        # The rest is derived from events, for sums and lists.
        """CREATE TABLE tool_calls (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            turn_id TEXT NOT NULL, call_id TEXT NOT NULL, name TEXT NOT NULL,
            arguments TEXT NOT NULL, target TEXT NOT NULL, effect TEXT NOT NULL,
            queued REAL NOT NULL, finished REAL, is_error INTEGER, seconds REAL, summary TEXT)""",
        "CREATE INDEX tool_calls_session ON tool_calls (session_id, call_id)",
        """CREATE TABLE approvals (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            turn_id TEXT NOT NULL, question_id TEXT NOT NULL, call_id TEXT NOT NULL,
            tool TEXT NOT NULL, title TEXT NOT NULL, detail TEXT NOT NULL,
            asked REAL NOT NULL, resolved REAL, answer TEXT)""",
        "CREATE INDEX approvals_session ON approvals (session_id, question_id)",
        """CREATE TABLE usage (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            turn_id TEXT NOT NULL, at REAL NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
            step INTEGER NOT NULL, input INTEGER NOT NULL, cache_read INTEGER NOT NULL,
            cache_write INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
            seconds REAL NOT NULL)""",
        "CREATE INDEX usage_session ON usage (session_id)",
        "CREATE INDEX usage_at ON usage (at)",
        """CREATE TABLE drafts (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            turn_id TEXT NOT NULL, draft_id TEXT NOT NULL, call_id TEXT NOT NULL,
            path TEXT NOT NULL, status TEXT NOT NULL, detail TEXT NOT NULL,
            created REAL NOT NULL, resolved REAL)""",
        "CREATE INDEX drafts_session ON drafts (session_id, draft_id)",
        # What can be searched for: one row for each finished block.
        """CREATE TABLE said (
            id INTEGER PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            seq INTEGER NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL)""",
        "CREATE INDEX said_session ON said (session_id, seq)",
        """CREATE VIRTUAL TABLE words USING fts5 (
            text, content='said', content_rowid='id',
            tokenize="unicode61 remove_diacritics 2", prefix='2 3')""",
        """CREATE TRIGGER said_added AFTER INSERT ON said BEGIN
            INSERT INTO words (rowid, text) VALUES (new.id, new.text); END""",
        """CREATE TRIGGER said_removed AFTER DELETE ON said BEGIN
            INSERT INTO words (words, rowid, text) VALUES ('delete', old.id, old.text); END""",
    ):
        db.execute(statement)


def _fidelity(db: Connection) -> None:
    """Checksums of events, digests of native histories (H-5, H-9), and costs of requests."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN effort TEXT",
        "ALTER TABLE sessions ADD COLUMN parent TEXT NOT NULL DEFAULT ''",
        # CRC-32 of seq, turn and body; none where nobody computed it.
        "ALTER TABLE transcript ADD COLUMN sum INTEGER",
        # The chain of domain.ledger: where it begins, how many items it has, and after each.
        "ALTER TABLE epochs ADD COLUMN why TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE epochs ADD COLUMN digest TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE epochs ADD COLUMN items INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE native ADD COLUMN digest TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE usage ADD COLUMN agent TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE usage ADD COLUMN epoch INTEGER",
        "ALTER TABLE usage ADD COLUMN items INTEGER",
        "ALTER TABLE usage ADD COLUMN prefix TEXT",
        "ALTER TABLE usage ADD COLUMN expected INTEGER",
        "ALTER TABLE usage ADD COLUMN broke TEXT",
        "ALTER TABLE usage ADD COLUMN lost REAL",
        "ALTER TABLE usage ADD COLUMN cost REAL",
        """UPDATE usage SET agent = coalesce((SELECT agent FROM turns
            WHERE turns.session_id = usage.session_id AND turns.turn_id = usage.turn_id), '')""",
    ):
        db.execute(statement)
    db.create_function("checksum", 3, _checksum)
    db.execute("UPDATE transcript SET sum = checksum(seq, turn_id, body)")
    for session_id, epoch, system, tools in db.execute(
        "SELECT session_id, epoch, system, tools FROM epochs"
    ).fetchall():
        sound = _readable(system) and _readable(tools)
        first = last = chain_start(json.loads(system), json.loads(tools)) if sound else ""
        items = db.execute(
            "SELECT rowid, body FROM native WHERE session_id = ? AND epoch = ? ORDER BY seq",
            (session_id, epoch),
        ).fetchall()
        for row_id, body in items:
            last = chain_next(last, str(body))
            db.execute("UPDATE native SET digest = ? WHERE rowid = ?", (last, row_id))
        db.execute(
            "UPDATE epochs SET digest = ?, items = ? WHERE session_id = ? AND epoch = ?",
            (first, len(items), session_id, epoch),
        )


def _checksum(seq: int, turn_id: str, body: object) -> int | None:
    return zlib.crc32(f"{seq}\n{turn_id}\n{body}".encode()) if _readable(body) else None


def _readable(body: object) -> bool:
    try:
        return isinstance(body, str) and json.loads(body) is not None
    except (ValueError, RecursionError):
        return False


def _engine(db: Connection) -> None:
    """Caps, standing rules, trusted folders, file changes, the audit (L-14, L-15, T-7)."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN cap_tokens INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN cap_dollars REAL NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN model_chosen INTEGER NOT NULL DEFAULT 0",
        # The person's own rules; of a folder, or of all folders if it is empty.
        """CREATE TABLE standing_rules (
            id INTEGER PRIMARY KEY, folder TEXT NOT NULL, verdict TEXT NOT NULL,
            tool TEXT NOT NULL, pattern TEXT NOT NULL, added REAL NOT NULL,
            UNIQUE (folder, verdict, tool, pattern))""",
        "ALTER TABLE drafts ADD COLUMN action TEXT NOT NULL DEFAULT 'write'",
        "ALTER TABLE drafts ADD COLUMN target TEXT NOT NULL DEFAULT ''",
        # Folders whose files may give permissions, as long as they have this digest.
        "CREATE TABLE trusted (folder TEXT PRIMARY KEY, digest TEXT NOT NULL, at REAL NOT NULL)",
        # What a turn changed, for undo: paths as bytes, states as ``str(FileState)``.
        """CREATE TABLE file_changes (
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            turn_id TEXT NOT NULL, folder BLOB NOT NULL, path BLOB NOT NULL,
            before TEXT NOT NULL, after TEXT NOT NULL, sure INTEGER NOT NULL, at REAL NOT NULL,
            PRIMARY KEY (session_id, turn_id, folder, path))""",
        # Every call of a tool, without secrets; a row stays when its session goes.
        """CREATE TABLE audit (
            id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, title TEXT NOT NULL DEFAULT '',
            turn_id TEXT NOT NULL, call_id TEXT NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL,
            effect TEXT NOT NULL, target TEXT NOT NULL, arguments TEXT NOT NULL, at REAL NOT NULL,
            state TEXT NOT NULL, summary TEXT NOT NULL DEFAULT '', finished REAL, seconds REAL,
            decided_by TEXT NOT NULL DEFAULT '', decided_at REAL,
            draft TEXT NOT NULL DEFAULT '', draft_at REAL)""",
        "CREATE INDEX audit_session ON audit (session_id, call_id)",
        "CREATE INDEX audit_tool ON audit (tool)",
        "CREATE INDEX audit_agent ON audit (agent)",
        "CREATE INDEX audit_state ON audit (state)",
        """CREATE TRIGGER audit_kept BEFORE DELETE ON sessions BEGIN
            UPDATE audit SET title = old.title WHERE session_id = old.id; END""",
    ):
        db.execute(statement)
    _move_calls(db)


def _move_calls(db: Connection) -> None:
    """Move the calls into the audit, and drop their table."""
    rows = db.execute(
        """SELECT c.session_id, c.turn_id, c.call_id, coalesce((SELECT max(t.agent) FROM turns t
            WHERE t.session_id = c.session_id AND t.turn_id = c.turn_id), ''), c.name, c.effect,
            CAST(c.target AS TEXT), CAST(c.arguments AS TEXT), c.queued, c.finished, c.seconds,
            CAST(coalesce(c.summary, '') AS TEXT), c.is_error, (SELECT q.answer FROM approvals q
            WHERE q.session_id = c.session_id AND q.call_id = c.call_id ORDER BY q.id DESC LIMIT 1)
            FROM tool_calls c ORDER BY c.id"""
    ).fetchall()
    for *ids, target, arguments, queued, finished, seconds, summary, failed, answer in rows:
        state = "cancelled" if finished is None else "error" if failed else "done"
        state = "denied" if answer == "deny" and failed else state
        by = "you" if answer and state != "cancelled" else ""
        texts = (without_secrets(target), _arguments(arguments), without_secrets(summary))
        db.execute(
            """INSERT INTO audit (session_id, turn_id, call_id, agent, tool, effect, target,
            arguments, summary, at, state, finished, seconds, decided_by)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (*ids, *texts, queued, state, finished, seconds, by),
        )
    db.execute("DROP TABLE tool_calls")


def _arguments(body: str) -> str:
    try:
        found: Json = json.loads(body)
    except (ValueError, RecursionError):
        return canonical_json({"arguments": without_secrets(body)})
    return canonical_json(arguments_without_secrets(found if isinstance(found, dict) else {}))


def _doors(db: Connection) -> None:
    """Sessions of the server, the terminal and editors, and their questions to a window."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN origin TEXT NOT NULL DEFAULT 'window'",
        "ALTER TABLE sessions ADD COLUMN instructions TEXT NOT NULL DEFAULT ''",
        # Programs that have a window, by the owner of their database.
        "CREATE TABLE windows (owner TEXT PRIMARY KEY)",
        # Questions of other programs, as long as they wait; without secrets.
        """CREATE TABLE questions (
            id TEXT PRIMARY KEY, owner TEXT NOT NULL, session_id TEXT NOT NULL,
            question_id TEXT NOT NULL, through TEXT NOT NULL, body TEXT NOT NULL,
            whole INTEGER NOT NULL, asked REAL NOT NULL, answer TEXT)""",
        # Requests of the server's clients that may be repeated; key and body as digests.
        """CREATE TABLE requests (
            key TEXT PRIMARY KEY, body TEXT NOT NULL, at REAL NOT NULL,
            session_id TEXT REFERENCES sessions ON DELETE CASCADE, turn_id TEXT)""",
        "CREATE INDEX requests_session ON requests (session_id)",
        # Imported sessions, by the digest of the file's content.
        """CREATE TABLE imports (
            digest TEXT PRIMARY KEY,
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE)""",
        "CREATE INDEX imports_session ON imports (session_id)",
    ):
        db.execute(statement)


def _repeats(db: Connection) -> None:
    """A repeated request is recognised also if its answer was not kept."""
    db.execute("DROP TABLE requests")  # has only digests of one day
    for statement in (
        # The row stays for a day, also if its session is deleted.
        """CREATE TABLE requests (
            key TEXT PRIMARY KEY, body TEXT NOT NULL, at REAL NOT NULL,
            session_id TEXT NOT NULL DEFAULT '', turn_id TEXT NOT NULL DEFAULT '')""",
        # Sessions that are deleted after their answer, by the program that answers in them.
        """CREATE TABLE passing (
            session_id TEXT PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
            owner TEXT NOT NULL)""",
    ):
        db.execute(statement)


def _claims(db: Connection) -> None:
    """Which program works in a session, see ``session_lock``."""
    db.execute(
        """CREATE TABLE claims (
            session_id TEXT PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
            owner TEXT NOT NULL)"""
    )


def _usage_stays(db: Connection) -> None:
    """Usage stays when its session is deleted, and counts towards its day (L-14)."""
    for statement in (
        "ALTER TABLE usage RENAME TO usage_before",
        """CREATE TABLE usage (
            id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, turn_id TEXT NOT NULL,
            at REAL NOT NULL, agent TEXT NOT NULL DEFAULT '', provider TEXT NOT NULL,
            model TEXT NOT NULL, step INTEGER NOT NULL, input INTEGER NOT NULL,
            cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, output INTEGER NOT NULL,
            reasoning INTEGER NOT NULL, seconds REAL NOT NULL, cost REAL,
            epoch INTEGER, items INTEGER, prefix TEXT, expected INTEGER, broke TEXT, lost REAL)""",
        f"INSERT INTO usage ({_USED}) SELECT {_USED} FROM usage_before",
        "DROP TABLE usage_before",
        "CREATE INDEX usage_session ON usage (session_id)",
        "CREATE INDEX usage_at ON usage (at)",
    ):
        db.execute(statement)


def _known_events(db: Connection) -> None:
    """How many events a session had when an epoch was last written; NULL where nobody counted.

    What the model said in later events is not in the epoch yet (H-5).
    """
    db.execute("ALTER TABLE epochs ADD COLUMN events INTEGER")


def _unsent(db: Connection) -> None:
    """Messages that are being written; the chat that has not begun has an empty name."""
    for statement in (
        """CREATE TABLE unsent (
            chat TEXT PRIMARY KEY, text TEXT NOT NULL, caret INTEGER NOT NULL,
            replaces TEXT NOT NULL)""",
        """CREATE TABLE unsent_files (
            chat TEXT NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL,
            PRIMARY KEY (chat, seq))""",
        """CREATE TRIGGER unsent_goes AFTER DELETE ON sessions BEGIN
            DELETE FROM unsent WHERE chat = OLD.id;
            DELETE FROM unsent_files WHERE chat = OLD.id;
        END""",
    ):
        db.execute(statement)


def _counted_events(db: Connection) -> None:
    """Count what nobody counted: an older version had told its epochs all that it stored."""
    db.execute(
        """UPDATE epochs SET events = (SELECT coalesce(max(seq), 0) FROM transcript
        WHERE transcript.session_id = epochs.session_id) WHERE events IS NULL"""
    )


def _chat_list(db: Connection) -> None:
    """Archive, pins, groups, the bin, and who gave a title."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN archived INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE sessions ADD COLUMN group_name TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN titled_by TEXT NOT NULL DEFAULT ''",
        # When it was put in the bin; 0 if it is not there.
        "ALTER TABLE sessions ADD COLUMN deleted REAL NOT NULL DEFAULT 0",
        # The list reads these whole, and of the others the newest.
        """CREATE INDEX sessions_kept ON sessions (updated)
            WHERE archived <> 0 OR pinned <> 0 OR group_name <> '' OR deleted <> 0""",
    ):
        db.execute(statement)


def _unspaced_index(db: Connection) -> None:
    """An index of scripts without spaces, filled by ``sessions.unspaced_index``.

    Its words cannot be told by SQL, so triggers note what is to be done. The names of the tables
    begin as the index's, so that a repair makes them anew with it.
    """
    unspaced = (
        "\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1780-\u17e9\u2e80-\u2fdf\u3005-\u3007"
        "\u3021-\u302f\u3031-\u30fa\u30fc-\u9fff\uf900-\ufaff\uff66-\uff9f"
        "\U00020000-\U0003ffff"
    )
    for statement in (
        """CREATE VIRTUAL TABLE grams USING fts5 (text, content='', columnsize=0, detail=none,
            tokenize="unicode61 remove_diacritics 2 categories 'L* M* N* Co'")""",
        "CREATE TABLE grams_due (id INTEGER PRIMARY KEY)",
        # Passages that were deleted: only their text tells what the index has of them.
        """CREATE TABLE grams_gone (
            id INTEGER PRIMARY KEY, row INTEGER NOT NULL, text TEXT NOT NULL)""",
        "CREATE TABLE grams_left (id INTEGER NOT NULL)",
        "INSERT INTO grams_left SELECT coalesce(max(id), 0) FROM said",
        f"""CREATE TRIGGER said_due AFTER INSERT ON said
            WHEN new.text GLOB '*[{unspaced}]*' AND new.id > (SELECT max(id) FROM grams_left)
            BEGIN INSERT OR IGNORE INTO grams_due (id) VALUES (new.id); END""",
        f"""CREATE TRIGGER said_gone AFTER DELETE ON said
            WHEN old.text GLOB '*[{unspaced}]*' AND old.id > (SELECT max(id) FROM grams_left)
            BEGIN
                INSERT INTO grams_gone (row, text) SELECT old.id, old.text
                    WHERE NOT EXISTS (SELECT 1 FROM grams_due WHERE id = old.id);
                DELETE FROM grams_due WHERE id = old.id;
            END""",
    ):
        db.execute(statement)


def _versions(db: Connection) -> None:
    """Versions of a chat: what is true of the chat in lists is true of each, see ``versions``."""
    of_chat = ("title", "archived", "pinned", "group_name", "titled_by", "deleted")
    same = ", ".join(f"{name} = new.{name}" for name in of_chat)
    for statement in (
        "ALTER TABLE sessions ADD COLUMN family TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN behind INTEGER NOT NULL DEFAULT 0",
        "CREATE INDEX sessions_family ON sessions (family) WHERE family <> ''",
        f"""CREATE TRIGGER versions_change AFTER UPDATE OF {", ".join(of_chat)} ON sessions
            WHEN new.family <> '' BEGIN
            UPDATE sessions SET {same} WHERE family = new.family AND id <> new.id; END""",
        """CREATE TRIGGER versions_go AFTER DELETE ON sessions WHEN old.family <> '' BEGIN
            DELETE FROM sessions WHERE family = old.family; END""",
    ):
        db.execute(statement)


def _runs(db: Connection) -> None:
    """Runs of workflows: their events, and the files that they run by, see ``runs``."""
    for statement in (
        """CREATE TABLE runs (
            id TEXT PRIMARY KEY, name TEXT NOT NULL, source TEXT NOT NULL, folder TEXT NOT NULL,
            digest TEXT NOT NULL, number INTEGER NOT NULL, state TEXT NOT NULL,
            reason TEXT NOT NULL, tokens INTEGER NOT NULL, dollars REAL NOT NULL,
            created REAL NOT NULL, updated REAL NOT NULL, owner TEXT NOT NULL)""",
        "CREATE INDEX runs_updated ON runs (updated)",
        """CREATE TABLE run_events (
            run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, seq INTEGER NOT NULL,
            at REAL NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run_id, seq))""",
        "CREATE TABLE run_files (digest TEXT PRIMARY KEY, text TEXT NOT NULL)",
    ):
        db.execute(statement)


def _callers(db: Connection) -> None:
    """Sessions that an agent or a step of a run began, see ``Caller``; chats have none."""
    for statement in (
        "ALTER TABLE sessions ADD COLUMN caller_kind TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN caller TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE sessions ADD COLUMN caller_part TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX sessions_caller ON sessions (caller) WHERE caller <> ''",
    ):
        db.execute(statement)


def _exchanges(db: Connection) -> None:
    """What went to providers and came back, each request by what differs, see ``exchanges``."""
    for statement in (
        """CREATE TABLE exchanges (
            session_id TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
            number INTEGER NOT NULL, turn_id TEXT NOT NULL, at REAL NOT NULL, chain TEXT NOT NULL,
            digest TEXT NOT NULL, method TEXT NOT NULL, url TEXT NOT NULL, head INTEGER NOT NULL,
            tail INTEGER NOT NULL, request BLOB NOT NULL, status INTEGER NOT NULL,
            headers TEXT NOT NULL, body BLOB NOT NULL, ending TEXT NOT NULL,
            setting TEXT NOT NULL, PRIMARY KEY (session_id, number))""",
        "CREATE INDEX exchanges_at ON exchanges (at)",
    ):
        db.execute(statement)


def _run_groups(db: Connection) -> None:
    """Which runs wait for each other, in the order of their tickets, and which have to stop."""
    for statement in (
        "ALTER TABLE runs ADD COLUMN in_group TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN ticket INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE runs ADD COLUMN stop_wanted TEXT NOT NULL DEFAULT ''",
    ):
        db.execute(statement)


def _triggers(db: Connection) -> None:
    """Triggers of workflows that the person has switched on, see ``triggers``."""
    db.execute(
        """CREATE TABLE triggers (
            source TEXT NOT NULL, folder TEXT NOT NULL, number INTEGER NOT NULL,
            digest TEXT NOT NULL, seen REAL NOT NULL, files TEXT NOT NULL, day TEXT NOT NULL,
            begun INTEGER NOT NULL, PRIMARY KEY (source, folder, number))"""
    )


def _subjects(db: Connection) -> None:
    """What a chat is about, as a pack writes it."""
    db.execute("ALTER TABLE sessions ADD COLUMN subject TEXT NOT NULL DEFAULT ''")


def _draft_nouns(db: Connection) -> None:
    """What a draft changes: a file, a record, or what a pack calls it."""
    db.execute("ALTER TABLE drafts ADD COLUMN noun TEXT NOT NULL DEFAULT 'file'")


def _run_callers(db: Connection) -> None:
    """Runs that a session's call or a step of a run began, see ``Caller``."""
    for statement in (
        "ALTER TABLE runs ADD COLUMN caller_kind TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE runs ADD COLUMN caller TEXT NOT NULL DEFAULT ''",
        """UPDATE runs SET caller_kind = 'run', caller = first.parent FROM (
            SELECT run_id, json_extract(body, '$.parent') AS parent FROM run_events
            WHERE seq = 1 AND json_valid(body)
        ) AS first WHERE first.run_id = runs.id AND coalesce(first.parent, '') <> ''""",
        "CREATE INDEX runs_caller ON runs (caller) WHERE caller <> ''",
    ):
        db.execute(statement)


def _items(db: Connection) -> None:
    """Items of steps that are too many for events, and batches at providers, see ``run_items``."""
    for statement in (
        """CREATE TABLE item_queues (
            id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
            step TEXT NOT NULL, base TEXT NOT NULL, count INTEGER NOT NULL DEFAULT 0,
            linked INTEGER NOT NULL DEFAULT 0, UNIQUE (run_id, step))""",
        "CREATE INDEX item_queues_base ON item_queues (base)",
        """CREATE TABLE run_items (
            queue INTEGER NOT NULL REFERENCES item_queues ON DELETE CASCADE,
            place INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL,
            state TEXT NOT NULL DEFAULT 'pending', session_id TEXT NOT NULL DEFAULT '',
            job TEXT NOT NULL DEFAULT '', text TEXT NOT NULL DEFAULT '', outputs TEXT,
            reason TEXT NOT NULL DEFAULT '', fault TEXT NOT NULL DEFAULT '',
            tokens INTEGER NOT NULL DEFAULT 0, dollars REAL DEFAULT 0, seconds REAL DEFAULT 0,
            ended REAL NOT NULL DEFAULT 0, linked TEXT NOT NULL DEFAULT '',
            PRIMARY KEY (queue, place)) WITHOUT ROWID""",
        "CREATE UNIQUE INDEX run_items_key ON run_items (queue, key)",
        "CREATE INDEX run_items_state ON run_items (queue, state, place)",
        "CREATE INDEX run_items_job ON run_items (job) WHERE job <> ''",
        """CREATE TABLE batch_jobs (
            key TEXT PRIMARY KEY,
            queue INTEGER NOT NULL REFERENCES item_queues ON DELETE CASCADE,
            provider TEXT NOT NULL, model TEXT NOT NULL, remote TEXT NOT NULL,
            count INTEGER NOT NULL, began REAL NOT NULL)""",
    ):
        db.execute(statement)


def _run_wishes(db: Connection) -> None:
    """What other programs want of a run that one of them carries out, see ``runs``."""
    db.execute(
        """CREATE TABLE run_wishes (
            number INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
            body TEXT NOT NULL)"""
    )


def _evals(db: Connection) -> None:
    """Evals that ran, and the record of their answers and verdicts, see ``evals``."""
    for statement in (
        """CREATE TABLE eval_runs (
            id TEXT PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL,
            source TEXT NOT NULL, folder TEXT NOT NULL, state TEXT NOT NULL,
            began REAL NOT NULL, ended REAL NOT NULL DEFAULT 0, runs TEXT NOT NULL DEFAULT '[]',
            report TEXT NOT NULL DEFAULT '')""",
        "CREATE INDEX eval_runs_source ON eval_runs (source, began)",
        """CREATE TABLE eval_record (
            key TEXT PRIMARY KEY, body TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID""",
    ):
        db.execute(statement)


def _boards(db: Connection) -> None:
    """What agents of a run or a chat keep for one another, see ``boards``."""
    for statement in (
        """CREATE TABLE boards (
            id INTEGER PRIMARY KEY,
            session_id TEXT UNIQUE REFERENCES sessions ON DELETE CASCADE,
            run_id TEXT UNIQUE REFERENCES runs ON DELETE CASCADE)""",
        """CREATE TABLE board_entries (
            board INTEGER NOT NULL REFERENCES boards ON DELETE CASCADE, key TEXT NOT NULL,
            version INTEGER NOT NULL, text TEXT NOT NULL, by TEXT NOT NULL,
            stranger TEXT NOT NULL, PRIMARY KEY (board, key)) WITHOUT ROWID""",
        """CREATE TABLE board_messages (
            id INTEGER PRIMARY KEY, board INTEGER NOT NULL REFERENCES boards ON DELETE CASCADE,
            channel TEXT NOT NULL, text TEXT NOT NULL, by TEXT NOT NULL, session TEXT NOT NULL,
            stranger TEXT NOT NULL)""",
        "CREATE INDEX board_messages_board ON board_messages (board, id)",
        """CREATE TABLE board_reads (
            board INTEGER NOT NULL REFERENCES boards ON DELETE CASCADE, session TEXT NOT NULL,
            channel TEXT NOT NULL, last INTEGER NOT NULL,
            PRIMARY KEY (board, session, channel)) WITHOUT ROWID""",
        """CREATE TABLE board_tasks (
            board INTEGER NOT NULL REFERENCES boards ON DELETE CASCADE, number INTEGER NOT NULL,
            text TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open',
            taker TEXT NOT NULL DEFAULT '', taken_in TEXT NOT NULL DEFAULT '',
            result TEXT NOT NULL DEFAULT '', stranger TEXT NOT NULL,
            PRIMARY KEY (board, number)) WITHOUT ROWID""",
    ):
        db.execute(statement)


def _board_calls(db: Connection) -> None:
    """Which call of which program made a message or a task: a kill may have broken it off."""
    for statement in (
        "ALTER TABLE board_messages ADD COLUMN call TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE board_messages ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE board_tasks ADD COLUMN session TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE board_tasks ADD COLUMN call TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE board_tasks ADD COLUMN owner TEXT NOT NULL DEFAULT ''",
    ):
        db.execute(statement)


_USED = (
    "id, session_id, turn_id, at, agent, provider, model, step, input, cache_read, cache_write, "
    "output, reasoning, seconds, cost, epoch, items, prefix, expected, broke, lost"
)

MIGRATIONS: tuple[Migration, ...] = (
    _sessions,
    _fidelity,
    _engine,
    _doors,
    _repeats,
    _claims,
    _usage_stays,
    _known_events,
    _unsent,
    _counted_events,
    _chat_list,
    _unspaced_index,
    _versions,
    _runs,
    _callers,
    _exchanges,
    _run_groups,
    _triggers,
    _subjects,
    _draft_nouns,
    _run_callers,
    _items,
    _run_wishes,
    _evals,
    _boards,
    _board_calls,
)
LATEST = len(MIGRATIONS)
