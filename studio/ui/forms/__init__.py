"""Forms that a person fills in, by a schema that an MCP server sent (M-19).

- ``schema_form``: The fields for the properties of a schema, and their values.
- ``question_panel``: What a server asks, its form or web address, and the buttons to answer.
- ``text_area``: A text field of several lines.
"""
