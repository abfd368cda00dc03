"""The program and its windows, and what runs with them.

- ``main``: Opens the first window and runs the event loop until the program ends.
- ``program``: Owns the windows and what exists once: loads the engine, starts turns, makes windows
  anew in another language, ends.
- ``main_window``: Makes sidebar, pages and inspector of one window, and connects their signals.
- ``navigation``: Opens a chat or a new one in a window, and goes to the next that waits; renames
  and deletes chats.
- ``link_opener``: Opens links to places of the program and of packs, and copies them.
- ``links``: Parses and writes links to places of the program (``agent-studio://…``).
- ``link_registration``: Registers the program with the desktop as the one that opens its links.
- ``actions``: Declares the window's actions with their default shortcuts and menus; makes the menu
  bar, and registers the shortcuts.
- ``shortcut_choice``: The shortcuts that the person chose, and which keys cannot be one.
- ``chat_actions``: Does what the menus offer for the chat on screen, and enables what can be done.
- ``menus``: Underlines letters of menus, fills the Edit and the Window menu, hides the menu bar.
- ``key_sheet``: Shows all shortcuts in a window.
- ``page_stack``: Shows the chat or one of the pages in the middle of the window.
- ``chat_beside``: Shows the chat at the right of a page that is about what chats are about.
- ``window_layout``: Places sidebar and inspector beside the page, or over it in a small window;
  saves and restores size and place of the window.
- ``banner``: Shows errors and remarks of the program in a strip above the page.
- ``settings_controller``: Opens the settings window; applies changed settings, the text size of
  Ctrl++ and Ctrl+- too, also those that other programs changed.
- ``notifications``: Shows a desktop notification when a chat out of sight is done or asks.
- ``background``: Asks what becomes of running turns when the last window is closed; lets them go
  on, and makes the tray icon that leads back.
- ``quick_ask``: The line for a quick question; the answer comes in a new chat.
- ``global_key``: The global shortcut for the quick question, in any program; ``x11_key`` takes it
  from an X server, ``windows_key`` from Windows.
- ``session_bus``: Connects to the session's D-Bus, calls methods there and receives signals.
- ``desktop_wishes``: Reads from the desktop whether it wants high contrast or less motion.
- ``second_start``: Single instance: a second start hands what it was given to the first.
- ``start_failure``: Shows in a box what kept the window from opening.
- ``server_process``: Runs the server in a process beside the window, as the settings say.
- ``updates``: Tells of newer versions, and after an update of what is new.
- ``opening``: Tells by a word of the command line, or of macOS, what a start is for.
- ``application``: The QApplication, which receives what macOS wants opened: links, folders, files.
- ``qt_import``: Imports Qt, and leaves Python its own ``import``.
- ``qt_loop``: Runs asyncio on Qt's event loop.
- ``smoke``: Tries a built package: window, database and one turn.
"""
