"""What the person is told to install for a part that not everybody has."""

from __future__ import annotations

import sys

import pytest

from studio.domain.extras import how_to_install


def test_c18_a_package_for_a_system_names_no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """C-18: it has none; the program by pipx has the extra, and the same chats."""
    assert how_to_install("traces") == "pip install 'agent-studio[traces]'"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    told = how_to_install("traces")
    assert told.startswith("pipx install 'agent-studio[traces]'") and "this package" in told
