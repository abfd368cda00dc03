"""Session options: what an editor's user can choose for a session, and what is chosen now.

Agent, model, mode and effort are config options of the protocol. The mode is offered as a
session mode too, for editors that do not know config options.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from acp.schema import (
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from studio.agent.engine import Engine
from studio.agent.session.session import Session
from studio.domain.agents import PermissionMode
from studio.domain.models import EFFORTS, Effort, ModelInfo

from .prompt_blocks import invalid

Category: TypeAlias = Literal["mode", "model", "thought_level"]

MODES: dict[PermissionMode, tuple[str, str]] = {
    "ask": ("Ask", "Changes of files are drafts, and commands are asked about"),
    "auto": ("Automatic", "Drafts are written at once, and commands are asked about"),
    "plan": ("Plan", "The agent only reads, and makes a plan"),
}
_EFFORT_NAMES: dict[Effort, str] = {
    "none": "Off",
    "minimal": "Minimal",
    "low": "Low",
    "medium": "Medium",
    "high": "High",
    "xhigh": "Extra high",
    "max": "Maximum",
}
_DEFAULT = "default"
"""The value of the effort that the agent or the provider chooses."""


def session_modes(session: Session) -> SessionModeState:
    """The modes, and the one that the session is in."""
    return SessionModeState(
        current_mode_id=session.info.permission_mode,
        available_modes=[
            SessionMode(id=mode, name=name, description=about)
            for mode, (name, about) in MODES.items()
        ],
    )


def chosen(session: Session) -> tuple[object, ...]:
    """The values of all options, to see whether one was changed."""
    info = session.info
    return info.agent, info.provider, info.model, info.permission_mode, info.effort


async def session_options(engine: Engine, session: Session) -> list[Any]:
    """All options with their values now, the most important one first."""
    await engine.refresh_lists()
    info = session.info
    options = [await _agents(engine, session), _models(engine, session), _modes(session)]
    if efforts := _efforts(engine.model(info.provider, info.model)):
        choices = [SessionConfigSelectOption(value=_DEFAULT, name="Default")]
        choices += [
            SessionConfigSelectOption(value=one, name=_EFFORT_NAMES[one]) for one in efforts
        ]
        # A model that was chosen later may not have the session's effort; the nearest is used.
        value = info.effort if info.effort in efforts else _DEFAULT
        options.append(_select("effort", "Effort", "thought_level", value, choices))
    return options


async def choose_option(engine: Engine, session: Session, option: str, value: str) -> None:
    """Change an option; raises RequestError if there is no such option or value.

    Raises ConfigurationError for an agent or a model that is not there.
    """
    if option == "agent":
        found = await engine.agent(value, Path(session.info.folder))
        await session.change(agent=found.name)
    elif option == "model":
        one = await engine.model_names.find(value, first=session.info.provider)
        await session.change(provider=one.provider, model=one.model)
    elif option == "mode" and value in get_args(PermissionMode):
        await session.change(permission_mode=value)
    elif option == "effort" and value in (_DEFAULT, *EFFORTS):
        await session.change(effort=None if value == _DEFAULT else value)
    else:
        raise invalid(f"There is no option {option} with the value {value}.")


async def _agents(engine: Engine, session: Session) -> SessionConfigOptionSelect:
    agents = await engine.agents(Path(session.info.folder))
    choices = [
        SessionConfigSelectOption(value=one.name, name=one.name, description=one.about or None)
        for one in agents.by_name.values()
    ]
    return _select("agent", "Agent", None, session.info.agent, choices)


def _models(engine: Engine, session: Session) -> SessionConfigOptionSelect:
    info = session.info
    value = f"{info.provider}/{info.model}"
    models = {value: info.model}
    for provider in engine.connected:
        current = info.model if provider == info.provider else ""
        for model in engine.offered(provider, current):
            models[f"{provider}/{model.id}"] = model.title
    choices = [SessionConfigSelectOption(value=one, name=name) for one, name in models.items()]
    return _select("model", "Model", "model", value, choices)


def _modes(session: Session) -> SessionConfigOptionSelect:
    choices = [
        SessionConfigSelectOption(value=mode, name=name, description=about)
        for mode, (name, about) in MODES.items()
    ]
    return _select("mode", "Mode", "mode", session.info.permission_mode, choices)


def _efforts(model: ModelInfo) -> tuple[Effort, ...]:
    """The efforts of a model; for an unknown one those that most models have."""
    if model.efforts is None:
        return () if model.reasoning is False else ("low", "medium", "high")
    return model.efforts


def _select(
    option: str,
    name: str,
    category: Category | None,
    value: str,
    choices: list[SessionConfigSelectOption],
) -> SessionConfigOptionSelect:
    return SessionConfigOptionSelect(
        type="select",
        id=option,
        name=name,
        category=category,
        current_value=value,
        options=choices,
    )
