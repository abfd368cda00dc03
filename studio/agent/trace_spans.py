"""Trace spans: makes OpenTelemetry spans of runs, turns, requests and tools (L-15, W-71).

Only this module uses OpenTelemetry. The names are those of the semantic conventions for
generative AI (status "development" in November 2026)::

    invoke_workflow Release notes
      invoke_agent Coder
        chat claude-opus-4
        execute_tool delegate
          invoke_agent Researcher

What looks like a secret is always left out. Headers for the collector come from
``OTEL_EXPORTER_OTLP_HEADERS``.
"""

from __future__ import annotations

import json
import logging
import queue
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from urllib.parse import urlsplit

from studio import __version__
from studio.domain.events import (
    Event,
    Failed,
    RetryScheduled,
    StepEnded,
    StepStarted,
    TextDelta,
    ToolFinished,
    ToolQueued,
    ToolStarted,
    TurnComplete,
    TurnStarted,
)
from studio.domain.extras import how_to_install
from studio.domain.messages import Text
from studio.domain.models import Usage
from studio.domain.records import dataclass
from studio.domain.redaction import arguments_without_secrets, without_secrets
from studio.domain.sessions import Caller
from studio.providers.registry import PROVIDERS

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

    from studio.domain.run_events import RunState

log = logging.getLogger(__name__)

EXPORT_SECONDS = 5
"""Seconds that one export to the collector may take."""
_NO_EXTRA = (
    f"Traces need packages that are not installed: {how_to_install('traces')}. "
    "Until then no traces are sent."
)

Attributes: TypeAlias = Mapping[str, "str | int | float | bool | Sequence[str]"]


@dataclass(frozen=True, slots=True)
class RunBegan:
    """A run is carried out from now on; ``parent`` is the run that it is a step of."""

    run_id: str
    name: str
    parent: str
    step: str


@dataclass(frozen=True, slots=True)
class RunLeft:
    """A run is over, or goes on another time."""

    run_id: str
    state: RunState


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with the collector of its span; ``caller`` began its session."""

    at: int
    session_id: str
    event: Event | RunBegan | RunLeft
    endpoint: str
    content: bool
    caller: Caller | None = None


class SpanWriter:
    """Converts events to spans in the thread."""

    def __init__(self, recorded: queue.Queue[Recorded | None], tell: Callable[[str], None]) -> None:
        self._queue = recorded
        self._tell = tell
        self._endpoint = ""
        self._provider: TracerProvider | None = None
        self._turns: dict[str, _TurnSpans] = {}
        self._runs: dict[str, Span] = {}

    def run(self) -> None:
        while (recorded := self._queue.get()) is not None:
            try:
                self._take(recorded)
            except ImportError:
                self._tell(_NO_EXTRA)
            except Exception:  # a trace must never be the reason that anything else fails
                log.exception("a trace could not be made")
        if self._provider is not None:
            self._provider.shutdown()

    def _take(self, recorded: Recorded) -> None:
        if recorded.endpoint != self._endpoint:
            self._turns.clear()
            self._runs.clear()
            old, self._provider = self._provider, None
            self._endpoint = recorded.endpoint
            if old is not None:
                old.shutdown()
        event = recorded.event
        if isinstance(event, RunBegan):
            about: dict[str, str] = {
                "gen_ai.operation.name": "invoke_workflow",
                "gen_ai.workflow.name": event.name,
                "agent_studio.run": event.run_id,
            }
            if event.step:
                about["agent_studio.step"] = event.step
            name, parent = f"invoke_workflow {event.name}", self._runs.get(event.parent)
            self._runs[event.run_id] = _started(self._tracer, name, recorded.at, about, parent)
        elif isinstance(event, RunLeft):
            if (span := self._runs.pop(event.run_id, None)) is not None:
                _set_attributes(span, {"agent_studio.state": event.state})
                if event.state == "failed":
                    _mark_failed(span, "failed")
                span.end(recorded.at)
        elif isinstance(event, TurnStarted):
            above = self._above(recorded.caller)
            turn = _TurnSpans(self._tracer, recorded, event, above)
            self._turns[recorded.session_id] = turn
        elif (turn := self._turns.get(recorded.session_id)) is not None:
            turn.take(event, recorded.at, recorded.content)
            if isinstance(event, TurnComplete):
                del self._turns[recorded.session_id]

    @property
    def _tracer(self) -> Tracer:
        if self._provider is None:
            self._provider = _provider(self._endpoint, self._tell)
        return self._provider.get_tracer("agent-studio", __version__)

    def _above(self, caller: Caller | None) -> Span | None:
        """The span of the run, or of the call, that began a session."""
        if caller is None:
            return None
        if caller.kind == "run":
            return self._runs.get(caller.id)
        turn = self._turns.get(caller.id)
        return turn and turn.span_of(caller.part)


class _TurnSpans:
    """The spans of one turn: one for the agent, and below it one for each request and tool."""

    def __init__(
        self, tracer: Tracer, recorded: Recorded, started: TurnStarted, above: Span | None
    ) -> None:
        self._tracer = tracer
        self._common: Attributes = {
            "gen_ai.provider.name": _provider_name(started.provider),
            "gen_ai.request.model": started.model,
            "gen_ai.conversation.id": started.session_id,
        }
        self._model = started.model
        self._chat: Span | None = None
        self._words: list[str] = []
        self._calls: dict[str, ToolQueued] = {}
        self._tools: dict[str, Span] = {}
        about = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": started.agent,
            **self._common,
        }
        if recorded.caller is not None and recorded.caller.kind == "run":
            about["agent_studio.step"] = recorded.caller.part
        self._turn = _started(tracer, f"invoke_agent {started.agent}", recorded.at, about, above)
        if recorded.content:
            said = "\n".join(part.text for part in started.said if isinstance(part, Text))
            _set_attributes(self._turn, {"gen_ai.input.messages": _messages("user", said)})

    def span_of(self, call_id: str) -> Span:
        """The span of a call that runs, or else that of the turn."""
        return self._tools.get(call_id, self._turn)

    def take(self, event: Event, at: int, content: bool) -> None:
        match event:
            case StepStarted():
                self._end_chat(at)
                chat = {"gen_ai.operation.name": "chat", "gen_ai.request.stream": True}
                self._chat = _started(
                    self._tracer,
                    f"chat {self._model}",
                    at,
                    {**chat, **self._common},
                    self._turn,
                    client=True,
                )
            case TextDelta():
                self._words.append(event.text)
            case RetryScheduled():
                if self._chat is not None:
                    facts = {"error.type": event.fault, "attempt": event.attempt}
                    self._chat.add_event("retry", facts, at)
            case StepEnded():
                if self._chat is not None:
                    stop = {"gen_ai.response.finish_reasons": [event.stop]}
                    _set_attributes(self._chat, {**stop, **_usage(event.usage)})
                    if content and self._words:
                        told = _messages("assistant", "".join(self._words))
                        _set_attributes(self._chat, {"gen_ai.output.messages": told})
                self._end_chat(at)
            case ToolQueued():
                self._calls[event.call_id] = event
            case ToolStarted():
                self._start_tool(event.call_id, at, content)
            case ToolFinished():
                self._finish_tool(event, at, content)
            case Failed():
                for span in (self._turn, self._chat):
                    if span is not None:
                        _mark_failed(span, event.fault)
            case TurnComplete():
                for span in self._tools.values():
                    _mark_failed(span, "cancelled")
                    span.end(at)
                self._end_chat(at)
                ended = {"agent_studio.reason": event.reason, "agent_studio.steps": event.steps}
                _set_attributes(self._turn, {**ended, **_usage(event.usage)})
                self._turn.end(at)
            case _:
                pass

    def _start_tool(self, call_id: str, at: int, content: bool) -> None:
        call = self._calls.get(call_id)
        if call is None:
            return
        span = self._tools[call_id] = _started(
            self._tracer,
            f"execute_tool {call.name}",
            at,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.type": "function",
            },
            self._turn,
        )
        if content:
            arguments = json.dumps(arguments_without_secrets(call.arguments))
            _set_attributes(span, {"gen_ai.tool.call.arguments": arguments})

    def _finish_tool(self, event: ToolFinished, at: int, content: bool) -> None:
        if event.call_id not in self._tools:  # refused before it began
            self._start_tool(event.call_id, at, content)
        span = self._tools.pop(event.call_id, None)
        if span is None:
            return
        if content:
            _set_attributes(span, {"gen_ai.tool.call.result": event.text})
        if event.is_error:
            _mark_failed(span, "tool_error")
        span.end(at)

    def _end_chat(self, at: int) -> None:
        if self._chat is not None:
            self._chat.end(at)
        self._chat = None
        self._words.clear()


def _started(
    tracer: Tracer,
    name: str,
    at: int,
    about: Attributes,
    parent: Span | None = None,
    *,
    client: bool = False,
) -> Span:
    """A span that has begun, below its parent."""
    from opentelemetry.context import Context
    from opentelemetry.trace import SpanKind, set_span_in_context

    above = Context() if parent is None else set_span_in_context(parent, Context())
    kind = SpanKind.CLIENT if client else SpanKind.INTERNAL
    span = tracer.start_span(without_secrets(name), above, kind, start_time=at)
    _set_attributes(span, about)
    return span


@dataclass()
class _ReportingExporter:
    """An exporter that gives one notice if the collector does not accept its spans."""

    exporter: Any
    address: str
    tell: Callable[[str], None]
    told: bool = False

    def export(self, spans: Sequence[Any]) -> Any:
        from opentelemetry.sdk.trace.export import SpanExportResult

        try:
            result = self.exporter.export(spans)
        except Exception:
            log.exception("traces could not be sent")
            result = SpanExportResult.FAILURE
        if result is not SpanExportResult.SUCCESS and not self.told:
            self.told = True
            self.tell(
                f"Traces could not be sent to {self.address}. Check the address in the settings; "
                "the program works on without them."
            )
        return result

    def shutdown(self) -> None:
        self.exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return bool(self.exporter.force_flush(timeout_millis))


def _provider(endpoint: str, tell: Callable[[str], None]) -> TracerProvider:
    """A separate pipeline to a collector; it does not change the global one.

    Raises ImportError where the extra ``traces`` is not installed.
    """
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # It would log every attempt; the person gets one notice.
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    about = Resource({"service.name": "agent-studio", "service.version": __version__})
    provider = TracerProvider(resource=about, shutdown_on_exit=False)
    sender = OTLPSpanExporter(_traces_url(endpoint), timeout=EXPORT_SECONDS)
    exporter = cast("SpanExporter", _ReportingExporter(sender, _address(endpoint), tell))
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000))
    return provider


def _traces_url(endpoint: str) -> str:
    """The collector's address, with the path for spans added if it is missing."""
    end = "/v1/traces"
    base = endpoint.rstrip("/")
    return base if base.endswith(end) else base + end


def _address(endpoint: str) -> str:
    """Host and port, without a password that may be in the address."""
    try:
        parts = urlsplit(endpoint)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the collector"
    return f"{parts.hostname}{port}" if parts.hostname else "the collector"


def _set_attributes(span: Span, attributes: Attributes) -> None:
    """Set attributes, without secrets in texts."""
    for name, value in attributes.items():
        span.set_attribute(name, without_secrets(value) if isinstance(value, str) else value)


def _mark_failed(span: Span, kind: str) -> None:
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _usage(used: Usage) -> Attributes:
    return {
        "gen_ai.usage.input_tokens": used.input,
        "gen_ai.usage.output_tokens": used.output,
        "gen_ai.usage.cache_read.input_tokens": used.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": used.cache_write,
        "gen_ai.usage.reasoning.output_tokens": used.reasoning,
    }


def _messages(role: str, text: str) -> str:
    """One message in the conventions' JSON form, without secrets.

    They are removed before encoding, because JSON escapes would hide them.
    """
    part = {"type": "text", "content": without_secrets(text)}
    return json.dumps([{"role": role, "parts": [part]}])


def _provider_name(name: str) -> str:
    """The conventions' name of a provider."""
    known = PROVIDERS.get(name)
    return (known and known.telemetry_name) or name
