"""A strict simulator of the providers: test double, demo, and check on our own requests.

    async with Simulator([Turn(Text("Hello."))]) as sim:
        ...  # talk to sim.url("anthropic") with any key that does not begin with "bad"
    assert not sim.violations

It uses the standard library only.

- ``simulator``: answers requests from a script and records them; also as a program of its own.
- ``script``: describes the answers as turns of text, thinking and calls, the same for every API.
- ``faults``: names what can go wrong in an answer, as values that a turn of a script carries.
- ``fault_injection``: applies these faults to an answer, such as a connection that is cut.
- ``demo``: the script of the demo provider, with rules instead of a model.
- ``demo_outputs``: fills in the JSON that a request asks for, from what the demo has found.
- ``transport``: answers ``httpx2`` within one process, without a socket.

The APIs, a folder each with an endpoint and its checks:

- ``anthropic``: Messages.
- ``openai``: Responses.
- ``openai_chat``: Chat Completions.
- ``gemini``: generateContent.
- ``ollama``: ``/api/chat``.

Beside them:

- ``hub``: Hugging Face, where files of models are found and fetched.

What they share:

- ``endpoint``: defines an API's endpoint: reads a request, checks it, writes a turn or an error.
- ``batches``: keeps batches, works on their requests later, and says which expire.
- ``request_checks``: defines a check and its refusal, and what several APIs check.
- ``request_view``: holds a request in a form common to all APIs.
- ``state``: remembers sessions, caches, ids and signatures.
- ``routes``: finds the API of a request and checks its key.
- ``model_lists``: lists the models of each API, in pages.
- ``http``: reads requests, and writes responses in pieces; records an exchange.
- ``json_read``: reads JSON of unknown shape.
"""

from .batches import BatchPlan as BatchPlan
from .demo import demo_script as demo_script
from .faults import Byte as Byte
from .faults import Fault as Fault
from .faults import content_type as content_type
from .faults import cut as cut
from .faults import drip as drip
from .faults import dup as dup
from .faults import eof as eof
from .faults import error_event as error_event
from .faults import framing as framing
from .faults import garbage as garbage
from .faults import html as html
from .faults import reorder as reorder
from .faults import stall as stall
from .faults import status as status
from .faults import tool_json as tool_json
from .faults import unknown as unknown
from .faults import usage_odd as usage_odd
from .http import Exchange as Exchange
from .http import Violation as Violation
from .http import every as every
from .http import scattered as scattered
from .hub import HubRepo as HubRepo
from .hub import HubSimulator as HubSimulator
from .request_view import ApiName as ApiName
from .request_view import Called as Called
from .request_view import Offered as Offered
from .request_view import RequestView as RequestView
from .request_view import Returned as Returned
from .request_view import Said as Said
from .script import Call as Call
from .script import Found as Found
from .script import Pace as Pace
from .script import Raw as Raw
from .script import Replay as Replay
from .script import Script as Script
from .script import ServerTool as ServerTool
from .script import Table as Table
from .script import Text as Text
from .script import Think as Think
from .script import Turn as Turn
from .script import Usage as Usage
from .script import When as When
from .simulator import Simulator as Simulator
from .simulator import serve as serve
from .transport import transport as transport
