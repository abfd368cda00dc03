"""What others bring, and the person writes, in files: skills, commands, hooks, packs (K-4, X-1).

It finds and checks them; agents are told of them in ``studio.agent.skills``, and what the person
calls by hand is filled in in ``studio.agent.session.invocation``.

- ``documents``: Reads a markdown file, whose frontmatter may be wrong.
- ``finder``: Finds skills and commands of a folder and of the person, and says what is wrong.
- ``hooks``: Finds hooks, and keeps which of them the person approved.
- ``new_skill``: Writes the files of a new skill.
- ``skill_importing``: Copies skills from elsewhere to the person's own.
- ``packs``: Reads, installs and updates packs of all these.
"""
