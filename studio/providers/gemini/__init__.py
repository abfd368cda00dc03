"""Gemini.

- ``adapter``: Google's Gemini API (generateContent), through its SDK.
- ``models``: What Gemini models take, by their names and by what is known of them.
- ``stream``: Chunks of Gemini's stream in, deltas and one model content out.
- ``validate``: A history's contents on the wire, and what makes one unacceptable (H-5).
"""
