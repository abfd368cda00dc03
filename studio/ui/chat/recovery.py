"""What a person can do where a chat cannot simply go on: wait less, switch, compact, branch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import SignalInstance

from studio.domain.errors import ConfigurationError

from .composer import Composer
from .external_changes import ExternalChanges
from .folder_trust import FolderTrust
from .session_options import SessionOptions
from .status_strip import StatusStrip
from .turn_runner import TurnRunner

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.agents import Caps, Mode
    from studio.domain.blocks import UserBlock


class Page(Protocol):
    """What the ways on need of the chat page."""

    session: Session | None
    composer: Composer
    choices: SessionOptions
    strip: StatusStrip
    trusting: FolderTrust
    following: ExternalChanges

    def open(self, session: Session) -> None: ...
    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...
    @property
    def session_changed(self) -> SignalInstance: ...
    @property
    def settings_wanted(self) -> SignalInstance: ...


class RecoveryActions:
    """Does what the buttons of errors, waits, ends and of the strip say."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._studio: Engine | None = None
        self._runs: TurnRunner | None = None
        self.editing = ""
        """The turn whose words are in the composer, to go out anew in a branch."""
        page.strip.pressed.connect(self.do)
        page.composer.editor.textChanged.connect(self._text_changed)

    def live(self, studio: Engine, runs: TurnRunner) -> None:
        self._studio, self._runs = studio, runs

    def show(self) -> None:
        """Have the strip say what is out of the ordinary with the chat on screen."""
        from studio.domain.models import PROVIDER_TITLES

        strip, session = self._page.strip, self._page.session
        trust = self._page.trusting.asks
        if session is not None and session.damage:
            strip.show_damage(session.damage)
        elif session is not None and session.running and session.transcript.silent:
            name = session.info.provider
            strip.show_silence(PROVIDER_TITLES.get(name, name), self._silent_since(session))
        elif self._page.following.state:
            strip.show_elsewhere(working=self._page.following.state == "working")
        elif self.editing:
            strip.show_editing()
        elif trust != "nothing":
            strip.show_trust(changed=trust == "changed")
        else:
            strip.clear()

    def _silent_since(self, session: Session) -> float:
        since = self._runs.since(session.info.id) if self._runs is not None else None
        return time.monotonic() - session.transcript.silent if since is None else since

    def leave(self) -> None:
        """Another chat comes on screen."""
        self.editing = ""
        self._page.trusting.begin()

    def do(self, name: str) -> None:
        """``name`` as the buttons of the transcript and the strip call it."""
        page, session = self._page, self._page.session
        match name:
            case "try_again" | "go_on":
                self.again()
            case "go_on_background":
                self.again("background")
            case "raise_cap" if session is not None:
                page.later(self._raise(session))
            case "settings":
                page.settings_wanted.emit("general", _limit(session))
            case "use_another_provider" | "choose_model" | "switch_model":
                page.composer.model.open()
            case "choose_folder":
                page.choices.choose_folder()
            case "try_now" if session is not None:
                session.try_now()
            case "stop" if session is not None:
                session.stop()
            case "compact" if session is not None:
                page.later(self._compact(session))
            case "new_chat_from_here" if session is not None:
                page.later(self._branch(session, compact=True))
            case "continue_from" if session is not None:
                page.later(self._branch(session))
            case "trust_folder":
                page.trusting.ask()
            case "not_now":
                page.trusting.put_off()
            case "stop_editing":
                page.composer.clear()
                page.composer.attachments.replace([])
            case _:
                page.settings_wanted.emit("providers", page.choices.provider)

    def again(self, mode: Mode | None = None) -> None:
        """Try the last message again, or go on from where the last turn ended."""
        session = self._page.session
        if session is not None and self._runs is not None and not session.running:
            self._page.composer.set_state("running")
            self._runs.start(session, [], mode)

    def raised(self, reason: str) -> str:
        """What a chat's limit is raised to after a turn that ended so: “$4.00”."""
        session = self._page.session
        if session is None or self._studio is None:
            return ""
        caps = self._twice(session, reason)
        return f"${caps.dollars:,.2f}" if reason == "money_limit" else f"{caps.tokens:,} tokens"

    def _twice(self, session: Session, reason: str) -> Caps:
        """The chat's caps, the one that was met twice as large, or twice what was used."""
        assert self._studio is not None
        from studio.agent.usage_accounting import session_caps

        caps = session_caps(session.info, self._studio.settings.values)
        used = self._studio.accounts.used(session.info.id)
        if reason == "money_limit":
            return replace(caps, dollars=2 * max(caps.dollars, round(used.dollars, 2)))
        return replace(caps, tokens=2 * max(caps.tokens, used.tokens))

    async def _raise(self, session: Session) -> None:
        """Let the chat use twice as much, then go on."""
        last = session.transcript.blocks[-1]
        await session.change(caps=self._twice(session, getattr(last, "reason", "")))
        self.again()

    def chosen(self, fields: dict[str, Any]) -> None:
        """The person chose: where a request waits to be made again, another model takes over."""
        from studio.domain.blocks import RetryBlock

        session = self._page.session
        if session is None or self._runs is None or "model" not in fields:
            return
        last = session.transcript.blocks[-1] if session.transcript.blocks else None
        if session.running and isinstance(last, RetryBlock) and last.state == "waiting":
            session.stop()
            self._runs.start(session, [])

    async def _compact(self, session: Session) -> None:
        """Shorten what the model gets, then go on."""
        self._page.composer.set_state("running")
        try:
            await session.memory.compact()
        except BaseException:
            self._page.composer.set_state("idle")
            raise
        self.again()

    async def _branch(self, session: Session, before: str = "", *, compact: bool = False) -> None:
        """Open a new chat that goes on from here, or from before a turn."""
        assert self._studio is not None
        made = await self._studio.sessions.branch(session.info.id, before)
        self._page.open(made)
        self._page.session_changed.emit()
        if compact:
            await made.memory.compact()

    # What was said, once more

    def said(self, turn_id: str, action: str) -> None:
        """``edit`` or ``branch``, of what the person said in a turn."""
        session = self._page.session
        if session is None:
            return
        turns = _said(session)
        at = next((n for n, block in enumerate(turns) if block.turn_id == turn_id), None)
        if at is None:
            return
        if action == "branch":
            after = turns[at + 1].turn_id if at + 1 < len(turns) else ""
            self._page.later(self._branch(session, after))
        else:
            self._edit(session, turns[at])

    def recall(self) -> None:
        """Edit what was said last."""
        session = self._page.session
        if session is not None and (turns := _said(session)):
            self._edit(session, turns[-1])

    def _edit(self, session: Session, block: UserBlock) -> None:
        if not session.damage:
            from studio.domain.messages import Text

            files = [part for part in block.said if not isinstance(part, Text)]
            self._page.composer.attachments.replace(files)
            self._page.composer.set_text(block.text)
            self._page.composer.setFocus()
            self.editing = "" if session.running else block.turn_id
            self.show()

    def _text_changed(self) -> None:
        if self.editing and not self._page.composer.text:
            self.editing = ""
            self.show()

    async def edited(self, turn_id: str) -> Session:
        """The chat that an edited message goes to: a new one, with all that came before it."""
        session = self._page.session
        if self._studio is None or session is None:
            raise ConfigurationError("The chat to go on from is not there any more.")
        made = await self._studio.sessions.branch(session.info.id, turn_id)
        self._page.open(made)
        return made


def _said(session: Session) -> list[UserBlock]:
    from studio.domain.blocks import UserBlock

    return [block for block in session.transcript.blocks if isinstance(block, UserBlock)]


def _limit(session: Session | None) -> str:
    """The setting of the limit that the last turn met: ``turn_dollars``; empty if it met none."""
    from studio.domain.blocks import EndBlock

    last = session.transcript.blocks[-1] if session and session.transcript.blocks else None
    if not isinstance(last, EndBlock) or not last.cap:
        return ""
    return f"{last.cap}_{'dollars' if last.reason == 'money_limit' else 'tokens'}"
