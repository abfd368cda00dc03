"""The inspector beside a chat: its run, limit, events and the provider's own history.

- ``inspector``: The panel with its three pages, and the field for the limit of the chat's cost.
- ``controller``: Makes the panel and keeps it up to date with the chat on screen.
- ``run_page``: Paints state, context, tokens and cost of the chat, and lists its requests.
- ``facts``: Computes what the pages show, such as the costs of requests, from session and events.
- ``fact_list``: Paints labels with values below each other, also as a tree.
- ``board_list``: Shows what the agents of a chat or a run share on their board (W-40).
- ``plan_list``: Shows the whole plan of a chat's agent (C-2).
- ``events_page``: Lists the events of a chat, with the details of the chosen one.
- ``history_page``: Shows a chat's history in the provider's own format.
"""
