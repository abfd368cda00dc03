"""The exfiltration guard: requires an approval for calls that could send private data out (T-7).

Data can be stolen if three things come together: private files, text from outside
that may contain hidden instructions, and a way out. Any two of them are harmless. A
call that would complete them needs an approval, whatever the rules or the mode allow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from urllib.parse import urlsplit

from studio.domain.blocks import ToolBlock, UserBlock
from studio.domain.errors import ToolFailed
from studio.domain.events import FOLDER_NAMES, Exposed
from studio.domain.jsonvalue import JsonObject, as_object
from studio.domain.messages import ToolCall
from studio.domain.patterns import lazy_pattern
from studio.domain.redaction import redact
from studio.domain.tools import APPLY_PATCH, EDIT, JOB, Exposure, ToolSpec
from studio.domain.transcript import Transcript
from studio.tools import Result
from studio.tools.web import web_address

from .policy import COMMAND, NETWORK, PATH, target_of

FOLDER_FILES = "files in the folder"
SEARCH_RESULTS = "search results"
OUTPUT_OF = "the output of "
NOTE = "note "
"""Begins the source of what the agent itself noted earlier."""
LONG_KEY = 8
"""Characters from which on a known key is looked for."""
NOTHING_READ = (("the person",), ("the agent",))
"""Sources of results that tell nothing of files or of strangers: an answer, or a plan."""

_PLACES = (
    r"node_modules|bower_components|jspm_packages|vendor|third[-_]?party|3rdparty|site-packages"
    r"|dist-packages|venv|\.venv|\.tox|\.nox|\.eggs|\.cargo|\.npm|\.yarn|\.pnpm-store|\.m2|\.gradle"
    r"|\.nuget|\.bundle|\.pub-cache|\.terraform|Pods|Carthage|downloads?|attachments|inbox|maildir"
)
_ELSEWHERE = lazy_pattern(rf"(?:^|[/\\\s'\"=])(?:{_PLACES})(?:[/\\\s'\"]|$)", re.I)
"""Folders of files by other people, in a path or a command line."""
_LISTED_ELSEWHERE = lazy_pattern(rf"^(?:[^\n:]*[/\\])?(?:{_PLACES})[/\\]", re.I | re.M)
"""The same folders at the beginning of a line of search results."""
_SENT_AROUND = lazy_pattern(
    r"\.(?:pdf|xps|djvu|emlx?|msg|oft|mbox|x?html?|shtml|mht|mhtml|webarchive|har|rtf|doc[xm]?"
    r"|dot[xm]|odt|ott|xls[xmb]?|xlt[xm]|ods|ots|pp[st][xm]?|pot[xm]|odp|otp|epub|mobi|azw3?|fb2"
    r"|ics|ifb|vcf|vcard|xml|srt|vtt|pages|numbers)\b",
    re.I,
)
"""Kinds of files that mostly come from other people."""


def is_of_others(path: str) -> bool:
    """Whether a path leads through a folder of files by other people, such as node_modules."""
    return _ELSEWHERE.search(path) is not None


def _first_of(words: str) -> str:
    """An expression for a line up to the first of these words. What follows is then looked for
    once in a line, and not once more from each of the words."""
    return rf"^(?>(?:(?!\b(?:{words})\b).)*)\b(?:{words})\b"


_FETCHES = lazy_pattern(
    r"https?://|/dev/(?:tcp|udp)/|\b(?:curl|wget|wget2|aria2c|axel|lftp|ftp|tftp|sftp|scp|rsync|rclone"
    r"|ssh|mosh|telnet|nc|ncat|netcat|socat|websocat|s_client|dig|drill|nslookup|whois|lynx|w3m"
    r"|elinks|httpie|xh|yt-dlp|youtube-dl|svn|smbclient|fetchmail|mbsync|offlineimap"
    r"|psql|mysql|mariadb|redis-cli|mongosh|aws|gcloud|az|kubectl|helm|pbpaste|xclip|xsel|wl-paste"
    r"|Get-Clipboard|Invoke-WebRequest|Invoke-RestMethod|iwr|irm|gh|glab|docker|podman)\b"
    rf"|{_first_of('git|hg')}.*\b(?:clone|fetch|pull|ls-remote|submodule|remote update)\b"
    rf"|{_first_of('npm|npx|pnpm|yarn|bun|deno|pip3?|pipx|uv|poetry|conda|mamba|cargo|gem|bundle|composer|brew|apt|apt-get|dnf|yum|apk|pacman|zypper|snap|flatpak|nix|go|dotnet|mvn|terraform')}.*"
    r"\b(?:install|add|i|ci|get|view|info|show|search|audit|update|upgrade|exec|dlx|sync)\b",
    re.I | re.M,
)
"""Commands that fetch something if the sandbox does not prevent it."""

_FETCH = "fetch"
"""The tool that comes with the program; no other can have its name. It sends its address and
nothing else, in one spelling."""
_ADDRESS = lazy_pattern(r"https?://[^\s<>\"'“”‘’`]+", re.I)
_BARE = lazy_pattern(
    r"(?<![\w@/.:-])(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?(?:/[^\s<>\"'“”‘’`]*)?", re.I
)
_STOPS = ".,;:!?)]}»*_"
_PLAIN = lazy_pattern(r"[\w./@+-]+")
_LONGEST = 60


class ExfiltrationGuard:
    """The guard of one session; its state is in the transcript.

    So the state survives a restart, a branch and a summary. ``contained``: commands
    run in a sandbox and have no network unless they ask for it. ``trusted``: the person
    trusts the folder; then its files count as untrusted only if their path says that they
    come from elsewhere. ``above``: the guard of the turn that begins this one, whose agent
    says here what else the person would. ``secrets`` returns the keys that are known.
    ``throwaway``: nothing on this computer is private, so nothing has to be kept from leaving.
    ``held_jobs`` returns the ids of running commands that the sandbox keeps from the network.
    """

    def __init__(
        self,
        transcript: Transcript,
        *,
        contained: bool = False,
        trusted: bool = False,
        above: ExfiltrationGuard | None = None,
        throwaway: bool = False,
        secrets: Callable[[], Collection[str]] = tuple,
        held_jobs: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._transcript = transcript
        self._secrets = secrets
        self._held_jobs = held_jobs
        self._contained = contained
        self._trusted = trusted
        self._above = above
        self._throwaway = throwaway
        self._known: dict[Exposure, str] = {}
        self._server = ""
        """The MCP server that all of it came from, if it was one."""
        self.update()

    @property
    def exposed(self) -> dict[Exposure, str]:
        """What the session was exposed to, with the first source of each."""
        found = dict(self._transcript.exposed)
        if self._trusted and self._transcript.exposed_by_own:
            found.pop("untrusted", None)  # the person trusts these files now
        if name := self._transcript.attached:
            found.setdefault("private", name)
            found.setdefault("untrusted", name)
        return found

    def update(self) -> None:
        """Call it for each reply: its calls can send out what the session was exposed to so far.

        They cannot send out each other's results, because the model has not seen these.
        """
        self._known = self.exposed
        by_server = {} if self._transcript.attached else self._transcript.exposed_by_server
        servers = {by_server.get(exposure, "") for exposure in self._known}
        self._server = servers.pop() if len(servers) == 1 else ""

    def new_exposures(self, spec: ToolSpec, call: ToolCall, result: Result | None) -> list[Exposed]:
        """What a call exposes the session to for the first time.

        Call it with None when a running call shows its first output, as commands do, and with
        its result or error. A call that read nothing and sent nothing exposes the session to
        nothing.
        """
        found: dict[tuple[Exposure, bool], Exposed] = {}
        for one in self._exposures(spec, call, result):
            if self._is_new(one):
                found.setdefault((one.exposure, one.own), one)
        return list(found.values())

    def inherited_exposures(self, other: Mapping[Exposure, str]) -> list[Exposed]:
        """The new exposures from another session: a sub-agent takes over those of its parent,
        and the parent those of the sub-agent with its answer."""
        found = [Exposed(kind, source) for kind, source in other.items()]
        return [one for one in found if self._is_new(one)]

    def exposed_by_folder(self, source: str) -> list[Exposed]:
        """The new exposure to words of the folder that the model reads without a call."""
        found = Exposed("untrusted", source, own=True)
        return [found] if self._is_new(found) else []

    def exposed_by_file(self, source: str) -> list[Exposed]:
        """The new exposures to a file whose text the model is told without a call."""
        return [one for one in self._file(source, "") if self._is_new(one)]

    def exposed_by_words(self, source: str) -> list[Exposed]:
        """The new exposure to words of others that the model reads without a call."""
        found = Exposed("untrusted", source)
        return [found] if self._is_new(found) else []

    def objection(self, spec: ToolSpec, call: ToolCall, *, ruled: bool = False) -> str:
        """Why this call needs an approval whatever the rules allow; empty if it does not.

        One sentence names what was read, another one what could happen. ``ruled``: the person
        decides about this tool themselves, by a rule or now.
        """
        if spec.server and self._holds_key(call):
            return f"The arguments for {spec.name} hold what looks like a key."
        if self._throwaway:
            return ""
        danger = self.way_out(spec, call)
        stranger, private = self._known.get("untrusted"), self._known.get("private")
        if not danger or stranger is None:
            return ""
        if ruled and spec.server and spec.server == self._server:
            # The chat read this server's answers and nothing else, so all that a call could send
            # is what the server said itself (M-13). Otherwise each call after its first answer
            # would ask, and no rule could ever hold. Once the chat reads anything of elsewhere, as
            # a file or another server's answer, it could leave by this one, and is asked about.
            return ""
        if private is None:
            if spec.effect != "act":
                return ""
            # A command, or a tool that acts, can read files by itself.
            return f"This chat read {_named(stranger)}. {danger} read files and send them out."
        if private == stranger:
            read = f"{_named(private)}, which may hold a stranger’s words"
        else:
            read = f"{_named(private)} and {_named(stranger)}"
        return f"This chat read {read}. {danger} send data out."

    def _holds_key(self, call: ToolCall) -> bool:
        """Whether a known key, a private one, or what looks like one is in the arguments (M-18)."""
        text = json.dumps(call.arguments or {}, ensure_ascii=False)
        known = any(len(key) >= LONG_KEY and key in text for key in self._secrets())
        return known or "PRIVATE KEY-----" in text or redact(text) != text

    def _is_new(self, one: Exposed) -> bool:
        return self._transcript.is_new(one)

    def _exposures(
        self, spec: ToolSpec, call: ToolCall, result: Result | None
    ) -> Iterator[Exposed]:
        if spec.target == COMMAND or spec.acts_with:
            command = target_of(spec, call.arguments or {})
            source = f"{OUTPUT_OF}{command}"
            yield Exposed("private", source)
            yield from self._words(source, command, foreign=self._reaches_out(spec, call))
            return
        if result is None:
            return
        source = _source(spec, call, result)
        if spec.untrusted or result.untrusted:
            yield Exposed("untrusted", source, server=spec.server)
            if spec.effect != "fetch" or spec.server or _is_near(source):
                # A mailbox, a server's answer, a note, a page of the person's own network.
                yield Exposed("private", source, server=spec.server)
        elif _is_note(spec, result):
            yield Exposed("private", source)  # a note with untrusted text is marked as untrusted
        elif spec.effect == "draft":
            if result.is_error or spec.name in (EDIT, APPLY_PATCH):  # it quotes the file
                yield from self._file(source, "")
        elif spec.target == PATH and result.sources not in NOTHING_READ:
            for path in _files(result) or [source]:  # an error may quote what was read, too
                yield from self._file(path, "")
        elif result.sources not in NOTHING_READ:
            yield from self._file(source, result.text)

    def _file(self, source: str, text: str) -> Iterator[Exposed]:
        yield Exposed("private", source)
        yield from self._words(source, source, foreign=_LISTED_ELSEWHERE.search(text) is not None)

    def _words(self, source: str, leads: str, *, foreign: bool) -> Iterator[Exposed]:
        """Untrusted text, if the path or command in ``leads`` points to files of others."""
        if foreign or _ELSEWHERE.search(leads) or _SENT_AROUND.search(leads):
            yield Exposed("untrusted", source)
        elif not self._trusted:
            yield Exposed("untrusted", source, own=True)

    def _reaches_out(self, spec: ToolSpec, call: ToolCall) -> bool:
        """Whether a command's output can come from the network, judged by its text."""
        if self._holds(spec):
            return bool((call.arguments or {}).get(NETWORK))
        return _FETCHES.search(target_of(spec, call.arguments or {})) is not None

    def _holds(self, spec: ToolSpec) -> bool:
        """Whether the sandbox keeps this tool's commands from the network, unless it asks."""
        properties = spec.schema.get("properties")
        return self._contained and isinstance(properties, dict) and NETWORK in properties

    def way_out(self, spec: ToolSpec, call: ToolCall) -> str:
        """How data could leave with this call, to be followed by “send …”; empty if it cannot."""
        arguments = call.arguments or {}
        if spec.target == COMMAND:
            # There is no list of harmless programs, because a program can run others.
            held = self._holds(spec) and not arguments.get(NETWORK)
            return "" if held else "The command can"
        if spec.name == JOB and arguments.get("id") in self._held_jobs():
            return ""  # what is typed into it goes no further than it does
        if spec.effect == "fetch" and not spec.server:
            target = target_of(spec, arguments)
            if target and (_sent(target) if spec.name == _FETCH else target) in self.addresses():
                return f"{spec.name} can" if _says_more(spec, arguments) else ""
            return "The address can" if canonical_address(target) else "What is searched for can"
        if spec.server and not spec.sends:
            return ""  # the sandbox keeps its server from the network (M-18)
        return f"{spec.name} can" if spec.sends or spec.effect == "act" else ""

    def addresses(self) -> set[str]:
        """Addresses that contain no data of this session, as they were written and as they are
        sent: those in the person's messages and in search results, and those fetched before.

        Each other spelling could say something to whoever is there.
        """
        found = self._above.addresses() if self._above is not None else set[str]()
        for block in self._transcript.blocks:
            if isinstance(block, UserBlock):
                # A conversation that a file or a client tells has no turns.
                said = bool(block.turn_id) and not block.by_agent
                found.update(_addresses(block.text) if said else ())
            elif isinstance(block, ToolBlock) and block.effect == "fetch" and block.state == "done":
                found.update(block.sources)
        return (found | set(map(_sent, found))) - {""}


def canonical_address(address: str) -> str:
    """The canonical form of an http address, to be shown; empty for other texts, and for an
    address with a user name."""
    try:
        parts = urlsplit(address.strip())
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return ""
    usual = {"http": 80, "https": 443}
    if parts.scheme not in usual or not host or "@" in parts.netloc:
        return ""
    port = "" if port in (None, usual[parts.scheme]) else f":{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}{parts.path or '/'}{query}"


def _says_more(spec: ToolSpec, arguments: JsonObject) -> bool:
    """Whether a call that fetches has arguments besides the address that could hold data."""
    if spec.name == _FETCH:
        return False
    known = as_object(spec.schema.get("properties"))
    return any(
        name != spec.target and value != as_object(known.get(name)).get("default")
        for name, value in arguments.items()
    )


def _sent(address: str) -> str:
    """The address in the one spelling in which it is sent; empty for what is none."""
    try:
        return str(web_address.parse(address))
    except ToolFailed:
        return ""


def _addresses(text: str) -> Iterator[str]:
    """The addresses in a text, with or without https."""
    for match in _ADDRESS.finditer(text):
        yield match[0].rstrip(_STOPS)
    for match in _BARE.finditer(text):
        yield f"https://{match[0].rstrip(_STOPS)}"


def _source(spec: ToolSpec, call: ToolCall, result: Result) -> str:
    """The source of a result: an address, a path or a tool."""
    if spec.untrusted or result.untrusted:
        target = target_of(spec, call.arguments or {})
        if spec.effect == "fetch" and not spec.server and not canonical_address(target):
            return SEARCH_RESULTS
        return next(iter(result.sources), "") or target or spec.name
    if _is_note(spec, result):
        return next(iter(result.sources), "") or "a note"
    if spec.target == PATH and result.sources:
        return _files(result)[0]
    path = (call.arguments or {}).get(PATH)
    if isinstance(path, str):
        return FOLDER_FILES if path in ("", ".") else path
    return FOLDER_FILES if spec.target else spec.name


def _is_note(spec: ToolSpec, result: Result) -> bool:
    """Whether a result is about what the agent itself noted, which is on this computer."""
    first = next(iter(result.sources), "")
    return spec.effect == "note" or (spec.target != PATH and first.startswith(NOTE))


def _files(result: Result) -> list[str]:
    """The files of a result as they were resolved: links in their paths are followed."""
    names = [re.sub(r"(?::\d+-\d+|, page \d+)$", "", source) for source in result.sources]
    return [FOLDER_FILES if name in ("", ".") else name for name in dict.fromkeys(names)]


def _is_near(source: str) -> bool:
    """Whether an address is in the person's own network, judged by its text."""
    try:
        address = web_address.parse(source)
    except ToolFailed:
        return False
    return address.is_local_name or (
        address.ip is not None and not web_address.is_public(address.ip)
    )


def _named(source: str) -> str:
    """A source in a sentence; an unusual name is quoted, because others may have chosen it."""
    if address := canonical_address(source):
        host = address.partition("/")[0]
        return f"a page from {_short(host)}"
    if source in (FOLDER_FILES, FOLDER_NAMES, SEARCH_RESULTS, "a picture"):
        return source
    if source.startswith(OUTPUT_OF):
        return f"{OUTPUT_OF}“{_short(source.removeprefix(OUTPUT_OF))}”"
    name = _short(source)
    return name if _PLAIN.fullmatch(name) else f"“{name}”"


def _short(text: str) -> str:
    """One short line without invisible characters and quotation marks."""
    line = "".join(c if c.isprintable() and c not in "“”" else " " for c in text)
    line = " ".join(line.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
