"""Permission questions of other programs that work with the same data (T-7).

- ``card``: Shows one question with its answers, above whatever page is shown.
- ``controller``: Watches for questions and for changes of chats, and gives the answers back.
"""
