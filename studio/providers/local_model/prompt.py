"""Local model prompt: rewrites a request so that a model of 135 million parameters can follow.

It cannot follow long instructions, but it continues patterns well. So it gets
worked examples that resemble the request, cut to the same point of the work,
and is offered only calls that make sense there: the grammar the server builds
from them leaves no room for made-up names. What to do next, and every word of
the answer, is its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import cast

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text
from studio.domain.tools import ToolSpec
from studio.providers.base import Request

from .certain import (
    CHANGES_NOTHING,
    FILE,
    asks_about_the_files,
    asks_for_a_change,
    is_founded,
    not_read,
    nothing_found,
)

ANSWER = "answer"
OUTPUT_LIMIT = 200
RESULT_TOKENS = 600
OLDER_RESULT_TOKENS = 200
CLEAR = 0.2
"""From this similarity on, what is far less similar than the nearest is left out."""
STEPS = 4
"""Results that are shown, the newest at more length."""
ASK_TOKENS = 500
EARLIER_TOKENS = 120
"""Each of the last words said before this turn."""

EMPTY_RESULT = "(nothing)"
GOES_ON = "Answer from the conversation, in short, plain sentences."
"""With these words it finds a name that was said before three times in four."""

_FOLDER = re.compile(r"(?<![\w./-])/*([\w.-][\w./-]*/)(?=\s|$|[?,;])")
_SIZE = re.compile(r"\s{2,}| -> ")
_WORD = re.compile(r"\w+")
_EVERY = {"all", "every", "each"}
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an the is are was in of on to and or word words file files text which where what who "
        "does do mention mentions mentioned contain contains find search for look me tell say says "
        "here this folder it all any there with about that have has",
    )
)


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A call and its result, as text."""

    tool: str
    arguments: JsonObject
    result: str
    nothing: str = ""
    """What the tool said if it failed or found nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """A request, what was done for it so far, and its answer (empty while there is none)."""

    ask: str
    steps: tuple[Step, ...] = ()
    answer: str = ""

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(step.tool for step in self.steps)


class Prompt:
    """Turns requests into ones the small model can follow."""

    def __init__(self, system: str, system_tools: str, tools: JsonObject, works: list[Work]):
        self._system = system
        self._system_tools = system_tools
        self._tools = tools
        self._works = works

    @classmethod
    def load(cls, file: Path) -> Prompt:
        data = as_object(json.loads(file.read_text("utf-8")))
        works = [
            Work(
                as_text(entry.get("ask")),
                tuple(
                    Step(
                        as_text(step.get("tool")),
                        as_object(step.get("arguments")),
                        as_text(step.get("result")),
                    )
                    for step in as_objects(entry.get("steps"))
                ),
                as_text(entry.get("answer")),
            )
            for entry in as_objects(data.get("examples"))
        ]
        return cls(
            as_text(data.get("system")),
            as_text(data.get("system_tools")),
            as_object(data.get("tools")),
            works,
        )

    def certain(self, request: Request) -> str:
        """The answer to a request where it needs no model; empty where the model is asked."""
        if not request.tools or request.forced or request.schema is not None:
            return ""
        _, work, steering = read_turn(request.history)
        if not work.steps and asks_for_a_change(work.ask):
            return CHANGES_NOTHING
        unread = unread_files(work, request.tools)
        if unread and not steering:
            return ""
        if work.steps and work.steps[-1].nothing:
            alike = [step for step in work.steps if step.tool == work.steps[-1].tool]
            return "\n".join(dict.fromkeys(step.nothing for step in alike if step.nothing))
        return not_read(unread) if unread else ""

    def checked(self, request: Request, answer: str) -> str:
        """An answer that can be from what was read, else what was read itself."""
        _, work, _ = read_turn(request.history)
        if (
            not work.steps
            or request.schema is not None
            or is_founded(answer, "\n".join(_parts(work)))
        ):
            return answer
        return "\n\n".join(_parts(shortened(work))[1:])

    def needed(self, request: Request) -> tuple[str, JsonObject] | None:
        """The call without which no answer can be right: made without asking the model."""
        earlier, work, steering = read_turn(request.history)
        if steering or request.choice != "auto" or not request.tools:
            return None
        offered = [spec.name for spec in self._offered(work, request.tools)]
        if self._first_call(work, offered, earlier) == "list":
            return "list", {"path": "."}
        unread = unread_files(work, request.tools)
        return ("read", {"path": unread[0]}) if unread else None

    def _first_call(self, work: Work, offered: Sequence[str], earlier: Sequence[JsonObject]) -> str:
        """The call with which requests much like this one begin; empty where none is known.

        Whatever is asked about the files begins with a look at them.
        """
        if work.steps or "list" not in offered:
            return ""
        examples = self._examples(work, offered)
        if examples and _looks(work, examples[-1]):
            return examples[-1].tools[0]
        names_one = FILE.search(work.ask) or _FOLDER.search(work.ask)
        said = " ".join(as_text(message["content"]) for message in earlier)
        return "list" if asks_about_the_files(work.ask, said) and not names_one else ""

    def shaped(self, request: Request) -> Request:
        """The same step of the same turn, in the small model's words.

        A conversation without tools it can follow as it is. It has to call where the request
        is much like one that begins with a call.
        """
        if not request.tools:
            own = GOES_ON if len(request.history) > 1 else self._system
            limit = min(request.output_limit or OUTPUT_LIMIT, OUTPUT_LIMIT)
            return replace(request, system=request.system or own, output_limit=limit)
        earlier, work, steering = read_turn(request.history)
        offered = [] if steering else self._offered(work, request.tools)
        system = self._system_tools if offered else "\n".join([self._system, *steering])
        history: list[JsonObject] = []
        examples = self._examples(work, [spec.name for spec in offered])
        for example in examples:
            history += _open(example) if offered or not work.steps else _told(example)
        # What was said before would be repeated in place of a look at the files.
        if not work.steps and not (examples and _looks(work, examples[-1])):
            history += earlier
        shown = shortened(work)
        history += _open(shown) if offered or not work.steps else _told(shown)
        names = [one.name for one in offered]
        calls = request.choice == "auto" and self._first_call(work, names, earlier)
        return replace(
            request,
            system=system,
            history=history,
            tools=offered,
            choice="required" if calls else request.choice,
            output_limit=min(request.output_limit or OUTPUT_LIMIT, OUTPUT_LIMIT),
        )

    def _offered(self, work: Work, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
        arguments = sensible(work)
        return [
            ToolSpec(
                spec.name,
                as_text(self._tools.get(spec.name)),
                _schema(*arguments[spec.name]),
            )
            for spec in tools
            if spec.name in arguments
        ]

    def _examples(self, work: Work, offered: Sequence[str]) -> list[Work]:
        """Worked examples at the same point, the most similar last.

        With calls on offer: the best for each thing that can come next, if it
        is not much farther off than the nearest of all, and the nearest three.
        For an answer: the nearest.
        """
        done = work.tools
        point: int | None = len(done)
        near = [one for one in self._works if one.tools[:point] == done]
        if not near:
            near = [one for one in self._works if one.tools[-1:] == done[-1:]]
            point = None
        score = {one: similarity(work.ask, one.ask) for one in near}
        ranked = sorted(near, key=score.__getitem__, reverse=True)
        if done and not offered:
            ended = [one for one in ranked if point is None or len(one.steps) == point]
            return (ended or ranked)[:1]
        usable = [one for one in ranked if _next(one, point) in (ANSWER, *offered)]
        best: dict[str, Work] = {}
        for one in usable:
            best.setdefault(_next(one, point), one)
        top = max(score.values(), default=0.0)
        clear = top >= CLEAR
        chosen = [one for one in best.values() if not clear or score[one] >= top / 2]
        chosen += [one for one in usable[:3] if one not in chosen]
        chosen.sort(key=score.__getitem__)
        return [_cut(one, point) for one in chosen]


def _looks(work: Work, example: Work) -> bool:
    """Whether a request is much like one that begins with a call."""
    return bool(example.steps) and similarity(work.ask, example.ask) >= 2 * CLEAR


def _next(work: Work, point: int | None) -> str:
    return work.tools[point] if point is not None and work.steps[point:] else ANSWER


def _cut(work: Work, point: int | None) -> Work:
    """Up to the next thing after ``point`` steps; its result would only distract."""
    if point is None or len(work.steps) <= point:
        return work
    last = replace(work.steps[point], result="")
    return Work(work.ask, (*work.steps[:point], last))


def read_turn(history: Sequence[JsonObject]) -> tuple[list[JsonObject], Work, list[str]]:
    """What was said before, shortened; the turn's work; and what the engine told the model."""
    start = max(
        (index for index, message in enumerate(history) if message.get("role") == "user"),
        default=0,
    )
    earlier: list[JsonObject] = [
        {"role": message["role"], "content": text}
        for message in history[:start]
        if message.get("role") in ("user", "assistant")
        and not message.get("tool_calls")
        and (text := clip(_text(message), EARLIER_TOKENS))
    ][-4:]
    while earlier and earlier[0]["role"] != "user":
        del earlier[0]
    steps: list[Step] = []
    steering: list[str] = []
    open_calls: dict[str, tuple[str, JsonObject]] = {}
    for message in history[start + 1 :]:
        match message.get("role"):
            case "assistant":
                for call in as_objects(message.get("tool_calls")):
                    function = as_object(call.get("function"))
                    open_calls[as_text(call.get("id"))] = (
                        as_text(function.get("name")),
                        _arguments(function.get("arguments")),
                    )
            case "tool":
                name, arguments = open_calls.pop(as_text(message.get("tool_call_id")), ("", {}))
                text = _text(message)
                result = plain_result(name, text)
                steps.append(Step(name, arguments, result, nothing_found(text)))
            case "system":
                steering.append(_text(message))
            case _:
                continue
    ask = clip(_text(history[start]), ASK_TOKENS) if history else ""
    return earlier, Work(ask, tuple(steps)), steering


def shortened(work: Work) -> Work:
    """The last steps, their results cut to what fits, the newest at more length."""
    kept = work.steps[-STEPS:]
    limits = [*[OLDER_RESULT_TOKENS] * (len(kept) - 1), RESULT_TOKENS]
    steps = [
        replace(step, result=clip(step.result, limit) or EMPTY_RESULT)
        for step, limit in zip(kept, limits, strict=False)
    ]
    return replace(work, steps=tuple(steps))


def plain_result(tool: str, text: str) -> str:
    """A tool's result without what only a larger model can use: sizes, headings."""
    lines = text.splitlines()
    if tool == "list":
        names = [_SIZE.split(line)[0] for line in lines if not line.startswith("[")]
        lines = [f"- {name}" for name in names]
    elif tool == "read" and lines and lines[0].startswith("[") and "]" in lines[0]:
        lines = lines[1:]
    return "\n".join(lines).strip()


def unread_files(work: Work, tools: Sequence[ToolSpec]) -> list[str]:
    """The files that a request names, and that can be read and were not."""
    if not any(tool.name == "read" for tool in tools):
        return []
    _, paths = sensible(work).get("read", ("", []))
    return [path for path in paths if path in FILE.findall(work.ask)]


def sensible(work: Work) -> dict[str, tuple[str, list[str]]]:
    """Calls that make sense now: for each tool its argument and the values it may have.

    A folder is listed once. A file is read when the request names it, by its
    path or, once the folder has been listed, by its stem. Only words of the
    request are searched for.
    """
    words = {word.lower() for word in _WORD.findall(work.ask)}
    done = {(step.tool, as_text(step.arguments.get("path"))) for step in work.steps}
    listed = [
        _join(as_text(step.arguments.get("path")), line)
        for step in work.steps
        if step.tool == "list"
        for line in step.result.removeprefix("- ").split("\n- ")
    ]
    named = list(dict.fromkeys(FILE.findall(work.ask)))
    folders = list(dict.fromkeys(_FOLDER.findall(work.ask)))
    if listed:
        named += [
            name
            for name in listed
            if not name.endswith("/")
            and name not in named
            and (_stem(name) in words or words & _EVERY)
        ]
        folders += [
            name
            for name in listed
            if name.endswith("/") and name not in folders and _stem(name) in words
        ]
    else:
        folders.append(".")
    found: dict[str, tuple[str, list[str]]] = {}
    if paths := [path for path in folders if ("list", path) not in done]:
        found["list"] = ("path", paths)
    if paths := [path for path in named if ("read", path) not in done]:
        found["read"] = ("path", paths)
    patterns = [word for word in _WORD.findall(work.ask) if word.lower() not in _COMMON]
    if patterns and not work.steps:
        found["search"] = ("pattern", list(dict.fromkeys(patterns)))
    return found


def similarity(one: str, other: str) -> float:
    """Shared words and pairs of words, 0 to 1; all file names count as the same word."""
    first, second = _features(one), _features(other)
    return len(first & second) / max(1, len(first | second))


def clip(text: str, tokens: int) -> str:
    """The beginning that fits, by a careful guess: three letters a token, else one a byte."""
    left = tokens * 3
    for index, character in enumerate(text):
        plain = character == " " or (character.isascii() and character.isalpha())
        left -= 1 if plain else 3 * len(character.encode("utf-8", "replace"))
        if left < 0:
            return text[:index].rstrip() + " …"
    return text


def _features(text: str) -> set[str]:
    words = [
        word if word == "FILE" else word.lower() for word in _WORD.findall(FILE.sub("FILE", text))
    ]
    return {*words, *(f"{a} {b}" for a, b in pairwise(words))}


def _schema(argument: str, values: list[str]) -> JsonObject:
    value: JsonObject = {"type": "string", "enum": cast("list[Json]", values)}
    return {
        "type": "object",
        "properties": {argument: value},
        "required": [argument],
        "additionalProperties": False,
    }


def _open(work: Work) -> list[JsonObject]:
    """As a conversation with calls, each followed by its result where there is one."""
    messages: list[JsonObject] = [{"role": "user", "content": work.ask}]
    for number, step in enumerate(work.steps):
        identifier = f"call_{number}"
        call: JsonObject = {
            "id": identifier,
            "type": "function",
            "function": {"name": step.tool, "arguments": json.dumps(step.arguments)},
        }
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        if step.result:
            content = f"{_heading(step)}\n{step.result}"
            messages.append({"role": "tool", "tool_call_id": identifier, "content": content})
    if work.answer:
        messages.append({"role": "assistant", "content": work.answer})
    return messages


def _told(work: Work) -> list[JsonObject]:
    """As one message, the request and all results: there is nothing to call any more."""
    messages: list[JsonObject] = [{"role": "user", "content": "\n\n".join(_parts(work))}]
    if work.answer:
        messages.append({"role": "assistant", "content": work.answer})
    return messages


def _parts(work: Work) -> list[str]:
    """The request, then each result under its heading."""
    return [work.ask, *(f"{_heading(step)}\n{step.result}" for step in work.steps)]


def _heading(step: Step) -> str:
    match step.tool:
        case "list":
            return "The files are:"
        case "read":
            return f"{as_text(step.arguments.get('path'))} says:"
        case "search":
            return f"Found {as_text(step.arguments.get('pattern'))}:"
        case _:
            return "Result:"


def _text(message: JsonObject) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(as_text(part.get("text")) for part in as_objects(content))


def _arguments(raw: Json) -> JsonObject:
    try:
        return as_object(json.loads(as_text(raw)))
    except ValueError:
        return {}


def _join(folder: str, name: str) -> str:
    return name if folder in ("", ".") else f"{folder.rstrip('/')}/{name}"


def _stem(name: str) -> str:
    last = name.rstrip("/").rsplit("/", 1)[-1]
    return last.split(".", 1)[0].lower()
