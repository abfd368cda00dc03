"""Tool context: holds everything that a tool gets for one call (T-2)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Protocol, TypeVar

from studio.domain.agents import DefinedTool
from studio.domain.drafts import Draft, DraftStatus, FileDraft
from studio.domain.errors import ToolFailed
from studio.domain.jsonvalue import JsonObject
from studio.domain.persons import NOBODY, Person
from studio.domain.plans import Plan
from studio.domain.questions import AskedQuestion, AskForm, Choice, nobody_fills_in
from studio.domain.records import dataclass
from studio.processes.jobs import Jobs
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox, Sandbox
from studio.tools.drafts.seen_files import SeenFiles
from studio.tools.language.language_servers import LanguageServers
from studio.tools.memory.notes import Notes
from studio.tools.packs.home import Home, NoHome, Records
from studio.tools.web import Web
from studio.tools.web.fetcher import anywhere
from studio.tools.workspace.check_list import EditCheck
from studio.tools.workspace.folder import Workspace

from .result import Result


class Drafts(Protocol):
    """The session's drafts that wait for the person."""

    def draft_of(self, path: str) -> FileDraft | None:
        """The draft that waits for a relative path, the file's old or new one; else None."""
        ...

    def waiting(self, *, of_turn: bool) -> Sequence[FileDraft]:
        """The drafts of files that wait: those of this turn, or all others."""
        ...

    async def propose(self, draft: Draft, *more: Draft) -> DraftStatus:
        """Propose drafts to the person, all or none; returns their status, mostly ``waiting``.

        An older one that changes the same file or record is superseded. Raises ToolFailed
        where a rule refuses one of them.
        """
        ...

    async def withdraw(self, draft: Draft) -> None:
        """Withdraw a draft that waits."""
        ...


class NoDrafts:
    """For a context in which nobody can approve a draft; ``propose`` raises ToolFailed."""

    def draft_of(self, path: str) -> FileDraft | None:
        return None

    def waiting(self, *, of_turn: bool) -> Sequence[FileDraft]:
        return ()

    async def propose(self, draft: Draft, *more: Draft) -> DraftStatus:
        raise ToolFailed(f"Nobody is here to approve a draft of {draft.describe().name}.")

    async def withdraw(self, draft: Draft) -> None:
        """There is none."""


class Children(Protocol):
    """The agents that a call may start, and those that its session has started (W-32).

    Each method raises ToolFailed that says what is wrong.
    """

    async def delegate(self, task: Task) -> Result:
        """Have another agent do a task: its answer, or that it has begun in the background."""
        ...

    async def use(self, defined: DefinedTool, arguments: JsonObject) -> Result:
        """Do what a tool does that the agent's file defines: its agent, or its workflow (W-2)."""
        ...

    async def list(self) -> Result:
        """The children of the session, and how far they are."""
        ...

    async def wait(self, child: str, seconds: float) -> Result:
        """Wait for a child in the background, or for all; the results of those that ended."""
        ...

    async def tell(self, child: str, text: str) -> Result:
        """Tell a child something; one that has ended goes on with it."""
        ...

    async def stop(self, child: str) -> Result:
        """End a child, with those that it started."""
        ...


@dataclass(frozen=True, slots=True)
class Task:
    """What another agent is to do. Without ``dollars`` the cap is its own, or a share of what
    its caller has left. ``schema`` is the JSON Schema of its answer."""

    agent: str
    text: str
    files: Sequence[str] = ()
    schema: JsonObject | None = None
    background: bool = False
    dollars: float = 0.0


class NoChildren:
    """For a context in which no agent can be started."""

    async def delegate(self, task: Task) -> Result:
        raise ToolFailed(NO_CHILDREN)

    async def use(self, defined: DefinedTool, arguments: JsonObject) -> Result:
        raise ToolFailed(NO_CHILDREN)

    async def list(self) -> Result:
        raise ToolFailed(NO_CHILDREN)

    async def wait(self, child: str, seconds: float) -> Result:
        raise ToolFailed(NO_CHILDREN)

    async def tell(self, child: str, text: str) -> Result:
        raise ToolFailed(NO_CHILDREN)

    async def stop(self, child: str) -> Result:
        raise ToolFailed(NO_CHILDREN)


class Board(Protocol):
    """The board of the run or chat that a call belongs to (W-40).

    Each method raises ToolFailed that says what is wrong.
    """

    async def read(self, key: str) -> Result:
        """The text under a key, or without one all that there is."""
        ...

    async def write(self, key: str, text: str, version: int) -> Result:
        """Write a text under a key, whose version must be this still."""
        ...

    async def post(self, channel: str, text: str) -> Result: ...

    async def inbox(self, channel: str, seconds: float, after: int | None) -> Result:
        """The messages that were not read here, or those after a number; waits for one."""
        ...

    async def add_task(self, text: str) -> Result: ...

    async def take_task(self, number: int) -> Result: ...

    async def end_task(self, number: int, result: str, *, done: bool) -> Result:
        """Say that a task is done, or give it back."""
        ...


class NoBoard:
    """For a context that belongs to no run and no chat."""

    async def read(self, key: str) -> Result:
        raise ToolFailed(NO_BOARD)

    async def write(self, key: str, text: str, version: int) -> Result:
        raise ToolFailed(NO_BOARD)

    async def post(self, channel: str, text: str) -> Result:
        raise ToolFailed(NO_BOARD)

    async def inbox(self, channel: str, seconds: float, after: int | None) -> Result:
        raise ToolFailed(NO_BOARD)

    async def add_task(self, text: str) -> Result:
        raise ToolFailed(NO_BOARD)

    async def take_task(self, number: int) -> Result:
        raise ToolFailed(NO_BOARD)

    async def end_task(self, number: int, result: str, *, done: bool) -> Result:
        raise ToolFailed(NO_BOARD)


NO_BOARD = "There is no board here."
NO_CHILDREN = "No other agent can be started here."
T = TypeVar("T")


class ServiceRegistry:
    """Services found by their class. A tool asks for one: ``context.services.get(Weather)``."""

    def __init__(self) -> None:
        self._added: dict[type[object], object] = {}

    def add(self, service: object) -> None:
        """Offer a service to the tools; it replaces one of the same class."""
        self._added[type(service)] = service

    def get(self, kind: type[T]) -> T:
        """The service of a class; raises ToolFailed if nobody added one."""
        found = self._added.get(kind)
        if not isinstance(found, kind):
            raise ToolFailed(f"There is no {kind.__name__} here.")
        return found


ROOM = 60_000
"""Characters that a result may have at the most."""


def _silent(text: object) -> None:
    """Output, or a plan, that nobody watches."""


async def _nobody(questions: Sequence[AskedQuestion]) -> str:
    raise ToolFailed("Nobody is here to answer.")


@dataclass(frozen=True, slots=True)
class Context:
    """Everything a tool may use, made anew for each call and never global.

    ``emit`` shows output while the tool still runs; call it on the event
    loop's thread (a tool that is a plain function may call it anywhere).
    ``show_plan`` shows the agent's whole plan.
    ``ask_all`` puts questions to the person and waits for the answers, which are choices or free
    words; it returns them as one text. ``ask_form`` puts a form of a server to the person.
    ``may`` says whether the call may go on to another
    target without a question; ToolFailed if that is refused. ``environment`` is
    what child processes get, without keys; ``sandbox`` is where they run, and ``keeper``
    starts them so that nothing of them is left; ``jobs`` are those that go on.
    ``checks`` are the folder's own for changed files, and ``languages`` the language servers,
    where they may run.
    ``seen`` knows which files the model was shown, and how they were then.
    ``web`` fetches and searches; ``notes`` are those about the folder; ``children`` starts other
    agents, and ``board`` is that of the run or chat. ``services`` has whatever else the program
    offers to tools, found by its class.
    ``person`` is who works here, and ``subject`` what the chat is about, as the pack writes it:
    ``notes:topic/17``. ``home`` is that of the pack that brings the tool.
    """

    workspace: Workspace
    drafts: Drafts = field(default_factory=NoDrafts)
    emit: Callable[[str], None] = _silent
    show_plan: Callable[[Plan], None] = _silent
    ask_all: Callable[[Sequence[AskedQuestion]], Awaitable[str]] = _nobody
    ask_form: AskForm = nobody_fills_in
    may: Callable[[str], Awaitable[bool]] = anywhere
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    sandbox: Sandbox = field(default_factory=NoSandbox)
    keeper: Keeper = field(default_factory=Keeper)
    jobs: Jobs = field(default_factory=Jobs)
    checks: Sequence[EditCheck] = ()
    languages: LanguageServers | None = None
    seen: SeenFiles = field(default_factory=SeenFiles)
    web: Web = field(default_factory=Web)
    notes: Notes = field(default_factory=Notes)
    children: Children = field(default_factory=NoChildren)
    board: Board = field(default_factory=NoBoard)
    services: ServiceRegistry = field(default_factory=ServiceRegistry)
    room: int = ROOM
    """Characters that one result may have, for a tool that divides what it has into parts."""
    numbered: bool = False
    """Whether the model is shown the numbers of lines."""
    waits: bool = False
    """Whether a command is waited for to its end: nobody could look after it later."""
    agent: str = ""
    session_id: str = ""
    call_id: str = ""
    person: Person = NOBODY
    subject: str = ""
    home: Home = field(default_factory=NoHome)

    @property
    def records(self) -> Records:
        """The database of the tool's pack."""
        return self.home.records

    def service(self, kind: type[T]) -> T:
        """The pack's service of a class; raises ToolFailed if there is none."""
        return self.home.service(kind)

    def settings(self, kind: type[T]) -> T:
        """What the person set for the pack, as its class of settings."""
        return self.home.settings(kind)

    async def ask(self, text: str, choices: Sequence[str] = ()) -> str:
        """Put one question to the person; returns one of the choices, or free words."""
        return await self.ask_all([AskedQuestion(text, tuple(map(Choice, choices)))])
