"""Forms: what a person fills in, by a schema that a server wrote (M-19).

- ``schema_form``: Fields for the properties of a schema.
- ``question_panel``: What a server asks: its form or its address, with the answers.
- ``text_area``: A field of several lines.
"""
