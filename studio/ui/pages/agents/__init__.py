"""The Agents page: the agents at the left, the file of the chosen one, its properties (T-6).

- ``page``: Shows the chosen agent, saves it, and carries out what the person does with it.
- ``columns``: Places list, text and properties for the room that there is.
- ``mission_form``: Asks what the agent has to reach, how that is checked, and its limits (W-47).
- ``agent_rows``: Finds the files of agents, and why some cannot be used; free of Qt.
- ``properties``: Fields for the values of the file: model, tools, limits.
- ``tool_rows``: The tools that an agent may have, each with what happens to its calls.
- ``agent_users``: Which workflows and agents name an agent, each a row to open it.
- ``preview``: Shows the agent as it will be seen.
- ``try_chat``: A small chat with the agent beside its file.
- ``try_pair``: Two such chats beside each other, which get the same messages (W-60).
"""
