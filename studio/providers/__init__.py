"""The models' side of the outside world: one file a provider.

``base`` says what a provider is. ``anthropic``, ``openai`` (Responses),
``gemini``, ``compatible`` (Chat Completions), ``ollama`` and ``builtin`` each
hold one: its native history and its streaming adapter. ``catalogue`` lists
models, ``simulator`` is a strict server that speaks all five protocols.
"""
