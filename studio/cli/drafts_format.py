"""Drafts as lines for the terminal, also those whose file changed meanwhile (T-5)."""

from __future__ import annotations

from studio.domain.drafts import Draft
from studio.domain.jsonvalue import JsonObject
from studio.tools.drafts.diff import diff
from studio.tools.drafts.draft_conflict import Conflict

MAX_LINES = 200
"""The most lines of a difference that are printed."""


def draft_lines(draft: Draft) -> list[str]:
    """What a draft changes: a line with the amount, then the changed lines."""
    about = draft.describe()
    what = f"{about.action.capitalize()} {about.label}"
    if not about.is_text:
        return [f"{what} (not text)"]
    counts, lines = diff_lines(about.before or "", about.after)
    return [f"{what} ({counts})", *(lines if about.rewrites else [])]


def diff_lines(old: str, new: str) -> tuple[str, list[str]]:
    """The number of changed lines, and the difference. Takes a while for long texts."""
    rows = diff(old, new)
    signs = {"add": "+ ", "del": "- ", "fold": ""}
    lines = [f"  {signs.get(row.kind, '  ')}{row.text}" for row in rows]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"  … and {len(lines) - MAX_LINES} more lines"]
    kinds = [row.kind for row in rows]
    return f"+{kinds.count('add')} −{kinds.count('del')}", lines


def conflict_lines(conflict: Conflict) -> list[str]:
    """The lines of a conflict: what file and draft made of the original, and both merged."""
    about, base, merge = conflict.draft.describe(), conflict.base or "", conflict.merge
    now = f"{about.noun.capitalize()} now"
    lines: list[str] = []
    if conflict.unread:
        lines += ["", f"{now}: {conflict.unread}"]
    elif conflict.theirs is None:
        lines += ["", f"{now}: it is not there."]
    elif conflict.theirs == conflict.base:
        lines += ["", f"{now}: the same as the original."]
    else:
        lines += _compared(f"{now}, beside the original", base, conflict.theirs)
    if conflict.ours is None:
        lines += ["", f"Draft: deletes the {about.noun}."]
    elif about.action == "move" and not about.rewrites:
        lines += ["", f"Draft: moves the file as it is to {about.target}."]
    else:
        lines += _compared("Draft, beside the original", base, conflict.ours)
    if merge is not None:
        left = f", {merge.conflicts} to decide between the marks" if merge.conflicts else ""
        lines += _compared(f"Merged, beside the file now{left}", conflict.theirs or "", merge.text)
    return lines


def _compared(title: str, old: str, new: str) -> list[str]:
    counts, lines = diff_lines(old, new)
    return ["", f"{title} ({counts})", *lines]


def conflict_json(conflict: Conflict) -> JsonObject:
    """The texts of a conflict besides the draft's own, as JSON; None where there is no text."""
    merge = conflict.merge
    return {
        "now": conflict.theirs,
        "unread": conflict.unread,
        "merged": None if merge is None else merge.text,
        "to_decide": 0 if merge is None else merge.conflicts,
    }
