"""A page by widgets: the topics of the notes."""

from studio.packs.ui import Button, Label, PackWindow, Page, column_of


class TopicsPage(Page):
    def __init__(self, studio: PackWindow) -> None:
        super().__init__(studio)
        self.topics = Label(self.theme, "", "ui", wrap=True)
        ask = Button(self.theme, "Ask about it", clicked=self.ask)
        self.chat = Button(self.theme, "Chat", clicked=studio.show_chat)
        self.topic = ""
        parts = [Label(self.theme, "Topics", "title"), self.topics, ask, self.chat]
        column_of(parts, spacing=8, margins=(24, 24, 24, 24), on=self)

    def open(self, *target: str) -> None:
        self.topic = target[0] if target else ""
        self.studio.set_subject(f"notes:topic/{self.topic}" if self.topic else "")
        self.run(self.load())

    def chat_shown(self, shown: bool) -> None:
        self.chat.setVisible(not shown)

    async def load(self) -> None:
        rows = await self.in_thread(lambda: self.home.records.read("SELECT topic FROM note"))
        self.topics.setText("\n".join(str(row["topic"]) for row in rows) or "None yet")

    def ask(self) -> None:
        self.studio.new_chat(f"notes:topic/{self.topic}")
