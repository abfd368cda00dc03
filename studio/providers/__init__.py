"""Model providers: translate between the program and each provider's API.

A provider is a folder with a descriptor and an adapter; most have also a stream, models and a
validation of stored histories:

- ``anthropic``: Anthropic's Messages.
- ``openai``: OpenAI's Responses.
- ``gemini``: Google's generateContent.
- ``openai_chat``: Chat Completions, of OpenAI-compatible servers.
- ``ollama``: Ollama's own API.
- ``local_model``: a small model on this computer.
- ``demo``: the simulator inside this program.

Beside them:

- ``model_files``: files of models for the built-in engine: found, fetched, checked and deleted.

What they share:

- ``registry``: lists the providers.
- ``descriptor``: describes what the program needs to know of a provider.
- ``base``: defines a provider, a request, a reply and its stream.
- ``batch``: defines batches: many requests that are answered within a day, at half the price.
- ``stream_driver``: opens a stream, feeds an accumulator, and maps every fault.
- ``http``: makes the one HTTP client, and imports SDKs one at a time.
- ``plain``: sends to a cloud as its SDK would, where that would be imported for one turn.
- ``transport``: sends the client's requests over asyncio's sockets, and keeps connections.
- ``http_answer``: parses an answer of HTTP/1.1 as its bytes come.
- ``client``: the client that all adapters send with; records what is exchanged.
- ``recording``: says who gets the exchanges of a task.
- ``replaying``: a client that answers from a record and opens no connection.
- ``answer_limits``: unpacks what a server sends piece by piece, and reads no more than is of use.
- ``sse``: posts JSON, and reads server-sent events and JSON lines.
- ``errors``: turns whatever went wrong into one ``ProviderError``: which fault it is (a
  429 may be a pause, or spent money), the wait of ``Retry-After``, and plain words.
- ``reachability``: finds out whether a server takes connections.
- ``media``: encodes pictures and files, and says which a model cannot read.
- ``history_rebuild``: prepares a conversation that goes on at another provider: pairs calls and
  results, leaves out foreign thoughts. ``rebuild`` of each adapter makes its history of that.
- ``call_identity``: makes the name and id of a call ones that may go back to a provider.
- ``tool_arguments``: parses and repairs the arguments of a call.
- ``text_tool_calls``: recognises calls that a model wrote as text.
- ``text_call_dialects``: reads calls in the notations that models write them in.
- ``structured_output``: fits the schema of an answer to what an API accepts; schemas of servers'
  tools: ``studio.mcp.schemas``.
- ``stop_sequences``: ends a reply at its first stop text.
- ``catalogue``: keeps the lists of models, and refreshes them.
- ``computer_memory``: tells this computer's memory, and how much context fits in it.
- ``model_facts``: merges what is known of a model: its window, its limits, what it reads.
- ``pricing``: knows the prices of models, and computes what a request costs.
"""
