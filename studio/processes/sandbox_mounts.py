"""Sandbox mounts: lists what a sandboxed command sees of the computer, and what is hidden.

Also makes the temporary folders that commands have instead of the system's.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from studio.domain.records import dataclass

from .desk import Desk

PROGRAMS = (
    *(".local/bin", ".local/lib", ".local/pipx", ".local/share/uv", ".local/share/pipx"),
    *(".local/share/virtualenvs", ".local/share/hatch", ".local/share/pypoetry"),
    *(".cache/pypoetry/virtualenvs", ".cache/ms-playwright", ".local/share/mise"),
    *(".local/share/fnm", ".local/share/pnpm", ".local/share/mamba", ".pixi/bin", ".pixi/envs"),
    *(".pyenv", "miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda/envs"),
    *(".cargo/bin", ".cargo/env", ".cargo/registry", ".cargo/git", ".rustup"),
    *(".nvm", ".fnm", ".nodenv", ".volta", ".asdf", ".npm-global", ".yarn/bin"),
    *(".deno/bin", ".bun/bin", ".bun/install"),
    *("go/bin", "go/pkg", ".goenv", ".rbenv", ".rvm", ".gem/ruby"),
    *(".sdkman", ".m2/repository", ".gradle/caches", ".gradle/wrapper"),
    *(".dotnet", ".nuget/packages", ".swiftly"),
    *(".ghcup", ".cabal/bin", ".cabal/store", ".cabal/packages", ".stack", ".opam", ".elan"),
    *(".juliaup", ".julia", ".nix-profile", ".local/state/nix", ".linuxbrew", "Library/Python"),
    *(".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes"),
)
"""Where programs and their libraries are installed in a home folder."""

SECRETS = (
    *(".ssh", ".gnupg", ".pki", ".password-store", ".local/share/keyrings", ".vault-token"),
    *(".config/sops", ".config/age", ".config/keepassxc", ".local/share/kwalletd"),
    *(".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/containers", ".oci"),
    *(".config/doctl", ".config/hcloud", ".config/rclone", ".terraform.d", ".terraformrc"),
    *(".config/gh", ".config/glab-cli", ".config/hub", ".git-credentials"),
    *(".config/git/credentials", ".netrc", "_netrc", ".authinfo", ".authinfo.gpg"),
    *(".npmrc", ".yarnrc.yml", ".pypirc", ".config/pypoetry", ".config/pip", ".pip"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".gem/credentials", ".bundle/config"),
    *(".m2/settings.xml", ".m2/settings-security.xml", ".gradle/gradle.properties"),
    *(".nuget/NuGet", ".cabal/config", ".julia/servers", ".stack/upload", ".opam/plugins"),
    *(".pgpass", ".my.cnf", ".mylogin.cnf", ".config/op", ".config/Bitwarden"),
    *(".cache/huggingface/token", ".cache/huggingface/stored_tokens", ".kaggle"),
    *(".claude", ".claude.json", ".codex", ".gemini", ".config/github-copilot"),
    *(".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium"),
    *(".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera"),
    *("snap/firefox", "snap/chromium", ".var/app", ".config/Signal", ".config/Slack"),
    *(".bash_history", ".zsh_history", ".local/share/fish", ".python_history"),
    *(".psql_history", ".mysql_history", ".node_repl_history", ".sqlite_history"),
    *(".Xauthority", ".ICEauthority", ".cache/keyring", ".config/autostart"),
    *("Library/Keychains", "Library/Cookies", "Library/Mail", "Library/Messages"),
    *("Library/Application Support/Google", "Library/Application Support/Firefox"),
    *("Library/Application Support/com.apple.TCC", "Library/Safari", "Library/Containers"),
)
"""Paths of a home folder that are hidden even where the rest of it is shown."""

AGENT_FOLDERS = (".agents", ".claude", ".github/agents")
"""Where a folder has its agents: commands do not change what later agents may do (W-21)."""
ENVIRONMENT = (
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL"),
    *("DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS", "XDG_RUNTIME_DIR"),
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "ICEAUTHORITY", "SESSION_MANAGER"),
    *("DOCKER_HOST", "CONTAINER_HOST", "KRB5CCNAME", "PULSE_SERVER", "TMUX", "STY"),
)
"""Variables that lead to other programs of the person, which are outside the sandbox."""

_BEGINS = {name: name.partition("/")[0].casefold() for name in (*PROGRAMS, *SECRETS)}
"""What each begins with, as a system that takes letters of any case compares it."""
_PREFIX = ("lib", "libexec", "share", "versions", "pyvenv.cfg")
_CREDENTIAL = re.compile(rb"extraheader|://[^/\s]*@|token|passw", re.I)


@dataclass(frozen=True, slots=True)
class Launch:
    """A command line to run in ``folder``, where alone it can write; it begins in ``inside``.

    ``hidden`` are real paths of files and folders that it may not even read, ``shown`` those that
    it may although the sandbox hides what is around them. With a ``desk``
    that is what it finds in the folder's place. ``inside`` is below the folder, and relative.
    ``terminal``: its streams are one. ``kept`` are files of the folder that it cannot change.
    ``writable`` are real paths of other files and folders in which it can write.
    """

    command: str
    folder: Path
    environment: Mapping[str, str]
    network: bool = False
    hidden: Sequence[Path] = ()
    desk: Desk | None = None
    inside: str = "."
    terminal: bool = False
    shown: Sequence[Path] = ()
    kept: Sequence[Path] = ()
    writable: Sequence[Path] = ()

    @property
    def begins(self) -> Path:
        """Where it begins; with a desk that may not be there."""
        return self.folder / self.inside


@dataclass(frozen=True, slots=True)
class VisiblePaths:
    """Lists real paths that exist, by what a command may see of them. Methods touch the disk.

    ``home`` is the person's home folder; ``private`` are the program's own folders, with the
    names of keys and all chats.
    """

    home: Path
    private: tuple[Path, ...] = ()

    def hidden(self) -> list[Path]:
        """Folders of which a command sees only ``programs``: all home folders, and other disks,
        which may have more of them."""
        homes = (self.home, *map(Path, ("/home", "/Users", "/root", "/media", "/mnt", "/Volumes")))
        return [
            path for path in _real([*homes, *self.private]) if path.is_dir() and path != Path("/")
        ]

    def programs(self, environment: Mapping[str, str]) -> list[Path]:
        """What is shown of the home folder: known places of programs, and those on PATH."""
        home = Path(os.path.realpath(self.home))
        found = [*map(Path, _existing(home, PROGRAMS))]
        places = list(dict.fromkeys(str(one).rstrip("/") for one in (self.home, home)))
        for entry in dict.fromkeys(environment.get("PATH", "").split(os.pathsep)):
            for place in places:
                if entry == place or entry.startswith(f"{place}/"):
                    found.append(_whole(home / os.path.relpath(entry, place or "/"), home))
                    break
        # The Python that runs this program, wherever it is: virtual environments often link to
        # it, and the person's own tools call it.
        found += [Path(os.path.realpath(place)) for place in (sys.base_prefix, sys.prefix)]
        return [path for path in dict.fromkeys(found) if path != home and _may_be_shown(path)]

    def secrets(self) -> list[Path]:
        return _real(_existing(self.home, SECRETS))


def _existing(home: Path, names: Iterable[str]) -> Iterator[str]:
    """The paths of what there is of ``names``, of which most homes have few."""
    above = str(home).rstrip("/")  # joining texts costs a fifth of joining paths
    wanted = list(names)
    try:  # one look in place of one for each name
        there = {one.casefold() for one in os.listdir(above or "/")}  # noqa: PTH208
        wanted = [one for one in wanted if _BEGINS[one] in there]
    except OSError:  # it cannot be listed, and yet what is in it may be there
        pass
    places = (f"{above}/{name}" for name in wanted)
    return (place for place in places if os.path.lexists(place))


def _whole(folder: Path, home: Path) -> Path:
    """The whole installation if ``folder`` is its ``bin``, else ``folder``."""
    above = folder.parent
    shared = above == home or above.name in (".local", ".cargo")
    whole = not shared and any(os.path.exists(f"{above}/{x}") for x in _PREFIX)  # noqa: PTH110
    return above if whole else folder


def _may_be_shown(path: Path) -> bool:
    try:
        # It has the person's name for commits, and sometimes credentials.
        if "git" in path.name + path.parent.name and path.is_file():
            return not _CREDENTIAL.search(path.read_bytes())
        return path.exists()
    except OSError:
        return False


def _real(paths: Iterable[Path | str]) -> list[Path]:
    """The real paths of those of ``paths`` that exist, each once."""
    found = (Path(os.path.realpath(path)) for path in paths)
    return list(dict.fromkeys(path for path in found if os.path.lexists(path)))


class TempFolders:
    """One temporary folder for each working folder, until closed or the program ends.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._made: dict[Path, tempfile.TemporaryDirectory[str]] = {}
        self._lock = threading.Lock()

    def of(self, folder: Path) -> Path:
        with self._lock:
            made = self._made.get(folder)
            if made is None or not Path(made.name).is_dir():
                made = self._made[folder] = tempfile.TemporaryDirectory(
                    prefix="agent-studio-", ignore_cleanup_errors=True
                )
            return Path(os.path.realpath(made.name))

    def close(self) -> None:
        """Remove them all. Blocks."""
        with self._lock:
            made, self._made = self._made, {}
        for folder in made.values():
            folder.cleanup()
