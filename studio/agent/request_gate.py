"""Request gate: asks the policies of packs before each request to a provider (KZ-7).

There is no other way to a provider's ``stream``. A chat about a thing of a pack that is not on is
sent nowhere: nobody could say then who may see it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast
from urllib.parse import urlsplit

from studio.domain.errors import ProviderError, ToolFailed
from studio.domain.events import CallStarted, Delta, ReasoningDelta, TextDelta
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import ToolCall
from studio.domain.records import dataclass
from studio.processes.daemon_thread import in_daemon_thread
from studio.providers.base import Provider, Reply, ReplyStream, Request
from studio.providers.registry import EMBEDDED, PROVIDERS
from studio.tools.packs.policy import PLACEHOLDER, AskedRequest, Mask, Purpose, Verdict

from .packs import Packs

log = logging.getLogger(__name__)
_KEPT = frozenset(
    {
        *("id", "type", "role", "name", "call_id", "tool_call_id", "tool_use_id", "status"),
        *("signature", "thoughtSignature", "thought_signature", "encrypted_content", "format"),
    }
)
"""Values that are no words of anybody: a provider checks them."""
_WORDS = frozenset({"input", "args", "arguments", "response"})
"""Keys of objects that are all words: what a tool is called with, and what it answers."""
_VALUES = frozenset({"description", "title", "enum", "const", "default", "example", "examples"})
"""Keys of a schema whose values are words."""
_PROPERTIES = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_MEDIA = frozenset({"media_type", "mime_type", "mimeType", "image_url", "file_data", "images"})
"""Keys of objects that hold a picture or a file."""
NOT_SENT = "(A picture or a file was here. It was not sent, because names cannot be masked in it.)"


class OpenGate(Protocol):
    """The way to a provider, for what one chat is about."""

    async def stream(self, provider: Provider, request: Request, purpose: Purpose) -> ReplyStream:
        """Begin a request that the policies allow; raises ProviderError for one they refuse."""
        ...


@dataclass(frozen=True, slots=True)
class Asker:
    """The agent that asks a model. ``words`` returns all that was said to it.

    ``confirm`` asks the person whether a request may be sent, with the reason why not; None where
    nobody can be asked.
    """

    agent: str = ""
    words: Callable[[], str] = str
    confirm: Callable[[str], Awaitable[bool]] | None = None


NOBODY = Asker()


class RequestGate:
    """The gate for chats about one ``subject``."""

    def __init__(
        self, packs: Packs, address: Callable[[str], str], subject: str, asker: Asker
    ) -> None:
        self._packs = packs
        self._address = address
        self._subject = subject
        self._asker = asker

    async def stream(self, provider: Provider, request: Request, purpose: Purpose) -> ReplyStream:
        try:
            masks = await self._masks(provider.name, request.model, purpose, asks=True)
            hiding = [one for one in masks if one.hides]
            if hiding:
                request = await in_daemon_thread(lambda: _hidden(request, hiding))
        except ProviderError:
            raise
        except _NotText as error:
            words = f"{error} cannot be masked, so this was not sent. Leave it out."
            raise ProviderError("refused", words, provider=provider.name) from error
        except Exception as error:  # a pack's own code
            raise ProviderError("refused", _unsaid(error), provider=provider.name) from error
        stream = provider.stream(request)
        return MaskedStream(stream, masks) if masks else stream

    async def as_sent(
        self, history: Sequence[JsonObject], provider: str, model: str
    ) -> Sequence[JsonObject]:
        """A history as the provider gets it; as it is where nothing of it would be sent."""
        try:
            masks = [one for one in await self._masks(provider, model, "look") if one.hides]
            return await in_daemon_thread(lambda: _hidden_history(history, masks))
        except Exception as error:  # refused, or a pack's own code
            log.info("a history is shown as it is: %s", error)
            return history

    async def ask_about_call(self, tool: str, target: str, words: str) -> str:
        """Why the person is asked about a call that can send ``words`` out, or nothing.

        Raises ToolFailed for one that a policy refuses.
        """
        packs, subject = self._packs, self._subject
        if not subject and not packs.has_policies:
            return ""
        address = target if urlsplit(target).scheme in ("http", "https") else ""
        is_local = _is_loopback(address)
        asked = AskedRequest(tool, "", address, is_local, "call", subject, self._asker.agent, words)
        try:
            verdicts = await in_daemon_thread(lambda: packs.ask_policies(asked))
        except Exception as error:  # a pack's own code
            raise ToolFailed(_unsaid(error)) from error
        if refused := next((one.refused for one in verdicts if one.refused), ""):
            raise ToolFailed(refused)
        return " ".join(one.asks for one in verdicts if one.asks)

    async def _masks(
        self, provider: str, model: str, purpose: Purpose, *, asks: bool = False
    ) -> list[Mask]:
        """The masks that the policies want; raises ProviderError where they refuse.

        ``asks``: the person is asked where they want that.
        """
        packs, subject = self._packs, self._subject
        if not subject and not packs.has_policies:
            return []
        address = self._address(provider)
        known = PROVIDERS.get(provider)
        usual = known.address if known else ""
        suffix = known.hosted_suffix if known else ""
        hosted = bool(suffix) and model.endswith(suffix)  # Ollama's servers answer then
        asked = AskedRequest(
            provider,
            model,
            "" if hosted else address,
            provider in EMBEDDED or (_is_loopback(address or usual) and not hosted),
            purpose,
            subject,
            self._asker.agent,
            self._asker.words(),
        )
        verdicts = await in_daemon_thread(lambda: packs.ask_policies(asked))
        if refused := next((one.refused for one in verdicts if one.refused), ""):
            raise ProviderError("refused", refused, provider=provider)
        if asks:
            await self._confirm(verdicts, provider)
        return [one.mask for one in verdicts if one.mask is not None]

    async def _confirm(self, verdicts: Sequence[Verdict], provider: str) -> None:
        """Ask the person what the policies want to know; raises ProviderError for a no."""
        confirm = self._asker.confirm
        for why in dict.fromkeys(one.asks for one in verdicts if one.asks):
            if confirm is None or not await confirm(why):
                raise ProviderError("refused", why, provider=provider)


class OpenToAll:
    """For requests of no chat."""

    async def stream(self, provider: Provider, request: Request, purpose: Purpose) -> ReplyStream:
        return provider.stream(request)


def _unsaid(error: Exception) -> str:
    return f"A pack could not say whether this may be sent: {type(error).__name__}: {error}"


class _NotText(Exception):
    """Something in a request that cannot be masked: a picture, a file, a name."""


class MaskedStream:
    """A reply to a masked request, with the words that were hidden.

    What goes into the history stays as the provider wrote it.
    """

    def __init__(self, stream: ReplyStream, masks: Sequence[Mask]) -> None:
        self._stream = stream
        self._masks = masks

    @property
    def last_event_at(self) -> float:
        return self._stream.last_event_at

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self._deltas()

    async def _deltas(self) -> AsyncIterator[Delta]:
        kind: type[TextDelta] | type[ReasoningDelta] = TextDelta
        held = ""
        """What may be the beginning of a placeholder."""
        async for delta in self._stream:
            if held and type(delta) is not kind:
                yield kind(self._shown(held))
                held = ""
            if isinstance(delta, CallStarted):
                yield delta
                continue
            kind, text = type(delta), held + delta.text
            opens = text.rfind("[")
            is_open = opens >= 0 and "]" not in text[opens:] and len(text) - opens < PLACEHOLDER
            ready, held = (text[:opens], text[opens:]) if is_open else (text, "")
            if ready:
                yield kind(self._shown(ready))
        if held:
            yield kind(self._shown(held))

    def reply(self) -> Reply:
        return self._with_words(self._stream.reply())

    def interrupted(self) -> Reply:
        return self._with_words(self._stream.interrupted())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _with_words(self, reply: Reply) -> Reply:
        return replace(reply, calls=[self._call(one) for one in reply.calls])

    def _call(self, call: ToolCall) -> ToolCall:
        arguments = None
        if call.arguments is not None:
            arguments = cast("JsonObject", _changed(call.arguments, self._shown, frozenset()))
        return replace(call, arguments=arguments, raw=self._shown(call.raw))

    def _shown(self, text: str) -> str:
        for mask in reversed(self._masks):
            text = mask.show(text)
        return text


def _hidden(request: Request, masks: Sequence[Mask]) -> Request:
    """The request as the provider sees it; raises _NotText."""
    hide = _hider(masks)
    for one in request.tools:
        _require_same(one.name, hide)
    tools = [
        replace(
            one,
            description=hide(one.description),
            schema=cast("JsonObject", _described(one.schema, hide)),
        )
        for one in request.tools
    ]
    return replace(
        request,
        history=_hidden_history(request.history, masks),
        system=hide(request.system),
        tools=tools,
        schema=cast("JsonObject | None", _described(request.schema, hide)),
        stop=tuple(map(hide, request.stop)),
    )


def _hidden_history(history: Sequence[JsonObject], masks: Sequence[Mask]) -> list[JsonObject]:
    """The items of a history as the provider sees them; raises _NotText."""
    if not masks:
        return [*history]
    hide = _hider(masks)
    return [cast("JsonObject", _changed(item, hide, _KEPT, media=True)) for item in history]


def _hider(masks: Sequence[Mask]) -> Callable[[str], str]:
    def hide(text: str) -> str:
        for mask in masks:
            text = mask.hide(text)
        return text

    return hide


def _changed(
    value: Json, change: Callable[[str], str], kept: frozenset[str], *, media: bool = False
) -> Json:
    """A JSON value with other texts; ``media``: words in the place of pictures and files.

    Raises _NotText for one whose place is not known.
    """
    if isinstance(value, str):
        if media and value.startswith("data:"):
            raise _NotText("A picture or a file")
        return change(value)
    if isinstance(value, list):
        return [_changed(one, change, kept, media=media) for one in value]
    if isinstance(value, Mapping):
        if media:
            value = _without_media(value)
        if media and _MEDIA & value.keys():
            raise _NotText("A picture or a file")
        if "signature" in value and "signature" in kept:
            return value  # its provider wrote it, and takes it back as it is alone
        return {
            name: one
            if name in kept
            else _changed(one, change, frozenset() if name in _WORDS else kept, media=media)
            for name, one in value.items()
        }
    return value


def _without_media(value: JsonObject) -> JsonObject:
    """A part of a history with words where a picture or a file was, in each provider's form."""
    kind = value.get("type")
    if kind in ("image", "document") and "source" in value:
        return {"type": "text", "text": NOT_SENT}
    if kind in ("image_url", "file", "input_audio"):
        return {"type": "text", "text": NOT_SENT}
    if kind in ("input_image", "input_file"):
        return {"type": "input_text", "text": NOT_SENT}
    if "inlineData" in value:
        return {"text": NOT_SENT}
    if "images" in value and "role" in value:
        rest = {name: one for name, one in value.items() if name != "images"}
        return {**rest, "content": f"{value.get('content') or ''}\n{NOT_SENT}".strip()}
    return value


def _described(schema: Json, hide: Callable[[str], str]) -> Json:
    """A schema with other words: descriptions, and the values that are allowed or usual.

    A call that has such a value gets its words back. Raises _NotText for the name of a property
    that had to be hidden: it could not be found again.
    """
    if isinstance(schema, list):
        return [_described(one, hide) for one in schema]
    if isinstance(schema, Mapping):
        found: JsonObject = {}
        for name, one in schema.items():
            if name in _PROPERTIES and isinstance(one, Mapping):
                for key in one:
                    _require_same(key, hide)
                found[name] = {key: _described(each, hide) for key, each in one.items()}
            elif name in _VALUES:
                found[name] = _changed(one, hide, frozenset())
            else:
                found[name] = _described(one, hide)
        return found
    return schema


def _require_same(name: str, hide: Callable[[str], str]) -> None:
    """Raise _NotText for a name that had to be hidden, and cannot: a provider checks it."""
    if hide(name) != name:
        raise _NotText(f"The name of a tool or of one of its parameters, “{name}”,")


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
