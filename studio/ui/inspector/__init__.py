"""Inspector.

- ``chat_costs``: What a chat's requests cost.
- ``controller``: Keeps the inspector up to date with the chat on screen.
- ``facts``: From a session and its events to what the inspector shows.
- ``history_page``: A chat's native history, as the provider gets it.
- ``inspector``: The inspector beside a chat.
- ``request_list``: The requests of a chat, one below the other.
- ``run_page``: The run of a chat in numbers.
"""
