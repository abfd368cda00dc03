"""The door for other programs: OpenAI's two APIs and Anthropic's, over HTTP (S-1 to S-4).

``command`` is ``agent-studio serve``; ``serving`` listens while it runs, on
``connections`` that do not wait for ever. A request passes ``safety``, finds its
place in ``routes``, its ``bodies`` are read, and one of the ``dialects`` makes of
it what ``wire`` says, the contract between those who speak and who answers.

``answering`` has an agent answer: ``naming`` says which, ``conversations`` where
the request stands, ``placing`` finds that session or makes it, ``ceiling`` is what
it may do there, ``telling`` makes parts of an answer from its turn's events. Each
answer is a ``running`` one, which ``delivery`` takes to its client and ``replays``
knows again when the request is repeated, ``deeds`` what it must not do twice.
``stored`` are answers of before,
``listing`` what can be asked for, ``count`` how long a request is, ``faults`` what
a client is told when it goes wrong.
"""
