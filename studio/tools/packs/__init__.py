"""What the Python of a pack gives to the studio, and what it gets (KZ-2).

- ``definition``: Describes what a pack brings besides its tools.
- ``kinds``: Lets packs bring kinds of drafts, which only a person can approve (KZ-5).
- ``persons_act``: Proves that a person decided a draft as it was shown to them.
- ``policy``: Lets a pack say which providers may see what a chat is about (KZ-7).
- ``hosted``: Names what the studio and a pack's own process agree on (X-3).
- ``home``: Holds what the code of one pack works with: records, services, the person.
"""
