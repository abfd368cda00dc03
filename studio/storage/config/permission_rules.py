"""Permission rules: stores standing and session rules, and the folders a person trusts (T-7)."""

from __future__ import annotations

import json
import time
from sqlite3 import Connection
from typing import Any, get_args

from studio.domain.ledger import canonical_json
from studio.domain.permissions import Rule, Verdict
from studio.domain.records import dataclass
from studio.storage.database import Database


@dataclass(frozen=True, slots=True)
class StandingRule:
    """A rule of the person; ``folder`` is empty for one that counts everywhere.

    ``added`` is in seconds since the epoch.
    """

    id: int
    folder: str
    rule: Rule
    added: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionRule:
    """A rule of the person for one session; ``id`` is unique among all sessions."""

    id: int
    rule: Rule


class RuleStore:
    """The standing rules and trusted folders: tables ``standing_rules`` and ``trusted``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def all(self) -> list[StandingRule]:
        """Rules for every folder first, then by folder; in each, rules for whole tools first.

        So a rule with a pattern counts even if it is older.
        """
        return await self._db.read(_read_all)

    def read_of(self, folder: str) -> tuple[list[StandingRule], str]:
        """The rules that count in a folder, and its trusted digest, see ``trusted``.

        Reads in the caller's thread.
        """
        found, digest = self._db.read_here(lambda db: (_read_all(db), _trusted(db, folder)))
        return [one for one in found if one.folder in ("", folder)], digest

    async def add(self, rule: Rule, folder: str = "") -> None:
        """Add a rule, unless there is the same one already."""
        query = """INSERT OR IGNORE INTO standing_rules (folder, verdict, tool, pattern, added)
            VALUES (?, ?, ?, ?, ?)"""
        await self._db.execute(query, folder, *_to_row(rule), time.time())

    async def change(self, rule_id: int, rule: Rule, folder: str = "") -> bool:
        """Replace a rule; False if there is none with this id."""
        query = """UPDATE OR REPLACE standing_rules
            SET folder = ?, verdict = ?, tool = ?, pattern = ?, added = ? WHERE id = ?"""
        values = (folder, *_to_row(rule), time.time(), rule_id)
        return await self._db.execute(query, *values) > 0

    async def remove(self, rule_id: int) -> bool:
        """Remove a rule; False if there is none with this id."""
        return await self._db.execute("DELETE FROM standing_rules WHERE id = ?", rule_id) > 0

    async def trusted(self, folder: str) -> str:
        """The digest of the folder's files that the person trusts; empty if none."""
        return await self._db.read(lambda db: _trusted(db, folder))

    async def trusted_since(self, folder: str) -> float:
        """When the person trusted the folder's files, in seconds since the epoch; 0.0 if never."""
        rows = await self._db.rows("SELECT at FROM trusted WHERE folder = ?", folder)
        return float(rows[0][0]) if rows and isinstance(rows[0][0], int | float) else 0.0

    async def folders(self) -> list[str]:
        """The folders whose files the person trusted, even if these have changed since."""
        rows = await self._db.rows("SELECT folder FROM trusted ORDER BY folder")
        return [row[0] for row in rows if isinstance(row[0], str)]

    async def trust(self, folder: str, digest: str) -> None:
        """Trust the folder's files with this digest; an empty digest ends the trust."""
        if digest:
            query = "INSERT OR REPLACE INTO trusted VALUES (?, ?, ?)"
            await self._db.execute(query, folder, digest, time.time())
        else:
            await self._db.execute("DELETE FROM trusted WHERE folder = ?", folder)


class SessionRuleStore:
    """The rules of single sessions, table ``rules``: answers “for this session”, and others."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def of(self, session_id: str) -> list[SessionRule]:
        """The rules of a session, oldest first."""
        query = """SELECT rowid, verdict, tool, pattern FROM rules
            WHERE session_id = ? ORDER BY rowid"""
        rows = await self._db.rows(query, session_id)
        return [SessionRule(row[0], rule) for row in rows if (rule := _rule(*row[1:])) is not None]

    async def add(self, session_id: str, rule: Rule) -> None:
        """Add a rule, unless there is the same one already."""
        query = """INSERT OR IGNORE INTO rules (session_id, verdict, tool, pattern)
            VALUES (?, ?, ?, ?)"""
        await self._db.execute(query, session_id, *_to_row(rule))

    async def change(self, session_id: str, rule_id: int, rule: Rule) -> bool:
        """Replace a rule; False if the session has none with this id."""
        query = """UPDATE OR REPLACE rules SET verdict = ?, tool = ?, pattern = ?
            WHERE rowid = ? AND session_id = ?"""
        return await self._db.execute(query, *_to_row(rule), rule_id, session_id) > 0

    async def remove(self, session_id: str, rule_id: int) -> bool:
        """Remove a rule; False if the session has none with this id."""
        query = "DELETE FROM rules WHERE rowid = ? AND session_id = ?"
        return await self._db.execute(query, rule_id, session_id) > 0


def _read_all(db: Connection) -> list[StandingRule]:
    rows = db.execute(
        "SELECT id, folder, verdict, tool, pattern, added FROM standing_rules ORDER BY id"
    )
    found = [one for row in rows if (one := _standing(row)) is not None]
    return sorted(found, key=lambda one: (one.folder, one.rule.pattern != "*"))


def _trusted(db: Connection, folder: str) -> str:
    row = db.execute("SELECT digest FROM trusted WHERE folder = ?", (folder,)).fetchone()
    return row[0] if row and isinstance(row[0], str) else ""


def _standing(row: tuple[Any, ...]) -> StandingRule | None:
    """A stored rule; None if it cannot be read."""
    rule_id, folder, verdict, tool, pattern, added = row
    rule = _rule(verdict, tool, pattern)
    at = float(added) if isinstance(added, int | float) else 0.0
    return StandingRule(rule_id, str(folder), rule, at) if rule is not None else None


def _to_row(rule: Rule) -> tuple[str, str, str]:
    return rule.verdict, canonical_json(rule.tool), canonical_json(rule.pattern)


def _rule(verdict: Any, tool: Any, pattern: Any) -> Rule | None:
    """A stored rule; None if it cannot be read or is of a newer version."""
    try:
        tool, pattern = json.loads(tool), json.loads(pattern)
    except (ValueError, TypeError, RecursionError):
        return None
    known = verdict in get_args(Verdict) and isinstance(tool, str) and isinstance(pattern, str)
    return Rule(verdict, tool, pattern) if known else None
