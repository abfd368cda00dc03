"""Finds the files of agents, whether they can be used, and what each may name. Free of Qt."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from studio.agent.agent_files.library import AgentLibrary
from studio.agent.agent_files.name_check import KnownNames, check_agent
from studio.agent.folder_files import agent_paths, project_agent_paths
from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Agent, Origin
from studio.domain.errors import StudioError
from studio.providers.registry import PROVIDER_TITLES
from studio.storage.paths import Paths
from studio.ui.engine_texts import tr_engine
from studio.ui.pages.files.problem_texts import problem_text
from studio.ui.pages.files.row import FileRow, in_sections
from studio.ui.translation import tr


class AgentIndex:
    """The agents as they were read last; ``tools`` are those that one may name.

    ``servers`` finds the MCP servers that one of a folder may name, and blocks.
    """

    def __init__(
        self,
        library: AgentLibrary,
        paths: Paths,
        tools: Sequence[str],
        servers: Callable[[Path | None], Collection[str] | None],
    ) -> None:
        self._library, self._paths, self._tools = library, paths, tools
        self._find_servers = servers
        self._servers: Collection[str] | None = None
        self._icons: tuple[str, ...] = ()
        self.agents: Mapping[Path, Agent] = {}

    def trusts(self, path: Path) -> bool:
        """Whether the file of a folder counts as the person's own."""
        agent = self.agents.get(path)
        return agent is not None and agent.trusted

    def known(self, path: Path) -> KnownNames:
        """What the agent of a file may name."""
        taken = {
            one.name.casefold()
            for other, one in self.agents.items()
            if other.parent == path.parent and other != path
        }
        names = [one.name for one in self.agents.values()]
        providers = tuple(PROVIDER_TITLES)
        return KnownNames(self._tools, providers, self._icons, taken, names, self._servers)

    def rows(self, agents: Mapping[Path, Agent], folder: Path | None) -> list[FileRow]:
        """The rows of all files, of the ``agents`` and of what cannot be used. Blocks."""
        self.agents, self._servers = agents, self._find_servers(folder)
        self._icons = tuple(one.stem for one in (self._paths.resources / "icons").glob("*.svg"))
        unsaved = self._library.unsaved()
        rows = [_row(path, one, path in unsaved) for path, one in agents.items()]
        own = {path for path in unsaved if path.parent == self._library.own}
        own.update(*(agent_paths(place) for place in self._paths.agent_places))
        others: list[tuple[Origin, set[Path]]] = [("own", own)]
        if folder is not None:
            others.append(("folder", set(project_agent_paths(folder))))
        for origin, paths in others:
            for path in paths - agents.keys():
                row = FileRow(path, escape_line(path.name, 80), origin=origin)
                rows.append(replace(row, problem=self._why(path), unsaved=path in unsaved))
        return in_sections(rows, folder)

    def _why(self, path: Path) -> str:
        """Why a file is not among the agents."""
        try:
            stored = self._library.read(path)
        except StudioError as error:
            return tr_engine(str(error))
        if stored is None:
            return tr("Not saved yet")
        errors = check_agent(stored.text, self.known(path), path).errors
        return problem_text(errors[0]) if errors else tr("Left out: its name is taken")


def _row(path: Path, agent: Agent, unsaved: bool) -> FileRow:
    about = tr_engine(agent.description)
    row = FileRow(path, agent.name, about, agent.icon, agent.hue, agent.origin)
    return replace(row, trusted=agent.trusted, unsaved=unsaved)
