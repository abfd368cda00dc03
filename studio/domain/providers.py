"""Providers by name."""

from __future__ import annotations

PROVIDER_TITLES = {
    "anthropic": "Anthropic",
    "openai": "OpenAI",
    "gemini": "Gemini",
    "openai-compatible": "OpenAI-compatible",
    "ollama": "Ollama",
    "builtin": "Built-in model",
    "simulator": "Demo",
}
"""How each is called on the screen."""
