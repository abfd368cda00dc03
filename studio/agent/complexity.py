"""How hard a message looks, by rules alone: a first guess, free and at once (L-13).

Words of the larger European languages, Chinese and Japanese are known; in
others length, files, lists and code still tell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from studio.domain.agents import Mode
from studio.domain.messages import Image, Said, Text

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
_ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+\S", re.M)
_PATH = re.compile(r"(?<![\w/:])(?:[\w.-]+/)+[\w.-]+|\b[\w-]+\.[a-z]{1,4}\b")
_TRACE = re.compile(r"Traceback \(most recent|^\s+at \S+\(|\b(?:Error|Exception):|panic:", re.M)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LETTERS = 3
"""Of a script without blanks, to a word, about."""

LARGE, CLOUD, BACKGROUND = 2, 5, 3
"""Points from which on a message is for that tier, or for a background turn."""


@dataclass(frozen=True, slots=True)
class Guess:
    """How a message is to be worked on; ``what`` names what it looks like: “a larger task”."""

    mode: Mode
    tier: Tier
    what: str


def guess(said: Sequence[Said]) -> Guess:
    """What the person's words and files look like, by rules; call it in a thread."""
    points = weight(said)
    return guessed(
        "background" if points >= BACKGROUND else "inline",
        "cloud" if points >= CLOUD else "large" if points >= LARGE else "small",
    )


def guessed(mode: Mode, tier: Tier) -> Guess:
    what = {"small": "a quick question", "large": "a task", "cloud": "a hard task"}[tier]
    if mode == "background" and tier == "small":
        what = "a small task"
    return Guess(mode, tier, what)


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
