"""Commands in a sandbox: what they see, what they reach, what is left of them (T-7, L-11).

Where the system allows none, each test holds the label to the truth instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from studio.domain.events import AwaitingPermission, Event, ToolFinished
from studio.domain.permissions import Question, Rule
from studio.processes import command_start, git_hooks_guard, sandbox_mounts
from studio.processes.environment import child_environment
from studio.processes.keeper import Keeper
from studio.processes.sandbox import (
    HidingSandbox,
    NoSandbox,
    Sandbox,
    explain_failure,
    find_sandbox,
)
from studio.processes.sandbox_mounts import Launch, VisiblePaths
from studio.processes.seatbelt import profile
from studio.simulator import Call, Text, Turn
from studio.tools import Context, Result, Workspace
from studio.tools.builtin.run import run
from support.engine_home import engine_home, say
from support.waiting import HANG, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands here are for sh")

# Not the person's own: the home folder of these tests is another.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable


class Place:
    """A home with secrets and programs, a session's folder in it, and the sandbox."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.folder = self.home / "project"
        self.data = self.home / ".local/share/agent-studio"
        for name, text in {
            ".ssh/id_ed25519": "PRIVATE",
            ".aws/credentials": "PRIVATE",
            ".netrc": "PRIVATE",
            ".config/gh/hosts.yml": "PRIVATE",
            ".mozilla/firefox/logins.json": "PRIVATE",
            ".local/share/agent-studio/studio.db": "PRIVATE",
            ".cargo/credentials.toml": "PRIVATE",
            "Documents/diary.txt": "PRIVATE",
            ".cargo/bin/tool": "#!/bin/sh\necho tool works\n",
            "opt/thing/bin/thing": "#!/bin/sh\necho thing works\n",
            "opt/thing/lib/part": "part",
            ".gitconfig": "[user]\n\tname = Ada\n",
            "project/a.txt": "a",
            "project/.git/config": "[core]\n",
            "project/.git/HEAD": "ref: refs/heads/main\n",
            "project/.git/hooks/pre-commit": "#!/bin/sh\n",
            "project/.agents/agents/a.md": "an agent",
            "project/.claude/agents/a.md": "an agent",
            "project/.github/agents/a.agent.md": "an agent",
        }.items():
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for name in (".cargo/bin/tool", "opt/thing/bin/thing"):
            (self.home / name).chmod(0o755)
        self.keeper = Keeper()
        self.sandbox: Sandbox = find_sandbox(self.keeper, [self.data], home=self.home)

    @property
    def confined(self) -> bool:
        """Or else the label must say that it is not."""
        if self.sandbox.kind == "none":
            assert self.sandbox.label == "Not sandboxed"
            assert self.sandbox.reason
            return False
        assert self.sandbox.label == "Sandboxed"
        return True

    def context(self, folder: Path | None = None, **more: str) -> Context:
        path = f"{self.home}/.cargo/bin:{self.home}/opt/thing/bin:{os.environ['PATH']}"
        environment = {**child_environment(), "PATH": path, "HOME": str(self.home), **more}
        return Context(
            Workspace(folder or self.folder),
            environment=environment,
            sandbox=self.sandbox,
            keeper=self.keeper,
        )

    async def run(
        self, command: str, *, network: bool = False, folder: Path | None = None, **more: str
    ) -> Result:
        return await run.call(
            self.context(folder, **more), {"command": command, "network": network}
        )


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.sandbox.close()
    place.keeper.close()


class _Hello(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from outside")

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Hello) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def fetched(url: str) -> str:
    code = f"import urllib.request as r; print(r.urlopen('{url}', timeout=900).read().decode())"
    return f'{PYTHON} -c "{code}"'


def working_in(folder: Path) -> list[int]:
    """Processes of this computer whose working folder this is."""
    found: list[int] = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").samefile(folder):
                found.append(int(process.name))
    return found


async def test_the_folder_is_the_sessions_and_can_be_written(place: Place) -> None:
    """T-8."""
    result = await place.run("pwd; cat a.txt; echo b > b.txt; ls b.txt")
    assert result.text == f"{place.folder}\nab.txt"
    assert (place.folder / "b.txt").read_text() == "b\n"


SECRETS = (
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".netrc",
    ".config/gh/hosts.yml",
    ".mozilla/firefox/logins.json",
    ".local/share/agent-studio/studio.db",
    ".cargo/credentials.toml",
)


async def test_secrets_cannot_be_read(place: Place) -> None:
    files = [*SECRETS, "Documents/diary.txt"]
    result = await place.run("; ".join(f"cat ~/{name}" for name in files))
    assert ("PRIVATE" not in result.text) == place.confined
    if place.confined:
        direct = await place.run(f"cat {place.home}/.ssh/id_ed25519 ../.ssh/id_ed25519 2>&1; ls ..")
        assert "PRIVATE" not in direct.text
        assert direct.text.splitlines()[-2:] == ["opt", "project"]


async def test_secrets_cannot_be_read_where_the_home_folder_is_worked_in(place: Place) -> None:
    command = "; ".join(f"cat ~/{name}" for name in SECRETS)
    result = await place.run(f"{command}; cat Documents/diary.txt; touch new", folder=place.home)
    assert (result.text.count("PRIVATE") == 1) == place.confined
    assert (place.home / "new").exists()


async def test_programs_of_the_home_folder_work(place: Place) -> None:
    result = await place.run("tool; thing; cat ~/opt/thing/lib/part; git config user.name")
    assert result.text == "tool works\nthing works\npartAda"


async def test_credentials_beside_the_name_are_not_shown(place: Place) -> None:
    (place.home / ".gitconfig").write_text('[url "https://a:PRIVATE@host/"]\n')
    result = await place.run("cat ~/.gitconfig")
    assert ("PRIVATE" not in result.text) == place.confined


async def test_outside_of_the_folder_nothing_can_be_written(place: Place) -> None:
    outside = place.home / "opt/thing/lib/part"
    result = await place.run("echo x > ~/opt/thing/lib/part; echo x > ~/loose; echo x > /usr/x")
    if place.confined:
        assert outside.read_text() == "part"
        assert not (place.home / "loose").exists()
        assert "only the working folder" in result.text
    else:
        assert outside.read_text() == "x\n"
        Path("/usr/x").unlink(missing_ok=True)


async def test_w21_what_runs_later_is_kept_as_it_is(place: Place) -> None:
    attempts = (
        "echo evil > .git/hooks/pre-commit",
        "echo evil > .git/hooks/post-checkout",
        "echo evil >> .git/config",
        "rm -rf .git/hooks",
        "mv .git aside",
        "mv .git/hooks aside",
        "mv .git/config aside",
        "echo evil > .agents/agents/b.md",
        "mv .agents aside",
        "echo evil > .claude/agents/b.md",
        "echo evil > .github/agents/b.agent.md",
        "mv .claude aside",
        "mv .github aside",
        "touch .github/dependabot.yml",
        "touch .git/index",
    )
    if not place.confined:
        return
    await place.run("; ".join(attempts))
    git = place.folder / ".git"
    assert (git / "config").read_text() == "[core]\n"
    assert [path.name for path in (git / "hooks").iterdir()] == ["pre-commit"]
    assert (git / "hooks/pre-commit").read_text() == "#!/bin/sh\n"
    assert [path.name for path in (place.folder / ".agents/agents").iterdir()] == ["a.md"]
    for name in (".claude/agents/a.md", ".github/agents/a.agent.md"):  # W-21
        path = place.folder / name
        assert [*path.parent.iterdir()] == [path] and path.read_text() == "an agent"
    assert (place.folder / ".github" / "dependabot.yml").exists()
    assert (git / "HEAD").exists()
    assert (git / "index").exists()  # but committing works


async def test_what_hooks_run_is_kept_as_it_is(place: Place) -> None:
    """K-9: else what runs beside a hook could change it after it was compared."""
    if not place.confined:
        return
    script = place.folder / "tools" / "deep" / "guard.sh"
    script.parent.mkdir(parents=True)
    script.write_text("exit 2\n")
    place.sandbox = HidingSandbox(place.sandbox, list, [script, place.folder / "gone.sh"])
    attempts = (
        *("echo evil > tools/deep/guard.sh", "rm -f tools/deep/guard.sh", "mv tools aside"),
        *("echo x > other; mv -f other tools/deep/guard.sh", "mv tools/deep aside"),
        *("ln -sf other tools/deep/guard.sh", "echo fine > tools/deep/beside"),
    )
    await place.run("; ".join(attempts))
    assert script.read_text() == "exit 2\n"
    assert (script.parent / "beside").read_text() == "fine\n"


async def test_a_link_in_the_folder_leads_nowhere_else(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git = place.folder / ".git"
    (git / "hooks/pre-commit").unlink()
    (git / "hooks").rmdir()
    (git / "hooks").symlink_to(place.home / ".ssh")
    (place.folder / ".agents/agents/a.md").unlink()
    (place.folder / ".agents/agents").rmdir()
    (place.folder / ".agents").rmdir()
    (place.folder / ".agents").symlink_to("../.ssh")
    result = await place.run("cat .git/hooks/id_ed25519 .agents/id_ed25519")
    assert ("PRIVATE" not in result.text) == place.confined


async def test_without_network_unless_allowed(place: Place, server: str) -> None:
    alone = await place.run(fetched(server))
    assert ("hello from outside" not in alone.text) == place.confined
    if place.confined:
        assert alone.text.endswith(
            "[This ran without network. Ask with network=true if it is needed.]"
        )
    assert (await place.run(fetched(server), network=True)).text == "hello from outside"


async def test_sockets_of_other_programs_cannot_be_reached(place: Place, tmp_path: Path) -> None:
    """An agent of keys, a container service: who connects needs no right to write."""
    path = place.home / "opt/thing/lib/s"
    got: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        got.append(await reader.read(10))
        writer.close()

    service = await asyncio.start_unix_server(answer, path)
    async with service:
        code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('{path}')"
        script = place.folder / "connect.py"
        script.write_text(f"{code}\ns.send(b'order')\n")
        await place.run(f"{PYTHON} connect.py", network=True)
        if not place.confined:
            await until(lambda: bool(got))
    assert (got == []) == place.confined


async def test_temporary_files_are_private(place: Place) -> None:
    name = f"agent-studio-test-{os.getpid()}"
    of_others = Path("/tmp") / f"{name}-others"
    of_others.write_text("of another program")
    try:
        result = await place.run(f"cat {of_others}; touch /tmp/{name}; ls /tmp/{name}")
    finally:
        of_others.unlink()
    assert ("of another program" not in result.text) == place.confined
    assert f"/tmp/{name}" in result.text
    left = Path("/tmp") / name
    assert left.exists() != place.confined
    left.unlink(missing_ok=True)


def test_temporary_files_are_kept_for_the_next_command(place: Place) -> None:
    if place.sandbox.kind != "bubblewrap":
        return

    def ran(command: str) -> str:
        # Not below /tmp, where the folder itself has to be shown.
        argv = place.sandbox.argv(Launch(command, Path("/opt"), {}))
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    ran("echo kept > /tmp/a; pwd > /tmp/b")
    assert ran("cat /tmp/a /tmp/b; echo $TMPDIR") == "kept\n/opt\n/tmp\n"
    place.sandbox.close()
    assert ran("cat /tmp/a") == ""


async def test_no_keys_and_no_ways_to_other_programs_in_the_environment(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    monkeypatch.setenv("SOMETHING", "sk-ant-0123456789")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/run/user/1000/agent")
    monkeypatch.setenv("DOCKER_HOST", "unix:///run/docker.sock")
    result = await place.run("env")
    assert "sk-ant" not in result.text
    assert ("SSH_AUTH_SOCK" not in result.text and "DOCKER_HOST" not in result.text) == (
        place.confined
    )


async def test_other_processes_are_not_seen(place: Place) -> None:
    result = await place.run(f"kill -0 {os.getpid()} && echo seen; ls -d /proc/[0-9]* | wc -l")
    if place.sandbox.kind == "bubblewrap":
        assert int(result.text.split()[-1]) < 10
        assert "seen" not in result.text


async def test_no_rights_of_the_system_are_left(place: Place) -> None:
    if place.sandbox.kind == "bubblewrap":
        result = await place.run(
            "grep CapEff /proc/self/status; : >> /proc/sys/kernel/core_pattern"
        )
        assert "0000000000000000" in result.text
        assert result.is_error


DAEMON = """\
import os, signal, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
os.environ.clear()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open('begun', 'w').write('x')
time.sleep(3600)
"""


async def begins(task: asyncio.Task[Result], file: Path) -> None:
    """Wait for a file of a command; one that ended before says why, and is not waited for."""
    await until(lambda: file.exists() or task.done())
    assert not task.done(), task.result().text


async def test_nothing_survives_stop(place: Place) -> None:
    """L-11: a daemon in a session of its own, deaf, and without our mark."""
    (place.folder / "daemon.py").write_text(DAEMON)
    if place.sandbox.kind != "bubblewrap":
        return
    command = f"env -i {PYTHON} daemon.py; sleep 3600"
    task = asyncio.create_task(run.call(place.context(), {"command": command}))
    await begins(task, place.folder / "begun")
    assert working_in(place.folder)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: not working_in(place.folder))


async def test_stop_asks_before_it_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """L-11: a program can tidy up, git its lock for instance."""
    monkeypatch.setattr(command_start, "GRACE", HANG)  # a busy computer takes longer than 0.2 s
    command = "trap 'echo tidied > tidied; exit' TERM; echo x > begun; while :; do sleep 0.01; done"
    task = asyncio.create_task(run.call(place.context(), {"command": command}))
    await begins(task, place.folder / "begun")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until((place.folder / "tidied").exists)  # the turn does not wait for all of it


async def test_the_time_limit_ends_all(place: Place) -> None:
    """L-11."""
    command = "echo begun; touch begun; sleep 3600 & sleep 3600"
    for seconds in (0.3, 3.0, 30.0):  # a busy computer may take as long to begin
        result = await run.call(place.context(), {"command": command, "time_limit": seconds})
        if (place.folder / "begun").exists():
            break
    assert result.text.startswith(f"begun\n[Stopped after {seconds:g} s")


async def test_exit_codes_pass_through(place: Place) -> None:
    assert (await place.run("exit 3")).summary == "exit 3"


async def asked(
    tmp_path: Path, rules: tuple[str, ...], *, sandbox: bool = True, **arguments: object
) -> tuple[Sandbox, list[Question], Event]:
    """What the person is asked about a command in a whole turn, and how the command ended."""
    script = [Turn(Call("run", {"command": "echo done", **arguments})), Turn(Text("Fine."))]
    async with engine_home(tmp_path, "openai", script) as home:
        home.engine.settings.values.sandbox = sandbox
        session = await home.session()
        given = tuple(Rule.parse(rule) for rule in rules)
        events = await say(session, rules=given, answer="once")
        assert not home.simulator.violations
        questions = [one.question for one in events if isinstance(one, AwaitingPermission)]
        ended = next(one for one in events if isinstance(one, ToolFinished))
        return await home.engine.sandbox(), questions, ended


async def test_the_question_says_what_a_command_may_reach(tmp_path: Path) -> None:
    """T-7."""
    for network in (False, True):
        sandbox, (question,), ended = await asked(
            tmp_path, (), network=network, reason="To see", time_limit=30
        )
        facts = dict(question.facts)
        assert isinstance(ended, ToolFinished)
        assert ended.text == "done"
        assert question.reason == "To see"
        assert facts["limit"] == "Stops after 30 s"
        if sandbox.kind == "none":
            assert facts["sandbox"] == "Not sandboxed"
            assert "network" not in facts
        else:
            assert facts["network"] == ("Network allowed" if network else "No network")


async def test_without_a_sandbox_the_question_says_so(tmp_path: Path) -> None:
    _, (question,), _ = await asked(tmp_path, (), sandbox=False, network=False)
    assert dict(question.facts)["sandbox"] == "Not sandboxed"


@pytest.mark.parametrize(
    ("rules", "network", "questions"),
    [
        (("run(echo *)",), False, 0),
        (("run(echo *)",), True, 1),
        (("run",), True, 1),
        (("run(echo *)", "network(echo *)"), True, 0),
        (("network(curl *)", "run"), True, 1),
        (("network(echo *)",), False, 1),
    ],
)
async def test_a_rule_for_a_command_does_not_allow_it_the_network(
    tmp_path: Path, rules: tuple[str, ...], network: bool, questions: int
) -> None:
    """T-7."""
    sandbox, found, _ = await asked(tmp_path, rules, network=network)
    if sandbox.kind == "none" and network:  # it has the network anyway
        assert len(found) == (0 if any(rule.startswith("run") for rule in rules) else 1)
        return
    assert len(found) == questions
    if network and found:
        [always] = found[0].always
        assert always.tool == "network"


def test_off_in_the_settings_is_said(tmp_path: Path) -> None:
    sandbox = find_sandbox(Keeper(), wanted=False, home=tmp_path)
    assert (sandbox.kind, sandbox.label) == ("none", "Not sandboxed")
    assert "settings" in sandbox.reason


@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: example.com",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "fatal: unable to access 'https://github.com/a/b/': x",
        "npm error code EAI_AGAIN",
        "dial tcp: lookup proxy.golang.org: no such host",
        "connect ECONNREFUSED 127.0.0.1:8080",
    ],
)
def test_the_model_is_told_of_the_network(tmp_path: Path, output: str) -> None:
    class Confined(NoSandbox):
        kind = "bubblewrap"

    assert "network=true" in explain_failure(Confined(), output, network=False)
    assert explain_failure(Confined(), output, network=True) == ""
    assert explain_failure(NoSandbox(), output, network=False) == ""
    assert explain_failure(Confined(), "AssertionError: 1 != 2", network=False) == ""


def test_m18_macos_lets_write_what_else_is_named(place: Place) -> None:
    """M-18: but not what programs read there to run something."""
    other = place.home / "other"
    (other / ".git").mkdir(parents=True)
    code = place.home / "code"
    code.mkdir()
    launch = Launch("true", place.folder, {}, writable=[other], shown=[code])
    lines = profile(VisiblePaths(place.home), launch, []).splitlines()
    writes = next(one for one in lines if one.startswith("(allow file-read* file-write*"))
    assert f'(subpath "{other}")' in writes and str(code) not in writes
    reads = lines.index(f'(allow file-read* (subpath "{code}"))')
    secrets = next(n for n, one in enumerate(lines) if ".ssh" in one)
    assert reads < secrets, "a secret in it stays hidden"
    kept = next(one for one in lines if one.startswith("(deny file-write* (subpath"))
    assert f'"{other}/.agents"' in kept and f'"{other}/.git/hooks"' in kept


def test_a_start_asks_the_disk_for_what_the_home_folder_has(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K-9: a hook starts in the sandbox with each call; most of the known names are nowhere."""
    asked: list[str] = []
    real = os.path.lexists
    monkeypatch.setattr(os.path, "lexists", lambda path: asked.append(str(path)) or real(path))
    places = VisiblePaths(place.home)
    secrets = {str(one.relative_to(place.home)) for one in places.secrets()}
    assert {".ssh", ".aws", ".netrc", ".cargo/credentials.toml"} <= secrets
    assert place.home / ".cargo" / "bin" in places.programs({"PATH": ""})
    assert len(asked) < len(sandbox_mounts.PROGRAMS) + len(sandbox_mounts.SECRETS) - 100


def test_the_profile_of_macos_means_the_same(place: Place) -> None:
    odd = place.home / 'a "b" \\ (allow default)'
    odd.mkdir()
    places = VisiblePaths(place.home, (place.data,))
    environment = {"PATH": f"{place.home}/opt/thing/bin"}
    text = profile(places, Launch("", odd, environment), [odd / "tmp"])
    quoted = str(odd).replace("\\", "\\\\").replace('"', '\\"')
    rules = text.splitlines()
    assert rules[1] == "(deny default)"
    assert "(deny network*)" in rules
    assert "(allow default)" not in text.replace(f'"{quoted}', "")

    def after(first: str, second: str) -> bool:
        """The last rule that speaks about a file counts."""
        return text.index(first) < text.index(second)

    hidden = f'(subpath "{os.path.realpath(place.home)}")'
    assert after(hidden, f'(allow file-read* file-write* (subpath "{quoted}')
    assert after(hidden, f'(subpath "{place.home}/opt/thing")')
    assert after(f'(subpath "{quoted}', f'(subpath "{place.home}/.ssh")')
    assert f'(subpath "{quoted}/.git/hooks")' in text
    assert f'(subpath "{place.data}")' in text
    depth = 0
    string = False
    skip = False
    for letter in text:
        if skip:
            skip = False
        elif string and letter == "\\":
            skip = True
        elif letter == '"':
            string = not string
        elif not string:
            depth += {"(": 1, ")": -1}.get(letter, 0)
            assert depth >= 0
    assert (depth, string) == (0, False)
    assert "(allow network-outbound" in profile(
        places, Launch("", odd, environment, network=True), []
    )


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="abstract sockets are Linux’s")
async def test_an_abstract_socket_of_somebody_else_is_not_reached(place: Place) -> None:
    """T-7: the display and buses listen there; who has a network would reach them."""
    import socket

    name = f"\0studio-test-{os.getpid()}"
    code = (
        "import socket as s; c = s.socket(s.AF_UNIX); n = '\\0' + '{}'; "
        "{}c.connect(n); print('in', 'side')"
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(name)
        listener.listen(1)
        for network in (False, True):
            command = f'{PYTHON} -c "{code.format(name[1:], "")}"'
            result = await place.run(command, network=network)
            scoped = place.confined and (not network or _knows_scopes())
            assert ("in side" in result.text) is not scoped
    own = f'{PYTHON} -c "{code.format("own", "l = s.socket(s.AF_UNIX); l.bind(n); l.listen(); ")}"'
    assert "in side" in (await place.run(own, network=True)).text  # its own still work


def _knows_scopes() -> bool:
    """Landlock's, in Linux 6.12."""
    import ctypes

    return ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1) >= 6


@pytest.mark.parametrize(
    "name", ["commondir", "hooks/post-checkout", "modules/x/config", "worktrees/w/commondir"]
)
@pytest.mark.parametrize("where", ["project", "project/sub/dep"])
async def test_what_makes_git_run_programs_cannot_be_added(
    place: Place, name: str, where: str
) -> None:
    """T-7: the person's next ``git status`` would run it, outside of the sandbox."""
    git = place.home / where / ".git"
    git.mkdir(parents=True, exist_ok=True)
    for part, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n")):
        (git / part).write_text(text)
    shutil.rmtree(git / "hooks", ignore_errors=True)
    before = {path.name for path in git.iterdir()}
    relative = git.relative_to(place.folder)
    result = await place.run(
        f"mkdir -p {relative}/{Path(name).parent}; echo evil > {relative}/{name}; "
        f"mv {relative} old; mv sub sup; echo x > {relative}/config; cat {relative}/{name}"
    )
    if place.confined:
        assert "evil" not in result.text
        left = {path.name for path in git.iterdir()}
        assert left <= before  # what is there can be broken, but nothing can be added
        assert (git / "config").read_text() == "[core]\n"


_CLOSED = """
import os, pathlib
from studio.processes.git_hooks_guard import GitHooksGuard
if os.geteuid() == 0:  # root looks into all
    os.setgid(65534)
    os.setuid(65534)
work = pathlib.Path({work!r})
for name in ("closed/.git/hooks", "open/.git", "part/.git", "odd/.git"):
    (work / name).mkdir(parents=True)
odd = work / "odd/.git/commondir"
odd.write_text(".\\n")
for path, mode in ((work / "closed", 0), (work / "part/.git", 0o500), (odd, 0)):
    path.chmod(mode)
guard = GitHooksGuard()
kept = {{str(path.relative_to(work)) for path in guard.hold(work)}}
made = (work / "open/.git/commondir").exists()
guard.release()
print(sorted(kept), made, (work / "open/.git/commondir").exists(), odd.exists())
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="rights of POSIX")
def test_t7_what_nobody_can_look_into_is_kept_whole(tmp_path: Path) -> None:
    """T-7: a command takes the rights from a folder, so that the next one could write its hooks."""
    with tempfile.TemporaryDirectory(dir="/tmp") as made:  # where others can go
        Path(made).chmod(0o777)
        code = _CLOSED.format(work=f"{made}/work")
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        names = [
            *("closed", *(f"odd/.git/{name}" for name in sorted(git_hooks_guard._PLACEHOLDERS))),
            *(f"open/.git/{name}" for name in sorted(git_hooks_guard._PLACEHOLDERS)),
            "part/.git",
        ]
        assert done.stdout == f"{sorted(names)} True False True\n", done.stderr


async def outside(command: str, folder: Path) -> tuple[int, str]:
    """As the person would run it."""
    ended = await asyncio.create_subprocess_shell(
        command, cwd=folder, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await ended.communicate()
    return ended.returncode or 0, output.decode()


@pytest.mark.skipif(not shutil.which("git"), reason="there is no git to try it with")
async def test_git_works_beside_what_stands_for_missing_names(place: Place) -> None:
    """Inside and outside, while a command runs; several end in any order."""
    shutil.rmtree(place.folder / ".git")
    assert (await outside("git init -q", place.folder)) == (0, "")
    shutil.rmtree(place.folder / ".git/hooks")
    git = "git -c user.name=A -c user.email=a@b.example"
    slow = asyncio.create_task(place.run("touch began; while [ ! -e go ]; do sleep 0.02; done"))
    began = place.folder / "began"
    await until(began.exists)
    result = await place.run(f"{git} add a.txt && {git} commit -qm one && git log --oneline")
    assert "one" in result.text and not result.is_error
    assert (await outside("git status --short > /dev/null", place.folder))[0] == 0
    assert (place.folder / ".git/commondir").exists() == place.confined
    (place.folder / "go").touch()
    await slow
    assert not {"commondir", "hooks"} & {one.name for one in (place.folder / ".git").iterdir()}


async def test_t7_a_command_that_cannot_begin_takes_no_placeholder_of_another(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-7: what stands for missing names stays until the last command has ended."""
    slow = asyncio.create_task(place.run("touch began; while [ ! -e go ]; do sleep 0.02; done"))
    await until((place.folder / "began").exists)
    stands = place.folder / ".git/commondir"
    assert stands.exists() == place.confined
    other = tmp_path / "other"
    other.mkdir()
    launches = [Launch("true\0", other, child_environment())]
    if place.confined:  # there is no room for its temporary folder
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
        launches.append(Launch("true", other, child_environment()))
    for launch in launches:
        with pytest.raises((OSError, ValueError)):
            command_start.begin_command(
                launch, sandbox=place.sandbox, keeper=place.keeper, stdin="nothing"
            )
        assert stands.exists() == place.confined
    (place.folder / "go").touch()
    await slow
    assert not stands.exists()


async def test_other_disks_are_not_seen(place: Place) -> None:
    """T-7: another system's home folders may be on them."""
    result = await place.run("ls -A /mnt /media 2>/dev/null | grep -v : | grep . || echo none")
    if place.confined:
        assert result.text == "none"


async def test_what_a_rule_refuses_to_read_no_command_reads(tmp_path: Path) -> None:
    """T-7: deny means deny, also for ``cat``; and no command moves or replaces such a file."""
    lines = [
        "cat .env deep/a/key.pem vault/x/y hidden/open.txt linked; echo",
        "cp -r . /tmp/copy; grep -r SECRET . /tmp/copy; ln .env e2; cat e2",
        "mv deep moved; mv vault v; cat moved/a/key.pem v/x/y; mv moved deep; mv .env e; cat e",
        "cat open.txt",
    ]
    script: list[Turn] = []
    for number, line in enumerate(lines):
        script.append(Turn(Call("run", {"command": line}, id=f"c{number}"), stop="tool_use"))
    async with engine_home(
        tmp_path, "anthropic", [*script, Turn(Text("Done."), stop="end")]
    ) as home:
        for name in (".env", "deep/a/key.pem", "vault/x/y", "hidden/.git/config"):
            file = home.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("SECRET")
        (home.folder / "hidden/open.txt").write_text("SECRET")
        (home.folder / "open.txt").write_text("open")
        (home.folder / "linked").symlink_to(".env")
        patterns = ("read(.env)", "read(**/*.pem)", "read(vault/*)", "read(hidden)", "read(gone)")
        rules = tuple(Rule.parse(one, "deny") for one in patterns)
        events = await say(await home.session(), rules=(Rule.parse("run"), *rules), answer="once")
        texts = [e.text for e in events if isinstance(e, ToolFinished)]
        assert len(texts) == 4 and texts[3] == "open"
        confined = (await home.engine.sandbox()).kind != "none"
        assert ("SECRET" in "".join(texts)) is not confined
        assert (home.folder / ".env").read_text() == "SECRET"
