"""The models' side of the outside world: one file a provider.

- ``anthropic``: To be described.
- ``base``: What a provider is.
- ``catalogue``: Which models there are.
- ``errors``: From whatever went wrong to one ``ProviderError`` with plain words (L-12).
- ``gemini``: To be described.
- ``history_rebuild``: A conversation led elsewhere, made fit for a new native history (H-7).
- ``http``: The one HTTP client that every provider shares, SDKs included.
- ``json_read``: Reading JSON whose shape nobody promises.
- ``local_model``: To be described.
- ``media``: Pictures and files.
- ``model_facts``: What is known of a model when several say something of it (P-5).
- ``ollama``: To be described.
- ``openai``: To be described.
- ``openai_chat``: To be described.
- ``pricing``: What requests cost.
- ``sse``: JSON over the shared HTTP client, and reading streams.
- ``stop_sequences``: Stop texts.
- ``stream_driver``: One driver for every provider's stream; each adapter brings its
  accumulator.
- ``structured_output``: What APIs take of a JSON schema for answers.
- ``text_tool_calls``: Calls that a model wrote as text, taken for what they are (L-7).
- ``tool_arguments``: A call's arguments, from the text a model wrote (L-6).
"""
