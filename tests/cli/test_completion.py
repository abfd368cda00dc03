"""What Tab offers: from the parser and from what is stored, in real shells (S-5)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from sqlite3 import Connection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.cli import build_parser
from studio.cli.commands import COMMANDS
from studio.cli.commands.completion import FILES, SCRIPTS, offered
from studio.domain.sessions import SessionInfo
from studio.providers.registry import PROVIDER_TITLES
from studio.storage import completion_index
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.paths import Paths
from studio.storage.sessions.store import SessionStore
from support.command import ROOT
from support.waiting import HANG

NO = Paths.below(Path("/nonexistent"))
SHELLS = [shell for shell in ("bash", "zsh", "fish") if shutil.which(shell)]


def names(line: str, paths: Paths = NO, folder: Path = Path("/nonexistent")) -> list[str]:
    """What is offered after ``agent-studio`` and this; a blank at the end begins a word."""
    words = line.split(" ")
    return [name for name, _ in offered(words, paths, folder)]


def test_commands_options_and_choices_come_from_the_parser() -> None:
    assert {"run", "sessions", "completion", "agents"} <= {*names("")}
    assert names("perm") == ["permissions"]
    assert names("permissions t") == ["test", "trust"]
    assert names("run --pro") == ["--provider"]
    assert names("run --provider o") == [name for name in PROVIDER_TITLES if name[0] == "o"]
    assert names("run --provider=ol") == ["--provider=ollama"]
    assert names("run --provider ") == list(PROVIDER_TITLES)
    assert "--provider" not in names("run --provider ollama --")
    assert "--attach" in names("run --attach a --")  # may be given again
    assert names("run --json --mo") == ["--model", "--mode"]
    assert names("run -- --pro") == [] and names("nonsense --") == names("nonsense x ") == []
    assert names("completion ") == list(SCRIPTS)
    assert names("run --output ") == names("run --attach x") == names("import ") == [FILES]
    assert names("config get backg") == ["background_steps", "background_seconds"]
    assert names("config set theme ") == []
    assert names("keys set b") == ["brave"]  # whose keys are kept beside providers'
    assert {"anthropic", "tavily", "huggingface"} <= {*names("keys remove ")}
    described = dict(offered(["ses"], NO, NO.data))
    assert "saved sessions" in described["sessions"]


@given(st.lists(st.sampled_from(["run", "sessions", "list", "--json", "--provider", "=", "--", "-", "", "x", "--agent", "--x=y", "drafts", "show", ":"]), max_size=6))  # fmt: skip
def test_no_line_is_too_odd(words: list[str]) -> None:
    for name, _ in offered(words, NO, NO.data):
        assert name


def test_the_registry_has_every_command() -> None:
    modules = {path.stem.rstrip("_") for path in (ROOT / "studio/cli/commands").glob("[a-z]*.py")}
    assert modules == {name.replace("-", "_") for name in COMMANDS}


def test_every_command_can_be_asked_about() -> None:
    for name, _ in offered([""], NO, NO.data):
        assert "--help" in names(f"{name} --"), name
        assert build_parser().parse_args  # the parser is made anew each time


async def stored(home: Path) -> Paths:
    """A home with sessions, a draft, agents, models and a setting, as the program leaves it."""
    paths = Paths.below(home)
    database = Database(paths.database, MIGRATIONS)
    await database.open()
    store = SessionStore(database)
    for session_id, title, at in (("abcdef0123", "First: “talk”", 1.0), ("fedcba9876", "2", 2.0)):
        await store.create(SessionInfo(session_id, title, "", "", "", "", "ask", at, at))

    def write(db: Connection) -> None:
        db.execute(
            "INSERT INTO drafts (session_id, turn_id, draft_id, call_id, path, status, detail, "
            "created, action, target) VALUES ('abcdef0123', '', 'd0d0d0d0d0', '', 'a b.txt', "
            "'waiting', '', 0, 'write', '')"
        )

    await database.write(write)
    await database.close()
    paths.agents.mkdir()
    (paths.agents / "own.md").write_text('---\nname: "My own"\ndescription: Mine\n---\nx\n')
    (paths.agents / "plain-name.md").write_text("---\n---\nx\n")
    paths.cache.mkdir()
    lists = {"ollama": {"k": {"fetched_at": 1, "models": [{"id": "llama3:8b", "name": "L"}]}}}
    paths.models.write_text(json.dumps({"version": 1, "lists": lists}))
    settings = {"own_models": {"ollama": ["mine:1"]}, "default_provider": "ollama"}
    paths.settings.write_text(json.dumps(settings))
    return paths


async def test_what_is_stored_is_offered(tmp_path: Path) -> None:
    paths = await stored(tmp_path / "home")
    project = tmp_path / "work" / ".agents" / "agents"
    project.mkdir(parents=True)
    (project / "team.md").write_text("---\nname: Team\n---\nx\n")
    (project / "coder.md").write_text("---\nname: coder\ndescription: Theirs\n---\nx\n")
    shown = dict(completion_index.agents([paths.resources / "agents", paths.agents], project))
    assert shown["Team"] == "This folder’s." and "Theirs" not in str(shown)

    def at(line: str) -> list[str]:
        return names(line, paths, tmp_path / "work")

    assert {"My own", "plain-name", "Team", "Coder"} <= {*at("run --agent ")}
    assert at("agents show my") == ["My own"] and at("run --agent my") == ["My own"]
    assert at("run --session ") == ["fedcba98", "abcdef01", "last"]
    assert at("sessions show a") == ["abcdef01"] == at("export fedcba98 a")
    assert at("drafts approve ") == ["d0d0d0d0"] == at("drafts approve x d")
    assert at("drafts resolve d") == ["d0d0d0d0"] == at("drafts edit d")
    assert at("drafts resolve d0 --use ") == ["merged", "draft", "file"]
    assert at("drafts resolve d0 --from ") == [":files"]
    assert at("drafts list --session f") == ["fedcba98"]
    assert at("run --model ") == ["llama3:8b", "mine:1"]  # of the person's provider
    assert at("run --provider ollama --model l") == ["llama3:8b"]
    assert "claude-opus-5-5" in at("run --provider anthropic --model claude")
    for path in (paths.database, paths.models, paths.settings):
        path.write_bytes(b"\xff damaged")
    assert at("run --session ") == ["last"] and "mine:1" not in at("run --model ")


def program(place: Path) -> Path:
    """``agent-studio`` as a command in a folder of its own."""
    place.mkdir()
    script = place / "agent-studio"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m studio "$@"\n')
    script.chmod(0o755)
    return place


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": f"{program(tmp_path / 'bin')}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "PYTHONPATH": str(ROOT),
        "AGENT_STUDIO_HOME": str(tmp_path / "home"),
    }


BASH = """
eval "$(agent-studio completion bash)"
complete -p agent-studio >/dev/null || exit 9
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
try() {{
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
    _agent_studio agent-studio
    printf '%s;' "${{COMPREPLY[@]}}"; echo
}}
{lines}
"""
ZSH = """
autoload -Uz compinit; compinit -u -d {dump}
source <(agent-studio completion zsh)
[[ -n $_comps[agent-studio] ]] || exit 9
_describe() {{ local -a all; all=("${{(@P)argv[-1]}}"); all=("${{(@)all%%:*}}"); print -r -- "${{(j:;:)all}};" }}
_files() {{ print -r -- ":files;" }}
try() {{ local -a words; words=("$@"); local CURRENT=$#; _agent_studio }}
{lines}
"""
FISH = """
agent-studio completion fish | source
function try; complete -C "$argv" | string replace -r '\\t.*' '' | string join ';'; end
{lines}
"""


@pytest.mark.parametrize("shell", SHELLS)
async def test_in_a_real_shell(tmp_path: Path, shell: str) -> None:
    """Commands, options, ids, agents with a blank in their name, models with a colon."""
    paths = await stored(tmp_path / "home")
    assert paths.database.exists()
    # what is typed, what is offered: its words as bash would cut them
    cases: list[tuple[list[str], list[str]]] = [
        (["perm"], ["permissions"]),
        (["run", "--pro"], ["--provider"]),
        (["run", "--provider", "ol"], ["ollama"]),
        (["sessions", "show", "f"], ["fedcba98"]),
        (["run", "--agent", "my"], ["My own"]),
        (["run", "--session", ""], ["fedcba98", "abcdef01", "last"]),
    ]
    lines: list[str] = []
    for words, _ in cases:
        if shell == "fish":
            lines.append(f"try 'agent-studio {' '.join(words)}'")
        else:
            quoted = " ".join(f"'{word}'" for word in words)
            lines.append(f"try agent-studio {quoted}")
    template = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell]
    text = template.format(lines="\n".join(lines), dump=tmp_path / "dump")
    command = {"bash": ["bash", "--norc"], "zsh": ["zsh", "-f"], "fish": ["fish", "--no-config"]}
    done = await asyncio.to_thread(
        subprocess.run,
        [*command[shell], "-c", text],
        env=environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done
    shown = [line.rstrip(";").split(";") for line in done.stdout.splitlines()]
    plain = [[one.replace("\\ ", " ") for one in found] for found in shown]
    assert [sorted(one) for one in plain] == [sorted(wanted) for _, wanted in cases], done


@pytest.mark.skipif(sys.platform == "win32", reason="files may not be called so there")
def test_names_of_strangers_are_words_and_nothing_else(tmp_path: Path) -> None:
    """An agent file of somebody else's folder: no name runs, hides, or keeps Tab waiting."""
    names = ["$(touch ran)", "`touch ran`", ";touch ran;", "a'b", "*", "~root", "-rf", "a b"]
    folder = tmp_path / ".agents" / "agents"
    folder.mkdir(parents=True)
    for number, name in enumerate([*names, "x\x1b]0;title\x07", "\u202eabc"]):
        text = f"---\nname: {name}\ndescription: all \x1b[2Jclear\n---\nWork.\n"
        (folder / f"{number}.md").write_text(text)
    os.mkfifo(folder / "pipe.md")
    place = environment(tmp_path)

    def tab(script: str) -> str:
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            env=place,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=True,
        )
        return done.stdout

    lines = """try() {{ _agent_studio agent-studio; }}
    COMP_WORDS=(agent-studio run --agent ''); COMP_CWORD=3; try
    eval "set -- ${{COMPREPLY[*]}}"; printf '%s\\n' "$@" """
    offered = tab(BASH.replace("{lines}", lines).format()).splitlines()
    assert {*names} <= {*offered} and not (tmp_path / "ran").exists()
    for shell in SCRIPTS:
        raw = tab(f"agent-studio completion {shell} -- run --agent ''")
        assert all(one.isprintable() for one in raw.replace("\t", "").splitlines()), raw


def test_bash_gets_back_what_follows_a_colon(tmp_path: Path) -> None:
    """It takes ``llama3:8b`` and ``--provider=ollama`` apart, and completes the last piece."""
    place = environment(tmp_path)
    home = Path(place["AGENT_STUDIO_HOME"])
    home.mkdir()
    (home / "settings.json").write_text('{"own_models": {"ollama": ["llama3:8b", "llama3:70b"]}}')

    def at(*words: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-m", "studio", "completion", "bash", "--", *words],
            env=place,
            capture_output=True,
            text=True,
            check=True,
        )
        assert not done.stderr
        return [line.partition("\t")[0] for line in done.stdout.splitlines()]

    model = ("run", "--provider", "ollama", "--model")
    assert at(*model, "llama3") == ["llama3:8b", "llama3:70b"]
    assert at(*model, "llama3", ":") == ["8b", "70b"]
    assert at(*model, "llama3", ":", "7") == ["70b"]
    assert at("run", "--provider", "=", "ol") == ["ollama"]
    assert "ollama" in at("run", "--provider", "=")


def test_the_scripts_say_nothing_wrong() -> None:
    """Each is what its shell takes; PowerShell is seldom here, so its brackets are counted."""
    for shell in SHELLS:
        done = subprocess.run([shell, "-n"], input=SCRIPTS[shell], text=True, check=False)
        assert done.returncode == 0, shell
    for opened, closed in ("()", "{}", "[]"):
        text = SCRIPTS["powershell"]
        assert text.count(opened) == text.count(closed)
    assert text.replace('"\'"', "").count("'") % 2 == 0


def test_help_version_and_tab_import_next_to_nothing(tmp_path: Path) -> None:
    """They come as quickly as Python itself."""
    place = environment(tmp_path)
    heavy = {"asyncio", "ssl", "logging", "sqlite3", "yaml", "httpx2", "studio.app", "studio.agent"}
    for words in (["--help"], ["--version"], ["run", "--help"], ["completion", "bash", "--", "run", "--agent", ""]):  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "studio", *words],
            env=place,
            capture_output=True,
            text=True,
            check=True,
        )
        imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
        assert not imported & heavy, (words, imported & heavy)
