"""Notes about topics."""

from studio.packs import Context, Pack, Result, tool


class Shelf:
    """Counts what was looked up; it is made once."""

    def __init__(self, home):
        self.home, self.looked = home, 0

    def close(self):
        (self.home.folder / "closed").write_text(str(self.looked))


@tool(effect="read", verb="Looking up notes", done="Looked up notes")
def find_notes(context: Context, word: str) -> Result:
    """Find notes about a topic.

    word: A word of the note.
    """
    shelf = context.service(Shelf)
    shelf.looked += 1
    found = f"{context.person.name} asks about {word} in {context.subject}: look {shelf.looked}."
    return Result(found, "1 note", ("notes:topic/1",))


pack = Pack(services=(Shelf,))
