"""The chat pane: composer, header, and the page that drives a session.

- ``attachment_chip``: One attached file, before it is sent.
- ``attachments``: What is attached to the message that is being written.
- ``composer``: Where a person types.
- ``context_actions``: What the model keeps of a long chat.
- ``external_changes``: The chat on screen while another program goes on with it.
- ``file_viewer``: Showing an attached file, or one of the folder, in the system's own viewer.
- ``folder_trust``: Whether the folder of the chat on screen is to be trusted, asked in the
  strip (T-7).
- ``header``: The line above a chat.
- ``layout``: Where the parts of the chat pane are.
- ``message_queue``: What the person said while the agent works.
- ``option_menus``: What the composer's menus offer.
- ``page``: The chat pane.
- ``recovery``: What a person can do where a chat cannot simply go on.
- ``send``: What the person typed, on its way to the agent; it is not lost before it is there.
- ``session_options``: What the chat on screen runs on.
- ``status_strip``: What stands between a chat and its composer while something is out of the
  ordinary.
- ``suggestions``: A few quiet ways to begin, below an empty composer.
- ``text_editor``: A text that is changed by hand, in a window of its own.
- ``turn_runner``: The turns that run now, whichever chat is on screen.
- ``undo_controller``: What turns changed in the folder.
"""
