"""Permission, a wrapper around the tools: no tool knows that it exists (T-7).

``policy`` decides what may run, is asked about or is refused; ``gate`` is
where a call waits for the person.
"""
