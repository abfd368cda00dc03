"""The window, in Qt. No other room imports Qt.

- ``app``: Opens the window; its actions, layout, notifications and the server's process.
- ``chat``: Shows the chat on screen: transcript, composer, queue and what can be done in it.
- ``transcript``: Lays out and paints what was said and done in a chat.
- ``pages``: Shows agents, drafts, the audit and the first start.
- ``palette``: Finds actions, chats, agents and files by a few of their letters.
- ``sidebar``: Lists the chats and leads to the pages.
- ``graph``: Draws steps and what they need of each other, and lists them.
- ``inspector``: Shows a chat's run, its events and the history that its provider gets.
- ``settings``: Shows and changes the settings.
- ``remote_approvals``: Watches for permission questions of other programs on the same data, and
  gives the answers back.
- ``remote_approval_card``: Shows one such question with its answers, above whatever page is shown.
- ``widgets``: Controls that every page is made of, painted from the theme.
- ``theme``: Holds colours, fonts, icons and lengths.
- ``markdown``: Reads markdown into plain blocks, whole or as it streams in.
- ``translation``: Translates the texts on screen, and knows the person's locale.
- ``qt_texts``: Gives lines of Qt's own menus letters.
- ``engine_texts``: Translates what the engine composed; its German is in resources/translations.
- ``plan_text``: Says in words and marks how far an agent's plan is (C-2).
- ``forms``: Has a person fill in what a server asks for.
- ``question_form``: Keeps what a person has answered on a card of questions so far (C-24).
- ``formatting``: Writes folders, counts, prices, times and dates as a person reads them.
"""
