"""Packs: folders of skills, servers, agents and more that people pass on (X-1, X-2).

- ``manifest``: Reads what a pack says of itself, and finds what it brings.
- ``window``: Reads which pages by widgets and lines of the palette a manifest names.
- ``servers``: Reads the MCP servers of a pack.
- ``contents``: Lists the files of a pack, digests and copies them, and tells two versions apart.
- ``origins``: Says where a pack is from.
- ``fetching``: Gets a pack from a folder, a zip file, git or a marketplace.
- ``overview``: Says in one text all that a pack brings, before it is installed.
- ``rights``: Says what an update may newly do, or not any more, in a few lines.
- ``pages``: Reads the pages that a pack declares, and what is done there to its records.
- ``installed``: Keeps which packs there are, what of them is on, and what was approved.
- ``brought``: Finds packs that ship with the program, and those of distributions.
- ``script_heads``: Reads what the files of a pack's tools say that they need, as in PEP 723.
- ``host``: Says how the Python of other people's packs is started, each in a process.
- ``loading``: Runs the Python of packs that may run in the program.
"""
