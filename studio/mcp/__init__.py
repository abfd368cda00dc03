"""MCP: servers of other people whose tools agents use.

``connection`` and what it uses import the official SDK, which takes most of a second: ``servers``
imports them in a thread, with the first server that starts.

- ``authorization``: puts a server's token into its requests, and has it renewed before it runs out,
  by one program at a time.
- ``catalogue``: remembers what servers offer, and what the person saw of it.
- ``confinement``: what a server may reach that the person runs in the sandbox.
- ``connection``: one server that is connected, in either era of the protocol.
- ``entries``: reads and writes which servers there are, and what the person said of each.
- ``eras``: remembers which servers want a handshake.
- ``faults``: says why a server cannot be used.
- ``http``: exchanges messages with a server at an address.
- ``importing``: reads the servers that other programs know.
- ``jsonc``: JSON with comments.
- ``list_reader``: asks a server, page by page, what it offers.
- ``lists``: what a server offers, as plain values.
- ``loopback``: takes what a browser brings back from a sign-in.
- ``naming``: gives tools names that every provider takes.
- ``oauth``: lets the person sign in to a server in their browser, and gets its first tokens.
- ``oauth_tokens``: sends the requests that renew tokens or take them back; ``authorization``
  says when.
- ``open_call``: the time of a call under way, and who is asked meanwhile.
- ``programs``: finds the command of a server as the person's own terminal would.
- ``results``: reads what a tool returns into plain values.
- ``schemas``: makes the schema of a server's tool smaller, so that every provider takes it.
- ``server_log``: keeps what a server writes to stderr, without secrets.
- ``server_requests``: answers what a server asks for during a call.
- ``servers``: shares the servers that run among all chats, one process for all or for a folder.
- ``session``: the SDK's session, made patient with servers that break the protocol.
- ``sign_ins``: keeps what signing in to servers gave, in the keychain, and the lock
  under which it is renewed.
- ``stdio``: runs a server as a child process, and exchanges messages with it.
- ``supervised``: starts one server when it is needed, and again when it ended.
- ``uv``: fetches the program that starts servers from PyPI and the Python of packs.
"""
