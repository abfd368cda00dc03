"""Packs: folders of skills, servers, agents and more that people pass on.

- ``loading``: Runs the Python of packs that may run in the program.
"""
