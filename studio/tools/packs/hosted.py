"""Hosted packs: the names that the studio and a pack's own process agree on (X-3)."""

from __future__ import annotations

FRAME = "_studio"
"""The argument with the person and the subject, which no model is told of."""
HIDDEN = "studio_kind_"
"""Begins the names of tools that only the studio itself calls, about drafts of kinds."""
DRAFTS = "agent_studio_drafts"
"""Where the structured part of a result has what a call drafted."""
