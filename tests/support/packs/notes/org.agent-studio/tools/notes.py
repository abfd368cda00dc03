"""Notes about topics: a tool finds them, and another drafts one, which a person approves."""

from dataclasses import dataclass

from studio.packs import (
    Context,
    DraftKind,
    Home,
    KindDraft,
    Mark,
    Pack,
    PersonsAct,
    Result,
    Shown,
    Source,
    ToolFailed,
    propose,
    tool,
    verb,
)


class Shelf:
    """The notes in the pack's table; it is made once."""

    def __init__(self, home: Home) -> None:
        self.records, self.open = home.records, True

    def find(self, topic: str) -> str | None:
        rows = self.records.read("SELECT text FROM note WHERE topic = ?", topic)
        return str(rows[0]["text"]) if rows else None

    def keep(self, topic: str, text: str | None, who: str = "") -> None:
        with self.records.together():
            self.records.write("DELETE FROM note WHERE topic = ?", topic)
            if text is not None:
                sql = "INSERT INTO note (topic, text, who) VALUES (?, ?, ?)"
                self.records.write(sql, topic, text, who)

    def close(self) -> None:
        self.open = False


@dataclass
class NoteFields:
    """What a draft of a note says."""

    topic: str
    text: str = ""


class NoteKind(DraftKind):
    name, noun, fields = "note", "note", NoteFields

    def show(self, fields: NoteFields, home: Home) -> Shown:
        if not fields.text.strip():
            raise ToolFailed("A note needs a text.")
        return Shown(
            fields.topic, fields.topic, fields.text, home.service(Shelf).find(fields.topic)
        )

    def approve(self, draft: KindDraft, fields: NoteFields, home: Home, act: PersonsAct) -> None:
        if act.person.role == "reader":
            raise ToolFailed(f"{act.person.name} may only read.")
        home.service(Shelf).keep(fields.topic, fields.text, f"{act.person.name}, {act.door}")

    def undo(self, draft: KindDraft, fields: NoteFields, home: Home, act: PersonsAct) -> None:
        home.service(Shelf).keep(fields.topic, draft.before)


NOTE = NoteKind()


@tool(effect="read", target="topic", verb="Looking up", done="Looked up")
def find_note(context: Context, topic: str = "") -> Result:
    """Find the note about a topic.

    topic: Empty for what the chat is about.
    """
    topic = topic or context.subject.removeprefix("notes:topic/")
    text = context.service(Shelf).find(topic)
    if text is None:
        raise ToolFailed(f"There is no note about {topic}.")
    return Result(text, "1 note", (f"notes:topic/{topic}",))


@tool(effect="draft", target="topic", verb="Drafting", done="Drafted")
async def draft_note(context: Context, topic: str, text: str) -> Result:
    """Draft a note about a topic; the person decides about it.

    topic: What it is about.
    text: The note.
    """
    context.emit(f"A note for {context.person.name}\n")
    return await propose(context, NOTE, NoteFields(topic, text))


@dataclass
class NoteSettings:
    """What a person sets for their notes.

    most: Notes that are listed.
    """

    most: int = 20


@verb(effect="read")
def topics(context: Context, words: str = "") -> list[str]:
    """List the topics of the notes.

    words: Only those with these words.
    """
    most = context.settings(NoteSettings).most
    rows = context.records.read("SELECT topic FROM note ORDER BY topic LIMIT ?", most)
    return [str(row["topic"]) for row in rows if words in str(row["topic"])]


def source(address: str, home: Home) -> Source | None:
    topic = address.removeprefix("notes:topic/")
    if home.service(Shelf).find(topic) is None:
        return None
    mark = Mark("Kept", "ok", "lock", "It is in the list")
    return Source(f"Note about {topic}", "list", (topic,), (mark,))


pack = Pack(
    services=(Shelf,),
    kinds=(NOTE,),
    source=source,
    settings=NoteSettings,
    verbs=(topics,),
)
