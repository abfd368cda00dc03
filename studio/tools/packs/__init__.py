"""What the Python of a pack gives to the studio, and what it gets (KZ-2).

- ``definition``: Describes what a pack brings besides its tools.
- ``kinds``: Lets packs bring kinds of drafts, which only a person can approve (KZ-5).
- ``files``: Writes a file when a draft of a pack is approved, as the studio's own drafts do.
- ``persons_act``: Proves that a person decided a draft as it was shown to them.
- ``policy``: Lets a pack say which providers may see what a chat is about (KZ-7).
- ``hosted``: Names what the studio and a pack's own process agree on (X-3).
- ``sources``: Names what an address of a pack leads to (KZ-8).
- ``settings``: Reads and keeps what a person set for a pack (KZ-9).
- ``verbs``: Makes functions of a pack commands of the terminal (KZ-9).
- ``window``: Names a pack's pages by widgets, and its lines of the palette (KZ-9).
- ``home``: Holds what the code of one pack works with: records, services, the person.
"""
