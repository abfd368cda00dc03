"""Attachments of the message that is being written.

Files are read in threads. A file that the chosen model would refuse is marked
with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from studio.domain.errors import StudioError
from studio.ui.engine_texts import tr_engine
from studio.ui.translation import tr

from .open_chat import OpenChat
from .open_word import is_mentioned
from .session_options import SessionOptions

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.domain.messages import File, Image

State: TypeAlias = Literal["reading", "ready", "secret", "refused", "error"]
"""``secret``: it is sent, and seems to hold what nobody should read."""


class Attachment:
    """One file: the block that is sent, once it is read, and what is known of it."""

    def __init__(self, name: str, mention: str = "") -> None:
        self.name = name
        self.mention = mention
        """Its path in the chat's folder, if it is there because the text names it."""
        self.state: State = "reading"
        self.block: Image | File | None = None
        self.about = tr("Reading…")
        """Kind and size, in words."""
        self.preview: object = None
        """What ``AttachmentList.describe`` made of the block, for a widget to paint."""
        self.secret = False
        """Whether it seems to hold a key or a password."""
        self.problem = ""
        """What is wrong, in words for the person; empty for a good one."""
        self.task: asyncio.Task[Any] | None = None

    def refuse(self, reason: str) -> None:
        """Note why the model refuses the file; without a reason it takes it."""
        self.state = "refused" if reason else "secret" if self.secret else "ready"
        if self.secret and not reason:
            reason = tr("it seems to hold a key or a password, and is sent to the provider.")
        self.problem = f"{self.name}: {reason}" if reason else ""

    def fail(self, problem: str) -> None:
        """Note why the file cannot be attached."""
        self.state, self.problem, self.about = "error", tr_engine(problem), tr("Not attached")

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


async def no_description(block: Image | File) -> tuple[str, object]:
    """Describes nothing: used where no widget shows the attachments."""
    return "", None


async def known(block: Image | File) -> Image | File:
    """A file that is read already."""
    return block


class AttachmentList:
    """Reads files, keeps them in order, and asks whether the chosen model takes them."""

    def __init__(self, chat: OpenChat, options: SessionOptions) -> None:
        self._chat, self._options = chat, options
        self.items: list[Attachment] = []
        self.describe: Callable[[Image | File], Awaitable[tuple[str, object]]] = no_description
        """Says what a file is and makes its preview; replaced by the widget that shows it."""
        self._check_task: asyncio.Task[Any] | None = None
        self._unnamed: dict[str, Attachment] = {}
        """Files that the text does not name any more; Undo may bring their names back."""
        chat.subscribe(lambda _: self.recheck(), "options")

    @property
    def blocks(self) -> list[Image | File]:
        """The files that are read."""
        return [item.block for item in self.items if item.block is not None]

    @property
    def reading(self) -> bool:
        """Whether a file is still being read."""
        return any(item.state == "reading" for item in self.items)

    @property
    def send_remark(self) -> str:
        """What the Send button says about the files; mostly nothing."""
        if self.reading:
            return tr("The files are still being read")
        refused = [item.name for item in self.items if item.state == "refused"]
        return tr("The model refuses {names}").format(names=", ".join(refused)) if refused else ""

    def add(self, paths: Sequence[Path]) -> None:
        """Read files and attach them; one that cannot be read says why in its place."""

        async def read(path: Path) -> Image | File:
            from studio.agent.attachments import attach

            return await attach(path)

        for path in paths:
            self._begin(path.name or str(path), read(path))

    def mention(self, name: str) -> None:
        """Attach a file of the chat's folder that the text names after @."""
        if any(item.mention == name for item in self.items):
            return
        folder = self._options.folder

        async def read() -> Image | File:
            from studio.agent.attachments import attach
            from studio.tools.workspace.folder import Workspace

            # What was a file of the folder when it was listed may be a link out of it by now.
            path = await asyncio.to_thread(lambda: Workspace(folder).file(name))
            return await attach(path)

        self._begin(name.rpartition("/")[2], read(), name)

    def mention_resource(self, name: str) -> None:
        """Attach a resource of a server that the text names after @ (M-21)."""
        engine, folder = self._chat.engine, Path(self._options.folder)
        if engine is None or any(item.mention == name for item in self.items):
            return
        services = engine.services
        chat = self._chat.session.info.id if self._chat.session is not None else ""

        async def read() -> Image | File:
            entries = await services.server_entries(folder, chat)
            first, *others = await services.offers.attach(entries, name, folder)
            for block in others:
                self._begin(name, known(block), name)
            return first

        self._begin(name, read(), name)

    def follow(self, text: str) -> None:
        """Remove mentioned files whose names left the text, and bring back those named again."""
        gone = [one for one in self.items if one.mention and not is_mentioned(one.mention, text)]
        back = [one for name, one in self._unnamed.items() if is_mentioned(name, text)]
        if gone or back:
            self._unnamed |= {one.mention: one for one in gone}
            for one in back:
                del self._unnamed[one.mention]
            self.items = [one for one in self.items if one not in gone] + back
            self._chat.notify("attachments")

    def paste(self, encode: Callable[[], bytes]) -> None:
        """Attach a picture from the clipboard; ``encode`` returns its file, in a thread."""

        async def pasted() -> Image:
            from studio.agent.attachments import attach_picture

            return await attach_picture(await asyncio.to_thread(encode))

        name = tr("Pasted picture")
        count = sum(item.name.startswith(name) for item in self.items)
        self._begin(f"{name} {count + 1}" if count else name, pasted())

    def remove(self, item: Attachment) -> None:
        item.cancel()
        self.items.remove(item)
        self._chat.notify("attachments")

    def take(self) -> list[Attachment]:
        """Return all that can be sent and remove everything."""
        taken = [item for item in self.items if item.block is not None]
        for item in self.items:
            item.cancel()
        self.items = []
        self._unnamed.clear()
        self._chat.notify("attachments")
        return taken

    def put_back(self, taken: Sequence[Attachment]) -> None:
        """Attach again what ``take`` returned: it could not be sent."""
        for item in taken:
            item.refuse("")
        self.items[:0] = taken
        self._chat.notify("attachments")
        self.recheck()

    def replace(self, blocks: Sequence[Image | File]) -> None:
        """Attach these and nothing else: the files of a message that is edited."""
        self.take()
        self.add_known([(getattr(block, "name", "Picture"), block) for block in blocks])

    def add_known(self, files: Sequence[tuple[str, Image | File]]) -> None:
        """Attach files that were read before."""
        for name, block in files:
            self._begin(name, known(block))

    def exchange(self, items: list[Attachment]) -> list[Attachment]:
        """Show the attachments of another message; returns those that were shown.

        What is still being read is read on.
        """
        before, self.items = self.items, items
        self._unnamed.clear()
        self._chat.notify("attachments")
        self.recheck()
        return before

    def recheck(self) -> None:
        """Ask again what the model refuses: another one is chosen, or more is known of it."""
        if not self.blocks:
            return
        if self._check_task is not None:
            self._check_task.cancel()
        self._check_task = self._chat.run(self._check())

    def _begin(
        self, name: str, reading: Coroutine[Any, Any, Image | File], mention: str = ""
    ) -> None:
        item = Attachment(name, mention)
        self.items.append(item)
        item.task = self._chat.run(self._read(item, reading))
        self._chat.notify("attachments")

    async def _read(self, item: Attachment, reading: Coroutine[Any, Any, Image | File]) -> None:
        from studio.agent.attachments import check_total_size, seems_secret

        try:
            block = await reading
            check_total_size([*self.blocks, block])
            item.secret = await asyncio.to_thread(seems_secret, block)
        except StudioError as error:
            item.fail(str(error))
        else:
            # Asked before the file counts as read: a refused one is never shown without reason.
            refusal = await self._refusal(block)
            item.about, item.preview = await self.describe(block)
            item.block = block
            item.refuse(refusal)
        self._chat.notify("attachments")

    async def _check(self) -> None:
        for item in list(self.items):
            if item.block is not None:
                item.refuse(await self._refusal(item.block))
        self._chat.notify("attachments")

    async def _refusal(self, block: Image | File) -> str:
        """Why the chosen model refuses a file; empty if it takes it."""
        engine, options = self._chat.engine, self._options
        if engine is None:
            return ""
        await options.found()
        return await engine.refuses(options.provider, options.model_id, block)
