"""Turn hooks: runs hooks at the points of a turn, and does what they say (K-8, K-9).

A call goes from the check of its arguments to the hooks, then to the policy with what they say,
then to the person, then to the tool, and its result to the hooks again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from studio.agent.loop.turn_context import Guard, TurnEnd, TurnState
from studio.agent.permission.invisible_characters import escape_invisible, escape_line
from studio.agent.permission.ruling import NO_RULING, Ruling, RulingVerdict
from studio.agent.permission.tool_access import ToolAccess
from studio.agent.prompts import HOOK_SAID, HOOK_SENT_BACK
from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError
from studio.domain.events import AwaitingPermission, AwaitingReply, Event, Notice, Told
from studio.domain.hooks import Hook
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Said, Text, ToolCall
from studio.domain.tools import RUN, ToolSpec
from studio.providers.base import Reply
from studio.tools import Workspace

from .answers import HookAnswer
from .claude_calls import View, in_our_words, views_of
from .running import HookRunner

SENDS_BACK = 2
"""How often in one turn hooks may say that the agent is not done."""
LAST_SECONDS = 1.5
"""What hooks have at the end of a chat, which may be the program's end."""
MOST_SHOWN = 500
"""Characters of a hook's words in a notice."""
Source: TypeAlias = Literal["startup", "resume", "compact"]
Emit: TypeAlias = Callable[[Event], None]


class SessionHooks:
    """The hooks of a chat outside of its turns: ``emit`` gets what the person is told."""

    def __init__(self, runner: HookRunner, emit: Emit) -> None:
        self._runner = runner
        self.emit = emit
        self._told: set[str] = set()
        """The notices about faults so far: each is shown once."""
        self.words: list[tuple[Hook, str]] = []
        """What hooks say to the agent with its next request."""

    async def start(self, source: Source, model: str) -> None:
        """The chat begins, goes on, or was summed up."""
        facts: JsonObject = {"source": source, "model": model}
        self._hear(await self._runner.run("SessionStart", [source], facts))

    async def prompt(self, said: Sequence[Said]) -> None:
        """The person said something; raises ConfigurationError if a hook refuses it."""
        text = "\n".join(one.text for one in said if isinstance(one, Text))
        answers = await self._runner.run("UserPromptSubmit", [], {"prompt": text})
        self._hear(answers)
        for one in answers:
            if one.verdict == "deny" or one.ends is not None:
                why = _line(one.reason or one.ends or "", MOST_SHOWN)
                raise ConfigurationError(f"{_who(one)} refused this message: {why}".rstrip(": "))

    async def end(self) -> None:
        """The chat is closed."""
        await self._runner.run("SessionEnd", ["other"], {"reason": "other"}, LAST_SECONDS)

    async def compacting(self, trigger: str) -> None:
        """The conversation is about to be summed up."""
        facts: JsonObject = {"trigger": trigger, "custom_instructions": ""}
        self._hear(await self._runner.run("PreCompact", [trigger], facts))

    def _hear(self, answers: Sequence[HookAnswer]) -> None:
        """Tell the person of faults and messages, and keep what is for the agent."""
        for one in answers:
            if one.fault:
                self._fault(one)
            if one.message:
                self._notice(one, one.message)
            if one.context:
                self._say(one, one.context)

    def _say(self, answer: HookAnswer, words: str) -> None:
        self.words.append((answer.hook, words))
        self.emit(Notice(f"{_who(answer)} told the agent: {_line(words, MOST_SHOWN)}"))

    def _notice(self, answer: HookAnswer, words: str) -> None:
        self.emit(Notice(f"{_who(answer)} says: {_line(words, MOST_SHOWN)}"))

    def _fault(self, answer: HookAnswer) -> None:
        text = f"{_who(answer)} {_fault(answer)}."
        if text not in self._told:
            self._told.add(text)
            self.emit(Notice(text))


class TurnHooks(SessionHooks, Guard):
    """The hooks of one turn. ``child``: another agent began it."""

    def __init__(
        self, runner: HookRunner, access: ToolAccess, emit: Emit, *, child: bool = False
    ) -> None:
        super().__init__(runner, emit)
        self._access = access
        self._child = child
        self._sent_back = 0
        self._end: TurnEnd | None = None
        self._tasks = BackgroundTasks()
        self.close = self._tasks.aclose

    @property
    def _workspace(self) -> Workspace:
        return self._access.workspace

    @property
    def hears_results(self) -> bool:
        return self._runner.listens("PostToolUse", "PostToolUseFailure")

    # Calls

    async def before_call(self, spec: ToolSpec, call: ToolCall) -> Ruling:
        """What the hooks say of a call before it is decided about."""
        if not self._runner.listens("PreToolUse"):
            return NO_RULING
        return await self._ruling("PreToolUse", spec, call)

    async def before_question(self, spec: ToolSpec, call: ToolCall) -> Ruling:
        """What the hooks say of a call that the person would be asked about."""
        if not self._runner.listens("PermissionRequest"):
            return NO_RULING
        found = await self._ruling("PermissionRequest", spec, call)
        if found.arguments is None or found.verdict == "deny":
            return found
        who = f"{found.by[:1].upper()}{found.by[1:]}"
        self.emit(Notice(f"{who} wanted to change a call of {call.name}, and came too late."))
        return NO_RULING

    async def _ruling(
        self, event: Literal["PreToolUse", "PermissionRequest"], spec: ToolSpec, call: ToolCall
    ) -> Ruling:
        views = views_of(spec, call.arguments or {}, self._workspace)
        pairs = await self._runner.ask(event, views, {"tool_use_id": call.id})
        strict = event == "PreToolUse"
        answers = [answer for answer, _ in pairs]
        self._hear([one for one in answers if not (strict and one.failed)])
        self._ends(answers)
        found = NO_RULING
        for answer, view in pairs:
            ruling = self._ruled(answer, view, spec, strict=strict)
            if _STRICTNESS[ruling.verdict] > _STRICTNESS[found.verdict]:
                found = Ruling(ruling.verdict, ruling.by, ruling.why, found.arguments)
            wanted = ruling.arguments
            if wanted is not None and found.arguments not in (None, wanted):
                both = "Two hooks want to change this call, each in its own way."
                return Ruling("deny", ruling.by, both)
            if wanted is not None:
                by, why = (ruling.by, ruling.why) if not found.by else (found.by, found.why)
                found = Ruling(found.verdict, by, why, wanted)
        return found

    def _ruled(self, answer: HookAnswer, view: View, spec: ToolSpec, *, strict: bool) -> Ruling:
        by, why = escape_line(answer.hook.label), escape_invisible(answer.reason)
        if answer.fault:
            failed = strict and answer.failed
            return Ruling("deny", by, f"It {_fault(answer)}.") if failed else NO_RULING
        if answer.ends is not None:
            return Ruling("deny", by, escape_invisible(answer.ends) or why)
        verdict: RulingVerdict = answer.verdict
        if not view.own and verdict == "allow":  # of one thing that the call does
            verdict = ""
        if answer.arguments is None or answer.arguments == view.input or verdict == "deny":
            return Ruling(verdict, by, why)
        if not view.own:
            return Ruling("deny", by, f"It wants to change a call of {spec.name}, which it cannot.")
        wanted = in_our_words(spec, answer.arguments, self._workspace)
        return Ruling(verdict, by, why, wanted)

    async def after_call(self, spec: ToolSpec, call: ToolCall, text: str, *, failed: bool) -> None:
        """A call has its result; what hooks say goes to the agent with it."""
        event: Literal["PostToolUse", "PostToolUseFailure"]
        event = "PostToolUseFailure" if failed else "PostToolUse"
        if not self._runner.listens(event):
            return
        views = views_of(spec, call.arguments or {}, self._workspace)
        views = [one for one in views if one.own] or views
        facts: JsonObject = {"tool_use_id": call.id}
        if failed:
            facts |= {"error": text, "is_interrupt": False}
        elif spec.name == RUN:
            facts["tool_response"] = {"stdout": text, "stderr": "", "interrupted": False}
        else:
            facts["tool_response"] = {"text": text, "success": True}
        answers = [answer for answer, _ in await self._runner.ask(event, views, facts)]
        self._hear(answers)
        self._ends(answers)
        for one in answers:
            if one.verdict == "deny" and not one.fault:
                self._say(one, one.reason)

    # The turn

    def on_event(self, event: Event) -> None:
        if isinstance(event, AwaitingPermission):
            self._notify("permission_prompt", event.question.title)
        elif isinstance(event, AwaitingReply):
            self._notify("elicitation_dialog", event.text)

    def _notify(self, kind: str, message: str) -> None:
        if not self._runner.listens("Notification"):
            return
        facts: JsonObject = {"message": message, "title": "Agent Studio", "notification_type": kind}

        async def tell() -> None:
            self._hear(await self._runner.run("Notification", [kind], facts))

        self._tasks.start(tell())

    async def before_request(self, state: TurnState) -> None:
        words, self.words = self.words, []
        if words:
            state.notes.append(Told("hook", "\n\n".join(self._masked(*one) for one in words)))
            self._expose([hook for hook, _ in words])

    def after_tools(self, calls: object, state: TurnState) -> TurnEnd | None:
        return self._end

    async def after_reply(self, reply: Reply, state: TurnState) -> TurnEnd | None:
        if self._end is not None or state.notes:  # it goes on anyway
            return self._end
        event: Literal["Stop", "SubagentStop"] = "SubagentStop" if self._child else "Stop"
        if not self._runner.listens(event):
            return None
        facts: JsonObject = {
            "stop_hook_active": bool(self._sent_back),
            "last_assistant_message": "".join(state.answer),
        }
        if self._child:
            facts |= {"agent_id": self._access.session_id, "agent_type": self._access.agent}
        answers = await self._runner.run(event, [self._access.agent], facts)
        self._hear(answers)
        if any(one.ends is not None for one in answers):
            return None
        back = [one for one in answers if one.verdict == "deny" and not one.fault]
        if back and self._sent_back == SENDS_BACK:
            who = _who(back[0])
            self.emit(Notice(f"{who} wanted more, and has sent the agent back twice already."))
        elif back:
            self._sent_back += 1
            for one in back:
                shown = _line(one.reason, MOST_SHOWN)
                self.emit(Notice(f"{_who(one)} sent the agent back: {shown}"))
            words = [self._masked(one.hook, one.reason, HOOK_SENT_BACK) for one in back]
            state.notes.append(Told("hook", "\n\n".join(words)))
            self._expose([one.hook for one in back])
        return None

    def _ends(self, answers: Sequence[HookAnswer]) -> None:
        for one in answers:
            if one.ends is not None and not one.fault:
                why = _line(one.ends or one.reason, MOST_SHOWN)
                self._end = TurnEnd("cancelled", f"{_who(one)} ended the turn: {why}".rstrip(": "))

    def _masked(self, hook: Hook, words: str, template: str = HOOK_SAID) -> str:
        content = self._access.content_filter
        text = escape_invisible(words)
        if content.own or hook.place != "own":
            text = content.mask(text)
        return template.format(hook=escape_line(hook.label), words=text)

    def _expose(self, hooks: Sequence[Hook]) -> None:
        """What the hooks of others say may have orders of theirs in it (T-7)."""
        for one in hooks:
            if one.place != "own":
                for exposed in self._access.guard.exposed_by_words(escape_line(one.label)):
                    self.emit(exposed)


_STRICTNESS: dict[RulingVerdict, int] = {"": 0, "allow": 1, "ask": 2, "deny": 3}


def _who(answer: HookAnswer) -> str:
    label = escape_line(answer.hook.label)
    return f"{label[:1].upper()}{label[1:]}"


def _fault(answer: HookAnswer) -> str:
    fault = escape_line(answer.fault)
    return f"failed with {fault}" if fault.startswith("exit") else fault


def _line(text: str, most: int) -> str:
    return escape_line(text, most)


def arguments_text(arguments: JsonObject) -> str:
    """Arguments as they are shown."""
    return escape_invisible(json.dumps(arguments, ensure_ascii=False))
