"""C-8: a patch is done as a whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.drafts import Draft, DraftStatus, FileDraft
from studio.domain.errors import ToolFailed
from studio.tools import Context, Workspace, write_draft
from studio.tools.builtin.apply_patch import apply_patch

NAMES = ("a", "b", "sub/c")


class Drafts:
    """Drafts of a session; each proposal is kept as one list."""

    def __init__(self) -> None:
        self.proposals: list[list[FileDraft]] = []
        self.withdrawn: list[FileDraft] = []

    @property
    def open(self) -> list[FileDraft]:
        found: dict[str, FileDraft] = {}
        for draft in (one for some in self.proposals for one in some):
            for path in draft.paths:
                found.pop(path, None)
            found[draft.path] = draft
        return [draft for draft in found.values() if draft not in self.withdrawn]

    def draft_of(self, path: str) -> FileDraft | None:
        return next((draft for draft in self.open if path in draft.paths), None)

    async def propose(self, draft: Draft, *more: Draft) -> DraftStatus:
        self.proposals.append([one for one in (draft, *more) if isinstance(one, FileDraft)])
        return "waiting"

    async def withdraw(self, draft: Draft) -> None:
        assert isinstance(draft, FileDraft)
        self.withdrawn.append(draft)


def lay_out(root: Path) -> dict[str, str]:
    (root / "sub").mkdir(exist_ok=True)
    texts = {name: f"{name} one\n{name} two\n{name} three\n" for name in NAMES}
    for name, text in texts.items():
        (root / name).write_text(text)
    return texts


GOOD = {
    "update": lambda name: f"*** Update File: {name}\n@@\n {name} one\n-{name} two\n+{name} 2\n",
    "delete": lambda name: f"*** Delete File: {name}\n",
    "add": lambda name: f"*** Add File: {name}.new\n+new\n",
    "move": lambda name: f"*** Update File: {name}\n*** Move to: moved/{name}\n",
    "both": lambda name: (
        f"*** Update File: {name}\n*** Move to: moved/{name}\n@@\n-{name} two\n+{name} 2\n"
    ),
}
BAD = {
    "gone": lambda name: f"*** Update File: {name}.gone\n@@\n-x\n+y\n",
    "no such line": lambda name: f"*** Update File: {name}\n@@\n-{name} four\n+y\n",
    "nothing to delete": lambda name: f"*** Delete File: {name}.gone\n",
    "onto another": lambda name: f"*** Update File: {name}\n*** Move to: taken\n",
    "outside": lambda name: f"*** Add File: ../{name}\n+x\n",
}


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(GOOD)), st.sampled_from(NAMES)), max_size=3),
    st.lists(st.tuples(st.sampled_from(sorted(BAD)), st.just("a")), max_size=1),
    st.integers(0, 3),
)
async def test_one_change_that_cannot_be_made_stops_all(
    tmp_path: Path, good: list[tuple[str, str]], bad: list[tuple[str, str]], at: int
) -> None:
    """C-8."""
    texts = lay_out(tmp_path)
    (tmp_path / "taken").write_text("x\n")
    good = list({name: (kind, name) for kind, name in good if not (bad and name == "a")}.values())
    parts = [GOOD[kind](name) for kind, name in good]
    parts[at:at] = [BAD[kind](name) for kind, name in bad]
    if not parts:
        return
    drafts = Drafts()
    context = Context(Workspace(tmp_path), drafts=drafts)
    patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"
    if bad:
        with pytest.raises(ToolFailed):
            await apply_patch.call(context, {"input": patch})
        assert not drafts.proposals and not drafts.withdrawn
    else:
        await apply_patch.call(context, {"input": patch})
        (made,) = drafts.proposals
        assert len(made) == len(parts)
        assert len({draft.patch for draft in made}) == 1
        assert bool(made[0].patch) == (len(made) > 1)
    assert {name: (tmp_path / name).read_text() for name in NAMES} == texts


async def test_a_second_patch_builds_on_the_drafts_of_the_first(tmp_path: Path) -> None:
    """C-8: they become one patch, whose parts are still decided together."""
    lay_out(tmp_path)
    drafts = Drafts()
    context = Context(Workspace(tmp_path), drafts=drafts)

    async def apply(*parts: str) -> None:
        patch = f"*** Begin Patch\n{''.join(parts)}*** End Patch\n"
        await apply_patch.call(context, {"input": patch})

    await apply(GOOD["update"]("a"), GOOD["update"]("b"))
    await apply("*** Update File: b\n@@\n-b 2\n+b zwei\n", GOOD["both"]("sub/c"))
    patches = {draft.path: draft.patch for draft in drafts.open}
    assert len(patches) == 3 and len(set(patches.values())) == 1
    for draft in drafts.open:
        write_draft(Workspace(tmp_path), draft)
    assert (tmp_path / "a").read_text() == "a one\na 2\na three\n"
    assert (tmp_path / "b").read_text() == "b one\nb zwei\nb three\n"
    assert (tmp_path / "moved" / "sub" / "c").read_text() == "sub/c one\nsub/c 2\nsub/c three\n"


async def test_one_file_in_two_parts(tmp_path: Path) -> None:
    """C-8: updates of one file are one draft; deleted and added anew it is written over."""
    lay_out(tmp_path)
    drafts = Drafts()
    context = Context(Workspace(tmp_path), drafts=drafts)
    update = "*** Update File: a\n@@\n-a one\n+1\n*** Update File: a\n@@\n-a three\n+3\n"
    anew = "*** Delete File: b\n*** Add File: b\n+all new\n"
    await apply_patch.call(context, {"input": f"*** Begin Patch\n{update}{anew}*** End Patch"})
    (made,) = drafts.proposals
    assert [(draft.path, draft.action, draft.after) for draft in made] == [
        ("a", "write", "1\na two\n3\n"),
        ("b", "write", "all new\n"),
    ]
    twice = "*** Begin Patch\n*** Delete File: a\n*** Delete File: a\n*** End Patch"
    with pytest.raises(ToolFailed, match="twice"):
        await apply_patch.call(context, {"input": twice})


@pytest.mark.parametrize(
    ("patch", "twice"),
    [
        ("*** Update File: a\n@@\n-a one\n+1\n*** Update File: ./a\n@@\n-a two\n+2\n", "a"),
        ("*** Delete File: a\n*** Update File: ./a\n@@\n-a two\n+2\n", "a"),
        ("*** Update File: a\n*** Move to: z\n*** Add File: z\n+new\n", "z"),
        ("*** Update File: a\n*** Move to: z\n*** Update File: b\n*** Move to: z\n", "z"),
    ],
)
async def test_no_change_takes_the_place_of_another_one(
    tmp_path: Path, patch: str, twice: str
) -> None:
    """C-8: a newer draft of the same file would drop the older one unseen."""
    lay_out(tmp_path)
    drafts = Drafts()
    context = Context(Workspace(tmp_path), drafts=drafts)
    with pytest.raises(ToolFailed, match=f"changes {twice} twice"):
        await apply_patch.call(context, {"input": f"*** Begin Patch\n{patch}*** End Patch"})
    assert not drafts.proposals and not drafts.withdrawn
