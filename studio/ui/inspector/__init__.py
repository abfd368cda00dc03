"""The inspector beside a chat: the run, its budget, its events, the provider's own history.

- ``inspector``: The inspector's widget, with the limit of a chat's cost.
- ``events_page``: Shows the events of a chat, and the details of the one that is chosen.
- ``controller``: Keeps the inspector up to date with the chat on screen.
- ``facts``: Makes what the inspector shows from a session, its events and costs.
- ``fact_list``: Paints facts below each other, also as a tree.
- ``run_page``: Shows the run of a chat in numbers, and lists its requests.
- ``plan_list``: Shows the whole plan of a chat's agent (C-2).
- ``history_page``: Shows a chat's native history, as the provider gets it.
"""
