"""Permission, a wrapper around the tools: no tool knows that it exists (T-6, T-7).

``policy`` decides what may run, is asked about or is refused, by the rules of
a ``rulebook`` and the ``roles`` of agents; ``gate`` is where a call waits for
the person. ``shell`` reads a command line, ``commands`` takes it apart,
``overlap`` says what a part may turn out to be, ``suggestions`` which rule
would be of use again. ``rules`` are those that stand, ``project`` those in a
folder's files.
"""
