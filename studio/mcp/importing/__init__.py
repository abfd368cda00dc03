"""Reads the MCP servers that other programs know, for the person to import (M-23).

The files of the other programs are read and never written.

- ``found``: What was read of one server: its entry, its secrets, what it lacks, what was left out.
- ``hiding``: Finds the secrets in a server's values and puts references to the keychain there.
- ``formats``: The formats, and the files of them that are on this computer.
- ``taking``: Writes chosen servers to the person's entries, and their secrets to the keychain.
- ``changing``: Changes an entry as its person types it: its command or address, a key, a value.
- ``snippet``: Reads what a person pastes: JSON of a README, a command, an address.
- ``bundle``: Reads bundles, zip files with a server in them, and unpacks them.
- ``registry``: Reads ``server.json``, with which a registry lists a server.
- ``names``: Names for servers that nothing names.
- ``common``: What a server looks like in most of the files: ``mcpServers`` in JSON.
- ``claude``: The files of Claude Desktop and Claude Code, and ``.mcp.json``.
- ``vscode``: ``mcp.json`` of VS Code.
- ``cursor``: ``mcp.json`` of Cursor and of LM Studio, which has the same notation.
- ``gemini``: ``settings.json`` of the Gemini CLI.
- ``codex``: ``config.toml`` of Codex.
- ``goose``: ``config.yaml`` of goose.
- ``zed``: ``settings.json`` of Zed.
"""
