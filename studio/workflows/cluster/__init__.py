"""More than one machine: workers answer the requests of items with keys of their own (W-59).

The coordinator is the person's program. It alone has the database, the budget and the items; a
worker gets one request to a model at a time, and returns the answer. Both speak JSON over mutual
TLS with certificates of an authority that the studio makes.

Connections are those of ``distributed``, the extra ``cluster``. Its scheduler and its protocol are
left out: they unpickle what others send, so each worker could run code on every other machine.

- ``certificates``: Makes the authority, and what the two sides prove with who they are.
- ``lines``: Opens connections, and carries messages as JSON.
- ``messages``: Writes requests, answers and errors as JSON, and reads them.
- ``coordinator``: Hands out requests to the workers, gives those of a lost one to others, and knows
  how they do.
- ``control``: Says where a cluster is, and asks it how it does, or to stop.
- ``worker``: Answers requests with the keys of its own machine.
"""
