"""Seatbelt sandbox: runs commands under ``sandbox-exec``, on macOS."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from .git_hooks_guard import repositories
from .sandbox_mounts import AGENT_FOLDERS, ENVIRONMENT, Launch, TempFolders, VisiblePaths

_PROGRAM = "/usr/bin/sandbox-exec"
_BASE = """\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal process-info* (target same-sandbox))
(allow sysctl-read)
(allow pseudo-tty)
(allow ipc-posix-sem ipc-posix-shm)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.bsd.dirhelper"))
(allow file-read*)
(allow file-ioctl (literal "/dev/tty") (literal "/dev/ptmx"))
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty")
  (literal "/dev/stdout") (literal "/dev/stderr") (literal "/dev/ptmx") (regex #"^/dev/ttys"))"""
_NETWORK = """\
(allow network-outbound (remote ip "*:*"))
(allow network-inbound network-bind (local ip "*:*"))
(allow system-socket)
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.trustd.agent"))"""
_LATER = ("hooks", "config", "config.worktree", "commondir", "modules", "worktrees")
_SHARED = ("/private/tmp", "/private/var/tmp", "/private/var/folders", "/private/var/run")


class Seatbelt:
    """The sandbox on macOS; see ``Sandbox``.

    Commands see the same file system as other programs: their temporary files go to a folder
    of the studio's, named by TMPDIR, and those of other programs cannot be read.
    """

    kind = "sandbox-exec"
    label = "Sandboxed"
    reason = ""
    desks = False

    def __init__(self, places: VisiblePaths) -> None:
        self._places = places
        self._temp_folders = TempFolders()

    def argv(self, launch: Launch) -> list[str]:
        """The arguments that run a command."""
        launch = replace(launch, folder=Path(os.path.realpath(launch.folder)))
        temporary = self._temp_folders.of(launch.folder)
        text = profile(self._places, launch, [temporary])
        unset = [part for name in ENVIRONMENT for part in ("-u", name)]
        ours = [f"TMPDIR={temporary}", f"XDG_CACHE_HOME={temporary / 'cache'}"]
        shell = ["/usr/bin/env", *unset, *ours, "/bin/sh", "-c", launch.command]
        return [_PROGRAM, "-p", text, *shell]

    def rules(self) -> int | None:
        return None

    def left(self) -> None:
        return

    def close(self) -> None:
        """Remove the temporary folders of commands."""
        self._temp_folders.close()


def profile(places: VisiblePaths, launch: Launch, writable: Sequence[Path]) -> str:
    """The profile for one command; of the rules that match a file the last one counts."""
    folder = launch.folder
    home = Path(os.path.realpath(places.home))
    secrets = [path for path in places.secrets() if not folder.is_relative_to(path)]
    apart = [path for path in places.hidden() if path != folder]
    shown = [Path(os.path.realpath(path)) for path in places.programs(launch.environment)]
    roots = [folder, *launch.writable]
    looked = [repositories(root) for root in roots]
    gits = list(dict.fromkeys([folder / ".git", *(git for found, _ in looked for git in found)]))
    kept = [
        *(place for _, closed in looked for place in closed),
        *(root / name for root in roots for name in AGENT_FOLDERS),
        *(git / name for git in gits for name in _LATER),
    ]
    # Nor may the folders above them be moved away and made anew.
    inside = [one for one in launch.kept if one.is_relative_to(folder)]
    kept_in = [place for git in gits for place in (git, *_between(git, *roots))]
    kept_in += [place for one in inside for place in _between(one, folder)]
    rules = [_BASE, _NETWORK if launch.network else "(deny network*)"]
    rules += _rule("deny", "file-read* file-write*", [*apart, *map(Path, _SHARED)])
    rules += _rule("allow", "file-read*", shown)
    rules += _rule("allow", "file-read-metadata", [home, *folder.parents], "literal")
    rules += _rule("allow", "file-read*", [one for one in launch.shown if one.is_dir()])
    rules += _rule("allow", "file-read* file-write*", [*writable, *roots])
    rules += _rule("deny", "file-read* file-write*", secrets)
    rules += _rule("allow", "file-read*", launch.shown, "literal")
    rules += _rule("deny", "file-write*", kept)
    rules += _rule("deny", "file-write*", launch.kept, "literal")
    rules += _rule("deny", "file-write-unlink", kept_in, "literal")
    rules += _rule("deny", "file-read* file-write*", launch.hidden)
    return "\n".join(rules)


def _between(git: Path, *roots: Path) -> list[Path]:
    """The folders above a repository, below the session's folder or another that is written."""
    return [
        path
        for path in git.parents
        if any(path != root and path.is_relative_to(root) for root in roots)
    ]


def _rule(verdict: str, what: str, paths: Iterable[Path], how: str = "subpath") -> list[str]:
    named = [f"({how} {_quoted(str(path))})" for path in dict.fromkeys(paths)]
    return [f"({verdict} {what} {' '.join(named)})"] if named else []


def _quoted(text: str) -> str:
    """A string of the profile's language; a path may hold anything but NUL."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
