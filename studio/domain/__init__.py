"""Plain words that every other room speaks: values, events, one fold.

Standard library only. ``messages`` says what is said, ``events`` what happens,
``transcript`` folds events into the ``blocks`` a person sees, ``tools`` and
``permissions`` what an agent may do, ``models`` what it runs on, ``errors``
what can go wrong.
"""
