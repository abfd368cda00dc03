"""The chat pane: composer, header, and the page that drives a session."""
