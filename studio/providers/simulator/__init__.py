"""A strict simulator of the providers: test double, demo, check on our own requests.

    async with Simulator([Turn(Text("Hello."))]) as sim:
        ...  # talk to sim.url("anthropic") with any key that does not begin with "bad"
    assert not sim.violations

Standard library only.
"""

from .chunking import every, scattered
from .demo import demo_script
from .exchange import Exchange, Violation
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
from .serving import serve
from .simulator import Simulator
from .transport import transport
from .view import Called, Offered, RequestView, Returned, Said, SurfaceName

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
