"""What clients speak: each API's JSON, read as ``wire.ApiRequest`` and told from ``wire.ContextPart``.

Three dialects, each of a request (``chat``, ``responses``, ``messages``), the
conversation in it (``chat_messages``, ``responses_items``, ``messages_blocks``)
and its answer (``chat_answer``, ``responses_answer``, ``messages_answer``).
``openai`` is what the first two have in common. A request is read with
``fields``; ``offered`` are the client's own tools, ``enclosed`` its pictures and
files.
"""
