"""Gemini.

- ``content``: Gemini generateContent.
- ``output``: Gemini generateContent.
- ``rules``: Gemini generateContent.
- ``surface``: Gemini generateContent.
"""
