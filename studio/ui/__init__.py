"""The window, in Qt. No other room imports Qt.

- ``app``: The program and its windows: start and end, menus, shortcuts, notifications, tray icon,
  links, and the server's process.
- ``sidebar``: The list of chats with their states, and the rows that lead to the pages.
- ``chat``: The chat pane around the transcript: header, composer, and the strips above it.
- ``transcript``: Lays out and paints the messages of a chat; scrolling, selection, mouse and keys.
- ``inspector``: Shows a chat's tokens, cost, requests, plan, events and the provider's history.
- ``pages``: The other pages: agents, workflows, drafts, memory, search, audit, those of packs.
- ``palette``: The command palette (Ctrl+K), and the completion list over the composer.
- ``settings``: The settings window and its pages.
- ``graph``: Draws steps or agents as a graph, and lists them.
- ``forms``: A form by a schema that a server sent, for the person to fill in.
- ``widgets``: Controls that every page is made of, painted from the theme.
- ``theme``: Colours, fonts, text size, icons and lengths, and the application's style sheet.
- ``markdown``: Parses markdown into plain blocks, whole or as it streams in.
- ``remote_approvals``: Watches for permission questions of other programs on the same data, and
  gives the answers back.
- ``remote_approval_card``: Shows one such question with its answers, above whatever page is shown.
- ``question_form``: Keeps what a person has answered on a card of questions so far (C-24).
- ``plan_text``: An agent's plan in words and marks (C-2).
- ``formatting``: Formats folders, counts, prices, times and dates as a person reads them.
- ``translation``: Translates the texts on screen (gettext), and knows the person's locale.
- ``engine_texts``: Translates what the engine composed; its German is in resources/translations.
- ``qt_texts``: Gives the lines of Qt's own menus a letter.
"""
