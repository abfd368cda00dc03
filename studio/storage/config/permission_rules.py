"""Permission rules: stores standing and session rules, and the folders a person trusts (T-7)."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from sqlite3 import Connection
from typing import Any, TypeAlias, get_args

from studio.domain.ledger import canonical_json
from studio.domain.permissions import Rule, Verdict
from studio.storage.database import Database

Standing: TypeAlias = "list[StandingRule]"
OfChat: TypeAlias = "list[SessionRule]"


@dataclass(frozen=True, slots=True)
class StandingRule:
    """A rule the person gave; ``folder`` is empty for one that counts everywhere.

    ``added`` is when, in seconds since the epoch.
    """

    id: int
    folder: str
    rule: Rule
    added: float = 0.0


@dataclass(frozen=True, slots=True)
class SessionRule:
    """A rule the person gave for one chat; ``id`` is its own among all chats."""

    id: int
    rule: Rule


class RuleStore:
    """Tables ``standing_rules`` and ``trusted``."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def list(self) -> Standing:
        """Those for everywhere first, then folder by folder; there the rules for whole tools
        first, so that one with a pattern counts also where it is older."""
        return await self._db.read(_list)

    async def of(self, folder: str) -> tuple[Standing, str]:
        """Those that count in a folder, and the digest of its files that were trusted."""
        found, digest = await self._db.read(lambda db: (_list(db), _trusted(db, folder)))
        return [one for one in found if one.folder in ("", folder)], digest

    async def add(self, rule: Rule, folder: str = "") -> None:
        """Keep a rule; keeping it twice is the same as once."""
        values = (folder, *_written(rule))
        await self._db.write(
            lambda db: (
                db.execute(
                    "INSERT OR IGNORE INTO standing_rules (folder, verdict, tool, pattern, added)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (*values, time.time()),
                )
                and None
            )
        )

    async def change(self, rule_id: int, rule: Rule, folder: str = "") -> bool:
        """Have a rule be another, in its place; whether there was such a rule."""
        values = (folder, *_written(rule), time.time(), rule_id)
        query = (
            "UPDATE OR REPLACE standing_rules SET folder = ?, verdict = ?, tool = ?, pattern = ?,"
            " added = ? WHERE id = ?"
        )
        return await self._db.write(lambda db: db.execute(query, values).rowcount > 0)

    async def remove(self, rule_id: int) -> bool:
        """Whether there was such a rule."""
        query = "DELETE FROM standing_rules WHERE id = ?"
        return await self._db.write(lambda db: db.execute(query, (rule_id,)).rowcount > 0)

    async def trusted(self, folder: str) -> str:
        """The digest of the files that were trusted; empty if none were."""
        return await self._db.read(lambda db: _trusted(db, folder))

    async def folders(self) -> list[str]:
        """The folders whose files were trusted."""
        query = "SELECT folder FROM trusted ORDER BY folder"
        rows = await self._db.read(lambda db: db.execute(query).fetchall())
        return [row[0] for row in rows if isinstance(row[0], str)]

    async def trust(self, folder: str, digest: str) -> None:
        """Trust the files of this digest; an empty one takes the trust back."""
        if not digest:
            query = "DELETE FROM trusted WHERE folder = ?"
            await self._db.write(lambda db: db.execute(query, (folder,)) and None)
            return
        insert = "INSERT OR REPLACE INTO trusted VALUES (?, ?, ?)"
        values = (folder, digest, time.time())
        await self._db.write(lambda db: db.execute(insert, values) and None)


class SessionRuleStore:
    """Table ``rules``: what the person answered “for this session”, and what else they gave it."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def of(self, session_id: str) -> OfChat:
        """Those of a session, oldest first."""
        query = (
            "SELECT rowid, verdict, tool, pattern FROM rules WHERE session_id = ? ORDER BY rowid"
        )
        rows = await self._db.read(lambda db: db.execute(query, (session_id,)).fetchall())
        return [SessionRule(row[0], rule) for row in rows if (rule := _rule(*row[1:])) is not None]

    async def add(self, session_id: str, rule: Rule) -> None:
        """Keep a rule; keeping it twice is the same as once."""
        query = (
            "INSERT OR IGNORE INTO rules (session_id, verdict, tool, pattern) VALUES (?, ?, ?, ?)"
        )
        values = (session_id, *_written(rule))
        await self._db.write(lambda db: db.execute(query, values) and None)

    async def change(self, session_id: str, rule_id: int, rule: Rule) -> bool:
        """Have a rule be another, in its place; whether the session has such a rule."""
        query = (
            "UPDATE OR REPLACE rules SET verdict = ?, tool = ?, pattern = ?"
            " WHERE rowid = ? AND session_id = ?"
        )
        values = (*_written(rule), rule_id, session_id)
        return await self._db.write(lambda db: db.execute(query, values).rowcount > 0)

    async def remove(self, session_id: str, rule_id: int) -> bool:
        """Whether the session had such a rule."""
        query = "DELETE FROM rules WHERE rowid = ? AND session_id = ?"
        values = (rule_id, session_id)
        return await self._db.write(lambda db: db.execute(query, values).rowcount > 0)


def _list(db: Connection) -> list[StandingRule]:
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


def _written(rule: Rule) -> tuple[str, str, str]:
    return rule.verdict, canonical_json(rule.tool), canonical_json(rule.pattern)


def _rule(verdict: Any, tool: Any, pattern: Any) -> Rule | None:
    """A stored rule; None if it cannot be read or is of a newer version."""
    try:
        tool, pattern = json.loads(tool), json.loads(pattern)
    except (ValueError, TypeError, RecursionError):
        return None
    known = verdict in get_args(Verdict) and isinstance(tool, str) and isinstance(pattern, str)
    return Rule(verdict, tool, pattern) if known else None
