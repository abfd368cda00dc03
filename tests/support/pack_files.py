"""Packs for tests: writes their files, and packs them as zip and git."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

from studio.extensions.packs.manifest import NAMESPACE, SCHEMA, SERVER_SCHEMA

OURS = NAMESPACE
SKILL = "---\ndescription: Writes deeds. For contracts.\n---\nWrite a deed.\n"
COMMAND = "---\ndescription: Reviews a deed\n---\nReview $ARGUMENTS\n"
AGENT = """---
name: Clerk
description: Keeps the office's files
tools: [read, search]
permissions:
  allow: ["read(*.md)"]
---
You keep the files.
"""
WORKFLOW = """---
name: Intake
description: Takes in a letter
steps:
  - {id: read, title: Read, agent: Clerk}
---
## Read

Read the letter.
"""
SERVERS = {
    "$schema": SERVER_SCHEMA,
    "mcpServers": {
        "files": {
            "type": "stdio",
            "command": "./bin/server",
            "args": ["--data", "${PLUGIN_DATA}/x", "${HOME}"],
            "cwd": "${PLUGIN_ROOT}",
        },
        "out": {"type": "stdio", "command": "../bin/server"},
        "cloud": {"type": "streamable-http", "url": "https://mcp.example.com/mcp"},
        "plain": {"type": "streamable-http", "url": "http://mcp.example.com/mcp"},
    },
}
HOOKS = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
    {"type": "command", "command": "echo checked"}]}]}}  # fmt: skip


def manifest(name: str = "office", **more: object) -> dict[str, object]:
    return {"$schema": SCHEMA, "name": name, "version": "1.0.0", **more}


def write_pack(
    folder: Path, files: Mapping[str, str | bytes] | None = None, **more: object
) -> Path:
    """A pack with one of everything, or with ``files`` alone besides its manifest."""
    usual: dict[str, str | bytes] = {
        "skills/deed/SKILL.md": SKILL,
        "skills/deed/sample.txt": "sample",
        "mcp.json": json.dumps(SERVERS),
        "bin/server": "#!/bin/sh\nexit 0\n",
        f"{OURS}/commands/review-deed.md": COMMAND,
        f"{OURS}/agents/clerk.md": AGENT,
        f"{OURS}/workflows/intake.md": WORKFLOW,
        f"{OURS}/hooks.json": json.dumps(HOOKS),
        f"{OURS}/tools/count.py": "def count() -> int:\n    return 1\n",
        f"{OURS}/schema/001_first.sql": "CREATE TABLE deed (id INTEGER PRIMARY KEY, title TEXT);\n",
        f"{OURS}/data/fees.csv": "a;1\n",
    }
    ours = more.pop("ours", {"title": "The office", "wants": {"hosts": ["example.com"]}})
    said = manifest(**{"extensions": {OURS: ours}, **more})  # type: ignore[arg-type]
    for name, content in {"plugin.json": json.dumps(said), **(files or usual)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if files is None:
        (folder / "bin/server").chmod(0o755)
    return folder


def zip_pack(folder: Path, path: Path, top: str = "") -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for one in sorted(folder.rglob("*")):
            if one.is_file():
                packed.write(one, f"{top}{one.relative_to(folder).as_posix()}")
    return path


def git(folder: Path, *arguments: str) -> str:
    """Run git as nobody in particular."""
    who = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    name = {f"GIT_{one}_{part}": "a@b.de" for one in ("AUTHOR", "COMMITTER")
            for part in ("NAME", "EMAIL")}  # fmt: skip
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, **who, **name},
        capture_output=True,
        check=True,
    )
    return done.stdout.decode().strip()


def commit_pack(folder: Path) -> str:
    """Commit all files of a folder, which becomes a repository; returns the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "--quiet", "-m", "A version")
    return git(folder, "rev-parse", "HEAD")
