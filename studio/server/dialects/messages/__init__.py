"""Messages.

- ``request``: Anthropic's Messages.
- ``response``: An answer of Anthropic's Messages.
"""
