"""Archives as ChatGPT and Claude send them: pictures, files, citations, thinking, branches."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from typing import Any

import pytest
from PIL import Image as pillow

from studio.agent.session.import_formats import ConversationFile, read_conversations
from studio.agent.session.import_values import ImportedConversation, link
from studio.domain.messages import File, Image, Reasoning, Text, ToolCall, ToolResult


def png(colour: str) -> bytes:
    out = io.BytesIO()
    pillow.new("RGB", (2, 2), colour).save(out, "PNG")
    return out.getvalue()


def node(name: str, parent: str | None, role: str, content: dict[str, Any] | str, *, children: tuple[str, ...] = (), **facts: Any) -> dict[str, Any]:  # fmt: skip
    body = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    message = {
        "id": name,
        "author": {"role": role, "name": facts.pop("tool", None), "metadata": {}},
        "create_time": 1754000000.0,
        "content": body,
        "status": "finished_successfully",
        "recipient": "all",
        "metadata": facts,
    }
    return {"id": name, "message": message, "parent": parent, "children": list(children)}


CITE = "\ue200cite\ue202turn0search1\ue202turn0search4\ue201"
SOURCES = [
    {
        "matched_text": CITE, "start_idx": 0, "end_idx": 0, "type": "grouped_webpages", "alt": None,
        "items": [
            {"title": "Rye [2026]", "url": "https://example.org/rye_(grain)", "snippet": None},
            {"title": "Wheat", "url": "https://example.org/wheat"},
            {"title": "Bad", "url": "javascript:alert(1)"},
        ],
    },
    {"matched_text": " ", "type": "sources_footnote", "sources": []},
]  # fmt: skip
ANSWER = (
    f"Rye rises less.{CITE} \ue200entity\ue202[\"plant\",\"Secale cereale\",\"a grass\"]\ue201 is its name."
    "\ue200filecite\ue202turn0file0\ue202L1-L9\ue201 See \ue200url\ue202the table\ue202turn0view0\ue201.\ue206"
)  # fmt: skip
OLD = "Older answers cite 【11†source】 so, and 【4:2†file.pdf】 so."
POINTER = {"content_type": "image_asset_pointer", "width": 2, "height": 2, "size_bytes": 70}
CHATGPT: dict[str, Any] = {
    "title": "Rye", "create_time": 1754000000.0, "update_time": 1754000100.0,
    "current_node": "g", "conversation_id": "c-9", "is_archived": True,
    "default_model_slug": "auto",
    "mapping": {
        "client-created-root": {"id": "client-created-root", "message": None, "parent": None, "children": ["s"]},
        "s": node("s", "client-created-root", "system", "", children=("p",), is_visually_hidden_from_conversation=True),
        "p": node("p", "s", "user", {"content_type": "user_editable_context", "user_profile": "x"}, children=("a", "a2")),
        "a": node("a", "p", "user", {"content_type": "multimodal_text", "parts": [{**POINTER, "asset_pointer": "sediment://file_0000aa11"}, "What is on it?"]}, children=("t",), attachments=[
            {"id": "file_0000aa11", "name": "bread.png", "mime_type": "image/png", "size": 70},
            {"id": "file-TxT22", "name": "recipe.txt", "mime_type": "text/plain", "size": 9},
            {"id": "file-Gone3", "name": "old.pdf", "mime_type": "application/pdf", "size": 9},
        ]),
        "t": node("t", "a", "assistant", {"content_type": "thoughts", "thoughts": [{"summary": "Looking at it", "content": "It seems dark."}]}, children=("r",), model_slug="o3"),
        "r": node("r", "t", "assistant", {"content_type": "reasoning_recap", "content": "Thought for 3 s"}, children=("b",)),
        "b": node("b", "r", "assistant", ANSWER, children=("d",), model_slug="gpt-5-thinking", content_references=SOURCES),
        "d": node("d", "b", "tool", {"content_type": "multimodal_text", "parts": [{**POINTER, "asset_pointer": "file-service://file-Dalle4"}]}, children=("g",), tool="dalle.text2im"),
        "g": node("g", "d", "assistant", OLD, model_slug="gpt-5", citations=[{"start_ix": OLD.index("【11"), "end_ix": OLD.index("】") + 1, "metadata": {"type": "webpage", "title": "A page", "url": "https://example.org/a"}}]),
        "a2": node("a2", "p", "user", "What else is rye?", children=("h", "h2")),
        "h": node("h", "a2", "assistant", "A whisky.", model_slug="gpt-4o"),
        "h2": node("h2", "a2", "assistant", "A town.", model_slug="gpt-4o"),
    },
}  # fmt: skip
FILES = {
    "chat.html": b"<html>", "user.json": b"{}", "shared_conversations.json": b"[]",
    "file_0000aa11-sanitized.png": png("brown"), "file-TxT22-recipe.txt": b"500 g rye",
    "dalle-generations/file-Dalle4-1234.webp": png("white"),
}  # fmt: skip


def archive(conversations: Any, files: dict[str, bytes], name: str = "conversations.json") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for file, data in files.items():
            made.writestr(file, data)
        made.writestr(name, json.dumps(conversations))
    return out.getvalue()


def test_the_archive_of_chatgpt_is_read_with_its_files_sources_and_branches() -> None:
    file = ConversationFile(io.BytesIO(archive([CHATGPT], FILES)))
    found = list(file)
    assert all(isinstance(one, ImportedConversation) for one in found)
    rye, whisky, town = found
    assert isinstance(rye, ImportedConversation) and isinstance(whisky, ImportedConversation)
    assert (rye.title, rye.teller, rye.model, rye.archived) == ("Rye", "ChatGPT", "gpt-5", True)
    asked, answered, pictured, last = rye.messages
    picture, words, recipe, gone = asked.blocks
    assert isinstance(picture, Image) and words == Text("What is on it?")
    assert recipe == File("recipe.txt", "text/plain", b"500 g rye")
    assert gone == Text("[The file “old.pdf” is not in the export.]")
    assert rye.left_out == ("The file “old.pdf”",)
    thought, text, call = answered.blocks
    assert thought == Reasoning("Looking at it\n\nIt seems dark.")
    assert text == Text(
        r"Rye rises less. ([Rye \[2026\]](https://example.org/rye_%28grain%29), "
        "[Wheat](https://example.org/wheat)) Secale cereale is its name. See the table."
    )
    assert isinstance(call, ToolCall) and call.name == "dalle"
    [result] = pictured.blocks
    assert isinstance(result, ToolResult) and isinstance(result.content[0], Image)
    assert last.text == "Older answers cite [A page](https://example.org/a) so, and so."
    assert [one.messages[1].text for one in (whisky, town)] == ["A whisky.", "A town."]
    assert [one.title for one in (whisky, town)] == ["Rye (version 2)", "Rye (version 3)"]
    assert file.left == ("chat.html", "user.json", "shared_conversations.json")


CLAUDE: dict[str, Any] = {
    "uuid": "u-9", "name": "Tea", "created_at": "2026-01-02T03:04:05.000000Z",
    "updated_at": "2026-01-02T03:05:05.000000Z", "account": {"uuid": "x"},
    "chat_messages": [
        {"uuid": "1", "parent_message_uuid": "00000000-0000-4000-8000-000000000000", "sender": "human", "text": "Green?", "content": [{"type": "text", "text": "Green?"}], "attachments": [], "files": [{"file_name": "leaf.png"}]},
        {"uuid": "2", "parent_message_uuid": "1", "sender": "assistant", "text": "", "content": [{"type": "text", "text": "No."}], "attachments": [], "files": []},
        {"uuid": "3", "parent_message_uuid": "1", "sender": "assistant", "text": "", "content": [
            {"type": "thinking", "thinking": "Hm", "summaries": [{"summary": "x"}]},
            {"type": "text", "text": "Yes. It is.", "citations": [{"start_index": 0, "end_index": 4, "details": {"type": "web_search_citation", "url": "https://example.org/tea"}}]},
            {"type": "token_budget"}, {"type": "hologram"},
        ], "attachments": [], "files": []},
    ],
}  # fmt: skip


def test_the_archive_of_claude_is_read_with_its_branches() -> None:
    yes, no = read_conversations(archive([CLAUDE], {"users.json": b"[]"}))
    assert isinstance(yes, ImportedConversation) and isinstance(no, ImportedConversation)
    assert yes.left_out == ("The file “leaf.png”", "A part of the kind hologram")
    page = "https://example.org/tea"
    assert yes.messages[1].blocks == (Reasoning("Hm"), Text(f"Yes. ([{page}]({page})) It is."))
    assert (no.messages[1].text, no.title, no.archived) == ("No.", "Tea (version 2)", True)
    assert (yes.teller, yes.archived) == ("Claude", False)


def test_a_file_of_countless_branches_is_read_in_time() -> None:
    """A stranger's file: each branch is long, and all of them share almost all of it."""
    length, wide = 1_000, 2_000
    nodes: dict[str, Any] = {"0": node("0", None, "user", "Hi", children=("1",))}
    for number in range(1, length):
        nodes[f"{number}"] = node(f"{number}", f"{number - 1}", "assistant", "x", children=("y",))
    for number in range(wide):
        nodes[f"leaf{number}"] = node(f"leaf{number}", f"{length - 1}", "user", f"{number}")
    data = {"title": "Wide", "mapping": nodes, "current_node": "leaf7"}
    first, *others = read_conversations(json.dumps([data]).encode())
    assert isinstance(first, ImportedConversation) and len(others) == 49
    assert first.messages[-1].text == "7" and first.left_out == ("1950 more versions",)
    flat = [{**CLAUDE["chat_messages"][1], "uuid": f"{n}", "parent_message_uuid": "r"} for n in range(wide)]  # fmt: skip
    body = {**CLAUDE, "chat_messages": [{**CLAUDE["chat_messages"][0], "uuid": "r"}, *flat]}
    first, *others = read_conversations(json.dumps([body]).encode())
    assert isinstance(first, ImportedConversation) and len(others) == 49
    assert "1950 more versions" in first.left_out


def test_parts_of_a_split_export_are_read_in_order() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for number in (1, 0):
            body = json.dumps([{**CLAUDE, "name": f"Part {number}", "chat_messages": []}])
            made.writestr(f"conversations-00{number}.json", body)
    found = read_conversations(out.getvalue())
    assert [one.title for one in found] == ["Part 0", "Part 1"]


def test_a_large_file_takes_the_memory_of_one_conversation() -> None:
    one = json.dumps({"title": "T", "messages": [{"role": "user", "content": "ü" * 100_000}]})
    data = f"\ufeff[{', '.join([one] * 60)}]".encode()
    assert len(data) > 30_000_000
    file = io.BytesIO(data)
    tracemalloc.start()
    try:
        assert sum(1 for _ in ConversationFile(file)) == 60
        assert tracemalloc.get_traced_memory()[1] < 15_000_000
    finally:
        tracemalloc.stop()
    with pytest.raises(ValueError, match="its list has no end"):
        list(ConversationFile(io.BytesIO(data[:-1])))
    with pytest.raises(ValueError, match="something follows"):
        list(ConversationFile(io.BytesIO(data + b"]")))


def test_no_link_is_made_of_what_is_no_address_of_the_web() -> None:
    for url in (None, 7, "", "file:///etc/passwd", "javascript:x", "https://a b", "https://a\nb"):
        assert link("T", url) == ""
