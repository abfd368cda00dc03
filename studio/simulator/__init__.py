"""A strict simulator of the providers: test double, demo, check on our own requests.

    async with Simulator([Turn(Text("Hello."))]) as sim:
        ...  # talk to sim.url("anthropic") with any key that does not begin with "bad"
    assert not sim.violations

Standard library only.

- ``anthropic``: To be described.
- ``chunking``: Where the bytes of a body are split into writes.
- ``connection``: One client's connection.
- ``demo``: The demo.
- ``fault_injection``: What becomes of a turn.
- ``faults``: What can go wrong on the wire, as values a turn carries.
- ``gemini``: To be described.
- ``http``: HTTP/1.1 as far as a loopback server needs it, over asyncio streams.
- ``json_read``: Reading JSON of unknown shape without asking every line what it is.
- ``media``: Pictures and files as they travel.
- ``model_lists``: The models each surface lists, some of them no chat models, in pages.
- ``ollama``: To be described.
- ``openai``: To be described.
- ``openai_chat``: To be described.
- ``request_view``: A request as a script sees it.
- ``routes``: Which surface a request belongs to, whether its key is good, and odd requests'
  answers.
- ``rules``: A surface's rules are a table of named checks; any one can be switched off to be
  tested.
- ``schemas``: Reading the schema that an answer has to fit, and what OpenAI's strict mode wants
  of it.
- ``script``: What the simulator answers.
- ``simulator``: A local server that speaks like the providers and is as strict as they are.
- ``standalone``: The simulator as a program of its own, for people who write agents.
- ``state``: Ids and signatures for what the simulator says.
- ``surface``: What every surface of the simulator does, and what they share.
- ``transport``: The simulator without a socket.
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
