"""A strict simulator of the providers: test double, demo, and check on our own requests.

    async with Simulator([Turn(Text("Hello."))]) as sim:
        ...  # talk to sim.url("anthropic") with any key that does not begin with "bad"
    assert not sim.violations

It uses the standard library only.

What it does:

- ``simulator`` is the server: it answers requests from a script and records them.
- ``script`` describes the answers: turns of text, thinking and calls, the same for every API.
- ``faults`` lists what can go wrong in an answer; ``fault_injection`` applies it.
- ``demo`` is the script of the demo provider, with rules instead of a model.
- ``standalone`` runs the server as a program of its own.
- ``transport`` answers ``httpx2`` within one process, without a socket.

The APIs, a folder each with a surface and rules: ``anthropic``, ``openai`` (Responses),
``openai_chat`` (Chat Completions), ``gemini`` and ``ollama``.

What they share:

- ``surface`` defines an API's surface and changes the JSON inside rendered events.
- ``rules`` runs a table of named checks and defines their refusal.
- ``media`` decodes pictures and files; ``schemas`` reads JSON schemas of answers.
- ``model_lists`` lists the models of each API, in pages.
- ``routes`` finds the API and checks the key of a request.
- ``request_view`` is a request in a form common to all APIs.
- ``state`` remembers sessions, caches, ids and signatures.

HTTP:

- ``http`` reads requests and writes responses, and records an exchange.
- ``connection`` serves one client; ``chunking`` splits a body into pieces and paces them.
- ``json_read`` reads JSON of unknown shape.
"""

from .chunking import every, scattered
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
from .http import Exchange, Violation
from .request_view import Called, Offered, RequestView, Returned, Said, SurfaceName
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
from .simulator import Simulator
from .standalone import serve
from .transport import transport

__all__ = [
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
    "SurfaceName",
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
