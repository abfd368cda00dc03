"""Calls of the built-in tools, as a scripted model makes them."""

from __future__ import annotations

from studio.simulator import Call


def read(path: str) -> Call:
    return Call("read", {"path": path})


def run(command: str) -> Call:
    return Call("run", {"command": command})


def write(path: str, text: str) -> Call:
    return Call("write", {"path": path, "content": text})
