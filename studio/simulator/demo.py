"""The demo script: answers by rules instead of a model.

It uses only tools that are offered, reads real files that a listing named,
and says true things about them. Every answer in words is labelled as simulated.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from .demo_outputs import asked_schema, facts_of, filled, is_form
from .json_read import Body, obj
from .request_view import Called, Item, RequestView, Returned, Said, without_orientation
from .script import Call, Pace, Part, Text, Think, Turn

_HEAD = re.compile(r"\[.*\]\s*(?:More follows.*|This is your draft.*)?")
_SIZE = re.compile(r"\s{2,}\S.*$|\s->\s.*$")
_PATH = re.compile(r"[\w-][\w./-]*\.[A-Za-z]\w{0,4}\b")
_DEFINED = re.compile(r"^(?:async def|def|class) (\w+)", re.M)
_HEADINGS = re.compile(r"^#{1,3} (.+)$", re.M)
_LIKED = ("readme", "pyproject", "package.json", "main", "app", "index", "notes")
_TEXT = (
    *("md", "txt", "rst", "py", "toml", "json", "yaml", "yml", "cfg", "ini", "csv", "html"),
    *("js", "ts", "css", "sh", "c", "h", "cpp", "rs", "go", "java", "rb", "sql", "xml"),
)


def entries(listing: str) -> list[str]:
    """The names in a folder's listing; folders end in a slash."""
    rows = [_SIZE.sub("", row).strip() for row in listing.splitlines()]
    return [row for row in rows if row and not row.startswith("[") and not row.endswith("empty.")]


def files_in(listing: str) -> list[str]:
    """Text files of a listing, those first that tell most about a folder."""
    files = [name for name in entries(listing) if _is_text(name)]

    def rank(name: str) -> tuple[int, int]:
        stem = name.rpartition("/")[2].lower()
        liked = [n for n, begin in enumerate(_LIKED) if stem.startswith(begin)]
        return (liked[0] if liked else len(_LIKED), name.count("/"))

    return sorted(files, key=rank)


def paths_in(words: str) -> list[str]:
    """Text files that the person names."""
    return [path for path in _PATH.findall(words) if _is_text(path)]


def _is_text(name: str) -> bool:
    return name.rpartition(".")[2].lower() in _TEXT


def first_line(text: str) -> str:
    """The first line that is not empty."""
    return next((row.strip() for row in text.splitlines() if row.strip()), "(nothing)")


def answer(saying: str, text: str, most: int = 20) -> str:
    """A result, quoted; a long one is cut and says so."""
    rows = text.strip("\n").splitlines() or ["(nothing)"]
    cut = f"\n\nThat is the first {most} of {len(rows)} lines." if len(rows) > most else ""
    fence = "````" if "```" in text else "```"
    body = "\n".join(rows[:most])
    return f"{saying}\n\n{fence}text\n{body}\n{fence}{cut}"


def note(words: str, listing: str) -> str:
    """A note in markdown about the folder."""
    names = entries(listing)
    rows = [f"- `{name}`" for name in names[:12]]
    more = [f"- and {len(names) - 12} more"] if len(names) > 12 else []
    about = ["## In this folder", "", *rows, *more, ""] if rows else []
    return "\n".join(
        ["# Notes", "", "Written by the simulated demo.", "", f"> {first_line(words)}", "", *about]
    )


def describe(words: str, listing: str | None, read: list[tuple[str, str]]) -> str:
    """A folder and files as they are: a sentence, a table, what each file defines."""
    found: list[str] = []
    if listing is not None:
        names = entries(listing)
        folders = sum(name.endswith("/") for name in names)
        files = len(names) - folders
        found.append(
            f"This folder has **{_count(files, 'file')}** and **{_count(folders, 'folder')}**."
            + (" The first names: " if names else "")
            + ", ".join(f"`{name}`" for name in names[:6])
            + ("." if names else "")
        )
    if read:
        rows = ["| File | Lines | Begins with |", "| --- | ---: | --- |"]
        rows += [_row(path, body) for path, body in read]
        found.append("\n".join(rows))
        if len(found) == 1:
            found.insert(0, "This is what they hold.")
    for path, text in read:
        kind = path.rpartition(".")[2]
        if kind == "py" and (names := _DEFINED.findall(_body(text))):
            shown = ", ".join(f"`{name}`" for name in names[:6])
            found.append(f"### {path}\n\nIt defines {shown}.")
        elif kind == "md" and (headings := _HEADINGS.findall(_body(text))):
            found.append(f"### {path}\n\n" + "\n".join(f"- {head}" for head in headings[:6]))
    return "\n\n".join(found) or f"Nothing came back for “{first_line(words)}”."


def _row(path: str, text: str) -> str:
    body = _body(text)
    begins = first_line(body)[:60].replace("|", "\\|").replace("`", "'")
    return f"| `{path}` | {len(body.splitlines())} | {begins} |"


def _body(text: str) -> str:
    """A file's text without the line above it that says which lines these are."""
    first, _, rest = text.partition("\n")
    return rest if _HEAD.fullmatch(first) else text


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


PACE = Pace(ttft=0.3, tokens_per_s=60.0)
LABEL = "*Simulated:* "

_GREETING = re.compile(
    r"\s*(hi|hello|hey|good (morning|day|evening)|thanks?|thank you)\b[^?]*", re.I
)
_RUN = re.compile(r"\b(run|execute|python version|which python)\b", re.I)
_WRITE = re.compile(r"\b(write|save|create|draft|make an? (new )?(file|note)|note down)\b", re.I)
_ASK = re.compile(r"\bask me\b|\bquestion\b", re.I)
_SEARCH = re.compile(r"\b(?:search|look|grep)\s+for\s+[“\"'`]?([\w.\-]+)", re.I)
_FIND = re.compile(r"\bfind\b.*?[“\"'`]?(\*?\.?[\w*]+\.\w+|\*\.\w+)", re.I)
_REPLACE = re.compile(
    r"replace\s+[“\"'`](.+?)[”\"'`]\s+(?:with|by)\s+[“\"'`](.*?)[”\"'`]\s+in\s+(\S+)", re.I
)
_COMMAND = re.compile(r"`([^`\n]+)`")
_SENTENCE = re.compile(r"\bin one sentence\b", re.I)


LOOKED_AT = 2_000
"""Characters of a message that the demo looks at."""


@dataclass(frozen=True, slots=True)
class DemoTurn:
    """The turn so far: the person's words, then calls with their results."""

    words: str
    """Their beginning: patterns take long for many letters, and the window waits meanwhile."""
    done: list[tuple[Called, Returned | None]]
    steered: bool
    """Whether the person said something after the first call; then the demo answers."""

    def result(self, name: str) -> Returned | None:
        """The newest result of a tool; None if it was not called."""
        for call, returned in reversed(self.done):
            if call.name == name and returned is not None:
                return returned
        return None

    def called(self, name: str) -> list[tuple[Called, Returned]]:
        """Answered calls of one tool, in order."""
        return [
            (call, returned)
            for call, returned in self.done
            if call.name == name and returned is not None
        ]


def demo_script(request: RequestView) -> Turn:
    """What the demo's models answer. ``demo-thinker`` thinks first."""
    if request.last_user.startswith("<conversation>"):
        return Turn(Text(LABEL + _summed_up(request.last_user)), pace=PACE)
    conversation = read_turn(request.items)
    parts: list[Part] = _next(conversation, request)
    schema = asked_schema([text for item in request.items if (text := _words(item))])
    if schema is not None and not any(isinstance(part, Call) for part in parts):
        parts = [Text(_outputs(conversation, schema))]
    if request.model.startswith("demo-thinker"):
        parts.insert(0, Think(_thought(conversation, parts)))
    return Turn(*parts, pace=PACE)


def read_turn(items: list[Item]) -> DemoTurn:
    """The part of the history that belongs to the person's last question."""
    start = 0
    for index in range(len(items) - 1):
        one, following = items[index], items[index + 1]
        if isinstance(one, Said) and one.role == "assistant" and isinstance(following, Said):
            start = index + 1
    turn = items[start:]
    first_call = next((n for n, item in enumerate(turn) if isinstance(item, Called)), len(turn))
    words = [text for item in turn[:first_call] if (text := _words(item)) and not is_form(text)]
    waiting: list[Called] = []
    done: list[tuple[Called, Returned | None]] = []
    for item in turn:
        if isinstance(item, Called):
            waiting.append(item)
        elif isinstance(item, Returned):
            fits = [call for call in waiting if _belongs(call, item)]
            if fits:
                waiting.remove(fits[0])
                done.append((fits[0], item))
    done += [(call, None) for call in waiting]
    return DemoTurn(
        words=words[-1].strip()[:LOOKED_AT] if words else "",
        done=done,
        steered=any((said := _words(item)) and not is_form(said) for item in turn[first_call:]),
    )


def _words(item: Item) -> str:
    """What the person said with this item; empty if it is none of theirs."""
    if isinstance(item, Said) and item.role == "user":
        return without_orientation(item.text)
    return ""


def _belongs(call: Called, returned: Returned) -> bool:
    if call.id and returned.id:
        return call.id == returned.id
    return not returned.name or call.name == returned.name


def _next(conversation: DemoTurn, request: RequestView) -> list[Part]:
    offered = set(request.tool_names) if request.may_call else set[str]()
    words = conversation.words
    if _SENTENCE.search(words) and not paths_in(words):
        return [Text(LABEL + _sentence(words))]
    if conversation.steered or not offered or _GREETING.fullmatch(words):
        return [Text(LABEL + _final(conversation, request))]
    for wanted in (_act(conversation, offered), _look(conversation, offered)):
        if wanted:
            saying, calls = wanted
            fitted = [Call(name, _fit(request, name, arguments)) for name, arguments in calls]
            return [Text(LABEL + saying), *fitted]
    return [Text(LABEL + _final(conversation, request))]


_Step = tuple[str, list[tuple[str, Body]]]


def _act(conversation: DemoTurn, offered: set[str]) -> _Step | None:
    """The one call that does what was asked for, unless it was made already."""
    words = conversation.words
    made = {call.name for call, _ in conversation.done}
    if (found := _REPLACE.search(words)) and "edit" in offered - made:
        arguments: Body = {"path": found[3].rstrip(".,"), "old": found[1], "new": found[2]}
        if "read" in offered - made:
            return f"I’ll read {arguments['path']} before I change it.", [
                ("read", {"path": arguments["path"]})
            ]
        return "I’ll propose the change.", [("edit", arguments)]
    if _RUN.search(words) and "run" in offered and "run" not in made:
        command = _command(words)
        return f"I’ll run `{command}`.", [("run", {"command": command})]
    if _WRITE.search(words) and "write" in offered and "write" not in made:
        if "list" in offered - made:
            return "First I’ll look at what is here.", [("list", {"path": "."})]
        path = _note_path(words)
        listing = conversation.result("list")
        return f"I’ll propose `{path}` as a draft.", [
            ("write", {"path": path, "content": note(words, listing.text if listing else "")})
        ]
    if _ASK.search(words) and "ask" in offered and "ask" not in made:
        question: Body = {
            "question": "Which part of the folder interests you most?",
            "choices": ["The code", "The documents", "Everything"],
        }
        return "One question first.", [("ask", question)]
    return None


def _look(conversation: DemoTurn, offered: set[str]) -> _Step | None:
    """The next calls that find out what the answer needs."""
    words = conversation.words
    made = {call.name for call, _ in conversation.done}
    if made & {"run", "write", "edit", "ask"}:
        return None
    if (found := _SEARCH.search(words)) and "search" in offered - made:
        return f"I’ll search for “{found[1]}”.", [("search", {"pattern": re.escape(found[1])})]
    if (found := _FIND.search(words)) and "glob" in offered - made:
        return f"I’ll look for {found[1]}.", [("glob", {"pattern": f"**/{found[1].lstrip('/')}"})]
    if made & {"search", "glob", "read"}:
        return None
    if "read" in offered - made:
        named = paths_in(words)[:2]
        if named:
            return "I’ll read what you named.", [("read", {"path": path}) for path in named]
        if "list" in offered - made:
            return "I’ll look around first.", [("list", {"path": "."})]
        listing = conversation.result("list")
        found_files = files_in(listing.text)[:2] if listing else []
        if found_files:
            what = " and ".join(f"`{path}`" for path in found_files)
            return f"I’ll read {what}.", [("read", {"path": path}) for path in found_files]
        return None
    if "list" in offered - made:
        return "I’ll look around first.", [("list", {"path": "."})]
    return None


def _command(words: str) -> str:
    if found := _COMMAND.search(words):
        return found[1].strip()
    python = "python" if sys.platform == "win32" else "python3"
    if re.search(r"\b(ls|list|files|folder)\b", words, re.I) and sys.platform != "win32":
        return "ls"
    return f"{python} --version"


def _note_path(words: str) -> str:
    named = paths_in(words)
    return named[0] if named else "notes.md"


def _fit(request: RequestView, name: str, arguments: Body) -> Body:
    """Only arguments that the tool takes, as far as its schema says."""
    for tool in request.tools:
        if tool.name == name and (known := obj(tool.schema.get("properties"))):
            return {key: value for key, value in arguments.items() if key in known}
    return arguments


def _final(conversation: DemoTurn, request: RequestView) -> str:
    if not conversation.done:
        return _small_talk(request)
    words = conversation.words
    for name, saying in (
        ("run", "The command printed:"),
        ("search", "This is what the search found:"),
        ("glob", "These files match:"),
        ("ask", "Your answer was:"),
    ):
        if (returned := conversation.result(name)) is not None:
            return answer(saying, returned.text)
    for name in ("write", "edit"):
        if (returned := conversation.result(name)) is not None:
            path = [str(c.arguments.get("path")) for c, _ in conversation.called(name)][-1]
            return f"`{path}`: {first_line(returned.text)}"
    listing = conversation.result("list")
    read = [(str(c.arguments.get("path")), r.text) for c, r in conversation.called("read")]
    return describe(words, listing.text if listing else None, read)


def _sentence(words: str) -> str:
    """What was given, below the first line, in one sentence."""
    given = facts_of(["\n".join(words.strip().splitlines()[1:])])
    return "; ".join(fact.rstrip(".") for fact in given[:3]) + "." if given else "Nothing to say."


def _outputs(conversation: DemoTurn, schema: Body) -> str:
    """JSON for a schema. A text that names a file is sound: it says where it stands."""
    read = [_body(returned.text) for _, returned in conversation.called("read")]
    facts = facts_of(read or [conversation.words])
    if named := paths_in(conversation.words):
        return filled(schema, facts, sound=True, why=f"It names {named[0]}.")
    listing = conversation.result("list")
    files = files_in(listing.text)[:1] if listing else []
    why = f"It does not say where this stands: name {files[0]}." if files else "It names no file."
    return filled(schema, facts, sound=False, why=why)


def _summed_up(conversation: str) -> str:
    """What the person said, each time in one line."""
    said = re.findall(r"^Person: (.{1,100})", conversation, re.MULTILINE)
    return "the conversation so far was about this.\n" + "\n".join(f"- {line}" for line in said)


def _small_talk(request: RequestView) -> str:
    tools = request.tool_names
    can = f"the tools {', '.join(f'`{name}`' for name in tools)}" if tools else "no tools"
    return (
        "This is the demo. No model was asked, and nothing left this computer.\n\n"
        f"I have {can} here. You can ask me to:\n\n"
        "- **look around** the folder and read a file or two\n"
        "- **write a note**, which becomes a draft for you to approve\n"
        "- **run a command**, which asks you first\n\n"
        "For real answers, choose a provider in the settings."
    )


def _thought(conversation: DemoTurn, parts: list[Part]) -> str:
    calls = [part for part in parts if isinstance(part, Call)]
    asked = " ".join(conversation.words.split()[:12]) or "nothing yet"
    if calls:
        what = " and ".join(_brief(call) for call in calls)
        return f"The question was “{asked}”. The next step: {what}. Then I’ll see what came back."
    seen = len(conversation.done)
    results = "One result is here" if seen == 1 else f"{seen or 'No'} results are here"
    return f"The question was “{asked}”. {results}. That is enough for an answer."


def _brief(call: Call) -> str:
    if call.arguments.get("path") == ".":
        return f"{call.name} the folder"
    return f"{call.name} {next(iter(map(str, call.arguments.values())), '')}".strip()[:60]
