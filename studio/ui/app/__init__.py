"""The window as a whole, and what runs with it.

- ``main``: Opens the window and runs until it is closed.
- ``application``: Qt's application, which tells of the links that macOS wants opened.
- ``program``: Owns the windows, and what exists once however many there are.
- ``main_window``: Makes sidebar, pages and inspector of a window, and connects them.
- ``actions``: Lists the actions of the window, and fills the menus with them.
- ``chat_actions``: Does what the menus offer for the chat on screen, and offers what can be done.
- ``menus``: Gives menu lines letters, edits the focused text, lists the windows, hides the bar.
- ``shortcuts``: The keys of all actions, as a person chose them, and which can be chosen.
- ``key_sheet``: Shows all keys in a window.
- ``banner``: Shows errors and hints of the program, above the page.
- ``page_stack``: Shows the chat or one of the pages.
- ``window_layout``: Places sidebar and inspector beside the page, or over it in a small window;
  keeps size and place of the window from one run to the next.
- ``notifications``: Notifies the desktop when a chat out of sight is done or needs an answer.
- ``background``: Lets turns go on without the window: asks when it is closed, and shows the way
  back.
- ``updates``: Tells of newer versions, and after an update of what is new.
- ``smoke``: Tries a package: window, database and one turn.
- ``second_start``: Lets a second start of the program hand what it was given to the first.
- ``link_registration``: Registers the program with the desktop as the one that opens its links.
- ``quick_ask``: Shows one line for a quick question; the answer comes in a new chat.
- ``links``: Reads links to places of the program, and writes them.
- ``settings_controller``: Opens the settings, and applies changes that other programs made.
- ``global_key``: Has a key of the whole desktop for the quick question, where that can be had.
- ``windows_key``: Takes a key from Windows.
- ``x11_key``: Takes a key from an X server.
- ``session_bus``: Connects to the session's D-Bus, calls methods there and hears signals.
- ``desktop_wishes``: Tells the theme what the desktop wishes of contrast and motion.
- ``server_process``: Runs the server beside the window, as the settings say.
- ``qt_loop``: Runs asyncio on Qt's event loop.
"""
