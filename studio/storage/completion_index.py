"""Completion index: reads names for shell completion, without opening the database for writing.

Imports little, because the shell waits for it. What cannot be read is left out.
"""

from __future__ import annotations

import json
import re
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

Named: TypeAlias = tuple[str, str]
"""A name, and a short description."""

MOST = 50
_NAME = re.compile(r"^name:\s*[\"']?(.*?)[\"']?\s*$", re.M)
_ABOUT = re.compile(r"^description:\s*[\"']?(.*?)[\"']?\s*$", re.M)


def sessions(database: Path, *, in_bin: bool = False) -> list[Named]:
    """Short ids and titles of sessions, the one used last first."""
    return _rows(
        database,
        f"""SELECT substr(id, 1, 8), title FROM sessions WHERE behind = 0 AND caller = ''
        AND deleted {"<>" if in_bin else "="} 0 ORDER BY updated DESC LIMIT ?""",
    )


def drafts(database: Path) -> list[Named]:
    """Short ids and paths of drafts that wait, newest first."""
    return _rows(
        database,
        """SELECT substr(draft_id, 1, 8), path FROM drafts d JOIN sessions s ON s.id = d.session_id
        WHERE status IN ('waiting', 'conflict') AND deleted = 0 ORDER BY d.id DESC LIMIT ?""",
    )


def agents(folders: list[Path], project: Path) -> list[Named]:
    """Names and descriptions of agents, from the first lines of their files.

    Those of the ``project`` are marked, and none speaks for an agent of the ``folders``.
    """
    known = dict(_agents(folders))
    theirs = [(name, f"This folder’s. {about}".rstrip()) for name, about in _agents([project])]
    taken = {name.casefold() for name in known}
    return [*known.items(), *(one for one in theirs if one[0].casefold() not in taken)]


def _agents(folders: list[Path]) -> list[Named]:
    found: dict[str, str] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.md")):
            if not path.is_file():  # opening a pipe would wait for ever
                continue
            with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
                head = file.read(4_000).partition("\n---")[0]
                name, about = _NAME.search(head), _ABOUT.search(head)
                found[name[1] if name and name[1] else path.stem] = about[1] if about else ""
    return list(found.items())


def templates(folder: Path) -> list[Named]:
    """Names and descriptions of templates."""
    return [(path.stem, _about(path)) for path in sorted(folder.glob("*.md")) if path.is_file()]


def _about(path: Path) -> str:
    with suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        about = _ABOUT.search(file.read(4_000).partition("\n---")[0])
        return about[1] if about else ""
    return ""


def models(fetched: Path, built_in: Path, settings: Path, provider: str) -> list[Named]:
    """Ids of one provider's models, or of all: as last fetched, built in, and the person's own."""
    lists: dict[str, dict[str, str]] = {}
    for name, known in _object(_json(built_in).get("providers")).items():
        _add(lists, name, known)
    for name, by_key in _object(_json(fetched).get("lists")).items():
        for one in _object(by_key).values():
            _add(lists, name, _object(one).get("models"))
    for name, own in _object(_json(settings).get("own_models")).items():
        mine = cast("list[Any]", own) if isinstance(own, list) else []
        _add(lists, name, [{"id": one} for one in mine])
    found: dict[str, str] = {}
    for name, known in lists.items():
        if provider in ("", name):
            found |= known
    return list(found.items())


def default_provider(settings: Path) -> str:
    """The person's default provider; empty if there is none."""
    found = _json(settings).get("default_provider")
    return found if isinstance(found, str) else ""


def _add(lists: dict[str, dict[str, str]], name: str, entries: Any) -> None:
    into = lists.setdefault(name, {})
    for entry in cast("list[Any]", entries) if isinstance(entries, list) else []:
        facts = _object(entry)
        if isinstance(model_id := facts.get("id"), str):
            into[model_id] = str(facts.get("name") or "")


def _rows(database: Path, query: str) -> list[Named]:
    import sqlite3
    from urllib.parse import quote

    address = f"file:{quote(str(database))}?mode=ro"
    with suppress(sqlite3.Error), closing(sqlite3.connect(address, uri=True, timeout=0.2)) as db:
        return [(str(name), str(words)) for name, words in db.execute(query, (MOST,))]
    return []


def _json(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        return _object(json.loads(path.read_text("utf-8-sig")))
    return {}


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
