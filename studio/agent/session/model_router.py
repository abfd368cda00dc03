"""The model router: chooses the model for a message and whether it runs in the background (L-13).

Routing is off unless the person turns it on and names a model for each tier. A
message goes to the tier that fits how hard it looks, judged by rules or by a small
model, and to the next tier if the turn gets stuck. A chat only moves up, because
after a switch the new model has to read everything. A model that the person chose
stays. The rules know words of the larger European languages, Chinese and Japanese;
in other languages they go by length, files, lists and code.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from studio.agent.budget import Budget
from studio.agent.context.token_count import tokens_of_request
from studio.agent.models.provider_factory import ProviderFactory
from studio.agent.prompts import ROUTING_SYSTEM
from studio.agent.request_gate import Asker, OpenGate
from studio.agent.request_meter import RequestMeter, RequestRate
from studio.agent.usage_costs import token_rates
from studio.domain.agents import Agent, Mode, longer
from studio.domain.errors import ProviderError, StudioError
from studio.domain.events import CompletionReason, Routed, TextDelta
from studio.domain.messages import Image, Said, Text
from studio.domain.models import NO_USAGE, Usage
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass
from studio.domain.sessions import SessionInfo
from studio.providers.base import Reply, ReplyStream, Request
from studio.providers.catalogue import Catalogue
from studio.storage.config.settings import SettingsFile
from studio.tools.packs.policy import Purpose

Tier: TypeAlias = Literal["small", "large", "cloud"]
TIERS: tuple[Tier, ...] = ("small", "large", "cloud")
"""The cheapest first."""

# Compiled with the first message that is weighed: few chats are routed, and it takes 10 ms.
_WORK = (
    r"(?i)\b(?:implement|refactor|rewrite|migrat|debug|fix|build|creat|add|writ|port|renam|optimi[sz]e"
    r"|convert|updat|upgrad|replac|remov|delet|chang|mov|set up|install|test|document|translat"
    r"|implementier|refaktorier|schreib|bau|erstell|beheb|änder|ersetz|entfern|füg|portier|übersetz"
    r"|implémente|refactorise|écri[st]|crée|corrige|ajoute|modifie|remplace|supprime|tradui"
    r"|implementa|refactoriza|escribe|arregla|añade|cambia|reemplaza|elimina|traduce"
    r"|scrivi|correggi|aggiungi|modifica|sostituisci|escreva|corrija|adicione|substitua"
    r"|napisz|popraw|dodaj|zmień|utwórz|usuń)\w*"
)
_WORK_ELSEWHERE = (
    r"(?i)реализ|рефактор|напиш|исправ|созда|добав|замен|удал|перенес|перепиш"
    r"|实现|重构|编写|修复|创建|添加|修改|删除|迁移|翻译"
    r"|実装|リファクタ|修正|作成|追加|書い|書き|変更|削除|移行"
)
"""Where words change at their beginning, or have none."""
_SCOPE = (
    r"(?i)\b(?:all|every|each|entire|whole|everywhere|across|throughout|codebase|repositor\w+|project"
    r"|alle[nrs]?|jede[nrsm]?|ganze[nrsm]?|gesamte[nrsm]?|überall|projekt"
    r"|tous|toutes|chaque|partout|projet|todos|todas|cada|proyecto|tutti|tutte|progetto|projeto"
    r"|wszystkie|wszystkich|każd\w+)\b"
    r"|\b(?:все|всех|каждый|весь|проект)|所有|全部|整个|每个|项目|すべて|全て|全ファイル|プロジェクト"
)
_DEEP = (
    r"(?i)\b(?:architect\w*|redesign\w*|design|prove|proof|analy[sz]e\w*|compare|trade-?offs?|strategy"
    r"|security|vulnerabilit\w+|race condition|deadlock|concurren\w+|performance|algorithm\w*"
    r"|architektur|entwirf|beweis\w*|analysier\w*|vergleich\w*|sicherheit\w*"
    r"|analyse[rz]?|compare[rz]?|démontre\w*|sécurité|analiza\w*|demuestra|seguridad|arquitectura"
    r"|analizza\w*|dimostra|sicurezza|analise|segurança|bezpieczeństw\w+)\b"
    r"|архитектур|проанализ|докаж|безопасност|架构|分析|证明|安全|设计|設計|証明|セキュリティ"
)
_THEN = (
    r"(?i)\b(?:then|after that|afterwards|finally|danach|anschließend|dann|ensuite|puis|luego"
    r"|después|poi|depois|potem|następnie)\b|затем|потом|然后|接着|その後|それから"
)
_ASKS = (
    r"(?i)^(?:what|who|when|where|which|why|how|is|are|can|does|do|did|was|were|will|should|could"
    r"|was|wer|wann|wo|welche\w*|warum|wie|ist|sind|kann|que|qui|quand|où|quel\w*|pourquoi|comment"
    r"|est-ce|qué|quién|cuándo|dónde|cuál|por qué|cómo|che|chi|quando|dove|quale|perché|come"
    r"|o que|quem|onde|qual|por que|co|kto|kiedy|gdzie|dlaczego|jak)\b"
    r"|^(?:что|кто|когда|где|почему|как)\b"
)
_ITEM = lazy_pattern(r"^[^\S\n]*(?:[-*•]|\d+[.)])[^\S\n]+\S", re.M)
_PATH = lazy_pattern(r"(?<![\w./:-])(?:[\w.-]+/)+[\w.-]+|(?<![\w-])[\w-]+\.[a-z]{1,4}\b")
_TRACE = lazy_pattern(
    r"Traceback \(most recent|^[^\S\n]+at \S+\(|\b(?:Error|Exception):|panic:", re.M
)
_UNSPACED = lazy_pattern(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS = 3
"""Of a script without blanks, to a word, about."""

LARGE, CLOUD, BACKGROUND = 2, 5, 3
"""Points from which on a message is for that tier, or for a background turn."""


@dataclass(frozen=True, slots=True)
class Guess:
    """How a message is to be worked on."""

    mode: Mode
    tier: Tier

    @property
    def what(self) -> str:
        """What the message looks like: “a hard task”."""
        if self.tier == "small":
            return "a small task" if self.mode == "background" else "a quick question"
        return "a task" if self.tier == "large" else "a hard task"


def guess(said: Sequence[Said]) -> Guess:
    """What the person's words and files look like, by rules; call it in a thread."""
    points = weight(said)
    return Guess(
        "background" if points >= BACKGROUND else "inline",
        "cloud" if points >= CLOUD else "large" if points >= LARGE else "small",
    )


def weight(said: Sequence[Said]) -> int:
    """Points for how much a message asks for; 0 is a greeting or a plain question."""
    text = "\n\n".join(part.text for part in said if isinstance(part, Text)).strip()
    prose = re.sub(r"```.*?(?:```|$)", " ", text, flags=re.S)
    works = bool(re.search(_WORK, prose) or re.search(_WORK_ELSEWHERE, prose))
    asks = bool(re.match(_ASKS, prose.strip())) or prose.rstrip().endswith(("?", "？"))
    words = _words(prose)
    points = 0
    if works:
        points += 1 if asks or words < 3 else 2
    if re.search(_SCOPE, prose) and (works or words >= 8):
        points += 2 if works else 1
    if re.search(_DEEP, prose):
        points += 1 if asks and words < 12 else 3
    points += (words > 40) + 2 * (words > 120)
    points += min(len(_ITEM.findall(prose)) // 2, 2)
    points += bool(re.search(_THEN, prose)) if works else 0
    points += len({match[0] for match in _PATH.finditer(prose)}) > 2
    points += ("```" in text) + bool(_TRACE.search(text))
    files = sum(not isinstance(part, Text | Image) for part in said)
    return points + min(files, 2)


def _words(text: str) -> int:
    unspaced = len(_UNSPACED.findall(text))
    return len(_UNSPACED.sub(" ", text).split()) + unspaced // _LETTERS


DEADLINE = 5.0
"""Seconds that the small model has; then the rules decide."""
READS = 4_000
"""Characters of a message that the small model is shown."""
ANSWER = 1_000
"""Tokens of its answer; some think first."""
MODES: tuple[Mode, ...] = ("inline", "background")
"""Those that a message's words tell; the agent's file says whose turns may be ``long``."""
STUCK: dict[Mode, tuple[CompletionReason, ...]] = {
    "inline": ("stalled",),
    "background": ("stalled", "step_limit"),
    "long": ("stalled", "step_limit"),
}
"""How a turn ends that the next tier takes over. One that worked for the few steps of
the inline mode is not stuck: the person is offered the background (L-1)."""


@dataclass(frozen=True, slots=True)
class ClassifierAnswer:
    """What a small model said of a message, if it did in time, and what that used."""

    guess: Guess | None
    name: str = ""
    usage: Usage = NO_USAGE
    seconds: float = 0.0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """What a model said to a request beside the chat; no text if it failed or took too long."""

    text: str
    usage: Usage
    seconds: float
    cost: float | None


class ModelRouter:
    """The choice for one message at a time; holds no session's state."""

    def __init__(
        self,
        settings: SettingsFile,
        providers: ProviderFactory,
        catalogue: Catalogue,
        rate: RequestRate,
        gate: Callable[[str, Asker], OpenGate],
    ) -> None:
        """``gate`` is the way to providers for what a chat is about."""
        self._settings = settings
        self._providers = providers
        self._catalogue = catalogue
        self._rate = rate
        self._gate = gate

    @property
    def on(self) -> bool:
        return self._settings.values.routing

    async def route(
        self,
        info: SessionInfo,
        agent: Agent,
        said: Sequence[Said],
        *,
        begun: bool,
        mode: Mode | None,
        budget: Budget,
    ) -> Routed:
        """The choice for a new message. ``mode`` is the person's, if they said.

        ``begun``: the chat has a history already, so it stays on its tier or moves up.
        """
        asked = await self._ask(info, said, budget)
        found = asked.guess or await asyncio.to_thread(guess, said)
        target = (info.provider, info.model)
        if self.may_change(info, agent):
            tiers = self._tiers()
            least = tiers.get(target) if begun else None
            index = TIERS.index(found.tier)
            if least is not None:
                index = max(index, least)
            target = await self._usable(index, said, least) or target
        wanted = mode or found.mode
        if not mode and wanted == "background":
            wanted = longer(wanted, agent.mode)
        words = f"This looks like {found.what}, so {self._does(target, wanted)}."
        return Routed(wanted, *target, words, asked.name, asked.usage, asked.seconds, asked.cost)

    async def escalate(
        self, info: SessionInfo, agent: Agent, said: Sequence[Said], mode: Mode | None
    ) -> Routed | None:
        """The next tier for a turn that got stuck on this one; None if there is none."""
        now = (info.provider, info.model)
        index = self._tiers().get(now)
        if not self.on or index is None or not self.may_change(info, agent):
            return None
        target = await self._usable(index + 1, said, index + 1)
        if target is None or target == now:
            return None
        wanted = mode or longer("background", agent.mode)
        words = f"{self._title(now)} got stuck, so {self._does(target, wanted)}."
        return Routed(wanted, *target, words)

    def may_change(self, info: SessionInfo, agent: Agent) -> bool:
        """Whether nobody chose the model: the person for this chat, or the agent's file."""
        return not info.model_chosen and not agent.provider and not agent.model

    def _does(self, target: tuple[str, str], mode: Mode) -> str:
        title = self._title(target)
        if mode == "inline":
            return f"{title} answers at once"
        return f"{title} works on it in the background"

    def _title(self, target: tuple[str, str]) -> str:
        return self._catalogue.model(*target).title or target[1]

    def _tiers(self) -> dict[tuple[str, str], int]:
        """The models of the tiers that are set, and how far up each is."""
        found: dict[tuple[str, str], int] = {}
        for index, tier in enumerate(TIERS):
            if target := self._target(tier):
                found.setdefault(target, index)
        return found

    def _target(self, tier: Tier) -> tuple[str, str] | None:
        return _split(self._settings.values.tiers.get(tier, ""))

    async def _usable(
        self, index: int, said: Sequence[Said], least: int | None
    ) -> tuple[str, str] | None:
        """The model of a tier, or of one near: first above, then below but not under ``least``."""
        lowest = 0 if least is None else least
        order = [*range(index, len(TIERS)), *range(index - 1, lowest - 1, -1)]
        for tier in order:
            target = self._target(TIERS[tier])
            if target is not None and await self._takes(target, said):
                return target
        return None

    async def _takes(self, target: tuple[str, str], said: Sequence[Said]) -> bool:
        """Whether a model can be reached, and reads what the person attached."""
        try:
            provider = await self._providers.provider(target[0])
        except StudioError:  # no key, say
            return False
        facts = self._catalogue.model(*target)
        return not any(provider.media_problem(block, facts) for block in said)

    async def _ask(
        self, info: SessionInfo, said: Sequence[Said], budget: Budget
    ) -> ClassifierAnswer:
        """Whatever goes wrong, the rules are there."""
        target = _split(self._settings.values.routing_model)
        if target is None:
            return ClassifierAnswer(None)
        words = _shown(said)
        found = await self.ask(
            target,
            ROUTING_SYSTEM,
            words,
            budget,
            DEADLINE,
            subject=info.subject,
            agent=info.agent,
        )
        if found is None:
            return ClassifierAnswer(None)
        return ClassifierAnswer(
            _understood(found.text), "/".join(target), found.usage, found.seconds, found.cost
        )

    async def ask(
        self,
        target: tuple[str, str],
        system: str,
        words: str,
        budget: Budget,
        deadline: float,
        *,
        subject: str,
        agent: str,
        purpose: Purpose = "routing",
    ) -> ShortAnswer | None:
        """One short request beside the chat; None if it cannot be made, or a cap or the policy of
        a pack forbids it."""
        began = time.monotonic()
        try:
            provider = await self._providers.provider(target[0])
        except StudioError:
            return None
        facts = self._catalogue.model(*target)
        items = provider.user_items([Text(words)])
        request = Request(target[1], items, system, output_limit=ANSWER, facts=facts)
        purse = RequestMeter(budget, self._rate, token_rates(*target, READS, facts))
        try:
            reservation = await purse.reserve(tokens_of_request(request), request)
        except StudioError:
            return None
        text, reply = "", Reply()
        try:
            request = reservation.bounded(request)
            stream = await self._gate(subject, Asker(agent, lambda: words)).stream(
                provider, request, purpose
            )
            text, reply = await _answered(stream, deadline)
        except ProviderError:
            return None
        finally:
            await purse.settle(reservation, reply.usage, reply.cost)
        return ShortAnswer(text, reply.usage, time.monotonic() - began, reply.cost)


async def _answered(stream: ReplyStream, deadline: float) -> tuple[str, Reply]:
    """The words of a short reply; none if it fails or takes too long."""
    text = ""
    try:
        async with asyncio.timeout(deadline):
            async for delta in stream:
                if isinstance(delta, TextDelta):
                    text += delta.text
        return text, stream.reply()
    except (TimeoutError, ProviderError):
        return "", stream.interrupted()
    finally:
        await stream.aclose()


def _understood(text: str) -> Guess | None:
    words = re.findall(r"[a-z]+", text.lower())
    tiers: list[Tier] = [tier for tier in TIERS if tier in words]
    modes: list[Mode] = [mode for mode in MODES if mode in words]
    return Guess(modes[0], tiers[0]) if modes and tiers else None


def _shown(said: Sequence[Said]) -> str:
    text = "\n\n".join(part.text for part in said if isinstance(part, Text))
    files = sum(not isinstance(part, Text) for part in said)
    many = "1 file is" if files == 1 else f"{files} files are"
    more = f"\n\n({many} attached.)" if files else ""
    cut = text if len(text) <= READS else f"{text[:READS]}…"
    return f"The message:\n\n{cut}{more}"


def _split(name: str) -> tuple[str, str] | None:
    """``provider/model``; a model's name may have slashes too."""
    provider, _, model = name.partition("/")
    return (provider, model) if provider and model else None
