"""The room of model providers: translates between the program and each provider's API.

A provider is a folder with a descriptor, an adapter and a stream:
``anthropic``, ``openai`` (Responses), ``gemini``, ``openai_chat`` (Chat Completions),
``ollama``, ``local_model`` (a small model on this computer) and ``demo``.

What they share:

- ``registry`` lists the providers; ``descriptor`` says what is known of one.
- ``base`` defines a provider, a request, a reply and its stream.
- ``stream_driver`` opens a stream, feeds an accumulator and maps every fault.
- ``http`` makes the one HTTP client; ``sse`` posts JSON and reads server-sent events
  and JSON lines.
- ``errors`` turns whatever went wrong into one ``ProviderError`` with plain words.
- ``media`` prepares pictures and files, and says which a model cannot read.
- ``history_rebuild`` prepares a conversation for another provider's native history.
- ``tool_arguments`` parses the arguments of a call.
- ``text_tool_calls`` recognises calls that a model wrote as text.
- ``structured_output`` fits JSON schemas to what an API accepts.
- ``stop_sequences`` ends a reply at its first stop text.
- ``catalogue`` keeps the lists of models; ``model_facts`` merges what is known of a model.
- ``pricing`` computes what a request costs.
"""
