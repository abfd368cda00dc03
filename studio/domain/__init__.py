"""Plain words that every other room speaks: values, events, one fold.

Standard library only. ``messages`` says what is said, ``events`` what happens,
``transcript`` folds events into the ``blocks`` a person sees, with ``calls`` its
part about tools, and ``conversation`` makes messages of them again. ``sessions``
are saved conversations, ``agents`` who leads them, ``tools`` and ``permissions``
what they may do, ``models`` and ``providers`` what they run on, ``ledger`` what a
request was made of, ``errors`` what can go wrong. ``codec`` writes all of it as a
``jsonvalue``, ``redaction`` takes secrets out.
"""
