"""Edit checks: tell a model what is wrong with a file since it changed it (C-11).

A folder that the person trusts may name commands for its files; others there are looked at by an
installed language server. Where none says anything, files in Python, JSON, TOML and XML are
parsed. What was wrong before the change is not told again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from studio.domain.drafts import FileDraft
from studio.domain.errors import ToolFailed
from studio.domain.patterns import lazy_pattern
from studio.domain.python_syntax import parse_python
from studio.domain.records import dataclass
from studio.processes.desk import Desk, DeskTooLarge, laid
from studio.processes.sandbox_mounts import Launch
from studio.processes.shell_command import UNATTENDED, last_states, run_shell
from studio.tools.language.language_servers import Texts
from studio.tools.sdk.context import Context
from studio.tools.workspace.check_list import EditCheck
from studio.tools.workspace.encodings import encode
from studio.tools.workspace.glob_pattern import glob_matcher

SHOWN = 10
"""Findings that a model is told of one change."""
SECONDS = 5.0
"""How long one command may take."""
ALL_SECONDS = 20.0
"""How long the checks of one call may take."""
_WIDE = 300
"""Characters of a finding."""
_LARGEST = 1_000_000
"""Characters of a text that is parsed."""
_NUMBER = lazy_pattern(r"\d+")
_WITH_COMMENTS = lazy_pattern(
    r"(?i)(?:^|/)(?:[tj]sconfig[^/]*|\.eslintrc|\.babelrc|deno|devcontainer)\.json$"
    r"|(?:^|/)\.vscode/|\.code-workspace$|\.jsonc$"
)
"""Files that are called JSON and may have comments."""


async def new_findings(context: Context, drafts: Sequence[FileDraft], *, written: bool) -> str:
    """What is wrong with the files of these drafts and was not before; "" if nothing is.

    ``written``: the drafts are carried out; otherwise they wait.
    """
    until = time.monotonic() + ALL_SECONDS
    found: list[str] = []
    for draft in drafts:
        if draft.action == "delete" or not draft.rewrites or len(found) > SHOWN:
            continue
        name = draft.target or draft.path
        checks = [check for check in context.checks if glob_matcher(check.glob)(name)]
        if context.sandbox.kind != "none":  # commands run nowhere else
            if checks:
                found += await _Run(context, draft, name, written, until).findings(checks)
                continue
            if (told := await _server_findings(context, draft, name)) is not None:
                found += told
                continue
        found += await asyncio.to_thread(_syntax_findings, name, draft.before, draft.after)
    if not found:
        return ""
    shown = [line[:_WIDE] for line in found[:SHOWN]]
    more = [f"[… {len(found) - SHOWN} more …]"] if len(found) > SHOWN else []
    return "\n".join(["Found after this change:", *shown, *more])


@dataclass(slots=True)
class _Run:
    """Runs the checks of one file: on a copy of the folder while its draft waits."""

    context: Context
    draft: FileDraft
    name: str
    written: bool
    until: float
    desk: Desk | None = None

    async def findings(self, checks: Sequence[EditCheck]) -> list[str]:
        found: list[str] = []
        try:
            if not self.written:
                await self._lay(self.draft.after)
            for check in checks:
                found += await self._new(check)
        except (OSError, ToolFailed, DeskTooLarge) as error:
            found.append(f"{self.name} could not be checked: {error}")
        finally:
            if self.desk is not None:
                await asyncio.shield(asyncio.to_thread(self.desk.remove))
        return found

    async def _new(self, check: EditCheck) -> list[str]:
        now = await self._output(check)
        if now is None:
            return [f"{self.name}: not checked, “{check.command_for(self.name)}” took too long."]
        if not now[0]:
            return []
        # What it said of the text before is asked only where it says something now.
        await self._lay(self.draft.before)
        before = await self._output(check)
        if self.written:
            assert self.desk is not None
            await asyncio.to_thread(self.desk.remove)
            self.desk = None
        else:
            await self._lay(self.draft.after)
        if before is None:
            return [f"{self.name}: nobody knows what is new, the check before took too long."]
        new = _beyond(now[1], Counter(map(_without_numbers, before[1])))
        named = [line for line in new if PurePosixPath(self.name).name in line]
        return named or new

    async def _lay(self, text: str | None) -> None:
        """Have the file with this text, or without it, on a copy of the folder."""
        data = None if text is None else encode(text, self.draft.encoding)
        if self.desk is not None:
            await asyncio.to_thread(self.desk.put, self.name, data)
            return
        waiting = self.context.drafts.waiting(of_turn=True)
        contents: dict[str, bytes | None] = {}
        for draft in waiting:
            contents[draft.path] = None
            if draft.action != "delete" and (draft.before is not None or not draft.base_digest):
                contents[draft.target or draft.path] = encode(draft.after, draft.encoding)
        contents[self.name] = data
        workspace = self.context.workspace
        self.desk = await laid(lambda: Desk.lay(workspace.desk or workspace.root, contents))

    async def _output(self, check: EditCheck) -> tuple[int, list[str]] | None:
        """The exit code and the lines of a check, on the desk if there is one; None if it took
        too long."""
        context, desk = self.context, self.desk or self.context.workspace.desk
        seconds = min(SECONDS, self.until - time.monotonic())
        if seconds <= 0:
            return None
        shows = desk is not None and context.sandbox.desks
        root = context.workspace.origin
        ended = await run_shell(
            Launch(
                check.command_for(self.name),
                root if desk is None or shows else desk.root,
                {**context.environment, **UNATTENDED},
                desk=desk if shows else None,
            ),
            sandbox=context.sandbox,
            keeper=context.keeper,
            time_limit=seconds,
        )
        if ended.timed_out:
            return None
        said = last_states(ended.output)
        if desk is not None:
            said = said.replace(f"{desk.root}/", "")
        lines = said.replace(f"{root}/", "").split("\n")
        return ended.code, [line for line in lines if line.strip()]


async def _server_findings(context: Context, draft: FileDraft, name: str) -> list[str] | None:
    """What a language server says of a text and did not say of the one before; None if none
    says anything of it now."""
    if context.languages is None or len(draft.after) > _LARGEST:
        return None
    waiting = [one for one in context.drafts.waiting(of_turn=True) if one.path != draft.path]
    if any(one.action != "write" or one.before is None for one in waiting):
        return None  # a server finds files on the disk, and misses those to come
    others = {one.path: one.after for one in waiting}
    desk = context.workspace.desk
    shows = desk is None or context.sandbox.desks
    root = context.workspace.origin if shows else context.workspace.root
    told = await context.languages.findings(
        context.session_id,
        Texts(name, draft.before, draft.after, others),
        Launch("", root, {**context.environment, **UNATTENDED}, desk=desk if shows else None),
        context.sandbox,
        context.keeper,
    )
    if told is None:
        return None
    after, before = told
    return _beyond(after, Counter(map(_without_numbers, before)))


def _syntax_findings(name: str, before: str | None, after: str) -> list[str]:
    """What a parser says of a text and did not say of the one before."""
    parse = _PARSERS.get(PurePosixPath(name).suffix.lower())
    if parse is None or len(after) > _LARGEST or _WITH_COMMENTS.search(name):
        return []
    if not (said := _said(parse, after)):
        return []
    known = Counter([_without_numbers(_said(parse, before))]) if before else Counter[str]()
    return [f"{name}, {line}" for line in _beyond([said], known)]


def _said(parse: Callable[[str], object], text: str) -> str:
    try:
        parse(text)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except json.JSONDecodeError as error:
        return f"line {error.lineno}: {error.msg}"
    except (RecursionError, MemoryError, OverflowError):
        return ""
    except ValueError as error:  # of TOML and XML, or a null character
        return str(error)
    return ""


def _xml(text: str) -> None:
    if not text.strip():
        return
    from xml.parsers import expat

    parser = expat.ParserCreate("utf-8")  # follows no reference to other files
    try:
        parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        why = f"line {error.lineno}: {expat.ErrorString(error.code)}"
        raise ValueError(why) from error


def _toml(text: str) -> None:
    import tomllib

    tomllib.loads(text.replace("\r\n", "\n"))


def _json(text: str) -> None:
    if text.strip():
        json.loads(text.removeprefix("\ufeff"))


_PARSERS: dict[str, Callable[[str], object]] = {
    ".py": parse_python,
    ".pyi": parse_python,
    ".json": _json,
    ".toml": _toml,
    **dict.fromkeys((".xml", ".svg", ".xsd", ".xsl", ".plist", ".csproj"), _xml),
}


def _beyond(lines: Sequence[str], before: Counter[str]) -> list[str]:
    """The lines that are not among those before, whatever numbers are in them."""
    left = Counter(before)
    new: list[str] = []
    for line in lines:
        plain = _without_numbers(line)
        if left[plain] > 0:
            left[plain] -= 1
        else:
            new.append(line)
    return new


def _without_numbers(line: str) -> str:
    return _NUMBER.sub("#", line)
