"""Paths: says where data, settings, cache and logs are kept on this computer."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from studio.domain.records import dataclass
from studio.files.folders import private_folder

APP = "agent-studio"
HOME_VARIABLE = "AGENT_STUDIO_HOME"


@dataclass(frozen=True, slots=True)
class Paths:
    """Folders of one installation, and the files in them.

    They need not exist: see ``create`` and ``private_folder``.
    """

    data: Path
    config: Path
    cache: Path
    logs: Path
    resources: Path
    """The files that ship with the program: icons, built-in agents."""
    home: Path
    """Where other programs have their folders, such as ``.claude``."""

    @classmethod
    def default(cls) -> Paths:
        """The system's usual places, or everything below ``AGENT_STUDIO_HOME`` if that is set."""
        home = os.environ.get(HOME_VARIABLE, "")
        if home:
            return cls.below(Path(home).expanduser().absolute())
        return cls(
            data=Path(platformdirs.user_data_dir(APP, appauthor=False)),
            config=Path(platformdirs.user_config_dir(APP, appauthor=False)),
            cache=Path(platformdirs.user_cache_dir(APP, appauthor=False)),
            logs=Path(platformdirs.user_log_dir(APP, appauthor=False)),
            resources=resources(),
            home=Path.home(),
        )

    @classmethod
    def below(cls, home: Path) -> Paths:
        """Everything in one folder."""
        return cls(home, home, home / "cache", home / "logs", resources(), home)

    @property
    def shipped_packs(self) -> Path:
        """The packs that come with the program, one folder each."""
        packed = self.resources / "packs"  # in a wheel or an installed program
        return packed if packed.is_dir() else self.resources.parent / "packs"

    @property
    def database(self) -> Path:
        return self.data / "studio.db"

    @property
    def chats(self) -> Path:
        """An empty folder for chats that are about no folder."""
        return self.data / "chats"

    @property
    def demo(self) -> Path:
        """The demo's files, to look at and to change."""
        return self.data / "demo"

    def owns(self, folder: str) -> bool:
        """Whether a chat's folder is the program's own, which nobody chose."""
        place = Path(folder)
        return any(place.is_relative_to(own) for own in (self.chats, self.demo))

    @property
    def snapshots(self) -> Path:
        """The contents of files before turns changed them, for undo."""
        return self.data / "snapshots.db"

    @property
    def settings(self) -> Path:
        return self.config / "settings.json"

    @property
    def servers(self) -> Path:
        """The person's MCP servers, in the form that most programs share."""
        return self.config / "mcp.json"

    @property
    def models(self) -> Path:
        """The providers' model lists as last fetched."""
        return self.cache / "models.json"

    @property
    def model_files(self) -> Path:
        """Model files that were fetched, where the person has chosen no other folder."""
        return self.data / "models"

    @property
    def agents(self) -> Path:
        """The person's own agents, one markdown file each."""
        return self.config / "agents"

    @property
    def agent_places(self) -> tuple[Path, ...]:
        """Where the person's agents are, also those for other programs; a later place wins."""
        return (self.agents, self.home / ".agents" / "agents", self.home / ".claude" / "agents")

    @property
    def instruction_places(self) -> tuple[Path, ...]:
        """The person's own instructions for every agent; the first that is there counts."""
        return (
            self.config / "AGENTS.md",
            self.home / ".agents" / "AGENTS.md",
            self.home / ".claude" / "CLAUDE.md",
        )

    @property
    def workflows(self) -> Path:
        """The person's own workflows, one markdown file each."""
        return self.config / "workflows"

    @property
    def templates(self) -> Path:
        """The person's templates of messages, one markdown file each."""
        return self.config / "templates"

    @property
    def tools(self) -> Path:
        """The person's own tools, one Python file each."""
        return self.config / "tools"

    @property
    def programs(self) -> Path:
        """Programs that the person had fetched for servers and packs."""
        return self.data / "programs"

    @property
    def packs(self) -> Path:
        """The packs that are installed, and what they keep."""
        return self.data / "packs"

    def create(self) -> None:
        """Make the folders the program writes to, readable by this person alone.

        Raises OSError.
        """
        for folder in (self.data, self.config, self.cache, self.logs):
            private_folder(folder)


def resources() -> Path:
    """The folder of files that ship with the program."""
    package = Path(__file__).parent.parent
    packed = package / "resources"  # in a wheel or an installed program
    return packed if packed.is_dir() else package.parent / "resources"
