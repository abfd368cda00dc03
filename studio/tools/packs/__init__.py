"""What the Python of a pack gives to the studio, and what it gets (KZ-2).

- ``definition``: Describes what a pack brings besides its tools.
- ``home``: Holds what the code of one pack works with: records, services, settings, the person.
"""
