"""Bubblewrap sandbox: runs commands in their own namespaces, on Linux.

Abstract sockets have no path that could be hidden, and belong to the network namespace: a
command with a network could reach the display or a bus through them. Landlock closes them, on
Linux 6.12 and later. The numbers are those of ``linux/landlock.h``.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from .desk import Desk
from .git_hooks_guard import GitHooksGuard
from .sandbox_mounts import AGENT_FOLDERS, ENVIRONMENT, Launch, TempFolders, VisiblePaths

_CREATE = 444
_VERSION = 1
_SCOPED = 6
"""The first version of Landlock with scopes."""
_ABSTRACT_SOCKET = 1


def scope_rules() -> int | None:
    """A Landlock ruleset that closes abstract sockets of others: a descriptor, to be closed.

    None where the system cannot.
    """
    if not sys.platform.startswith("linux"):
        return None
    import ctypes  # commands alone need it

    try:
        system = ctypes.CDLL(None, use_errno=True)
        if system.syscall(_CREATE, None, ctypes.c_size_t(0), _VERSION) < _SCOPED:
            return None
        # handled_access_fs, handled_access_net, scoped
        wanted = (ctypes.c_uint64 * 3)(0, 0, _ABSTRACT_SOCKET)
        size = ctypes.c_size_t(ctypes.sizeof(wanted))
        rules = system.syscall(_CREATE, ctypes.byref(wanted), size, 0)
    except (OSError, AttributeError):  # another C library
        return None
    return rules if rules >= 0 else None


_ALONE = (
    *("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
_PRIVATE = ("/tmp", "/var/tmp", "/run", "/var/run")
"""Folders of the system where programs meet: sockets of agents, buses, displays."""
_NEEDED = (
    *("/run/systemd/resolve/stub-resolv.conf", "/run/systemd/resolve/resolv.conf"),
    *("/run/NetworkManager/resolv.conf", "/run/resolvconf/resolv.conf"),
    *("/run/current-system", "/run/booted-system", "/run/opengl-driver"),
)
"""What of those is shown all the same: DNS configuration, and the system of NixOS."""
_KERNEL = ("/proc/sys", "/proc/sysrq-trigger")
"""Where root may change the kernel without any capability."""
_ROOT = Path("/")
_Kind: TypeAlias = Literal["empty", "read", "write", "nothing", "tmp"]


class Bubblewrap:
    """The sandbox on Linux; see ``Sandbox``.

    All of the computer is read-only. The home folder is empty, except for folders in which
    programs are installed; what is written there is lost when the command ends.
    ``/tmp`` is kept for the next command in the same folder, until the program ends.
    """

    kind = "bubblewrap"
    label = "Sandboxed"
    reason = ""
    desks = True

    def __init__(self, program: str, places: VisiblePaths, *, scoped: bool = True) -> None:
        """``scoped``: abstract sockets are closed to commands with a network, where possible."""
        self._program = program
        self._places = places
        self._scoped = scoped
        self._temp_folders = TempFolders()
        self._git_hooks = GitHooksGuard()

    def argv(self, launch: Launch) -> list[str]:
        """The arguments that run a command."""
        folder = Path(os.path.realpath(launch.folder))
        kept = self._git_hooks.hold(folder, *launch.writable)
        try:
            return self._argv(launch, folder, kept)
        except BaseException:
            self._git_hooks.release()
            raise

    def _argv(self, launch: Launch, folder: Path, kept: Sequence[Path]) -> list[str]:
        mounts = self._mounts(folder, kept, launch)
        root = mounts.pop(Path("/"), "read")
        argv = [self._program, *_ALONE]
        if not launch.network:
            argv.append("--unshare-net")
        if launch.terminal:
            argv.append("--as-pid-1")  # so that the shell leads the session that has it
        argv += ["--bind" if root == "write" else "--ro-bind", "/", "/"]
        argv += ["--dev", "/dev", "--proc", "/proc"]
        for name in _KERNEL:
            argv += ["--ro-bind-try", name, name]
        for path in sorted(mounts, key=lambda path: len(path.parts)):  # inner ones come later
            argv += self._mount(mounts[path], str(path), folder, launch.desk)
        for name in ENVIRONMENT:
            argv += ["--unsetenv", name]
        argv += ["--setenv", "TMPDIR", "/tmp", "--chdir", str(folder / launch.inside)]
        return [*argv, "--", "/bin/sh", "-c", launch.command]

    def rules(self) -> int | None:
        """Close abstract sockets, unless bubblewrap is setuid: then it could not start."""
        if self._scoped and not Path(self._program).stat().st_mode & stat.S_ISUID:
            return scope_rules()
        return None

    def left(self) -> None:
        """Remove the placeholders of ``GitHooksGuard``, once the last command has ended."""
        self._git_hooks.release()

    def close(self) -> None:
        """Remove the ``/tmp`` folders of commands."""
        self._temp_folders.close()

    def _mounts(self, folder: Path, kept: Sequence[Path], launch: Launch) -> dict[Path, _Kind]:
        places = self._places
        mounts: dict[Path, _Kind] = {
            Path(name): "empty"
            for name in _PRIVATE
            if os.path.isdir(name) and not os.path.islink(name)  # noqa: PTH112, PTH114 - texts are faster
        }
        mounts[Path("/tmp")] = "tmp"
        mounts |= dict.fromkeys(places.hidden(), "empty")
        shown = [Path(name) for name in _NEEDED if os.path.exists(name)]  # noqa: PTH110
        for path in (*shown, *places.programs(launch.environment)):
            if not path.is_relative_to(folder) and not _inside(path, mounts, "read"):
                mounts[path] = "read"
        mounts[folder] = "write"
        if (desk := launch.desk) is not None:  # what could be protected is not on it
            mounts |= {folder / name: "read" for name in desk.shared}
            kept = ()
        else:
            kept = [*kept, *(one for one in launch.kept if _is_own(one, folder))]
        for path in launch.writable:
            if not _inside(path, mounts, "write"):
                mounts[path] = "write"
        for root in (folder, *launch.writable):
            mounts |= _protected(root, [one for one in kept if one.is_relative_to(root)])
        # After the rest, which may show parts of them; not where the session's folder is in one.
        for path in places.secrets():
            if not folder.is_relative_to(path) and not _inside(path, mounts, "empty", "tmp"):
                mounts[path] = "empty" if path.is_dir() else "nothing"
        whole = Path(os.path.realpath(places.home)).is_relative_to(folder)
        for path in _sockets():
            if not _inside(path, mounts, "empty", "tmp", "nothing") and (
                whole or not path.is_relative_to(folder)
            ):
                mounts[path] = "nothing"
        for path in launch.shown:
            if not _inside(path, mounts, "read", "write"):
                mounts[path] = "read"
        for path in sorted(launch.hidden, key=lambda path: len(path.parts)):
            if path in (folder, *folder.parents) or _inside(path, mounts, "empty", "tmp"):
                continue
            if desk is not None and path.is_relative_to(folder) and not desk.has(path):
                continue  # the mount would make it
            for inner in [one for one in mounts if one.is_relative_to(path)]:
                del mounts[inner]
            # A command could move its folder, and with that to where a draft may be made of it.
            if desk is not None and path.is_relative_to(folder) and desk.leave_out(path):
                continue
            mounts[path] = "empty" if path.is_dir() else "nothing"
        return mounts

    def _mount(self, kind: _Kind, path: str, folder: Path, desk: Desk | None) -> list[str]:
        if kind == "empty":
            return ["--tmpfs", path]
        if kind == "tmp":
            # Not below a mount: by a link a command could redirect the mount of the next one.
            below = folder.is_relative_to(path)
            return (
                ["--tmpfs", path] if below else ["--bind", str(self._temp_folders.of(folder)), path]
            )
        if kind == "nothing":
            return ["--ro-bind", "/dev/null", path]
        if desk is not None and path == str(folder):
            return ["--bind", str(desk.root), path]
        return ["--bind" if kind == "write" else "--ro-bind", path, path]


def _is_own(path: Path, folder: Path) -> bool:
    """Whether a file is really in the folder: none that a link leads to."""
    return path.is_relative_to(folder) and path.is_file() and Path(os.path.realpath(path)) == path


def _protected(folder: Path, kept: Iterable[Path]) -> dict[Path, _Kind]:
    """Mounts of what in the folder must not change.

    Each ``.git``, and each folder above it, is a mount of its own: otherwise it could be
    moved away with all that is in it, and made anew.
    """
    found: dict[Path, _Kind] = {}
    for path in kept:
        above = (each for each in path.parents if each.is_relative_to(folder) and each != folder)
        found.update(dict.fromkeys(above, "write"))
    found.update(dict.fromkeys(kept, "read"))
    for name in AGENT_FOLDERS:
        agents = folder / name
        if agents.exists() and Path(os.path.realpath(agents)) == Path(
            os.path.realpath(folder), name
        ):
            found[agents] = "read"
            if agents.parent != folder:
                found.setdefault(agents.parent, "write")
    return found


def _inside(path: Path, mounts: Mapping[Path, _Kind], *kinds: _Kind) -> bool:
    """Whether the innermost mount around ``path`` is of one of these kinds."""
    text, longest, found = f"{path}/", 0, ""
    for place, kind in mounts.items():  # texts are compared faster than the folders above are made
        around = f"{place}/" if place != _ROOT else "/"
        if len(around) > longest and text.startswith(around):
            longest, found = len(around), kind
    return found in kinds


def _sockets() -> Iterable[Path]:
    """Paths of sockets of running programs; a read-only mount does not prevent connections."""
    try:
        lines = Path("/proc/net/unix").read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    for name in {line.split(maxsplit=7)[-1] for line in lines if " /" in line}:
        try:
            path = Path(os.path.realpath(name))
            if stat.S_ISSOCK(path.lstat().st_mode):
                yield path
        except (OSError, ValueError):
            continue
