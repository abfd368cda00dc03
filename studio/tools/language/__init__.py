"""Language servers: programs of the person that know what is wrong with a source file (C-11).

- ``known_servers``: says which server is for which files, and finds it among what is installed.
- ``connection``: speaks JSON-RPC with a process, by the framing of language servers.
- ``language_server``: one server that runs: shows it texts, and asks what is wrong with them.
- ``language_servers``: keeps the servers of chats, from the first edit on.
"""
