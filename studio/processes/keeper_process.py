"""Keeper process: starts commands, and ends each with everything that it started (L-11).

The program starts it as a script, ``python -I -S``, see ``keeper``. It imports nothing of this
package and little else, so that it is there at once and small.

Its standard input is a socket of the program. A byte on it comes with descriptors: ``START``
with a socket for one command, its three streams and perhaps a ruleset; ``SWEEP`` with a socket
alone. For each command it forks a supervisor. That adopts all orphans among what the command
starts (a *subreaper*, Linux), so that nothing leaves its tree, whatever it forks, ignores or
takes out of its environment. The supervisor ends the tree when the program has no more to write
on the command's socket: because it says so, or because it was killed. If a command kills its
supervisor, the orphans come here, and end.

Other systems have no subreapers. There the tree, the process group and a variable of the
environment tell what belongs to a command, so that what left all three is missed.

A supervisor writes lines: ``starting``; ``started PID``, or ``failed ERRNO TEXT``;
``exited CODE``, as ``subprocess`` counts it; ``over`` when nothing is left; ``stuck`` when
something is that no signal ends, such as a process of another user. It goes on trying then.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
import time
from _socket import CMSG_LEN, SCM_RIGHTS, socket  # ``socket`` imports ten times as much
from contextlib import suppress

TYPE_CHECKING = False  # ``typing`` is not imported for it
if TYPE_CHECKING:
    import ctypes
    from collections.abc import Callable

START, SWEEP = b"r", b"s"
MARK = "AGENT_STUDIO_RUN"
"""A variable that names the supervisor of whoever has it: its id and when it started."""
NAME = b"studio-keeper"
"""What the system calls this process and its supervisors."""
_DEAF = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
"""What this process ignores, since it ends with the program."""
_PYTHONS = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores, and commands do not."""
_MOST_PASSED = 5
"""Descriptors that come with one byte."""
_HUNT = 1.0  # s
_STUCK = 0.6  # s after SIGKILL
_library: list[ctypes.CDLL] = []
"""The system's C library, once it is open."""
_NAME, _SUBREAPER, _NO_NEW_PRIVS, _RESTRICT_SELF = 15, 36, 38, 446
"""Of ``linux/prctl.h``, and the number of ``landlock_restrict_self``."""


def main() -> None:
    """Serve the program until it is gone and nothing is left of its commands."""
    program = socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    restored = [*_PYTHONS, *(one for one in _DEAF if signal.getsignal(one) != signal.SIG_IGN)]
    for each in _DEAF:
        signal.signal(each, signal.SIG_IGN)
    _system("prctl", _NAME, NAME)
    adopt_orphans()
    wake = _wake()
    ours = {_forked(program, sweep)}  # supervisors and sweepers; other children are strays
    open_, hunting, pause = True, 0.0, 0.0
    while True:
        sources = [wake, program] if open_ else [wake]
        ready, _, _ = select.select(sources, [], [], pause if hunting else None)
        if program in ready:
            kind, passed, _, _ = program.recvmsg(1, CMSG_LEN(4 * _MOST_PASSED))
            streams = [fd for _, what, data in passed if what == SCM_RIGHTS for fd in _ints(data)]
            open_ = bool(kind)
            with suppress(OSError):  # no more processes: the program sees the socket closed
                if kind == START:
                    ours.add(_forked(program, supervise, streams, restored))
                elif kind == SWEEP:
                    ours.add(_forked(program, sweep, streams))
            for stream in streams:
                os.close(stream)
        ended, left = _reaped(wake, go_on=True)
        if any(code and pid in ours for pid, code in ended):  # a supervisor was killed
            hunting = time.monotonic() + _HUNT
            with suppress(OSError):
                ours.add(_forked(program, sweep))
        ours.difference_update(pid for pid, _ in ended)
        if hunting:
            strays = [pid for pid in children() if pid not in ours]
            _kill(strays)
            now, pause = time.monotonic(), 0.0 if strays else 0.005
            hunting = now + _HUNT if strays else hunting if now < hunting else 0.0
        if not open_ and not left:
            return


def supervise(streams: list[int], restored: list[signal.Signals]) -> None:
    """Start one command and stay until nothing of it is left."""
    os.setsid()
    order = socket(fileno=os.dup(streams[0]))
    folder, argv, environment, grace, spared, leads = marshal.loads(_request(order))
    adopts = adopt_orphans()
    _say(order, "starting")
    try:
        for number, stream in enumerate(streams[1:4]):
            os.dup2(stream, number)
        if len(streams) > 4:
            _restrict(streams[4])
        for stream in streams:
            os.close(stream)
        os.chdir(folder)
        environment[MARK.encode()] = _identity(os.getpid()).encode()
        if leads:
            # Its keys send signals, which are not ignored as they may be around the program.
            heard = {*restored, *_DEAF, signal.SIGQUIT}
            child = os.posix_spawn(
                argv[0], argv, environment, setsid=True, setsigmask=(), setsigdef=heard
            )
        else:
            child = os.posix_spawn(
                argv[0], argv, environment, setpgroup=0, setsigmask=(), setsigdef=restored
            )
    except (OSError, ValueError, NotImplementedError) as error:
        _say(order, f"failed {_reason(error)}")
        return
    _say(order, f"started {child}")
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(null, number)  # the command's streams are its own now
    _Tree(child, adopts, spared).watch(order, grace)
    _say(order, "over")


class _Tree:
    """A command and all it started; ``adopts``: orphans come here, so nothing is missed.

    ``spared``: the command itself gets no SIGTERM.
    """

    def __init__(self, child: int, adopts: bool, spared: bool) -> None:
        self._child = child
        self._adopts = adopts
        self._spared = spared
        self._mark = _identity(os.getpid())

    def watch(self, order: socket, grace: float) -> None:
        """Wait until nothing is left; with the end of ``order`` end it in ``grace`` seconds."""
        wake = _wake()
        kill_at = first_kill = pause = 0.0
        seen: set[int] = set()
        while self._left(wake, order, bool(kill_at)):
            now = time.monotonic()
            if kill_at and now >= kill_at:
                # One that forks and ends all the time is gone before all processes are looked
                # at; it is a child of this one, like all whose parents have ended.
                found = children() if self._adopts and seen and not pause else self._members()
                _kill(found)
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._child, signal.SIGKILL)  # also where /proc is not to be seen
                # New ones are forked faster than they are found: again at once.
                known = found and seen.issuperset(found)
                pause = min(0.5, 2 * pause + 0.005) if known else 0.0
                seen.update(found)
                kill_at = time.monotonic() + pause
                if time.monotonic() > first_kill + _STUCK:
                    _say(order, "stuck")
                continue
            timeout = max(0.0, kill_at - now) if kill_at else None
            if timeout and not self._adopts:
                timeout = min(timeout, 0.05)  # nobody says when a stranger's child ends
            ready, _, _ = select.select([wake] if kill_at else [wake, order], [], [], timeout)
            if order in ready and not order.recv(16):
                for pid in self._members():
                    if not (self._spared and pid == self._child):
                        _signal(pid, signal.SIGTERM)
                kill_at = first_kill = time.monotonic() + grace

    def _left(self, wake: int, order: socket, ending: bool) -> bool:
        """Whether something is left; tells when the command itself has ended."""
        ended, left = _reaped(wake)
        for pid, code in ended:
            if pid == self._child:
                _say(order, f"exited {code}")
        if self._adopts or left:
            return left
        return bool(self._members()) if ending else True

    def _members(self) -> list[int]:
        table = living()
        found = below(os.getpid(), table)
        if not self._adopts:
            marked = [pid for pid, mark in marks() if mark == self._mark and pid in table]
            roots = {*marked, *(pid for pid, at in table.items() if at[1] == self._child)}
            for root in roots - {os.getpid()}:
                found += [root, *below(root, table)]
        return found


def sweep(streams: list[int] | None = None) -> None:
    """End what has the mark of a supervisor that is no more; then say so."""
    table = living()
    for pid, mark in marks():
        owner = mark.partition(".")[0]
        if owner.isdigit() and _identity(int(owner)) != mark:
            _kill([pid, *below(pid, table)])
    for stream in streams or ():
        _say(socket(fileno=stream), "over")


# --- looking at processes ---------------------------------------------------------------------


def living() -> dict[int, tuple[int, int]]:
    """The parent and the group of each process that lives, by its id; newest last."""
    found: dict[int, tuple[int, int]] = {}
    if sys.platform == "linux":
        for pid in _numbers():
            stat = _stat(pid)
            # A process whose first thread has ended looks like a zombie, and lives.
            if stat and (stat[0] not in (b"Z", b"X") or int(stat[17]) > 1):
                found[pid] = int(stat[1]), int(stat[2])
        return found
    for line in _ps("-axo", "pid=,ppid=,pgid=,stat="):
        pid, parent, group, state = line.split(maxsplit=3)
        if not state.startswith("Z"):
            found[int(pid)] = int(parent), int(group)
    return found


def below(root: int, table: dict[int, tuple[int, int]]) -> list[int]:
    """The descendants of a process."""
    by_parent: dict[int, list[int]] = {}
    for pid, (parent, _) in table.items():
        by_parent.setdefault(parent, []).append(pid)
    found = list(by_parent.get(root, ()))
    for pid in found:
        found += by_parent.get(pid, ())
    return found


def children() -> list[int]:
    """The children of this process, which has one thread, newest first.

    Quick where the system lists them.
    """
    own = os.getpid()
    try:
        return [int(pid) for pid in _content(f"/proc/self/task/{own}/children")[0].split()][::-1]
    except OSError:
        return [pid for pid, (parent, _) in living().items() if parent == own]


def marks() -> list[tuple[int, str]]:
    """The processes of this user and of this namespace that have ``MARK``, and its value."""
    found: list[tuple[int, str]] = []
    if sys.platform == "linux":
        wanted = f"{MARK}=".encode()
        for pid in _numbers():
            with suppress(OSError):
                data, (_, owner) = _content(f"/proc/{pid}/environ")
                for entry in data.split(b"\0") if owner == os.getuid() else ():
                    if entry.startswith(wanted) and _same_namespace(pid):
                        found.append((pid, entry[len(wanted) :].decode("ascii", "replace")))
        return found
    for line in _ps("-axwwE", "-o", "pid=,command="):
        pid, _, rest = line.strip().partition(" ")
        _, mark, value = rest.rpartition(f" {MARK}=")
        if mark and value:
            found.append((int(pid), value.split()[0]))
    return found


def begun_by_a_command() -> bool:
    """Whether this process is a command that was begun here, or below one.

    On Linux also where a command took the mark out of what it begins: those above still have it,
    and what leaves its parents is below a supervisor, which adopts it.
    """
    if os.environ.get(MARK):
        return True
    pid, seen = os.getppid(), set[int]()
    while sys.platform == "linux" and pid > 1 and pid not in seen:
        seen.add(pid)
        with suppress(OSError):  # another user's
            if _content(f"/proc/{pid}/comm")[0].rstrip(b"\n") == NAME:
                return True
            if any(one.startswith(f"{MARK}=".encode()) for one in _environ(pid)):
                return True
        stat = _stat(pid)
        pid = int(stat[1]) if stat else 0
    return False


def _environ(pid: int) -> list[bytes]:
    return _content(f"/proc/{pid}/environ")[0].split(b"\0")


def _same_namespace(pid: int) -> bool:
    """Not a container's: what it calls process 7 is another one here."""
    return _content(f"/proc/{pid}/ns/pid")[1] == _content("/proc/self/ns/pid")[1]


def _identity(pid: int) -> str:
    """The id with the time of the start, where that can be known; empty if it is gone."""
    if sys.platform == "linux":
        stat = _stat(pid)
        return f"{pid}.{int(stat[19])}" if stat and stat[0] not in (b"Z", b"X") else ""
    with suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ""
    return f"{pid}."


def _numbers() -> list[int]:
    with suppress(OSError):
        return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]
    return []


def _stat(pid: int) -> list[bytes]:
    """The fields after the name, which may hold anything; none if the process is gone."""
    with suppress(OSError):
        return _content(f"/proc/{pid}/stat")[0].rpartition(b")")[2].split()
    return []


def _content(path: str) -> tuple[bytes, tuple[int, int]]:
    """A file's content, none if it has none to read, with its inode and its owner."""
    file = os.open(path, os.O_RDONLY)
    try:
        data = b""
        with suppress(OSError):
            while more := os.read(file, 1 << 16):
                data += more
        about = os.fstat(file)
        return data, (about.st_ino, about.st_uid)
    finally:
        os.close(file)


def _ps(*options: str) -> list[str]:
    """The lines of ``ps``, without its own."""
    import subprocess

    with subprocess.Popen(["/bin/ps", *options], stdout=subprocess.PIPE) as child:
        said = child.communicate()[0].decode("utf-8", "replace")
    own = str(child.pid)
    return [line for line in said.splitlines() if line.split() and line.split()[0] != own]


# --- processes and the system -----------------------------------------------------------------


def adopt_orphans() -> bool:
    """Become the parent of all orphans among one's descendants; False where that is unknown."""
    return sys.platform == "linux" and _system("prctl", _SUBREAPER, 1) == 0


def _restrict(rules: int) -> None:
    """Put this process and all it starts under a Landlock ruleset; raises OSError."""
    if _system("prctl", _NO_NEW_PRIVS, 1) or _system("syscall", _RESTRICT_SELF, rules):
        raise OSError("Landlock refused the rules.")


def _system(function: str, number: int, value: int | bytes = 0) -> int:
    """Call ``prctl`` or ``syscall``; -1 where there is none."""
    try:
        import ctypes

        if not _library:  # opened once: supervisors, which are forks, have it too
            _library.append(ctypes.CDLL(None))
        call = getattr(_library[0], function)
        given = value if isinstance(value, bytes) else ctypes.c_ulong(value)
        nothing = ctypes.c_ulong(0)
        return call(ctypes.c_long(number), given, nothing, nothing, nothing)
    except (ImportError, OSError, AttributeError):
        return -1


def _forked(program: socket, work: Callable[..., None], *arguments: object) -> int:
    """Run a function in a fork of this process; returns its id. Raises OSError."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        program.close()  # the program sees at once when this process is gone
        work(*arguments)
        code = 0
    finally:
        os._exit(code)


def _wake() -> int:
    """A descriptor that can be read when a child ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return reading


def _reaped(wake: int, *, go_on: bool = False) -> tuple[list[tuple[int, int]], bool]:
    """The children that ended since, with their codes, and whether there are more.

    ``go_on``: those that were stopped are continued.
    """
    ended: list[tuple[int, int]] = []
    with suppress(BlockingIOError):
        os.read(wake, 1 << 12)
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG | (os.WUNTRACED if go_on else 0))
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        if os.WIFSTOPPED(status):
            _signal(pid, signal.SIGCONT)
        else:
            ended.append((pid, os.waitstatus_to_exitcode(status)))


def _kill(pids: list[int]) -> None:
    for pid in pids:
        _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _request(order: socket) -> bytes:
    """What to start: its length in eight bytes, then itself. Ends here without a program."""
    data = b""
    while len(data) < 8 or len(data) < 8 + int.from_bytes(data[:8], "big"):
        if not (more := order.recv(1 << 16)):
            os._exit(0)
        data += more
    return data[8:]


def _reason(error: OSError | ValueError | NotImplementedError) -> str:
    """The error's number, 0 if it has none, and its words."""
    if not isinstance(error, OSError) or error.errno is None:
        return f"0 {error}"
    place = f": {os.fsdecode(error.filename)}" if error.filename else ""
    return f"{error.errno} {error.strerror}{place}"


def _say(order: socket, line: str) -> None:
    with suppress(OSError):  # the program is gone
        order.sendall(line.replace("\n", " ").encode("utf-8", "replace") + b"\n")


def _ints(data: bytes) -> list[int]:
    return memoryview(data).cast("i").tolist()


if __name__ == "__main__":
    main()
