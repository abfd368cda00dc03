"""App.

- ``actions``: Every action of the window in one table.
- ``banner``: What the program has to say about itself, in a strip above the page.
- ``dialogs``: The window's small message boxes.
- ``main``: Opens the window and runs until it is closed.
- ``main_window``: The window.
- ``notifications``: The desktop is told when a chat out of sight is done or needs an answer.
- ``page_stack``: What stands in the middle of the window.
- ``qt_loop``: asyncio on Qt's event loop.
- ``server_process``: The server beside the window.
- ``settings_controller``: The settings in the window.
- ``window_layout``: What stands left and right of the page.
- ``window_state``: Size and place of the window, from one run to the next.
"""
