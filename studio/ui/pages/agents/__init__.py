"""The Agents page: the agents at the left, the file of the chosen one, its properties (T-6).

- ``page``: Shows the chosen agent, saves it, and carries out what the person does with it.
- ``columns``: Places list, text and properties for the room that there is.
- ``agent_rows``: Finds the files of agents, and why some cannot be used.
- ``properties``: Shows the values of the file, and has them changed one by one.
- ``tool_rows``: The tools that an agent may have, each with what happens to its calls.
- ``preview``: Shows the agent as it will be seen.
- ``try_chat``: A small chat with the agent beside its file.
- ``try_pair``: Tries the agent, and another one beside it with the same words.
"""
