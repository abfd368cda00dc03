"""A server as the settings show it: how it is, what is wrong, and what mends it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from studio.agent.servers.advice import needs_uv
from studio.agent.servers.server_calls import ToolView
from studio.agent.servers.server_tools import ServerView
from studio.domain.codec import decode
from studio.domain.jsonvalue import as_text
from studio.mcp.catalogue import INSTRUCTIONS
from studio.mcp.confinement import Confinement
from studio.mcp.entries import ServerEntry, keychain_names
from studio.mcp.faults import FaultKind
from studio.mcp.lists import ServerLists, ServerTool
from studio.mcp.supervised import ServerState
from studio.ui.translation import tr

from .changed_tool import Change, tool_lines

Cure: TypeAlias = Literal[
    "",
    "set",
    "value",
    "key",
    "change",
    "client",
    "sign_in",
    "stop",
    "uv",
    "log",
    "again",
    "tool",
    "place",
]
"""What mends a server. ``set``: a key that its entry names; ``value``: that of a variable; ``key``:
one in a header; ``change``: another command or address; ``place``: where it runs; ``tool``: a look
at one left out."""
_SIGN_INS: Mapping[str, Cure] = {"in": "sign_in", "client": "client", "stop": "stop"}
_CHANGED: tuple[FaultKind, ...] = (
    *("not_found", "refused", "protocol", "exited", "network", "address", "variable"),
)
"""Faults of which the command or the address may be the cause."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server, how it is and what is known of it. ``doctor`` says what is wrong and what to do.

    ``missing`` are names in the keychain that have no value. ``logged``: it wrote to stderr.
    ``issuer`` is where the person is signed in, which is only known of the server that is open.
    ``client_wanted``: they have to register this program there before they can sign in.
    """

    view: ServerView
    doctor: str = ""
    missing: tuple[str, ...] = ()
    logged: bool = False
    issuer: str = ""
    client_wanted: bool = False
    unset: str = ""
    """A variable that it needs and that has no value here."""
    may: Confinement | None = None
    """What one on this computer may reach in the sandbox (M-18)."""

    @property
    def entry(self) -> ServerEntry:
        return self.view.entry

    @property
    def state(self) -> ServerState:
        return self.view.state

    @property
    def lists(self) -> ServerLists | None:
        """What it offers; None while that was never seen."""
        return self.view.known.lists if self.view.known.fetched else None

    @property
    def tokens(self) -> int:
        return self.view.tokens

    @property
    def withheld(self) -> bool:
        """Whether it is on, and another one than was approved."""
        return self.state.kind == "withheld"

    @property
    def sign_in(self) -> str:
        """What the button about signing in does: ``in``, ``client``, ``stop`` or nothing."""
        if self.state.kind == "signing_in":
            return "stop"
        if self.state.kind != "sign_in" or self.withheld:
            return ""
        return "client" if self.client_wanted else "in"

    @property
    def cure(self) -> Cure:
        """What the button beside the doctor's sentence does."""
        fault, kind = self.state.fault, self.state.kind
        own = not self.entry.place  # else it is changed where it is from
        if self.withheld:
            return ""
        if self.missing:
            return "set"
        if self.sign_in:
            return _SIGN_INS[self.sign_in]
        if kind != "failed" or fault is None:
            return "tool" if self.left_out and self.doctor else ""
        if self.needs_uv:
            return "uv"
        if fault.kind == "sandbox" or (fault.kind == "exited" and self.entry.is_cut_off):
            return "place"
        if self.logged and fault.kind == "exited":
            return "log"
        if own and fault.kind == "variable" and self.unset:
            return "value"
        if own and fault.kind in ("key", "forbidden"):
            return "key"
        return "change" if own and fault.kind in _CHANGED else "again"

    @property
    def left_out(self) -> list[ToolView]:
        """Tools that no agent can have, whatever the person says."""
        return left_out(self.view)

    @property
    def keys(self) -> list[str]:
        """The names in the keychain of keys in its headers."""
        return keychain_names(ServerEntry(self.entry.name, headers=self.entry.headers))

    @property
    def needs_uv(self) -> bool:
        """Whether it would start if there were a uv."""
        return self.state.kind == "failed" and needs_uv(self.entry, self.state.fault)

    @property
    def waiting(self) -> list[ToolView]:
        """Tools that changed, and wait for the person."""
        return [one for one in self.view.tools if one.before is not None and not one.off]

    @property
    def changes(self) -> list[Change]:
        """How tools and instructions differ from what the person saw."""
        found = [
            Change(
                one.tool.name,
                self.view.known.pins[one.tool.name],
                tr("{name} changed since you allowed it").format(name=one.tool.name),
                tuple(tool_lines(cast("ServerTool", decode(ServerTool, one.before)))),
                tuple(tool_lines(one.tool)),
                one.flags,
            )
            for one in self.waiting
        ]
        before = self.view.known.changed.get(INSTRUCTIONS)
        if before is not None and self.lists is not None:
            lines = as_text(before.get("instructions")).splitlines()
            title = tr("What it tells agents changed since you allowed it")
            now = self.lists.instructions.splitlines()
            pin = self.view.known.pins[INSTRUCTIONS]
            found.append(Change(INSTRUCTIONS, pin, title, tuple(lines), tuple(now)))
        return found


def left_out(view: ServerView) -> list[ToolView]:
    """Tools of a server that are on, and that cannot be offered to any agent."""
    return [one for one in view.tools if one.withheld and one.before is None and not one.off]
