"""One agent and its loop.

``turn`` is the loop: ask the model, run its tools, until it answers.
``execution`` runs the tools of one reply. ``policy`` decides what needs a
question. ``session`` holds a saved conversation around it: its native
``history``, its transcript, its drafts. ``library`` reads agents from
markdown, ``connections`` makes providers from settings and keys.
"""
