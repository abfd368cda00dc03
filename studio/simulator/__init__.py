"""A strict simulator of the providers: test double, demo, and check on our own requests.

    async with Simulator([Turn(Text("Hello."))]) as sim:
        ...  # talk to sim.url("anthropic") with any key that does not begin with "bad"
    assert not sim.violations

It uses the standard library only.

- ``simulator``: answers requests from a script and records them; also as a program of its own.
- ``script``: describes the answers as turns of text, thinking and calls, the same for every API.
- ``faults``: names what can go wrong in an answer, as values that a turn of a script carries.
- ``fault_injection``: applies these faults to an answer.
- ``demo``: the script of the demo provider, with rules instead of a model.
- ``transport``: answers ``httpx2`` within one process, without a socket.

The APIs, a folder each with an endpoint and its checks:

- ``anthropic``: Messages.
- ``openai``: Responses.
- ``openai_chat``: Chat Completions.
- ``gemini``: generateContent.
- ``ollama``: ``/api/chat``.

What they share:

- ``endpoint``: defines an API's endpoint: reads a request, checks it, writes a turn or an error.
- ``request_checks``: runs a table of named checks and defines their refusal.
- ``request_view``: holds a request in a form common to all APIs.
- ``state``: remembers sessions, caches, ids and signatures.
- ``routes``: finds the API of a request and checks its key.
- ``model_lists``: lists the models of each API, in pages.
- ``http``: reads requests, and writes responses in pieces; records an exchange.
- ``json_read``: reads JSON of unknown shape.
"""

from .demo import demo_script
from .faults import (
    Byte,
    Fault,
    content_type,
    cut,
    drip,
    dup,
    eof,
    error_event,
    framing,
    garbage,
    html,
    reorder,
    stall,
    status,
    tool_json,
    unknown,
    usage_odd,
)
from .http import Exchange, Violation, every, scattered
from .request_view import ApiName, Called, Offered, RequestView, Returned, Said
from .script import (
    Call,
    Found,
    Pace,
    Raw,
    Replay,
    Script,
    ServerTool,
    Table,
    Text,
    Think,
    Turn,
    Usage,
    When,
)
from .simulator import Simulator, serve
from .transport import transport

__all__ = [
    "ApiName",
    "Byte",
    "Call",
    "Called",
    "Exchange",
    "Fault",
    "Found",
    "Offered",
    "Pace",
    "Raw",
    "Replay",
    "RequestView",
    "Returned",
    "Said",
    "Script",
    "ServerTool",
    "Simulator",
    "Table",
    "Text",
    "Think",
    "Turn",
    "Usage",
    "Violation",
    "When",
    "content_type",
    "cut",
    "demo_script",
    "drip",
    "dup",
    "eof",
    "error_event",
    "every",
    "framing",
    "garbage",
    "html",
    "reorder",
    "scattered",
    "serve",
    "stall",
    "status",
    "tool_json",
    "transport",
    "unknown",
    "usage_odd",
]
