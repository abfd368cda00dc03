"""Server advice: says what a person can do where an MCP server does not work, in one sentence."""

from __future__ import annotations

from studio.mcp.entries import ServerEntry
from studio.mcp.faults import FaultKind, ServerFailed
from studio.mcp.uv import is_uv

_ADVICE: dict[FaultKind, str] = {
    "off": "Switch it on after a look at what it runs.",
    "not_found": "Install it, or write the whole path of the command.",
    "refused": "Look at the rights of the file, and at what the system says of it.",
    "variable": "Set the variable, or put the value into the keychain.",
    "exited": "Its log says why; start the command in a terminal to see it.",
    "silent": "It may be downloading: try again, or start the command in a terminal.",
    "protocol": "It writes something else than MCP: see that the command starts the server itself.",
    "network": "Look at the connection and at the address.",
    "certificate": "Its certificate is not trusted here: ask whoever runs it.",
    "sign_in": "It wants you to sign in, in your browser.",
    "rights": "It wants you to sign in again, for more than you allowed it.",
    "client": "Whoever runs it gives you the client ID.",
    "key": "Put a key of it into a header, or another one.",
    "forbidden": "The token may do less than this needs: make another one.",
    "address": "Look at the path of the address; many end with /mcp.",
    "sandbox": "Make the sandbox work, see docs/sandbox.md, or let it run with your rights.",
}


NO_UV = "Have uv fetched, which starts it: 20 MB from PyPI, here or with “agent-studio mcp get-uv”."


def needs_uv(entry: ServerEntry, fault: ServerFailed | None) -> bool:
    """Whether a server does not start because there is no uv."""
    if fault is None or fault.kind != "not_found" or not is_uv(entry.command):
        return False
    return f"program {entry.command}" in str(fault)  # it may be its folder that is not there


def advice(fault: ServerFailed, entry: ServerEntry | None = None) -> str:
    """What to do about a fault."""
    if entry is not None and needs_uv(entry, fault):
        return NO_UV
    runtime = fault.line.casefold()
    if fault.kind == "exited" and any(word in runtime for word in ("syntaxerror", "requires")):
        return "The runtime may be too old for it: look at which version it wants."
    if fault.kind == "exited" and any(word in runtime for word in ("enotfound", "resolve", "404")):
        return "It could not be downloaded: look at the connection and at the package's name."
    return _ADVICE[fault.kind]
