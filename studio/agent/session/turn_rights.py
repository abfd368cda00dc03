"""Turn rights: what the tools of a turn may use, by rules, masks, folder and sandbox (T-6)."""

from __future__ import annotations

from pathlib import Path

from studio.agent.context.summarizer import ModelAccess
from studio.agent.delegation.offers import Delegation
from studio.agent.permission.content_filter import ContentFilter
from studio.agent.permission.exfiltration_guard import ExfiltrationGuard
from studio.agent.permission.policy import Policy
from studio.agent.permission.rules import SessionRules
from studio.agent.permission.tool_access import ToolAccess
from studio.agent.servers.sampling import ServerSampling
from studio.agent.services import Services
from studio.tools.drafts.seen_files import SeenFiles
from studio.tools.memory.notes import Notes, Writer
from studio.tools.sdk.context import ROOM

from .agent_setup import ToolSetup
from .chat_hooks import hiding_sandbox
from .memory import last_turn, made_from
from .session_state import SessionState
from .turn_options import TurnOptions


class TurnRights:
    """Makes what the tools of each turn of one session may use."""

    def __init__(self, session: SessionState, services: Services, delegation: Delegation) -> None:
        self._session = session
        self._services = services
        self._delegation = delegation
        self.content_filter = ContentFilter(session.transcript)

    async def access(
        self,
        setup: ToolSetup,
        options: TurnOptions,
        rules: SessionRules,
        model: ModelAccess | None = None,
    ) -> ToolAccess:
        """What the tools may use: rules in layers, the folder, a sandbox.

        ``rules`` are the chat's; ``model`` answers servers. Raises ConfigurationError.
        """
        session, services, agent = self._session, self._services, setup.agent
        info, workspace = session.info, setup.workspace
        masks = setup.masks
        if options.agent:  # the session's own model gets the results later
            masks = await services.masks(info, options.agent)
        if options.parent is not None:  # whose model gets the answer
            masks = [*masks, *options.parent.masks]
        self.content_filter.kinds = masks
        self.content_filter.own = services.settings.values.mask_own
        closed = await services.packs.closed_rules(info.subject)
        policy = Policy(  # nothing is awaited until it hears of changes
            info.permission_mode,
            {
                **setup.layers.rules,
                "agent": agent.permissions,
                "session": rules.known,
                "turn": [*options.rules, *closed],
            },
            workspace=workspace,
            role=agent.role,
            tools=agent.tools,
        )
        if (ceiling := options.ceiling) is not None:
            policy = policy.within(ceiling.at(workspace))
        rules.attach(policy)
        workspace = workspace.hiding(policy.hides)
        sandbox = await hiding_sandbox(services, policy, workspace, setup.hooks)
        values = services.settings.values
        guard = ExfiltrationGuard(
            session.transcript,
            contained=sandbox.kind != "none",
            trusted=setup.layers.trusted,
            above=options.parent.guard if options.parent is not None else None,
            throwaway=values.throwaway and not values.sandbox,
            secrets=services.keychain.known,
            held_jobs=lambda: [one.id for one in services.jobs.of(info.id) if one.held],
        )
        return ToolAccess(
            session_id=info.id,
            agent=agent.name,
            tools=setup.tools,
            offered=[spec for spec in setup.offered if spec.external or policy.offers(spec)],
            served=[spec for spec in setup.served if policy.offers(spec)],
            policy=policy,
            guard=guard,
            content_filter=self.content_filter,
            workspace=workspace,
            sandbox=sandbox,
            notes=Notes(
                services.notes,
                Path(info.folder),
                writer=Writer(
                    agent.name,
                    info.id,
                    lambda: last_turn(session.transcript.blocks),
                    agent.name in values.keep_notes_of,
                    lambda: guard.exposed.get("untrusted", ""),
                    lambda: made_from(
                        session.transcript.blocks, setup.tools, trusted=setup.layers.trusted
                    ),
                ),
                nearness=services.nearness,
            ),
            spill=services.spill(info.id),
            checks=setup.layers.checks,
            languages=setup.layers.trusted and values.language_servers,
            seen=lambda: SeenFiles(session.transcript.seen, services.seen_texts(info.id)),
            # A token is some four characters: a result takes a quarter of the window at most.
            room=min(ROOM, setup.window or ROOM),
            numbered=setup.numbered,
            jobs=lambda: services.jobs.of(info.id),
            children=lambda call_id: self._delegation.of_call(info.id, call_id),
            waits=options.call is not None,
            subject=info.subject,
            sampling=ServerSampling(
                model, lambda: session.transcript.steps, self.content_filter.mask
            )
            if model is not None
            else None,
        )
